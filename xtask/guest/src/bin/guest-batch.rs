//! Runs several commands one after the other, so that one boot serves many tests.
//!
//! Output goes to files, not through pipes: a recorder among the commands would count those.

use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use inodetrace_guest::batch::{self, Step};
use rustix::process::{Pid, Signal, kill_process_group};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guest-batch: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> anyhow::Result<()> {
    let out = PathBuf::from(std::env::var_os("OUT").context("OUT is not set")?);
    for step in batch::decode(std::env::args_os().skip(1))? {
        // The host shows the last of these if the guest dies.
        println!("{}", step.name);
        let dir = out.join(&step.name);
        std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
        let status = run_step(&step, &dir)?;
        std::fs::write(dir.join(batch::STATUS), status)?;
    }
    Ok(())
}

fn run_step(step: &Step, dir: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(&step.command[0]);
    command
        .args(&step.command[1..])
        .env("OUT", dir)
        .stdin(Stdio::null())
        .stdout(File::create(dir.join(batch::STDOUT))?)
        .stderr(File::create(dir.join(batch::STDERR))?)
        .process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            std::fs::write(dir.join(batch::STDERR), format!("{error}\n"))?;
            let code = if error.kind() == io::ErrorKind::NotFound {
                127
            } else {
                126
            };
            return Ok(code.to_string());
        }
    };
    let group = Pid::from_raw(child.id().cast_signed()).context("process group")?;
    let deadline = Instant::now() + step.timeout;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if Instant::now() > deadline {
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // Whatever it left behind must not disturb the next step.
    let _ = kill_process_group(group, Signal::KILL);
    Ok(match status {
        Some(status) => status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
            .to_string(),
        None => {
            child.wait()?;
            batch::TIMED_OUT.into()
        }
    })
}
