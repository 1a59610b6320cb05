//! Reading the maps.

use anyhow::Context as _;
use aya::{
    Ebpf,
    maps::{Array, Map, MapData},
};
use inodetrace_common::{
    BUCKETS, Counters, EXTRA_EVICT_IN_PRUNE, Hist, SITES, SLOT_DEAD, SLOT_LIVE, SbSlot, Site,
    acquisitions, bucket_bounds, calls, contended, hist_key_parts, loss,
};

use super::{BpfError, load::Sizes, region::Region};
use crate::{
    model::{LogHist, Losses, SbCounts, SiteCounts, Snapshot, SuperBlock},
    plan::Plan,
    vocab::SiteExt as _,
};

/// The maps that are read.
pub(super) struct Maps {
    sizes: Sizes,
    slots: Region<SbSlot>,
    counters: Region<Counters>,
    hist_dir: Region<u64>,
    hists: Region<Hist>,
    losses: Array<MapData, u64>,
}

/// Sites whose passes follow from others'.
#[derive(Clone, Copy)]
struct Derived {
    lru_del: bool,
    sb_list_del: bool,
}

fn region<T: Copy>(ebpf: &Ebpf, map: &'static str, len: usize) -> Result<Region<T>, BpfError> {
    let Some(Map::Array(data)) = ebpf.map(map) else {
        return Err(BpfError::Missing(format!("map {map}")));
    };
    Region::new(data.fd(), len).map_err(|error| BpfError::Map { map, error })
}

impl Maps {
    pub(super) fn new(ebpf: &mut Ebpf, sizes: Sizes) -> Result<Self, BpfError> {
        let slots = sizes.all_slots() as usize;
        let losses = ebpf
            .take_map("LOSSES")
            .and_then(|map| Array::try_from(map).ok())
            .ok_or_else(|| BpfError::Missing(String::from("map LOSSES")))?;
        Ok(Self {
            sizes,
            slots: region(ebpf, "SLOTS", slots)?,
            counters: region(ebpf, "COUNTERS", slots * sizes.cpus as usize)?,
            hist_dir: region(ebpf, "HIST_DIR", sizes.hists as usize)?,
            hists: region(ebpf, "HISTS", (sizes.hists * sizes.shards) as usize)?,
            losses,
        })
    }

    pub(super) fn read(&self, plan: &Plan) -> anyhow::Result<Snapshot> {
        let at = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let counted = |site| plan.site(site).is_some_and(|site| site.calls.is_counted());
        let derived = Derived {
            lru_del: counted(Site::LruDel),
            sb_list_del: counted(Site::SbListDel),
        };
        let mut superblocks = Vec::new();
        let mut position = vec![usize::MAX; self.sizes.all_slots() as usize];
        for slot in 0..self.sizes.all_slots() {
            let Some(superblock) = self.superblock(slot) else {
                continue;
            };
            let sites = self.counts(slot, derived);
            if slot == 0 && sites.iter().all(|site| site.calls == 0) {
                continue;
            }
            if let Some(position) = position.get_mut(slot as usize) {
                *position = superblocks.len();
            }
            superblocks.push(SbCounts { superblock, sites });
        }
        for index in 0..self.sizes.hists {
            let key = self.hist_dir.get(index as usize).unwrap_or(0);
            let Ok(key @ 1..) = u32::try_from(key) else {
                continue;
            };
            let (slot, site, kind) = hist_key_parts(key);
            let counts = position
                .get(slot as usize)
                .and_then(|at| superblocks.get_mut(*at))
                .and_then(|sb| sb.sites.get_mut(site as usize));
            if let Some(counts) = counts {
                let hist = self.hist(index);
                if kind == 0 {
                    counts.wait = hist;
                } else {
                    counts.hold = hist;
                }
            }
        }
        Ok(Snapshot {
            at_ns: at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64,
            superblocks,
            losses: self.losses()?,
        })
    }

    fn superblock(&self, slot: u32) -> Option<SuperBlock> {
        if slot == 0 {
            return Some(SuperBlock {
                slot,
                fstype: String::from("(other)"),
                dev: (0, 0),
                s_id: String::from("(other)"),
                dead: false,
            });
        }
        let seen = self.slots.get(slot as usize)?;
        if seen.state != SLOT_LIVE && seen.state != SLOT_DEAD {
            return None;
        }
        Some(SuperBlock {
            slot,
            fstype: text(&seen.fstype),
            // include/linux/kdev_t.h: MINORBITS is 20.
            dev: (seen.dev >> 20, seen.dev & 0xf_ffff),
            s_id: text(&seen.s_id),
            dead: seen.state == SLOT_DEAD,
        })
    }

