// SPDX-License-Identifier: GPL-2.0-only
//! Sections that the compiler inlined into other functions. A probe there runs exactly when the
//! lock is about to be taken (the plan has seen to that), with the superblock or the inode in some
//! register.

use aya_ebpf::{EbpfContext as _, helpers::bpf_probe_read_kernel, programs::ProbeContext};
use inodetrace_common::{Site, acquisitions, calls, frame_parts, loss};

use crate::{
    account::{count, counters, lose, slot_of},
    filter, globals,
    maps::SLOTS,
    read::{Helper, Read as _},
    task,
};

/// The object that a section is about.
#[inline(always)]
fn object(ctx: &ProbeContext, register: u32, adjust: i64) -> u64 {
    let at = ctx.as_ptr() as u64 + u64::from(register);
    // Through the helper: which register is not known when this is compiled, and the verifier
    // allows no such offset in a load from the context.
    // SAFETY: the helper checks the address.
    let value = unsafe { bpf_probe_read_kernel(at as *const u64) }.unwrap_or(0);
    value.wrapping_add(adjust as u64)
}

/// A superblock's inode list is about to be locked to add an inode.
#[inline(always)]
pub(crate) fn sb_list_add(ctx: &ProbeContext, register: u32, adjust: i64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: `Helper` reads from any address.
    let slot = unsafe { slot_of::<Helper>(object(ctx, register, adjust)) };
    if let Some(counters) = counters(slot) {
        count(counters, calls(Site::SbListAdd));
        count(counters, acquisitions(Site::SbListAdd));
    }
}

/// A superblock's inode list is about to be locked in `evict()`, whose entry has counted the pass.
#[inline(always)]
pub(crate) fn sb_list_del(ctx: &ProbeContext, register: u32, adjust: i64) {
    if !filter::wanted() {
        return;
    }
    let sb = object(ctx, register, adjust);
    // What was concluded from the code must agree with the inode that evict() was given.
    let phase = task::current().map_or(0, |task| task.phase);
    let (site, slot) = frame_parts(phase);
    let expected = SLOTS.get(slot).map_or(0, |slot| slot.sb);
    if phase == 0 || site != Site::Evict as u32 || (slot != 0 && expected != sb) {
        lose(loss::UNREADABLE);
        return;
    }
    if let Some(counters) = counters(slot) {
        count(counters, acquisitions(Site::SbListDel));
    }
}

/// The inode hash is about to be locked to remove an inode.
#[inline(always)]
pub(crate) fn remove_hash(ctx: &ProbeContext, register: u32, adjust: i64) {
    if !filter::wanted() {
        return;
    }
    let inode = object(ctx, register, adjust);
    // SAFETY: `Helper` reads from any address.
    let (slot, pprev) = unsafe {
        (
            slot_of::<Helper>(Helper::u64(inode, globals::inode_i_sb())),
            Helper::u64(inode, globals::inode_i_hash() + 8),
        )
    };
    let Some(counters) = counters(slot) else {
        return;
    };
    count(counters, acquisitions(Site::HashRemove));
    // The pass of an inode that is not hashed was counted when evict() began.
    if pprev != 0 && pprev != inode + u64::from(globals::inode_i_hash()) {
        count(counters, calls(Site::HashRemove));
    }
}
