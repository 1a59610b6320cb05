//! A small command line: `--name value`, `--flag`, and positional values.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};

/// Flags, which take no value.
const FLAGS: &[&str] = &["batch"];

/// What is left of the command line.
#[derive(Debug)]
pub(crate) struct Args {
    options: Vec<(String, OsString)>,
    flags: Vec<String>,
    positional: Vec<OsString>,
}

impl Args {
    /// Sorts the arguments.
    pub(crate) fn new(args: Vec<OsString>) -> anyhow::Result<Self> {
        let mut sorted = Self {
            options: Vec::new(),
            flags: Vec::new(),
            positional: Vec::new(),
        };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let text = arg.to_string_lossy();
            match text.strip_prefix("--") {
                Some(name) if FLAGS.contains(&name) => sorted.flags.push(name.into()),
                Some(name) => {
                    let value = args.next().with_context(|| format!("--{name}: no value"))?;
                    sorted.options.push((name.into(), value));
                }
                None => sorted.positional.push(arg),
            }
        }
        Ok(sorted)
    }

    /// Takes a path.
    pub(crate) fn path(&mut self, name: &str) -> anyhow::Result<PathBuf> {
        self.take(name)
            .map(PathBuf::from)
            .with_context(|| format!("--{name} is missing"))
    }

    /// Takes a path that may be given any number of times.
    pub(crate) fn paths(&mut self, name: &str) -> Vec<PathBuf> {
        std::iter::from_fn(|| self.take(name).map(PathBuf::from)).collect()
    }

    /// Takes a number.
    pub(crate) fn number(&mut self, name: &str) -> anyhow::Result<u64> {
        let value = self
            .take(name)
            .with_context(|| format!("--{name} is missing"))?;
        parse(&value)
    }

    /// Takes a flag.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let found = self.flags.iter().any(|f| f == name);
        self.flags.retain(|f| f != name);
        found
    }

    /// Takes the next positional value.
    pub(crate) fn positional(&mut self) -> Option<OsString> {
        (!self.positional.is_empty()).then(|| self.positional.remove(0))
    }

    /// Takes the next positional value as a number.
    pub(crate) fn positional_number(&mut self) -> anyhow::Result<u64> {
        parse(&self.positional().context("a number is missing")?)
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> anyhow::Result<()> {
        if let Some((name, _)) = self.options.first() {
            bail!("--{name}: not for this workload");
        }
        ensure!(
            self.flags.is_empty() && self.positional.is_empty(),
            "too many arguments"
        );
        Ok(())
    }

    fn take(&mut self, name: &str) -> Option<OsString> {
        let at = self.options.iter().position(|(n, _)| n == name)?;
        Some(self.options.remove(at).1)
    }
}

fn parse(value: &OsString) -> anyhow::Result<u64> {
    let text = value.to_string_lossy();
    text.parse()
        .with_context(|| format!("{text}: not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(line: &str) -> anyhow::Result<Args> {
        Args::new(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn everything_is_taken_once() {
        let mut args = args("--dir a 7 --batch --dir b --files 3").unwrap();
        assert_eq!(args.paths("dir"), [PathBuf::from("a"), PathBuf::from("b")]);
        assert_eq!(args.number("files").unwrap(), 3);
        assert!(args.flag("batch") && !args.flag("batch"));
        assert_eq!(args.positional_number().unwrap(), 7);
        args.end().unwrap();
    }

    #[test]
    fn what_is_left_or_missing_is_an_error() {
        assert!(args("--files 1 --what 2").unwrap().end().is_err());
        assert!(args("1").unwrap().end().is_err());
        assert!(args("--files").is_err());
        assert!(args("--files x").unwrap().number("files").is_err());
        assert!(args("").unwrap().path("dir").is_err());
    }
}
