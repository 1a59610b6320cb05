// SPDX-License-Identifier: GPL-2.0-only
//! Histograms: a bounded pool, found by site, superblock and kind.

use aya_ebpf::{bindings::BPF_NOEXIST, helpers::bpf_get_smp_processor_id};
use inodetrace_common::{BUCKETS, HIST_PROBES, bucket_of, hist::MAX_BITS, loss};

use crate::{
    account::{add, lose},
    globals,
    maps::{CLAIMS, HIST_DIR, HISTS},
};

/// No histogram: all are taken.
pub(crate) const NONE: u32 = u32::MAX;

/// Tells histograms from slots in `CLAIMS`.
const CLAIM: u32 = 1 << 31;

#[inline(always)]
fn index(key: u32, probe: u32) -> u32 {
    (key.wrapping_mul(0x9e37_79b1) >> 12).wrapping_add(probe) & globals::hist_mask()
}

/// Index of the histogram with that key (`inodetrace_common::hist_key`), or [`NONE`].
#[inline(always)]
pub(crate) fn find(key: u32) -> u32 {
    let first = index(key, 0);
    if let Some(found) = HIST_DIR.get(first)
        && *found == u64::from(key)
    {
        return first;
    }
    find_or_claim(key)
}

#[inline(never)]
fn find_or_claim(key: u32) -> u32 {
    for probe in 0..HIST_PROBES {
        let at = index(key, probe);
        let Some(entry) = HIST_DIR.get_ptr_mut(at) else {
            break;
        };
        // SAFETY: a map value.
        let found = unsafe { core::ptr::read_volatile(entry) };
        if found == u64::from(key) {
            return at;
        }
        if found == 0 {
            if CLAIMS
                .insert(CLAIM | at, u64::from(key), u64::from(BPF_NOEXIST))
                .is_ok()
            {
                // SAFETY: a map value, which this program has just won.
                unsafe { core::ptr::write_volatile(entry, u64::from(key)) };
                return at;
            }
            // SAFETY: a value that is never changed or removed.
            if unsafe { CLAIMS.get(CLAIM | at) }.copied() == Some(u64::from(key)) {
                return at;
            }
        }
    }
    lose(loss::HISTS_FULL);
    NONE
}

/// Adds a sample of `ns` to histogram `index`.
#[inline(always)]
pub(crate) fn record(index: u32, ns: u64) {
    if index == NONE {
        return;
    }
    // SAFETY: no preconditions.
    let shard = unsafe { bpf_get_smp_processor_id() } & globals::shard_mask();
    let Some(hist) = HISTS.get_ptr_mut(shard * (globals::hist_mask() + 1) + index) else {
        return;
    };
    let bucket = bucket_of(ns);
    if bucket >= BUCKETS {
        return; // cannot be; tells the verifier
    }
    if ns >> MAX_BITS != 0 {
        lose(loss::CLAMPED);
    }
    // SAFETY: a map value, and the bucket is below the array's length.
    unsafe {
        add(&raw mut (*hist).count, 1);
        add(&raw mut (*hist).sum, ns);
        add((&raw mut (*hist).buckets).cast::<u64>().add(bucket), 1);
        if ns > (*hist).max {
            (*hist).max = ns;
        }
        if !ns > (*hist).not_min {
            (*hist).not_min = !ns;
        }
    }
}
