//! The virtio-serial ports between guest and host, by name, and the words spoken on the control
//! port (one line each, guest to host).

/// Control: lines of [`Message`].
pub const CONTROL: &str = "inodetrace.control";
/// The command's standard output.
pub const STDOUT: &str = "inodetrace.stdout";
/// The command's standard error.
pub const STDERR: &str = "inodetrace.stderr";
/// A tar archive of `$OUT`.
pub const OUT: &str = "inodetrace.out";

/// All ports, in the order in which the host creates them.
pub const ALL: [&str; 4] = [CONTROL, STDOUT, STDERR, OUT];

/// A line on the control port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// User space runs; from here on a death is never retried.
    Ready,
    /// Something that only `--verbose` shows.
    Note(String),
    /// Something that everybody should see.
    Warning(String),
    /// The verdict, once per run: the command's exit code and how many bytes each port carried,
    /// so that the host knows when it has everything.
    Done {
        /// Exit code; 128 + N for a death by signal N.
        code: u8,
        /// Bytes on [`STDOUT`].
        stdout: u64,
        /// Bytes on [`STDERR`].
        stderr: u64,
        /// Bytes on [`OUT`].
        out: u64,
    },
}

impl Message {
    /// The line, without its end.
    pub fn encode(&self) -> String {
        match self {
            Self::Ready => "ready".into(),
            Self::Note(text) => format!("note {}", text.replace('\n', " ")),
            Self::Warning(text) => format!("warning {}", text.replace('\n', " ")),
            Self::Done {
                code,
                stdout,
                stderr,
                out,
            } => format!("done {code} {stdout} {stderr} {out}"),
        }
    }

    /// The message in a line without its end; `None` if it is not one.
    pub fn decode(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(match word {
            "ready" => Self::Ready,
            "note" => Self::Note(rest.into()),
            "warning" => Self::Warning(rest.into()),
            "done" => {
                let mut numbers = rest.split(' ');
                let done = Self::Done {
                    code: numbers.next()?.parse().ok()?,
                    stdout: numbers.next()?.parse().ok()?,
                    stderr: numbers.next()?.parse().ok()?,
                    out: numbers.next()?.parse().ok()?,
                };
                if numbers.next().is_some() {
                    return None;
                }
                done
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_as_they_were() {
        for message in [
            Message::Ready,
            Message::Note("xfs: left out".into()),
            Message::Warning("x y".into()),
            Message::Done {
                code: 255,
                stdout: 1,
                stderr: 0,
                out: 100_000_000,
            },
        ] {
            assert_eq!(Message::decode(&message.encode()), Some(message));
        }
    }

    #[test]
    fn a_torn_verdict_is_none() {
        for line in [
            "done",
            "done 0",
            "done 0 1 2",
            "done 0 1 2 3 4",
            "done 256 0 0 0",
            "don",
        ] {
            assert_eq!(Message::decode(line), None, "{line}");
        }
    }
}
