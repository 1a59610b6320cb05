//! Quantiles of the programs' histograms, and their conversion to hdrhistogram.
//!
//! Every sample of a bucket is taken for the bucket's middle, clamped to the smallest and largest
//! sample: the relative error is at most 1/64 of the value, and 1/1000 more after hdrhistogram.

use base64::Engine as _;
use hdrhistogram::{
    Histogram,
    serialization::{Serializer as _, V2Serializer},
};
use inodetrace_common::{BUCKETS, bucket_bounds};

use crate::model::LogHist;

/// Lowest value of the first and highest of the last filled bucket; `None` without samples. The
/// last bucket of all has no upper end.
pub fn outer_bounds(buckets: &[u64]) -> Option<(u64, u64)> {
    let first = buckets.iter().position(|&n| n > 0)?;
    let last = buckets.iter().rposition(|&n| n > 0)?;
    let high = if last == BUCKETS - 1 {
        u64::MAX
    } else {
        bucket_bounds(last).1
    };
    Some((bucket_bounds(first).0, high))
}

/// Moves recorded extremes into the outermost filled buckets: the programs' minimum and maximum
/// may lose a race between CPUs, the buckets never do.
pub fn clamp_extremes(buckets: &[u64], (min, max): (u64, u64)) -> (u64, u64) {
    let Some(first) = buckets.iter().position(|&n| n > 0) else {
        return (min, max);
    };
    let Some((low, high)) = outer_bounds(buckets) else {
        return (min, max);
    };
    let last = buckets.iter().rposition(|&n| n > 0).unwrap_or(first);
    let min_high = if first == BUCKETS - 1 {
        u64::MAX
    } else {
        bucket_bounds(first).1
    };
    let min = min.clamp(low, min_high);
    (min, max.clamp(bucket_bounds(last).0, high).max(min))
}

impl LogHist {
    /// Smallest and largest sample, ns, in accord with the buckets; `None` without samples.
    pub fn extremes(&self) -> Option<(u64, u64)> {
        let (low, high) = outer_bounds(&self.buckets)?;
        // Without a recorded maximum, the open last bucket counts as its nominal width.
        let high = high.min(bucket_bounds(BUCKETS - 1).1);
        Some(clamp_extremes(
            &self.buckets,
            self.min_max_ns.unwrap_or((low, high)),
        ))
    }

    /// Value below or at which the share `q` (0 to 1) of the samples lies, ns; `None` without
    /// samples.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let extremes = self.extremes()?;
        // The rank of the wanted sample, counted from 1.
        let rank = ((self.count as f64 * q).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for (i, &n) in self.buckets.iter().enumerate() {
            seen += n;
            if n > 0 && seen >= rank {
                return Some(representative(i, extremes));
            }
        }
        Some(extremes.1)
    }

    /// The V2 encoding of hdrhistogram (three significant digits) in base64. All samples are in
    /// it; those of 2^40 ns and more with the value 2^40 ns.
    pub fn to_hdr_base64(&self) -> String {
        let mut hdr = empty_hdr();
        if let Some(extremes) = self.extremes() {
            for (i, &n) in self.buckets.iter().enumerate() {
                if n > 0 {
                    // `saturating` never comes true: the histogram's range covers every bucket.
                    hdr.saturating_record_n(representative(i, extremes), n);
                }
            }
        }
        let mut bytes = Vec::new();
        match V2Serializer::new().serialize(&hdr, &mut bytes) {
            Ok(_) => base64::engine::general_purpose::STANDARD.encode(bytes),
            // Only counts of 2^63 and more cannot be encoded.
            Err(_) => String::new(),
        }
    }
}

/// The value that stands for bucket `i`, within the extremes and hdrhistogram's range.
fn representative(i: usize, (min, max): (u64, u64)) -> u64 {
    let (low, high) = bucket_bounds(i);
    (low + (high - low) / 2).clamp(min.min(1 << 40), max)
}

fn empty_hdr() -> Histogram<u64> {
    #[expect(
        clippy::expect_used,
        reason = "constant arguments; a test makes the call"
    )]
    Histogram::new_with_bounds(1, 1 << 41, 3).expect("constant bounds are valid")
}

#[cfg(test)]
#[path = "hist_tests.rs"]
pub(crate) mod tests;
