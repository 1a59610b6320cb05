//! Running another command without privileges, or interrupting it as Ctrl-C would.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group};

/// The user and group of that name, everywhere.
const NOBODY: u32 = 65534;

/// Becomes the command, as the user nobody.
pub(crate) fn as_nobody(command: &[OsString]) -> anyhow::Result<ExitCode> {
    let [program, args @ ..] = command else {
        bail!("as-nobody: which command?");
    };
    let error = Command::new(program)
        .args(args)
        .gid(NOBODY)
        .uid(NOBODY)
        .exec();
    Err(error).with_context(|| program.to_string_lossy().into_owned())
}

/// Runs the command in a process group of its own and sends SIGINT to the group as soon as a file
/// exists, or, with `attached`, as soon as the command has attached probes and no more are coming.
pub(crate) fn interrupt(args: &[OsString]) -> anyhow::Result<ExitCode> {
    let [when, program, args @ ..] = args else {
        bail!("interrupt: when, and which command?");
    };
    let mut child = Command::new(program)
        .args(args)
        .process_group(0)
        .spawn()
        .with_context(|| program.to_string_lossy().into_owned())?;
    let group = Pid::from_raw(child.id().cast_signed()).context("process group")?;
    let deadline = Instant::now() + Duration::from_secs(60);
    let ready = if when == "attached" {
        wait_attached(&mut child, deadline)
    } else {
        wait_for(&mut child, deadline, || Path::new(when).exists())
    };
    if ready.is_err() {
        // It had its chance; do not leave it behind.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
        ready?;
    }
    // Let it come to rest in what it does then.
    std::thread::sleep(Duration::from_millis(300));
    kill_process_group(group, Signal::INT).context("SIGINT")?;
    let status = child.wait().context("wait")?;
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code)?))
}

fn wait_for(
    child: &mut Child,
    deadline: Instant,
    mut done: impl FnMut() -> bool,
) -> anyhow::Result<()> {
    while !done() {
        if let Some(status) = child.try_wait()? {
            bail!("the command ended before it was interrupted: {status}");
        }
        if Instant::now() > deadline {
            bail!("nothing to interrupt after a minute");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Attached programs show as descriptors; wait until their number has not changed for a while.
fn wait_attached(child: &mut Child, deadline: Instant) -> anyhow::Result<()> {
    let fds = format!("/proc/{}/fd", child.id());
    let mut last = (0, Instant::now());
    wait_for(child, deadline, || {
        let now = attachments(&fds);
        if now != last.0 {
            last = (now, Instant::now());
        }
        now > 0 && last.1.elapsed() > Duration::from_millis(1500)
    })
}

fn attachments(fds: &str) -> usize {
    let Ok(entries) = std::fs::read_dir(fds) else {
        return 0;
    };
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|target| {
            let target = target.to_string_lossy();
            // Trampolines hold a link, kprobes a perf event (and a link from 5.15 on).
            ["bpf_link", "bpf-link", "perf_event", "bpf-tracing"]
                .iter()
                .any(|kind| target.contains(kind))
        })
        .count()
}
