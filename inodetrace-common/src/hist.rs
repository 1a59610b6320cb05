//! The log-linear histogram both sides agree on.
//!
//! Values are nanoseconds. Every power of two is divided into 32 equal buckets, values below 32
//! have a bucket each, so a bucket is never wider than 1/32 of its lower bound: whatever value
//! within the bucket stands for it, the relative error is at most 1/32 (3.2 %). Values of
//! 2^40 ns (18 minutes) and more fall into the last bucket.
//!
//! Memory: [`BUCKETS`] counters of 8 bytes, 9216 bytes a histogram.

/// log2 of the buckets per power of two.
const SUB_BITS: u32 = 5;
/// Buckets per power of two.
const SUB: u32 = 1 << SUB_BITS;
/// Values from 2^`MAX_BITS` ns on are clamped to the last bucket.
pub const MAX_BITS: u32 = 40;
/// Number of buckets of one histogram.
pub const BUCKETS: usize = (SUB + (MAX_BITS - SUB_BITS) * SUB) as usize;

/// Index of the highest set bit. The BPF instruction set has none for it; five compares are
/// cheaper there than what LLVM expands `leading_zeros` to.
#[inline(always)]
const fn floor_log2(mut v: u64) -> u32 {
    let mut e = 0;
    if v >> 32 != 0 {
        v >>= 32;
        e += 32;
    }
    if v >> 16 != 0 {
        v >>= 16;
        e += 16;
    }
    if v >> 8 != 0 {
        v >>= 8;
        e += 8;
    }
    if v >> 4 != 0 {
        v >>= 4;
        e += 4;
    }
    if v >> 2 != 0 {
        v >>= 2;
        e += 2;
    }
    e + (v >> 1) as u32
}

/// The bucket that holds `ns`; always less than [`BUCKETS`].
#[inline(always)]
pub const fn bucket_of(ns: u64) -> usize {
    if ns < SUB as u64 {
        return ns as usize;
    }
    if ns >> MAX_BITS != 0 {
        return BUCKETS - 1;
    }
    let shift = floor_log2(ns) - SUB_BITS;
    ((shift * SUB) as u64 + (ns >> shift)) as usize
}

/// Lowest and highest value of bucket `index`, both inclusive, in ns.
///
/// The last bucket also holds every value above its upper bound.
pub const fn bucket_bounds(index: usize) -> (u64, u64) {
    let index = index as u64;
    let sub = SUB as u64;
    if index < sub {
        return (index, index);
    }
    let shift = index / sub - 1;
    let low = (index % sub + sub) << shift;
    (low, low + (1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_tile_the_range() {
        let mut next = 0;
        for i in 0..BUCKETS {
            let (low, high) = bucket_bounds(i);
            assert_eq!(low, next, "bucket {i}");
            assert!(high >= low);
            next = high + 1;
        }
        assert_eq!(next, 1 << MAX_BITS);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(v in 0u64..1 << MAX_BITS) {
            let (low, high) = bucket_bounds(bucket_of(v));
            prop_assert!(low <= v && v <= high);
        }

        #[test]
        fn small_and_large_alike(bits in 0u32..MAX_BITS, noise: u64) {
            let v = (1u64 << bits) | (noise & ((1 << bits) - 1));
            let (low, high) = bucket_bounds(bucket_of(v));
            prop_assert!(low <= v && v <= high);
            prop_assert!((high - low) as f64 <= low as f64 / 32.0);
        }

        #[test]
        fn what_is_too_large_is_clamped(v in 1u64 << MAX_BITS..) {
            prop_assert_eq!(bucket_of(v), BUCKETS - 1);
        }
    }
}
