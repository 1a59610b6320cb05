//! A running guest: follows what it says until the verdict is complete, or until it is clear that
//! none will come.

use std::io::{self, Write};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use inodetrace_guest::ports::Message;

use super::console::Console;
use super::process::{Channel, Event, Qemu};
use super::signals;

/// Why there is no verdict.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The guest died before user space.
    Boot {
        /// How.
        reason: String,
        /// The console's last lines.
        console: String,
    },
    /// The guest died later.
    Died {
        /// How.
        reason: String,
        /// The console's last lines.
        console: String,
    },
    /// The time was up.
    Timeout {
        /// The limit.
        limit: Duration,
        /// The command's last line of output, in words.
        last: String,
        /// The console's last lines.
        console: String,
    },
    /// We were told to stop, by that signal.
    Signal(u8),
    /// Something on this side.
    Host(anyhow::Error),
}

impl Failure {
    /// The exit code for it; the command's own codes are passed on unchanged beside these.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Timeout { .. } => 124,
            Self::Boot { .. } | Self::Died { .. } | Self::Host(_) => 125,
            Self::Signal(signal) => signal.saturating_add(128),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Host(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, console) = match self {
            Self::Boot { reason, console } => (
                format!("the guest died before user space: {reason}"),
                console,
            ),
            Self::Died { reason, console } => (reason.clone(), console),
            Self::Timeout {
                limit,
                last,
                console,
            } => (
                format!("the guest was not done after {} s{last}", limit.as_secs()),
                console,
            ),
            Self::Signal(signal) => return write!(f, "stopped by signal {signal}"),
            Self::Host(error) => return write!(f, "{error:#}"),
        };
        f.write_str(&what)?;
        if !console.is_empty() {
            write!(f, "\nthe console's last lines:\n{console}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Until user space runs.
    pub(crate) boot: Duration,
    /// Until the verdict.
    pub(crate) total: Option<Duration>,
}

/// What came from a guest that was heard out.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) code: u8,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) out: Vec<u8>,
    pub(crate) console: String,
}

/// A guest being followed.
#[derive(Debug)]
pub(crate) struct Guest {
    qemu: Qemu,
    limits: Limits,
    pass_on: bool,
    verbose: bool,
    console: Console,
    control: Vec<u8>,
    ready: bool,
    verdict: Option<(u8, [u64; 3])>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    out: Vec<u8>,
    received: [u64; 3],
    said: String,
}

impl Guest {
    /// Follows that QEMU.
    pub(crate) fn new(qemu: Qemu, limits: Limits, pass_on: bool, verbose: bool) -> Self {
        Self {
            qemu,
            limits,
            pass_on,
            verbose,
            console: Console::default(),
            control: Vec::new(),
            ready: false,
            verdict: None,
            stdout: Vec::new(),
            stderr: Vec::new(),
            out: Vec::new(),
            received: [0; 3],
            said: String::new(),
        }
    }

    /// Listens until the verdict is complete, then ends QEMU.
    pub(crate) fn run(mut self) -> Result<Heard, Failure> {
        signals::listen()?;
        let start = Instant::now();
        loop {
            let event = self.qemu.events.recv_timeout(Duration::from_millis(100));
            if let Some(signal) = signals::seen() {
                return Err(Failure::Signal(signal));
            }
            match event {
                Ok(event) => self.take(event)?,
                Err(RecvTimeoutError::Timeout) if !self.qemu.has_ended() => {}
                Err(_) => {
                    let said = std::mem::take(&mut self.said);
                    let reason = match said.trim() {
                        "" => "QEMU ended without a verdict".into(),
                        said => format!("QEMU ended without a verdict: {said}"),
                    };
                    return Err(self.dead(reason));
                }
            }
            if let Some((code, expected)) = self.verdict
                && self.received == expected
            {
                self.qemu.end();
                return Ok(Heard {
                    code,
                    stdout: self.stdout,
                    stderr: self.stderr,
                    out: self.out,
                    console: self.console.text().into(),
                });
            }
            let passed = start.elapsed();
            if !self.ready && passed > self.limits.boot {
                let limit = self.limits.boot.as_secs();
                return Err(self.dead(format!("no user space after {limit} s")));
            }
            if let Some(limit) = self.limits.total
                && passed > limit
            {
                let console = self.console.tail(15);
                let last = self.last_output();
                return Err(Failure::Timeout {
                    limit,
                    last,
                    console,
                });
            }
        }
    }

    fn take(&mut self, (channel, bytes): Event) -> Result<(), Failure> {
        match channel {
            Channel::Console => {
                if self.verbose {
                    pass(io::stderr(), &bytes)?;
                }
                if let Some(death) = self.console.add(&bytes) {
                    self.rest_of_console();
                    return Err(self.dead(death.to_string()));
                }
            }
            Channel::Control => {
                self.control.extend_from_slice(&bytes);
                while let Some(end) = self.control.iter().position(|&b| b == b'\n') {
                    let line: Vec<u8> = self.control.drain(..=end).collect();
                    self.message(String::from_utf8_lossy(&line).trim_end())?;
                }
            }
            Channel::Stdout => {
                self.received[0] += bytes.len() as u64;
                if self.pass_on {
                    pass(io::stdout(), &bytes)?;
                } else {
                    self.stdout.extend_from_slice(&bytes);
                }
            }
            Channel::Stderr => {
                self.received[1] += bytes.len() as u64;
                if self.pass_on {
                    pass(io::stderr(), &bytes)?;
                } else {
                    self.stderr.extend_from_slice(&bytes);
                }
            }
            Channel::Out => {
                self.received[2] += bytes.len() as u64;
                self.out.extend_from_slice(&bytes);
            }
            Channel::Qemu => self.said.push_str(&String::from_utf8_lossy(&bytes)),
        }
        Ok(())
    }

    fn message(&mut self, line: &str) -> Result<(), Failure> {
        match Message::decode(line) {
            Some(Message::Ready) => self.ready = true,
            Some(Message::Note(text)) => {
                if self.verbose {
                    eprintln!("guest: {text}");
                }
            }
            Some(Message::Warning(text)) => eprintln!("guest: {text}"),
            Some(Message::Done {
                code,
                stdout,
                stderr,
                out,
            }) => {
                if self.verdict.is_some() {
                    return Err(self.dead("the guest gave two verdicts".into()));
                }
                self.verdict = Some((code, [stdout, stderr, out]));
            }
            None => return Err(self.dead(format!("unexpected on the control port: {line:?}"))),
        }
        Ok(())
    }

    /// Waits a moment for what the kernel says after the first sign of its death.
    fn rest_of_console(&mut self) {
        let deadline = Instant::now() + Duration::from_millis(500);
        while let Ok((channel, bytes)) = self
            .qemu
            .events
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            if channel == Channel::Console {
                self.console.add(&bytes);
            }
        }
    }

    /// Where a captured command was, for messages.
    fn last_output(&self) -> String {
        let text = String::from_utf8_lossy(&self.stdout);
        match text.lines().last() {
            Some(line) => format!(" (its last output: {line})"),
            None => String::new(),
        }
    }

    fn dead(&self, reason: String) -> Failure {
        let reason = reason + &self.last_output();
        let console = self.console.tail(40);
        if self.ready {
            Failure::Died { reason, console }
        } else {
            Failure::Boot { reason, console }
        }
    }
}

/// Passes output on; a reader that went away does not matter to the guest.
fn pass(mut to: impl Write, bytes: &[u8]) -> Result<(), Failure> {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Host(
            anyhow::Error::new(error).context("passing on output"),
        )),
        _ => Ok(()),
    }
}
