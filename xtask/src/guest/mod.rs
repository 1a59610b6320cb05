//! Tests that run in guests: a case is some commands for the guest and a check of what they left.
//!
//! All cases of a kernel share one boot.

mod cases;
mod evidence;
mod implied;
mod runfile;

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use inodetrace_guest::batch::{self, Step};

use crate::build::GuestBinaries;
use crate::kernels::cache::Cached;
use crate::paths;
use crate::vm::Vm;
pub(crate) use cases::all;
use evidence::Evidence;

/// A test.
pub(crate) struct Case {
    /// Its name, unique.
    pub(crate) name: &'static str,
    /// Whether it makes sense on the kernel of that name.
    pub(crate) applies: fn(&str) -> bool,
    /// What to run in the guest, in order.
    pub(crate) steps: fn() -> Vec<Step>,
    /// Whether what they left is right.
    pub(crate) check: fn(&Evidence) -> anyhow::Result<()>,
}

/// How a case ended.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Name of the case.
    pub(crate) case: &'static str,
    /// What is wrong, if anything.
    pub(crate) result: Result<(), String>,
}

/// A step that takes an ordinary time.
pub(crate) fn step(name: &str, command: &[&str]) -> Step {
    Step {
        name: name.into(),
        timeout: Duration::from_secs(60),
        command: command.iter().map(Into::into).collect(),
    }
}

/// Boots the kernel once and runs the cases in it.
pub(crate) fn run(kernel: &Cached, binaries: &GuestBinaries, cases: &[&Case]) -> Vec<Verdict> {
    let out = paths::target().join("vm/test").join(&kernel.manifest.name);
    match boot(kernel, binaries, cases, &out) {
        Ok(()) => cases
            .iter()
            .map(|case| Verdict {
                case: case.name,
                result: check(case, kernel, &out),
            })
            .collect(),
        Err(error) => cases
            .iter()
            .map(|case| Verdict {
                case: case.name,
                result: Err(format!("{error:#}")),
            })
            .collect(),
    }
}

fn boot(
    kernel: &Cached,
    binaries: &GuestBinaries,
    cases: &[&Case],
    out: &Path,
) -> anyhow::Result<()> {
    let steps: Vec<Step> = cases
        .iter()
        .flat_map(|case| {
            (case.steps)().into_iter().map(|step| Step {
                name: format!("{}/{}", case.name, step.name),
                ..step
            })
        })
        .collect();
    let limit: Duration = steps.iter().map(|s| s.timeout).sum();
    let mut command = vec!["guest-batch".into()];
    command.extend(batch::encode(&steps));
    let outcome = Vm::new(kernel.clone(), binaries.clone())
        .command(command)
        .timeout(limit + Duration::from_secs(120))
        .out(out)
        .run()?;
    anyhow::ensure!(
        outcome.status == 0,
        "guest-batch exited with {} after starting {:?}: {}",
        outcome.status,
        String::from_utf8_lossy(&outcome.stdout).lines().last(),
        String::from_utf8_lossy(&outcome.stderr)
    );
    // The console may hold a warning that explains a failure.
    let console = out.join("console");
    std::fs::write(&console, &outcome.console).with_context(|| console.display().to_string())
}

fn check(case: &Case, kernel: &Cached, out: &Path) -> Result<(), String> {
    let evidence = Evidence::new(out.join(case.name), kernel);
    (case.check)(&evidence).map_err(|error| format!("{error:#}\n{}", evidence.summary()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_fit_for_directories() {
        let cases = all();
        for (i, case) in cases.iter().enumerate() {
            assert!(!case.name.contains('/'));
            assert!(
                cases[..i].iter().all(|c| c.name != case.name),
                "{}",
                case.name
            );
            let steps = (case.steps)();
            for (j, step) in steps.iter().enumerate() {
                assert!(
                    steps[..j].iter().all(|s| s.name != step.name),
                    "{}",
                    step.name
                );
            }
        }
    }
}
