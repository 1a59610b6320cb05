//! `cargo xtask run`: inodetrace here if this kernel can be traced, and otherwise in a VM.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;

use crate::vm::{self, Vm};
use crate::{build, kernels, setup};

/// The kernel to show it on.
const KERNEL: &str = "6.18";

/// Keeps several file systems busy, with pauses so that the guest stays usable.
const LOAD: &str = "mkdir -p /tmp/demo /mnt/ext4/demo /mnt/ext4-classic/demo
while :; do
    guest-workload hammer --dir /tmp/demo --threads 2 --seconds 1
    guest-workload hammer --dir /mnt/ext4/demo --threads 2 --seconds 1
    guest-workload churn --dir /mnt/ext4-classic/demo --files 200
    guest-workload sockets 2000
    guest-workload pipes 2000
    sleep 0.3
done";

/// Runs `inodetrace ARGS`.
pub(crate) fn run(args: &[OsString]) -> anyhow::Result<ExitCode> {
    setup::building()?;
    // The guest's static binary runs here as well; one build is enough.
    let inodetrace = build::guest()?.inodetrace;
    if !traces(args) {
        return here(&inodetrace, args);
    }
    let Some(reason) = cannot_trace(&inodetrace)? else {
        return here(&inodetrace, args);
    };
    eprintln!("xtask: this machine's kernel cannot be traced:");
    for line in reason.lines() {
        eprintln!("xtask:   {line}");
    }
    in_vm(args)
}

/// Whether these arguments lead to tracing; reading files works everywhere.
fn traces(args: &[OsString]) -> bool {
    let Some(first) = args.first() else {
        return true;
    };
    let first = first.to_string_lossy();
    let asks_for_help = args
        .iter()
        .any(|a| ["-h", "--help", "-V", "--version"].contains(&&*a.to_string_lossy()));
    !asks_for_help
        && (first.starts_with('-')
            || ["live", "record", "bench", "sites", "serve"].contains(&&*first))
}

/// Why this machine cannot be traced, in inodetrace's own words; `None` if it can.
fn cannot_trace(inodetrace: &Path) -> anyhow::Result<Option<String>> {
    let output = Command::new(inodetrace)
        .arg("sites")
        .stdin(Stdio::null())
        .output()
        .with_context(|| inodetrace.display().to_string())?;
    let unable = output.status.code() == Some(3);
    Ok(unable.then(|| String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn here(inodetrace: &Path, args: &[OsString]) -> anyhow::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    let error = Command::new(inodetrace).args(args).exec();
    Err(error).with_context(|| inodetrace.display().to_string())
}

fn in_vm(args: &[OsString]) -> anyhow::Result<ExitCode> {
    setup::everything()?;
    let interactive = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let mut command: Vec<OsString> = vec!["inodetrace".into()];
    if args.is_empty() && !interactive {
        // Nobody is there to quit it.
        command.extend(["live", "--plain", "--interval", "1s", "--count", "5"].map(Into::into));
    } else {
        command.extend(args.iter().cloned());
    }
    eprintln!("xtask: running it in a VM with kernel {KERNEL} and a load to look at");
    let mut vm = Vm::new(kernels::ensure(KERNEL, false)?, build::guest()?)
        .command(command)
        .background(["sh", "-c", LOAD])
        .in_out()
        .pass_on();
    if interactive {
        vm = vm.interactive();
    }
    let result = vm.run();
    if let Ok(outcome) = &result {
        let files = std::fs::read_dir(&outcome.out_dir).map_or(0, Iterator::count);
        if files > 0 {
            eprintln!("xtask: its files are in {}", outcome.out_dir.display());
        }
    }
    Ok(vm::exit_code(result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tracing_needs_a_kernel_that_can_be_traced() {
        let traces = |line: &str| {
            let args: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
            traces(&args)
        };
        for line in ["", "live", "record -o x", "--site evict", "sites --json"] {
            assert!(traces(line), "{line}");
        }
        for line in [
            "report x.json",
            "--help",
            "record --help",
            "compare a b",
            "-V",
        ] {
            assert!(!traces(line), "{line}");
        }
    }
}
