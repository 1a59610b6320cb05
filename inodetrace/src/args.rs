//! The command line as it is typed. What follows from it is in `options`.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum, builder::PossibleValuesParser};
use inodetrace_common::{DEFAULT_SLOTS, Site};

use crate::{
    model::DevNumber,
    vocab::{Lock, SiteExt as _},
};

const AFTER_HELP: &str = "\
Examples:
  sudo inodetrace                                     watch all filesystems
  sudo inodetrace --fstype tmpfs --site hash_insert   watch one site on tmpfs
  sudo inodetrace record -o run.json -- make -j8      record while a command runs
  sudo inodetrace record -d 60s                       record a minute into inodetrace.json
  inodetrace report run.json                          read a recording, no privileges needed
  sudo inodetrace sites                               what this kernel lets be observed

Privileges: live, record and sites need root, or CAP_BPF, CAP_PERFMON, CAP_SYSLOG, CAP_SYS_RAWIO
  and CAP_DAC_READ_SEARCH.
  report and completions need none.

Not observed is not zero: a number that is not counted on this kernel is shown as – (null in JSON,
  an empty cell in CSV), with the reason in `inodetrace sites` and in every recording.

Exit codes: 0 done · 1 the answer is no · 2 bad usage or bad input · 3 this machine cannot observe it
  (privileges, kernel features). `record -- CMD` exits as CMD does, 128+N if signal N ended it.";

/// Shows how often the kernel's inode-list locks are taken, skipped and contended, per superblock.
///
/// Without a command it runs `live`.
#[derive(Debug, Parser)]
#[command(
    name = "inodetrace",
    version,
    after_help = "`--help` shows examples, privileges and exit codes.",
    after_long_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// When to use colours; NO_COLOR in the environment means never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: When,
    /// Options of `live`, when there is no command.
    #[command(flatten)]
    pub live: LiveArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch: a full-screen table, or plain tables when standard output is no terminal (default)
    Live(LiveArgs),
    /// Write what happens while CMD runs, for a duration or until Ctrl-C, to a run file
    Record(RecordArgs),
    /// Summarise run files
    Report(ReportArgs),
    /// List how each site is observed on this kernel, or why it is not
    Sites(SitesArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

/// `auto`, `always` or `never`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    #[default]
    Auto,
    /// Also into a pipe.
    Always,
    /// Not at all.
    Never,
}

/// Options of `live`.
#[derive(Debug, Args)]
pub struct LiveArgs {
    /// Time between two updates, such as 1s or 500ms
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Stop after this time, such as 10s or 2m
    #[arg(short, long, value_name = "DURATION", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Stop after N intervals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print a table per interval instead of the full-screen view
    #[arg(long)]
    pub plain: bool,
    /// Print one JSON object per interval and line (implies --plain)
    #[arg(long)]
    pub json: bool,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    // The headings of these apply to all that follows them, so they come last.
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for help")]
    pub filter: FilterArgs,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for help")]
    pub probing: ProbingArgs,
}

/// Options of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The run file; - is standard output. An existing file is replaced when the run has ended
    #[arg(short, long, value_name = "FILE", default_value = "inodetrace.json")]
    pub output: PathBuf,
    /// Stop counting after this time, such as 60s or 5m; a command runs on to its end
    #[arg(short, long, value_name = "DURATION", value_parser = duration)]
    pub duration: Option<Duration>,
    /// The command to run; counting stops when it ends, and its exit code is passed on
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
    // The headings of these apply to all that follows them, so they come last.
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for help")]
    pub filter: FilterArgs,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for help")]
    pub probing: ProbingArgs,
}

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How to print them
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// Formats of `report`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    #[default]
    Table,
    /// One JSON object per file.
    Json,
    /// Comma-separated values with a header; null is an empty cell.
    Csv,
}

/// Options of `sites`.
#[derive(Debug, Args)]
pub struct SitesArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Which probe mechanisms may be used
    #[arg(long, value_name = "KIND", default_value = "auto")]
    pub probe: ProbeArg,
}

