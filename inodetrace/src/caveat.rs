//! What a reader of the numbers must know: the same words in tables, files and the TUI.

use crate::{backend::TaskFilter, delta::Delta, model::Losses};

/// One reservation about the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caveat {
    /// Superblocks or histograms found no room.
    MapFull(u64),
    /// Probes that did not run.
    MissedProbes(u64),
    /// The kernel does not tell how often probes did not run.
    MissedProbesUnknown,
    /// Exits without their entry.
    Unmatched(u64),
    /// Samples beyond the histograms' range.
    Clamped(u64),
    /// Passes of an unreadable inode.
    Unreadable(u64),
    /// Counts that shrank.
    WentBack(u64),
    /// Only some tasks count.
    TaskFilter(TaskFilter),
}

impl Caveat {
    /// The word in files.
    pub const fn id(&self) -> &'static str {
        match self {
            Self::MapFull(_) => "map_full",
            Self::MissedProbes(_) => "missed_probes",
            Self::MissedProbesUnknown => "missed_probes_unknown",
            Self::Unmatched(_) => "unmatched",
            Self::Clamped(_) => "clamped",
            Self::Unreadable(_) => "unreadable",
            Self::WentBack(_) => "went_back",
            Self::TaskFilter(_) => "task_filter",
        }
    }

    /// One sentence, with the option that helps where there is one.
    pub fn text(&self) -> String {
        match self {
            Self::MapFull(n) => format!(
                "{n} passes or samples found no room: superblocks beyond the limit count under \
                 (other), --max-superblocks raises it"
            ),
            Self::MissedProbes(n) => {
                format!("probes did not run {n} times: all counts may be low by that much")
            }
            Self::MissedProbesUnknown => {
                "this kernel does not tell whether probes failed to run".into()
            }
            Self::Unmatched(n) => {
                format!(
                    "{n} wait or hold samples lost: their entry was not seen (counts are right)"
                )
            }
            Self::Clamped(n) => {
                format!("{n} samples of 18 minutes and more stand in the last bucket")
            }
            Self::Unreadable(n) => {
                format!("{n} passes not counted: their inode could not be read")
            }
            Self::WentBack(n) => format!("{n} counts were smaller than before and shown as 0"),
            Self::TaskFilter(filter) => format!("only {} counted", tasks(filter)),
        }
    }

    /// Whether something was lost, as against a property of the run.
    pub const fn is_loss(&self) -> bool {
        !matches!(self, Self::MissedProbesUnknown | Self::TaskFilter(_))
    }
}

fn tasks(filter: &TaskFilter) -> String {
    let mut parts = Vec::new();
    if let Some(pid) = filter.pid {
        parts.push(format!("process {pid}"));
    }
    if let Some(comm) = &filter.comm {
        parts.push(format!("tasks named {comm:?}"));
    }
    if let Some(id) = filter.cgroup {
        parts.push(format!("tasks in cgroup {id}"));
    }
    parts.join(" and ")
}

/// The caveats of a window.
pub fn caveats(delta: &Delta, tasks: &TaskFilter) -> Vec<Caveat> {
    let mut all = losses(&delta.losses, delta.went_back);
    if delta.losses.missed_probes.is_none() {
        all.push(Caveat::MissedProbesUnknown);
    }
    if !tasks.is_empty() {
        all.push(Caveat::TaskFilter(tasks.clone()));
    }
    all
}

/// Only what was lost.
pub fn losses(losses: &Losses, went_back: u64) -> Vec<Caveat> {
    [
        Caveat::MapFull(losses.map_full),
        Caveat::MissedProbes(losses.missed_probes.unwrap_or(0)),
        Caveat::Unmatched(losses.unmatched),
        Caveat::Clamped(losses.clamped),
        Caveat::Unreadable(losses.unreadable),
        Caveat::WentBack(went_back),
    ]
    .into_iter()
    .filter(|c| match c {
        Caveat::MapFull(n)
        | Caveat::MissedProbes(n)
        | Caveat::Unmatched(n)
        | Caveat::Clamped(n)
        | Caveat::Unreadable(n)
        | Caveat::WentBack(n) => *n > 0,
        Caveat::MissedProbesUnknown | Caveat::TaskFilter(_) => true,
    })
    .collect()
}
