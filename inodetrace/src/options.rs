//! What will be done: the command line with names resolved on this machine.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use inodetrace_common::Site;

use crate::{
    args::{FilterArgs, HoldArg, LiveArgs, ProbeArg, ProbingArgs, RecordArgs, When},
    backend::{Hold, Mounts, ProbeMode, Request, TaskFilter},
    error::Error,
    filter::SuperblockFilter,
    units::Look,
    vocab::SiteExt as _,
};

/// What the machine says about names, as functions so that tests need no machine.
pub struct Names<'a> {
    /// The mount table; asked only for `--mount`.
    pub mounts: &'a dyn Fn() -> Mounts,
    /// Id of a cgroup2 directory; asked only for `--cgroup`.
    pub cgroup: &'a dyn Fn(&Path) -> Result<u64, Error>,
}

/// What standard output and the environment are like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings {
    /// Standard output is a terminal.
    pub stdout_tty: bool,
    /// NO_COLOR is set and not empty, or TERM is dumb.
    pub no_color: bool,
    /// The locale is plain C, so that nothing but ASCII can be shown.
    pub ascii_locale: bool,
}

/// What is observed and of it shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// For the kernel side.
    pub request: Request,
    /// For user space.
    pub superblocks: SuperblockFilter,
}

/// How `live` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// Full screen.
    Tui,
    /// A table per interval.
    Plain,
    /// A JSON object per interval and line.
    JsonLines,
}

/// `inodetrace live`.
#[derive(Clone, Debug)]
pub struct Live {
    /// What to observe.
    pub scope: Scope,
    /// Time between updates.
    pub interval: Duration,
    /// When to stop by itself.
    pub duration: Option<Duration>,
    /// After how many intervals to stop by itself.
    pub count: Option<u64>,
    /// How to show it.
    pub display: Display,
    /// With what characters.
    pub look: Look,
}

/// `inodetrace record`.
#[derive(Clone, Debug)]
pub struct Record {
    /// What to observe.
    pub scope: Scope,
    /// The run file, `-` for standard output.
    pub output: PathBuf,
    /// When to stop counting.
    pub duration: Option<Duration>,
    /// The command and its arguments; empty without one.
    pub command: Vec<OsString>,
}

impl Live {
    /// From what was typed.
    pub fn lower(
        args: &LiveArgs,
        color: When,
        around: Surroundings,
        names: &Names<'_>,
    ) -> Result<Self, Error> {
        let display = if args.json {
            Display::JsonLines
        } else if args.plain || !around.stdout_tty {
            Display::Plain
        } else {
            Display::Tui
        };
        Ok(Self {
            scope: Scope::lower(&args.filter, &args.probing, names)?,
            interval: args.interval,
            duration: args.duration,
            count: args.count,
            display,
            look: look(color, args.ascii, around),
        })
    }
}

impl Record {
    /// From what was typed.
    pub fn lower(args: RecordArgs, names: &Names<'_>) -> Result<Self, Error> {
        Ok(Self {
            scope: Scope::lower(&args.filter, &args.probing, names)?,
            output: args.output,
            duration: args.duration,
            command: args.command,
        })
    }
}

/// Colours and characters.
pub fn look(color: When, ascii: bool, around: Surroundings) -> Look {
    Look {
        color: match color {
            When::Always => true,
            When::Never => false,
            When::Auto => around.stdout_tty && !around.no_color,
        },
        ascii: ascii || around.ascii_locale,
    }
}

impl From<ProbeArg> for ProbeMode {
    fn from(arg: ProbeArg) -> Self {
        match arg {
            ProbeArg::Auto => Self::Auto,
            ProbeArg::Kprobe => Self::Kprobe,
        }
    }
}

impl Scope {
    fn lower(filter: &FilterArgs, probing: &ProbingArgs, names: &Names<'_>) -> Result<Self, Error> {
        let hold = match probing.hold {
            HoldArg::Span => Hold::Span,
            HoldArg::Off => Hold::Off,
            HoldArg::Exact => {
                return Err(Error::NotAvailable {
                    what: "--hold exact",
                    instead: "--hold span (the default) gives an upper bound",
                });
            }
        };
        let tasks = TaskFilter {
            pid: filter.pid,
            comm: filter.comm.clone(),
            cgroup: filter.cgroup.as_deref().map(names.cgroup).transpose()?,
        };
        Ok(Self {
            request: Request {
                sites: sites(filter),
                hold,
                tasks,
                max_superblocks: probing.max_superblocks,
                probe: probing.probe.into(),
            },
            superblocks: superblocks(filter, names)?,
        })
    }
}

/// A site is chosen by its name or by its lock; nothing chosen is everything.
fn sites(filter: &FilterArgs) -> Vec<Site> {
    let all = filter.site.is_empty() && filter.lock.is_empty();
    Site::ALL
        .into_iter()
        .filter(|site| {
            all || filter.site.iter().any(|id| id == site.id())
                || site
                    .lock()
                    .is_some_and(|lock| filter.lock.iter().any(|id| id == lock.id()))
        })
        .collect()
}

fn superblocks(filter: &FilterArgs, names: &Names<'_>) -> Result<SuperblockFilter, Error> {
    let mut devs = filter.dev.clone();
    if !filter.mount.is_empty() {
        let mounts = (names.mounts)();
        for path in &filter.mount {
            // As the mount table has it: without links and a trailing slash.
            let place = path.canonicalize().unwrap_or_else(|_| path.clone());
            let place = place.to_string_lossy();
            let given = path.to_string_lossy();
            let found: Vec<_> = mounts
                .iter()
                .filter(|(_, at)| at.iter().any(|m| *m == place || *m == given))
                .map(|(dev, _)| *dev)
                .collect();
            if found.is_empty() {
                let mut valid: Vec<String> = mounts.into_values().flatten().collect();
                valid.sort();
                return Err(Error::UnknownName {
                    kind: "mount",
                    given: given.into_owned(),
                    valid,
                });
            }
            devs.extend(found);
        }
    }
    Ok(SuperblockFilter {
        fstypes: filter.fstype.clone(),
        devs,
    })
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
