//! `inodetrace record`.

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
    time::Duration,
};

use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    process::{Child, Command},
    time::{Instant, MissedTickBehavior, interval_at, sleep_until},
};

use super::signals::{Signals, Stop, runtime};
use crate::{
    backend::Backend,
    caveat,
    delta::Delta,
    error::Error,
    mount_names::MountNames,
    options::Record,
    output::Output,
    plan::Status,
    runfile::{Filters, Recording, RunFile},
    sampler::{start, take},
    selection::select,
    series,
};

/// Records, writes the run file, and returns the exit code.
pub fn record(options: &Record, backend: &dyn Backend) -> Result<u8, Error> {
    runtime()?.block_on(async {
        // First of all, so that Ctrl-C loses no run and leaves no temporary file.
        let mut signals = Signals::listen()?;
        let output = Output::open(&options.output)?;
        let place = output.name();
        let (file, child) = run(options, backend, &mut signals, &place).await?;
        output.finish(&file.to_json())?;
        say(&summary(&file, &place));
        match child {
            None => Ok(0),
            Some(child) => Ok(exit_code(child.wait(&mut signals).await?)),
        }
    })
}

async fn run(
    options: &Record,
    backend: &dyn Backend,
    signals: &mut Signals,
    place: &str,
) -> Result<(RunFile, Option<Running>), Error> {
    let mut source = start(backend, &options.scope)?;
    let plan = select(source.plan().clone(), &options.scope.request);
    let mut names = MountNames::new(backend.mounts());
    let start = Timestamp::now();
    let before = take(source.as_mut())?;

    let mut child = spawn(&options.command)?;
    until_the_end(options.duration, signals, child.as_mut(), place).await?;

    let after = take(source.as_mut())?;
    drop(source); // Detach: a command that goes on is not slowed down any longer.
    names.update(backend.mounts());
    let delta = Delta::between(&before, &after);
    let rows = series::rows(&delta, &plan, &options.scope.superblocks, &mut names);
    let file = Recording {
        host: backend.host(),
        start,
        command: child.as_ref().map(|_| words(&options.command)),
        filters: Filters::new(&options.scope.superblocks, &options.scope.request.tasks),
        plan: &plan,
        delta: &delta,
        rows: &rows,
        caveats: caveat::caveats(&delta, &options.scope.request.tasks),
    }
    .into_file();
    Ok((file, child))
}

/// A command and, once it ended, how.
struct Running {
    child: Child,
    ended: Option<ExitStatus>,
}

impl Running {
    /// Waits for the end. Ctrl-C reaches the command from the terminal and is its own business;
    /// a signal to this process alone is passed on.
    async fn wait(mut self, signals: &mut Signals) -> Result<ExitStatus, Error> {
        loop {
            if let Some(status) = self.ended {
                return Ok(status);
            }
            tokio::select! {
                status = self.child.wait() => self.ended = Some(status.map_err(lost)?),
                stop = signals.next() => self.pass_on(stop),
            }
        }
    }

    fn pass_on(&self, stop: Stop) {
        let signal = match stop {
            Stop::Interrupt => return,
            Stop::Terminate => Signal::TERM,
            Stop::Hangup => Signal::HUP,
        };
        let pid = self
            .child
            .id()
            .and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(pid) = pid {
            // It may just have ended, which `wait` finds out.
            let _ = kill_process(pid, signal);
        }
    }
}

fn lost(cause: io::Error) -> Error {
    Error::System {
        what: "cannot wait for the command",
        cause,
    }
}

fn spawn(command: &[OsString]) -> Result<Option<Running>, Error> {
    let [program, args @ ..] = command else {
        return Ok(None);
    };
    let child = Command::new(program)
        .args(args)
        .spawn()
        .map_err(|cause| Error::Command {
            command: program.to_string_lossy().into_owned(),
            cause,
        })?;
    Ok(Some(Running { child, ended: None }))
}

/// Ends with the command, the duration or, without a command, a signal.
async fn until_the_end(
    duration: Option<Duration>,
    signals: &mut Signals,
    mut running: Option<&mut Running>,
    place: &str,
) -> Result<(), Error> {
    let begin = Instant::now();
    // Years ahead stands for never.
    let end = begin + duration.unwrap_or(Duration::from_hours(24 * 365));
    let second = Duration::from_secs(1);
    let mut progress = interval_at(begin + second, second);
    progress.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // A command owns the terminal while it runs.
    let show = running.is_none() && io::stderr().is_terminal();
    let mut shown = false;
    loop {
        let ended = async {
            match running.as_mut() {
                Some(r) => r.child.wait().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = sleep_until(end) => break,
            status = ended => {
                if let Some(r) = running.as_mut() {
                    r.ended = Some(status.map_err(lost)?);
                }
                break;
            }
            stop = signals.next() => match &running {
                None => break,
                Some(r) => r.pass_on(stop),
            },
            _ = progress.tick(), if show => {
                shown = true;
                let seconds = begin.elapsed().as_secs();
                let _ = write!(
                    io::stderr(),
                    "\rrecording for {seconds} s; Ctrl-C ends it and writes {place} "
                );
            }
        }
    }
    if shown {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    Ok(())
}

fn say(line: &str) {
    // With standard error closed the run is none the worse.
    let _ = writeln!(io::stderr(), "inodetrace: {line}");
}

fn summary(file: &RunFile, place: &str) -> String {
    let superblocks: std::collections::BTreeSet<_> = file
        .series
        .iter()
        .map(|s| (&s.fstype, &s.dev, &s.sb))
        .collect();
    let unseen = file
        .sites
        .iter()
        .filter(|s| s.status == Status::NotObservable.id())
        .count();
    let mut text = format!(
        "wrote {place}: {:.1} s, {}, {}",
        file.window.seconds,
        plural(superblocks.len(), "superblock"),
        plural(file.series.len(), "row")
    );
    if unseen > 0 {
        text.push_str(&format!(
            "; {unseen} of {} sites not observed",
            file.sites.len()
        ));
    }
    let l = &file.losses;
    let lost = [
        ("map_full", l.map_full),
        ("missed_probes", l.missed_probes.unwrap_or(0)),
        ("unmatched", l.unmatched),
        ("clamped", l.clamped),
        ("unreadable", l.unreadable),
        ("went_back", l.went_back),
    ];
    for (name, n) in lost.into_iter().filter(|(_, n)| *n > 0) {
        text.push_str(&format!("; lost: {name} {n}"));
    }
    text
}

fn plural(n: usize, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}

fn words(command: &[OsString]) -> Vec<String> {
    command
        .iter()
        .map(|w| w.to_string_lossy().into_owned())
        .collect()
}

/// As a shell tells it: the code, or 128 and the signal.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|s| 128 + s))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
