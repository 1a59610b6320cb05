//! What the steps of a case left behind.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use inodetrace_guest::batch;

use super::runfile::RunFile;
use crate::kernels::cache::Cached;
use crate::vm::images;

/// The directory of a case.
#[derive(Debug)]
pub(crate) struct Evidence {
    dir: PathBuf,
    /// Major and minor number of the kernel.
    pub(crate) kernel: (u32, u32),
    /// `/mnt/ext4` has the orphan_file feature.
    pub(crate) orphan_file: bool,
}

/// What one step left.
#[derive(Debug)]
pub(crate) struct Output {
    name: String,
    /// Exit code; `None` if the time was up.
    pub(crate) status: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Evidence {
    /// Of a case in that directory.
    pub(crate) fn new(dir: PathBuf, kernel: &Cached) -> Self {
        Self {
            dir,
            kernel: kernel.number().unwrap_or_default(),
            orphan_file: images::has_orphan_file(kernel),
        }
    }

    /// What a step left.
    pub(crate) fn step(&self, name: &str) -> anyhow::Result<Output> {
        let status = self.text(name, batch::STATUS)?;
        Ok(Output {
            name: name.into(),
            status: status.parse().ok(),
            stdout: self.text(name, batch::STDOUT)?,
            stderr: self.text(name, batch::STDERR)?,
        })
    }

    /// A run file that a step wrote to its `$OUT`.
    pub(crate) fn run_file(&self, step: &str, file: &str) -> anyhow::Result<RunFile> {
        RunFile::parse(&self.text(step, file)?).with_context(|| format!("{step}/{file}"))
    }

    /// For the details of a failure: how each step ended and what it said.
    pub(crate) fn summary(&self) -> String {
        let mut steps: Vec<_> = fs::read_dir(&self.dir)
            .map(|entries| {
                entries
                    .filter_map(Result::ok)
                    .map(|e| e.file_name())
                    .collect()
            })
            .unwrap_or_default();
        steps.sort();
        let mut text = format!("files: {}\n", self.dir.display());
        for step in steps {
            let name = step.to_string_lossy();
            match self.step(&name) {
                Ok(output) => text.push_str(&output.describe()),
                Err(error) => text.push_str(&format!("step {name}: {error:#}\n")),
            }
        }
        text
    }

    fn text(&self, step: &str, file: &str) -> anyhow::Result<String> {
        let path = self.dir.join(step).join(file);
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Output {
    /// It must have exited with that code.
    pub(crate) fn exited(self, code: i32) -> anyhow::Result<Self> {
        ensure!(
            self.status == Some(code),
            "step {}: expected exit code {code}, it {}",
            self.name,
            self.ending()
        );
        Ok(self)
    }

    /// Its standard error must hold one of these words, in whatever case.
    pub(crate) fn says_one_of(self, words: &[&str]) -> anyhow::Result<Self> {
        let said = self.stderr.to_lowercase();
        ensure!(
            words.iter().any(|word| said.contains(&word.to_lowercase())),
            "step {}: its message names none of {words:?}",
            self.name
        );
        Ok(self)
    }

    /// A number in the JSON object it printed.
    pub(crate) fn number(&self, field: &str) -> anyhow::Result<u64> {
        let value: serde_json::Value = serde_json::from_str(self.stdout.trim())
            .with_context(|| format!("step {}: its output is no JSON", self.name))?;
        value[field]
            .as_u64()
            .with_context(|| format!("step {}: no number {field} in its output", self.name))
    }

    fn ending(&self) -> String {
        match self.status {
            Some(code) => format!("exited with {code}"),
            None => "was killed because its time was up".into(),
        }
    }

    fn describe(&self) -> String {
        let mut text = format!("step {} {}\n", self.name, self.ending());
        for (what, said) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            for line in said.lines().take(20) {
                text.push_str(&format!("  {what}: {line}\n"));
            }
        }
        text
    }
}
