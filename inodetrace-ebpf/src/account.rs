// SPDX-License-Identifier: GPL-2.0-only
//! From a superblock to its slot and counters.

use aya_ebpf::{
    bindings::BPF_NOEXIST,
    helpers::{
        bpf_get_smp_processor_id, bpf_ktime_get_ns, bpf_probe_read_kernel,
        bpf_probe_read_kernel_str_bytes,
    },
};
use aya_log_ebpf::debug;
use inodetrace_common::{
    COUNTERS as COUNTERS_PER_SB, Counters, SLOT_DEAD, SLOT_FREE, SLOT_LIVE, SLOT_PROBES, SbSlot,
    acquisitions, calls, loss,
};

use crate::{
    globals,
    maps::{CLAIMS, COUNTERS, LOSSES, SLOTS},
    read::Read,
};

/// Slot of all superblocks that found none.
pub(crate) const OTHER: u32 = 0;

/// Adds without reading back, which is one instruction that every BPF kernel has. Locked, since a
/// task can be preempted between two programs that count in the same place. In assembly, because
/// rustc offers atomic arithmetic only on targets that can also compare and swap, which kernels
/// before 5.12 cannot.
#[inline(always)]
pub(crate) fn add(to: *mut u64, n: u64) {
    #[cfg(target_arch = "bpf")]
    // SAFETY: callers pass a pointer into a map value, which lives as long as the program.
    unsafe {
        core::arch::asm!("lock *(u64 *)({to} + 0) += {n}", to = in(reg) to, n = in(reg) n);
    }
    // Only so that the crate can be checked on the host.
    #[cfg(not(target_arch = "bpf"))]
    let _ = (to, n);
}

/// Notes a loss.
#[inline(always)]
pub(crate) fn lose(what: u32) {
    if let Some(n) = LOSSES.get_ptr_mut(what) {
        add(n, 1);
    }
}

/// Slot that a device number hashes to, `probe` places on.
#[inline(always)]
fn index(dev: u32, probe: u32) -> u32 {
    1 + ((dev.wrapping_mul(0x9e37_79b1) >> 12).wrapping_add(probe) & globals::slot_mask())
}

/// The slot of the superblock at `sb`.
///
/// # Safety
///
/// As [`Read::u64`].
#[inline(always)]
pub(crate) unsafe fn slot_of<R: Read>(sb: u64) -> u32 {
    // SAFETY: by the caller's promise.
    let dev = unsafe { R::u32(sb, globals::sb_s_dev()) };
    let first = index(dev, 0);
    if let Some(slot) = SLOTS.get_ptr(first) {
        // SAFETY: a map value. `sb` is written last, so a match means a complete slot.
        if unsafe { core::ptr::read_volatile(&raw const (*slot).sb) } == sb {
            return first;
        }
    }
    find_or_claim(sb, dev)
}

/// The rare rest of [`slot_of`]: collisions and first sight.
#[inline(never)]
fn find_or_claim(sb: u64, dev: u32) -> u32 {
    if sb == 0 {
        lose(loss::UNREADABLE);
        return OTHER;
    }
    for probe in 0..SLOT_PROBES {
        let at = index(dev, probe);
        let Some(slot) = SLOTS.get_ptr_mut(at) else {
            break;
        };
        // SAFETY: map values.
        let (owner, state) = unsafe {
            (
                core::ptr::read_volatile(&raw const (*slot).sb),
                core::ptr::read_volatile(&raw const (*slot).state),
            )
        };
        if owner == sb {
            return at;
        }
        if state == SLOT_FREE {
            // The hash map's insertion is the one atomic test-and-set that every kernel has.
            if CLAIMS.insert(at, sb, u64::from(BPF_NOEXIST)).is_ok() {
                describe(slot, sb, dev);
                // Not the address: the verifier does not let a pointer be taken apart.
                debug!((), "a superblock of device {:x} counts in slot {}", dev, at);
                return at;
            }
            // Another CPU is filling it in right now: for us, or for someone else?
            // SAFETY: a value that is never changed or removed.
            if unsafe { CLAIMS.get(at) }.copied() == Some(sb) {
                return at;
            }
        }
    }
    lose(loss::SLOTS_FULL);
    OTHER
}

/// Fills in a slot and publishes it.
#[inline(always)]
fn describe(slot: *mut SbSlot, sb: u64, dev: u32) {
    let at = |offset: u32| (sb + u64::from(offset)) as *const u64;
    // SAFETY: `slot` is a map value that this program has just won; the kernel side goes through
    // helpers, which check the addresses.
    unsafe {
        (*slot).dev = dev;
        (*slot).first_seen_ns = bpf_ktime_get_ns();
        (*slot).magic = bpf_probe_read_kernel(at(globals::sb_s_magic())).unwrap_or(0);
        (*slot).fs_info = bpf_probe_read_kernel(at(globals::sb_s_fs_info())).unwrap_or(0);
        let _ =
            bpf_probe_read_kernel_str_bytes(at(globals::sb_s_id()).cast::<u8>(), &mut (*slot).s_id);
        let fstype = bpf_probe_read_kernel(at(globals::sb_s_type())).unwrap_or(0);
        let name =
            bpf_probe_read_kernel((fstype + u64::from(globals::fstype_name())) as *const u64)
                .unwrap_or(0);
        let _ = bpf_probe_read_kernel_str_bytes(name as *const u8, &mut (*slot).fstype);
        core::ptr::write_volatile(&raw mut (*slot).sb, sb);
        core::ptr::write_volatile(&raw mut (*slot).state, SLOT_LIVE);
    }
}

/// Retires the slot of a superblock that is gone; the next one at that address gets its own.
pub(crate) fn retire(sb: u64) {
    // SAFETY: the helper checks the address.
    let dev = unsafe {
        bpf_probe_read_kernel((sb + u64::from(globals::sb_s_dev())) as *const u32).unwrap_or(0)
    };
    for probe in 0..SLOT_PROBES {
        let Some(slot) = SLOTS.get_ptr_mut(index(dev, probe)) else {
            break;
        };
        // SAFETY: map values.
        unsafe {
            if core::ptr::read_volatile(&raw const (*slot).sb) == sb {
                core::ptr::write_volatile(&raw mut (*slot).state, SLOT_DEAD);
                core::ptr::write_volatile(&raw mut (*slot).sb, 0);
            }
        }
    }
}

/// Counters of a slot on this CPU.
#[inline(always)]
pub(crate) fn counters(slot: u32) -> Option<*mut Counters> {
    // SAFETY: no preconditions.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    COUNTERS.get_ptr_mut(cpu * (globals::slot_mask() + 2) + slot)
}

/// Counts in `at`, a compile-time index.
#[inline(always)]
pub(crate) fn count(counters: *mut Counters, at: usize) {
    debug_assert!(at < COUNTERS_PER_SB);
    // SAFETY: a map value, and the index is below its length.
    add(unsafe { (&raw mut (*counters).n).cast::<u64>().add(at) }, 1);
}

/// One pass of `SITE` through the function of `ROLE`, with the lock if every entry takes it.
#[inline(always)]
pub(crate) fn pass<const SITE: usize, const ROLE: u32>(slot: u32) {
    let Some(counters) = counters(slot) else {
        return;
    };
    count(counters, SITE * 3);
    if globals::entry_takes_lock() & (1 << ROLE) != 0 {
        count(counters, SITE * 3 + 1);
    }
}

const _: () = assert!(calls(inodetrace_common::Site::SbListWalk) == 33);
const _: () = assert!(acquisitions(inodetrace_common::Site::SbListWalk) == 34);