    fn counts(&self, slot: u32, derived: Derived) -> [SiteCounts; SITES] {
        let mut sum = [0u64; inodetrace_common::COUNTERS];
        for cpu in 0..self.sizes.cpus {
            let index = cpu as usize * self.sizes.all_slots() as usize + slot as usize;
            if let Some(counters) = self.counters.get(index) {
                for (sum, n) in sum.iter_mut().zip(counters.n) {
                    *sum += n;
                }
            }
        }
        Site::ALL.map(|site| {
            let mut counts = SiteCounts::empty();
            counts.calls = sum[calls(site)];
            counts.acquisitions = sum[acquisitions(site)];
            counts.contended = sum[contended(site)];
            if site == Site::SbListDel && derived.sb_list_del {
                // evict() passes the removal once for each inode.
                counts.calls = sum[calls(Site::Evict)];
            }
            if site == Site::LruDel && derived.lru_del {
                // Each inode that is torn down has passed the removal from the LRU once, with or
                // without the lock, but for those that the shrinker took off it itself.
                counts.calls = sum[calls(Site::Evict)].saturating_sub(sum[EXTRA_EVICT_IN_PRUNE]);
            }
            counts
        })
    }

    fn hist(&self, index: u32) -> LogHist {
        let mut all = LogHist::empty();
        for shard in 0..self.sizes.shards {
            let at = (shard * self.sizes.hists + index) as usize;
            if let Some(hist) = self.hists.get(at) {
                all.add(&log_hist(&hist));
            }
        }
        all
    }

    fn losses(&self) -> anyhow::Result<Losses> {
        let get = |what| {
            self.losses
                .get(&what, 0)
                .with_context(|| format!("reading entry {what} of the map LOSSES"))
        };
        Ok(Losses {
            map_full: get(loss::SLOTS_FULL)? + get(loss::HISTS_FULL)?,
            missed_probes: None,
            unmatched: get(loss::UNMATCHED)?,
            clamped: get(loss::CLAMPED)?,
            unreadable: get(loss::UNREADABLE)?,
        })
    }
}

/// One shard. The programs write while this reads, so the count is that of the buckets, and the
/// extremes are brought into the outermost filled buckets.
fn log_hist(hist: &Hist) -> LogHist {
    let count = hist.buckets.iter().sum();
    if count == 0 {
        return LogHist::empty();
    }
    let lowest = hist.buckets.iter().position(|n| *n != 0).unwrap_or(0);
    let highest = hist.buckets.iter().rposition(|n| *n != 0).unwrap_or(0);
    let (low_start, low_end) = bucket_bounds(lowest);
    let (high_start, high_end) = bucket_bounds(highest);
    let min = (!hist.not_min).clamp(low_start, low_end);
    let max = if highest == BUCKETS - 1 {
        hist.max.max(high_start) // the last bucket has no upper end
    } else {
        hist.max.clamp(high_start, high_end)
    };
    LogHist {
        count,
        sum_ns: hist.sum,
        min_max_ns: Some((min, max)),
        buckets: hist.buckets.to_vec(),
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use inodetrace_common::bucket_of;
    use proptest::prelude::*;

    use super::*;

    fn filled(samples: &[u64]) -> Hist {
        let mut hist = Hist {
            count: 0,
            sum: 0,
            max: 0,
            not_min: 0,
            buckets: [0; BUCKETS],
        };
        for ns in samples {
            hist.count += 1;
            hist.sum += ns;
            hist.max = hist.max.max(*ns);
            hist.not_min = hist.not_min.max(!ns);
            hist.buckets[bucket_of(*ns)] += 1;
        }
        hist
    }

    proptest! {
        #[test]
        fn what_the_programs_write_is_read_back(
            samples in prop::collection::vec(0u64..1 << 39, 1..50),
        ) {
            let read = log_hist(&filled(&samples));
            prop_assert_eq!(read.count, samples.len() as u64);
            prop_assert_eq!(read.sum_ns, samples.iter().sum::<u64>());
            let extremes = (*samples.iter().min().unwrap(), *samples.iter().max().unwrap());
            prop_assert_eq!(read.min_max_ns, Some(extremes));
        }

        /// Two CPUs may race for the extremes; the buckets then bound the error.
        #[test]
        fn lost_extremes_are_within_their_buckets(
            samples in prop::collection::vec(1u64..1 << 39, 1..50),
        ) {
            let mut raced = filled(&samples);
            raced.max = 0;
            raced.not_min = 0;
            let (min, max) = log_hist(&raced).min_max_ns.unwrap();
            let (true_min, true_max) =
                (*samples.iter().min().unwrap(), *samples.iter().max().unwrap());
            prop_assert_eq!(bucket_of(min), bucket_of(true_min));
            prop_assert_eq!(bucket_of(max), bucket_of(true_max));
        }
    }

    #[test]
    fn no_samples_are_no_extremes() {
        assert_eq!(log_hist(&filled(&[])), LogHist::empty());
    }

    #[test]
    fn text_ends_at_the_first_nul_or_with_the_array() {
        assert_eq!(text(b"ext4\0\0junk"), "ext4");
        assert_eq!(text(b"ext4"), "ext4");
    }
}