/// Options of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// What is observed and shown.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters (repeat or separate by commas for several)")]
pub struct FilterArgs {
    /// Observe only these sites
    #[arg(long, value_name = "SITE", value_delimiter = ',', value_parser = site_ids())]
    pub site: Vec<String>,
    /// Observe only the sites of these locks
    #[arg(long, value_name = "LOCK", value_delimiter = ',', value_parser = lock_ids())]
    pub lock: Vec<String>,
    /// Show only filesystems of these types, such as tmpfs or sockfs
    #[arg(long, value_name = "TYPE", value_delimiter = ',', value_parser = fstype)]
    pub fstype: Vec<String>,
    /// Show only the filesystem mounted at PATH
    #[arg(long, value_name = "PATH")]
    pub mount: Vec<PathBuf>,
    /// Show only the superblock with this device number
    #[arg(long, value_name = "MAJ:MIN", value_delimiter = ',', value_parser = dev)]
    pub dev: Vec<DevNumber>,
    /// Count only this process (all its threads)
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Count only threads of this name (at most 15 bytes, as in /proc/PID/comm)
    #[arg(long, value_name = "NAME", value_parser = comm)]
    pub comm: Option<String>,
    /// Count only tasks in this cgroup2 directory (absolute, or below /sys/fs/cgroup)
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
}

/// How it is observed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Probes")]
pub struct ProbingArgs {
    /// How hold times are measured: span is an upper bound taken outside the lock
    #[arg(long, value_name = "HOW", default_value = "span")]
    pub hold: HoldArg,
    /// Superblocks told apart; further ones are counted together as (other)
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SLOTS,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub max_superblocks: u32,
    /// Which probe mechanisms may be used
    #[arg(long, value_name = "KIND", default_value = "auto")]
    pub probe: ProbeArg,
}

/// Values of `--hold`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HoldArg {
    /// At the acquire and release instructions (not in this version).
    Exact,
    /// From outside the function that takes the lock: an upper bound.
    #[default]
    Span,
    /// Not at all.
    Off,
}

/// Values of `--probe`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProbeArg {
    /// The cheapest that the kernel has.
    #[default]
    Auto,
    /// Only kprobes.
    Kprobe,
}

fn site_ids() -> PossibleValuesParser {
    PossibleValuesParser::new(Site::ALL.map(|s| s.id()))
}

fn lock_ids() -> PossibleValuesParser {
    PossibleValuesParser::new(Lock::ALL.map(Lock::id))
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: jiff::SignedDuration = text
        .parse()
        .map_err(|_| "a duration such as 500ms, 1s, 2m or 1h30m".to_owned())?;
    match Duration::try_from(parsed) {
        Ok(d) if !d.is_zero() => Ok(d),
        _ => Err("it must be longer than nothing".into()),
    }
}

/// Bounds of `--interval`: a shorter one measures mostly itself, a longer one is a recording.
pub const INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_hours(1));

fn interval(text: &str) -> Result<Duration, String> {
    let d = duration(text)?;
    if d < INTERVALS.0 || d > INTERVALS.1 {
        return Err("it must be between 100ms and 1h".into());
    }
    Ok(d)
}

fn fstype(text: &str) -> Result<String, String> {
    let valid = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
    if text.is_empty() || !text.chars().all(valid) {
        return Err(
            "a type as in the third column of /proc/mounts (ext4, xfs, btrfs, tmpfs, overlay), or \
             sockfs, pipefs, anon_inodefs"
                .into(),
        );
    }
    Ok(text.into())
}

fn dev(text: &str) -> Result<DevNumber, String> {
    text.split_once(':')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .filter(|&(major, minor): &DevNumber| major < 1 << 12 && minor < 1 << 20)
        .ok_or_else(|| "major:minor as in /proc/self/mountinfo, such as 0:23 or 254:0".into())
}

fn comm(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 15 {
        return Err("1 to 15 bytes: the kernel keeps no more of a thread's name".into());
    }
    Ok(text.into())
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
