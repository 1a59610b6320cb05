// SPDX-License-Identifier: GPL-2.0-only
//! What a bracket of probes costs by itself: the same two reads of the clock around a kernel
//! function that does nothing (`bpf_fentry_test1`, which `BPF_PROG_TEST_RUN` calls).

use aya_ebpf::helpers::bpf_ktime_get_ns;

use crate::maps::CALIBRATION;

/// `CALIBRATION`: time of entry.
const ENTERED: u32 = 0;
/// `CALIBRATION`: shortest bracket so far, complemented.
const NOT_SHORTEST: u32 = 1;
/// `CALIBRATION`: brackets.
const COUNT: u32 = 2;

#[inline(always)]
pub(crate) fn entry() {
    if let Some(entered) = CALIBRATION.get_ptr_mut(ENTERED) {
        // SAFETY: a map value. The clock is read last, as in the site programs.
        unsafe { core::ptr::write_volatile(entered, bpf_ktime_get_ns()) };
    }
}

#[inline(always)]
pub(crate) fn exit() {
    // SAFETY: no preconditions.
    let now = unsafe { bpf_ktime_get_ns() };
    let (Some(entered), Some(not_shortest), Some(count)) = (
        CALIBRATION.get_ptr_mut(ENTERED),
        CALIBRATION.get_ptr_mut(NOT_SHORTEST),
        CALIBRATION.get_ptr_mut(COUNT),
    ) else {
        return;
    };
    // SAFETY: map values.
    unsafe {
        let took = now.wrapping_sub(*entered);
        if !took > *not_shortest {
            *not_shortest = !took;
        }
        *count += 1;
    }
}
