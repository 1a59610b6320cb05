//! Differences of two snapshots: what happened in a window.
//!
//! The counters only grow, so every difference is a plain subtraction. Should one shrink all the
//! same (a derived count read while its parts move), the difference is 0 and the place is counted
//! in [`Delta::went_back`], which is shown like any other loss.

use std::collections::HashMap;

use inodetrace_common::{BUCKETS, SITES};

use crate::{
    hist,
    model::{LogHist, Losses, SbCounts, SiteCounts, Snapshot},
};

/// What was counted between two snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Length of the window, ns.
    pub elapsed_ns: u64,
    /// Counts of the window, by slot, in the order of the later snapshot.
    pub superblocks: Vec<SbCounts>,
    /// Losses of the window.
    pub losses: Losses,
    /// Counts that were smaller than before.
    pub went_back: u64,
}

impl Delta {
    /// Length of the window, seconds.
    pub fn seconds(&self) -> f64 {
        self.elapsed_ns as f64 / 1e9
    }

    /// `later - earlier`, both of the same source.
    pub fn between(earlier: &Snapshot, later: &Snapshot) -> Self {
        let mut sub = Sub::default();
        let before: HashMap<u32, &SbCounts> = earlier
            .superblocks
            .iter()
            .map(|s| (s.superblock.slot, s))
            .collect();
        let superblocks = later
            .superblocks
            .iter()
            .map(|now| match before.get(&now.superblock.slot) {
                None => now.clone(),
                Some(then) => SbCounts {
                    superblock: now.superblock.clone(),
                    sites: std::array::from_fn::<_, SITES, _>(|i| {
                        sub.site(&now.sites[i], &then.sites[i])
                    }),
                },
            })
            .collect();
        let (a, b) = (&later.losses, &earlier.losses);
        let losses = Losses {
            map_full: sub.count(a.map_full, b.map_full),
            missed_probes: a
                .missed_probes
                .zip(b.missed_probes)
                .map(|(a, b)| sub.count(a, b)),
            unmatched: sub.count(a.unmatched, b.unmatched),
            clamped: sub.count(a.clamped, b.clamped),
            unreadable: sub.count(a.unreadable, b.unreadable),
        };
        Self {
            elapsed_ns: later.at_ns.saturating_sub(earlier.at_ns),
            superblocks,
            losses,
            went_back: sub.went_back,
        }
    }
}

#[derive(Default)]
struct Sub {
    went_back: u64,
}

impl Sub {
    fn count(&mut self, later: u64, earlier: u64) -> u64 {
        later.checked_sub(earlier).unwrap_or_else(|| {
            self.went_back += 1;
            0
        })
    }

    fn site(&mut self, later: &SiteCounts, earlier: &SiteCounts) -> SiteCounts {
        SiteCounts {
            calls: self.count(later.calls, earlier.calls),
            acquisitions: self.count(later.acquisitions, earlier.acquisitions),
            contended: self.count(later.contended, earlier.contended),
            wait: self.hist(&later.wait, &earlier.wait),
            hold: self.hist(&later.hold, &earlier.hold),
        }
    }

    fn hist(&mut self, later: &LogHist, earlier: &LogHist) -> LogHist {
        if earlier.count == 0 {
            return later.clone();
        }
        if later.count == 0 {
            self.went_back += 1;
            return LogHist::empty();
        }
        let mut buckets = vec![0; BUCKETS];
        for (i, bucket) in buckets.iter_mut().enumerate() {
            let at = |h: &LogHist| h.buckets.get(i).copied().unwrap_or(0);
            *bucket = self.count(at(later), at(earlier));
        }
        let count = buckets.iter().sum();
        if count == 0 {
            return LogHist::empty();
        }
        LogHist {
            count,
            sum_ns: self.count(later.sum_ns, earlier.sum_ns),
            min_max_ns: window_extremes(&buckets, later, earlier),
            buckets,
        }
    }
}

/// Smallest and largest sample of the window. They are known exactly when they are extremes of the
/// whole run too; otherwise the bounds of the outermost filled buckets stand for them.
fn window_extremes(buckets: &[u64], later: &LogHist, earlier: &LogHist) -> Option<(u64, u64)> {
    let (mut min, mut max) = hist::outer_bounds(buckets)?;
    if let Some((run_min, run_max)) = later.min_max_ns {
        let new_min = earlier.min_max_ns.is_none_or(|(m, _)| run_min < m);
        let new_max = earlier.min_max_ns.is_none_or(|(_, m)| run_max > m);
        min = if new_min { run_min } else { min.max(run_min) };
        max = if new_max { run_max } else { max.min(run_max) };
    }
    Some(hist::clamp_extremes(buckets, (min, max)))
}

#[cfg(test)]
#[path = "delta_tests.rs"]
mod tests;
