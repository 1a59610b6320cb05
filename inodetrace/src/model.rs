//! What was counted, as plain numbers: the snapshot that the maps give, and differences of two.

use inodetrace_common::{BUCKETS, SITES};

/// Major and minor number of a device.
pub type DevNumber = (u32, u32);

/// A superblock as the programs saw it first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SuperBlock {
    /// Number of its slot; a slot stands for one superblock for the whole run.
    pub slot: u32,
    /// `s_type->name`; `"(other)"` for slot 0, which holds all superblocks that found no slot.
    pub fstype: String,
    /// major and minor of `s_dev`.
    pub dev: DevNumber,
    /// `s_id`: device name, or the type's name where there is no device.
    pub s_id: String,
    /// It was shut down since.
    pub dead: bool,
}

/// A histogram as the programs fill it; see `inodetrace_common::hist` for the buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHist {
    /// Samples. Equal to the sum of `buckets` (the snapshot takes care of that).
    pub count: u64,
    /// Sum, ns.
    pub sum_ns: u64,
    /// Smallest and largest sample since the programs were loaded, ns; `None` without samples.
    pub min_max_ns: Option<(u64, u64)>,
    /// Counts by bucket, `BUCKETS` of them, or none at all when `count` is 0.
    pub buckets: Vec<u64>,
}

impl LogHist {
    /// No samples.
    pub const fn empty() -> Self {
        Self {
            count: 0,
            sum_ns: 0,
            min_max_ns: None,
            buckets: Vec::new(),
        }
    }

    /// Adds the samples of `other`.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
        }
        for (a, b) in self.buckets.iter_mut().zip(&other.buckets) {
            *a += b;
        }
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_max_ns = match (self.min_max_ns, other.min_max_ns) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (a, b) => a.or(b),
        };
    }
}

/// Counts of one site and superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteCounts {
    /// Passes, lock taken or not. Meaningful only where the plan counts them; so is the rest.
    pub calls: u64,
    /// Passes that took the lock.
    pub acquisitions: u64,
    /// Acquisitions that went through the lock's slow path.
    pub contended: u64,
    /// Time in the slow path. Its count is `contended`, less the waits still going on and those
    /// that found no histogram (counted in `Losses::map_full`).
    pub wait: LogHist,
    /// Time from acquisition to release.
    pub hold: LogHist,
}

impl SiteCounts {
    /// Nothing counted.
    pub const fn empty() -> Self {
        Self {
            calls: 0,
            acquisitions: 0,
            contended: 0,
            wait: LogHist::empty(),
            hold: LogHist::empty(),
        }
    }
}

/// Everything of one superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SbCounts {
    /// Which.
    pub superblock: SuperBlock,
    /// By site number.
    pub sites: [SiteCounts; SITES],
}

/// What was lost; each loss is shown beside the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Superblocks or histograms that found no room: passes under "(other)", samples lost.
    pub map_full: u64,
    /// Times a probe did not run (recursion, kretprobe instances); `None` where the kernel does
    /// not tell.
    pub missed_probes: Option<u64>,
    /// Exits without a matching entry: samples lost, counts not.
    pub unmatched: u64,
    /// Samples beyond the histogram's range.
    pub clamped: u64,
    /// Passes whose inode or superblock could not be read.
    pub unreadable: u64,
}

/// The maps at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// `CLOCK_MONOTONIC`, ns.
    pub at_ns: u64,
    /// Superblocks seen so far, by slot.
    pub superblocks: Vec<SbCounts>,
    /// Losses so far.
    pub losses: Losses,
}

/// Where snapshots come from: the running programs, or a recording in tests.
pub trait Source {
    /// The plan that is running.
    fn plan(&self) -> &crate::plan::Plan;
    /// Counts since the programs were attached.
    fn snapshot(&mut self) -> anyhow::Result<Snapshot>;
}
