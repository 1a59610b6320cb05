//! What observing costs: guest instructions per operation, without and with a recorder.
//!
//! QEMU counts instructions as guest time, so a noisy machine does not matter. The figure is the
//! median over short chunks of the loop: what an operation takes when no timer tick and no RCU
//! batch falls into it. The mean, which has those too, is in the JSON form.

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
    /// Operations per loop.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
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
    /// Instructions per operation by way: median.
    instructions: BTreeMap<&'static str, f64>,
    /// The same, relative to the bare loop.
    ratio: BTreeMap<&'static str, f64>,
    /// Mean instructions per operation.
    mean: BTreeMap<&'static str, f64>,
}

#[derive(Debug)]
struct Costs {
    median: f64,
    mean: f64,
}

/// Measures and prints.
pub(crate) fn run(args: &OverheadArgs) -> anyhow::Result<ExitCode> {
    setup::everything()?;
    let kernel = kernels::ensure(&args.kernel, false)?;
    let out = paths::target().join("vm/overhead");
    let steps = steps(args.operations);
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
        let (mut instructions, mut mean) = (BTreeMap::new(), BTreeMap::new());
        for (way, _) in WAYS {
            let costs = read(&out.join(step_name(workload, way)))?;
            instructions.insert(way, costs.median);
            mean.insert(way, costs.mean);
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
            mean,
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

fn steps(operations: u64) -> Vec<Step> {
    // The kernel is still busy with itself at first; idle time costs us nothing.
    let mut steps = vec![Step {
        name: "settle".into(),
        timeout: Duration::from_secs(600),
        command: ["sleep", "20"].map(Into::into).to_vec(),
    }];
    let operations = operations.to_string();
    for (workload, _) in LOOPS {
        for (way, prefix) in WAYS {
            steps.push(Step {
                name: step_name(workload, way),
                timeout: Duration::from_secs(600),
                command: prefix
                    .iter()
                    .copied()
                    .chain(["guest-workload", "loop", workload, &operations])
                    .map(Into::into)
                    .collect(),
            });
        }
    }
    steps
}

fn step_name(workload: &str, way: &str) -> String {
    format!("{workload}-{}", way.replace(' ', "-"))
}

/// What a loop says about itself.
fn read(dir: &Path) -> anyhow::Result<Costs> {
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
    costs(&stdout).with_context(|| format!("{}: {stdout:?}", dir.display()))
}

fn costs(stdout: &str) -> anyhow::Result<Costs> {
    let value: Value = serde_json::from_str(stdout.trim())?;
    let number = |name: &str| {
        value[name]
            .as_f64()
            .filter(|n| *n > 0.0)
            .with_context(|| format!("no {name}"))
    };
    Ok(Costs {
        median: number("median_chunk_ns")? / number("chunk")?,
        mean: number("elapsed_ns")? / number("count")?,
    })
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
    fn costs_are_per_operation() {
        let costs =
            costs(r#"{"count": 100, "elapsed_ns": 800000, "chunk": 8, "median_chunk_ns": 56368}"#);
        let costs = costs.unwrap();
        assert!((costs.median - 7046.0).abs() < 1e-9 && (costs.mean - 8000.0).abs() < 1e-9);
        assert!(super::costs("").is_err());
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
                mean: BTreeMap::new(),
            }],
        });
        let row = text.lines().last().unwrap();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>().join(" "),
            "socket+close 6765 7036 (+4.0 %) 6900 (+2.0 %)"
        );
    }
}
