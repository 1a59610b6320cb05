//! Several commands in one boot: how they are handed to `guest-batch`, and where it leaves what
//! came of them.
//!
//! Each step has a directory `$OUT/NAME`, which is its own `$OUT`, and in it files with these
//! names.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Context, ensure};

/// Standard output.
pub const STDOUT: &str = "stdout";
/// Standard error.
pub const STDERR: &str = "stderr";
/// Exit code as a decimal number; 128 + N for a death by signal N; [`TIMED_OUT`] instead if the
/// step was killed because its time was up.
pub const STATUS: &str = "status";
/// See [`STATUS`].
pub const TIMED_OUT: &str = "timed out";

/// A command of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Directory name below `$OUT`.
    pub name: String,
    /// The command is killed after that time. Whole seconds.
    pub timeout: Duration,
    /// Program and arguments.
    pub command: Vec<OsString>,
}

/// The steps as arguments of `guest-batch`.
pub fn encode(steps: &[Step]) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    for step in steps {
        args.push(step.name.clone().into());
        args.push(step.timeout.as_secs().to_string().into());
        args.push(step.command.len().to_string().into());
        args.extend(step.command.iter().cloned());
    }
    args
}

/// The steps in the arguments of `guest-batch`.
///
/// # Errors
/// They are not what [`encode`] gives.
pub fn decode(args: impl IntoIterator<Item = OsString>) -> anyhow::Result<Vec<Step>> {
    let mut args = args.into_iter();
    let mut steps = Vec::new();
    while let Some(name) = args.next() {
        let mut number = || -> anyhow::Result<u64> {
            let text = args.next().context("batch: a number is missing")?;
            let text = text.to_string_lossy();
            text.parse().with_context(|| format!("batch: {text}"))
        };
        let timeout = Duration::from_secs(number()?);
        let count = usize::try_from(number()?)?;
        let command: Vec<OsString> = args.by_ref().take(count).collect();
        ensure!(
            command.len() == count && count > 0,
            "batch: a step without its command"
        );
        steps.push(Step {
            name: name.to_string_lossy().into_owned(),
            timeout,
            command,
        });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, command: &[&str]) -> Step {
        Step {
            name: name.into(),
            timeout: Duration::from_secs(30),
            command: command.iter().map(OsString::from).collect(),
        }
    }

    #[test]
    fn steps_come_back_as_they_were() {
        let steps = [
            step("a", &["sh", "-c", "x 3 y"]),
            step("b/c", &["7", ""]),
            step("d", &["e"]),
        ];
        assert_eq!(decode(encode(&steps)).unwrap(), steps);
        assert!(decode([]).unwrap().is_empty());
    }

    #[test]
    fn torn_steps_are_refused() {
        for args in [
            &["a"][..],
            &["a", "1"],
            &["a", "1", "2", "x"],
            &["a", "1", "0"],
            &["a", "b", "1", "x"],
        ] {
            assert!(decode(args.iter().map(OsString::from)).is_err(), "{args:?}");
        }
    }
}
