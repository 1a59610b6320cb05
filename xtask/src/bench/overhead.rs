//! What observing costs: guest instructions per operation, without and with a recorder.
//!
//! QEMU counts instructions as guest time, so a noisy machine does not matter. Each loop runs with
//! two different lengths; their difference is free of the start and end.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use inodetrace_guest::batch::{self, Step};
use serde::Serialize;
use serde_json::Value;

use crate::vm::{Machine, Vm};
use crate::{build, kernels, paths, setup};

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct OverheadArgs {
    /// Which kernel.
    #[arg(long, value_name = "NAME", default_value = "6.12")]
    kernel: String,
    /// Operations in the longer of the two loops.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    operations: u64,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Loops of guest-workload, and what an operation of theirs is.
const LOOPS: [(&str, &str); 2] = [("socket", "socket+close"), ("tmpfs", "create+unlink+close")];

/// Ways to run a loop: a name, and what goes before the loop's own command.
const WAYS: [(&str, &[&str]); 3] = [
    ("bare", &[]),
    (
        "record",
        &["inodetrace", "record", "-o", "/tmp/run.json", "--"],
    ),
    (
        "record --hold off",
        &[
            "inodetrace",
            "record",
            "-o",
            "/tmp/run.json",
            "--hold",
            "off",
            "--",
        ],
    ),
];

#[derive(Debug, Serialize)]
struct Report {
    schema: &'static str,
    kernel: String,
    unit: &'static str,
    operations: Vec<Operation>,
}

#[derive(Debug, Serialize)]
struct Operation {
    name: &'static str,
    /// Instructions per operation by way.
    instructions: BTreeMap<&'static str, f64>,
    /// The same, relative to the bare loop.
    ratio: BTreeMap<&'static str, f64>,
}

/// Measures and prints.
pub(crate) fn run(args: &OverheadArgs) -> anyhow::Result<ExitCode> {
    let lengths = [args.operations / 3, args.operations];
    ensure!(lengths[0] > 0, "--operations: too few");
    setup::everything()?;
    let kernel = kernels::ensure(&args.kernel, false)?;
    let out = paths::target().join("vm/overhead");
    let steps = steps(lengths);
    let mut command = vec!["guest-batch".into()];
    command.extend(batch::encode(&steps));
    let outcome = Vm::new(kernel.clone(), build::guest()?)
        .machine(Machine {
            smp: 1,
            icount: true,
            ..Machine::default()
        })
        .command(command)
        .timeout(Duration::from_secs(1800))
        .out(&out)
        .run()?;
    ensure!(
        outcome.status == 0,
        "guest-batch exited with {}",
        outcome.status
    );

    let mut operations = Vec::new();
    for (workload, name) in LOOPS {
        let mut instructions = BTreeMap::new();
        for (way, _) in WAYS {
            let mut elapsed = [0; 2];
            for (elapsed, length) in elapsed.iter_mut().zip(lengths) {
                *elapsed = read(&out.join(step_name(workload, way, length)))?;
            }
            instructions.insert(way, per_operation(elapsed, lengths));
        }
        let bare = instructions["bare"];
        let ratio = instructions
            .iter()
            .map(|(&way, n)| (way, n / bare))
            .collect();
        operations.push(Operation {
            name,
            instructions,
            ratio,
        });
    }
    let report = Report {
        schema: "inodetrace.overhead/1",
        kernel: kernel.manifest.release,
        unit: "guest instructions per operation",
        operations,
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", table(&report));
    }
    Ok(ExitCode::SUCCESS)
}

fn steps(lengths: [u64; 2]) -> Vec<Step> {
    let mut steps = Vec::new();
    for (workload, _) in LOOPS {
        for (way, prefix) in WAYS {
            for length in lengths {
                let length_text = length.to_string();
                let command = prefix
                    .iter()
                    .copied()
                    .chain(["guest-workload", "loop", workload, &length_text])
                    .map(Into::into)
                    .collect();
                steps.push(Step {
                    name: step_name(workload, way, length),
                    // Guest time, of which idling takes none of ours.
                    timeout: Duration::from_secs(600),
                    command,
                });
            }
        }
    }
    steps
}

fn step_name(workload: &str, way: &str, length: u64) -> String {
    format!("{workload}-{}-{length}", way.replace(' ', "-"))
}

/// The time that a loop says it took, which is its number of instructions.
fn read(dir: &Path) -> anyhow::Result<u64> {
    let text = |name: &str| -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&paths::read(&dir.join(name))?).into_owned())
    };
    let stdout = text(batch::STDOUT)?;
    let status = text(batch::STATUS)?;
    ensure!(
        status == "0",
        "{}: exit code {status}: {}",
        dir.display(),
        text(batch::STDERR)?.trim()
    );
    let value: Value = serde_json::from_str(stdout.trim())
        .with_context(|| format!("{}: {stdout:?}", dir.display()))?;
    value["elapsed_ns"]
        .as_u64()
        .with_context(|| format!("{}: no elapsed_ns", dir.display()))
}

fn per_operation(elapsed: [u64; 2], lengths: [u64; 2]) -> f64 {
    let extra = elapsed[1] as f64 - elapsed[0] as f64;
    extra / (lengths[1] - lengths[0]) as f64
}

fn table(report: &Report) -> String {
    let mut text = format!("{} on {}\n{:<22}", report.unit, report.kernel, "OPERATION");
    for (way, _) in WAYS {
        text.push_str(&format!("{:>26}", way.to_uppercase()));
    }
    text.push('\n');
    for operation in &report.operations {
        text.push_str(&format!("{:<22}", operation.name));
        for (way, _) in WAYS {
            let (n, ratio) = (operation.instructions[way], operation.ratio[way]);
            let cell = if way == "bare" {
                format!("{n:.0}")
            } else {
                format!("{n:.0} ({:+.1} %)", (ratio - 1.0) * 100.0)
            };
            text.push_str(&format!("{cell:>26}"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starting_up_does_not_count() {
        assert!((per_operation([5_000 + 70_000, 5_000 + 210_000], [10, 30]) - 7000.0).abs() < 1e-9);
    }

    #[test]
    fn the_table_has_all_ways() {
        let by_way = |numbers: [f64; 3]| WAYS.iter().map(|w| w.0).zip(numbers).collect();
        let text = table(&Report {
            schema: "",
            kernel: "6.12".into(),
            unit: "instructions",
            operations: vec![Operation {
                name: "socket+close",
                instructions: by_way([6765.0, 7036.0, 6900.0]),
                ratio: by_way([1.0, 1.04, 1.02]),
            }],
        });
        let row = text.lines().last().unwrap();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>().join(" "),
            "socket+close 6765 7036 (+4.0 %) 6900 (+2.0 %)"
        );
    }
}
