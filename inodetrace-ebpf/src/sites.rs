// SPDX-License-Identifier: GPL-2.0-only
//! The sites.

use aya_ebpf::helpers::{bpf_ktime_get_ns, bpf_probe_read_kernel};
use inodetrace_common::{
    EXTRA_EVICT_IN_PRUNE, HistKind, Site, acquisitions, calls, frame, hist_key, loss,
};

use crate::{
    account::{OTHER, count, counters, lose, pass, slot_of},
    filter, globals, hist,
    maps::SLOTS,
    read::Read,
    task,
};

/// Roles, as `inodetrace::plan::Role` numbers them.
pub(crate) mod role {
    pub(crate) const SB_LIST_ADD: u32 = 2;
    pub(crate) const INSERT_HASH: u32 = 3;
    pub(crate) const INSERT_LOCKED: u32 = 4;
    pub(crate) const INSERT5: u32 = 5;
    pub(crate) const IGET_LOCKED: u32 = 6;
    pub(crate) const REMOVE_HASH: u32 = 7;
    pub(crate) const LRU_ADD: u32 = 8;
    pub(crate) const LRU_DEL: u32 = 9;
    pub(crate) const IO_LIST_DEL: u32 = 10;
    pub(crate) const ORPHAN_ADD: u32 = 11;
    pub(crate) const ORPHAN_DEL: u32 = 12;
}

#[inline(always)]
fn note_phase(site: Site, sb: u64, slot: u32, counters: Option<*mut inodetrace_common::Counters>) {
    if globals::track_phase() == 0 {
        return;
    }
    let Some(task) = task::enter() else { return };
    task.phase = frame(site as u32, slot);
    task.phase_lock = sb + u64::from(globals::sb_s_inode_list_lock());
    if matches!(site, Site::Evict)
        && task.pruning != 0
        && let Some(counters) = counters
    {
        count(counters, EXTRA_EVICT_IN_PRUNE);
    }
}

/// `evict(inode)`.
///
/// # Safety
///
/// As [`Read::u64`]; so are all functions here.
#[inline(always)]
pub(crate) unsafe fn evict<R: Read>(inode: u64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: by the caller's promise.
    let (sb, slot) = unsafe {
        let sb = R::u64(inode, globals::inode_i_sb());
        (sb, slot_of::<R>(sb))
    };
    let Some(counters) = counters(slot) else {
        return;
    };
    count(counters, calls(Site::Evict));
    if globals::evict_guards_hash() != 0 {
        // `inode_unhashed()`, or hashed on itself by `inode_fake_hash()` (include/linux/fs.h):
        // such an inode passes `remove_inode_hash()` without the lock.
        let node = globals::inode_i_hash();
        // SAFETY: by the caller's promise; `pprev` is the second word of a `hlist_node`.
        let pprev = unsafe { R::u64(inode, node + 8) };
        if pprev == 0 || pprev == inode + u64::from(node) {
            count(counters, calls(Site::HashRemove));
        }
    }
    if globals::evict_guards_wb() != 0 {
        let list = globals::inode_i_io_list();
        // SAFETY: by the caller's promise.
        if unsafe { R::u64(inode, list) } == inode + u64::from(list) {
            count(counters, calls(Site::WbListDel));
        }
    }
    note_phase(Site::Evict, sb, slot, Some(counters));
}

/// Construction of an inode of the superblock at `sb`.
#[inline(always)]
pub(crate) unsafe fn alloc<R: Read>(sb: u64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: by the caller's promise.
    let slot = unsafe { slot_of::<R>(sb) };
    let Some(counters) = counters(slot) else {
        return;
    };
    count(counters, calls(Site::Alloc));
    note_phase(Site::Alloc, sb, slot, None);
}

/// Whether hold times are measured at the function of `ROLE`: only where every entry takes the
/// lock, since the time in a function that did not is no hold time.
#[inline(always)]
fn measures_hold<const ROLE: u32>() -> bool {
    globals::measure_hold() != 0 && globals::entry_takes_lock() & (1 << ROLE) != 0
}

/// Notes that the thread is in the function of `ROLE`, which takes `lock` for `site`. Without an
/// exit probe there is no note: it would stay.
#[inline(always)]
fn enter<const ROLE: u32>(site: Site, slot: u32, lock: u64, inode: u64) {
    if globals::exit_probed() & (1 << ROLE) == 0 {
        return;
    }
    let Some(task) = task::enter() else { return };
    task.frame = frame(site as u32, slot);
    task.lock = lock;
    task.inode = inode;
    task.waited_ns = 0;
    if measures_hold::<ROLE>() {
        // SAFETY: no preconditions.
        task.entered_ns = unsafe { bpf_ktime_get_ns() };
    }
}

/// The thread leaves that function; gives its inode.
#[inline(always)]
pub(crate) fn leave<const ROLE: u32>(site: Site) -> Option<u64> {
    let now = if measures_hold::<ROLE>() {
        // SAFETY: no preconditions.
        unsafe { bpf_ktime_get_ns() }
    } else {
        0
    };
    let task = task::current()?;
    let noted = task.frame;
    if noted == 0 {
        return None; // entered before the probes were there, or a task that is not wanted
    }
    if noted & 0xff != site as u32 {
        lose(loss::UNMATCHED);
        return None;
    }
    task.frame = 0;
    let slot = (noted >> 8) & 0x7f_ffff;
    if measures_hold::<ROLE>() {
        let took = now
            .saturating_sub(task.entered_ns)
            .saturating_sub(task.waited_ns)
            .saturating_sub(globals::bracket_ns());
        hist::record(
            hist::find(hist_key(slot, site as u32, HistKind::Hold as u32)),
            took,
        );
    }
    Some(task.inode)
}

/// `inode_sb_list_add(inode)`.
#[inline(always)]
pub(crate) unsafe fn sb_list_add<R: Read>(inode: u64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: by the caller's promise.
    let (sb, slot) = unsafe {
        let sb = R::u64(inode, globals::inode_i_sb());
        (sb, slot_of::<R>(sb))
    };
    pass::<{ Site::SbListAdd as usize }, { role::SB_LIST_ADD }>(slot);
    let lock = sb + u64::from(globals::sb_s_inode_list_lock());
    enter::<{ role::SB_LIST_ADD }>(Site::SbListAdd, slot, lock, inode);
}

/// `__insert_inode_hash(inode, hashval)`.
#[inline(always)]
pub(crate) unsafe fn insert_hash<R: Read>(inode: u64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: by the caller's promise.
    let slot = unsafe { slot_of::<R>(R::u64(inode, globals::inode_i_sb())) };
    pass::<{ Site::HashInsert as usize }, { role::INSERT_HASH }>(slot);
    enter::<{ role::INSERT_HASH }>(Site::HashInsert, slot, globals::inode_hash_lock(), inode);
}

/// Entry of `insert_inode_locked(inode)`.
#[inline(always)]
pub(crate) unsafe fn insert_locked_entry<R: Read>(inode: u64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: by the caller's promise.
    let slot = unsafe { slot_of::<R>(R::u64(inode, globals::inode_i_sb())) };
    enter::<{ role::INSERT_LOCKED }>(Site::HashInsert, slot, globals::inode_hash_lock(), inode);
}

/// Exit of `insert_inode_locked`, which returns 0 or `-EBUSY`, where the arguments are there: it
/// may have dropped another inode on its way and so have lost its note.
#[inline(always)]
pub(crate) unsafe fn insert_locked_exit_with<R: Read>(inode: u64, ret: u64) {
    let _ = leave::<{ role::INSERT_LOCKED }>(Site::HashInsert);
    if ret as i32 == 0 && filter::wanted() {
        // SAFETY: by the caller's promise.
        let slot = unsafe { slot_of::<R>(R::u64(inode, globals::inode_i_sb())) };
        pass::<{ Site::HashInsert as usize }, { role::INSERT_LOCKED }>(slot);
    }
}

/// The same where there are none.
#[inline(always)]
pub(crate) fn insert_locked_exit(ret: u64) {
    let noted = task::current().map_or(0, |task| task.frame);
    if leave::<{ role::INSERT_LOCKED }>(Site::HashInsert).is_some() && ret as i32 == 0 {
        pass::<{ Site::HashInsert as usize }, { role::INSERT_LOCKED }>((noted >> 8) & 0x7f_ffff);
    }
}

/// Entry of `inode_insert5(inode, …)` and, with the superblock, of `iget_locked(sb, ino)`: both
/// may pass `sb_list_add` on their way.
#[inline(always)]
fn enter_outer<const ROLE: u32>(slot: u32, arg: u64) {
    if globals::exit_probed() & (1 << ROLE) == 0 {
        return;
    }
    let Some(task) = task::enter() else { return };
    task.outer = frame(Site::HashInsert as u32, slot);
    task.outer_arg = arg;
}

/// Leaves that function; gives the slot and the first argument.
#[inline(always)]
fn leave_outer() -> Option<(u32, u64)> {
    let task = task::current()?;
    if task.outer == 0 {
        return None;
    }
    let slot = (task.outer >> 8) & 0x7f_ffff;
    task.outer = 0;
    Some((slot, task.outer_arg))
}

/// Entry of `inode_insert5(inode, …)`.
#[inline(always)]
pub(crate) unsafe fn insert5_entry<R: Read>(inode: u64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: by the caller's promise.
    let slot = unsafe { slot_of::<R>(R::u64(inode, globals::inode_i_sb())) };
    enter_outer::<{ role::INSERT5 }>(slot, inode);
}

/// Exit of `inode_insert5`, which returns the inode it was given exactly if it inserted it.
#[inline(always)]
pub(crate) fn insert5_exit(ret: u64) {
    if let Some((slot, inode)) = leave_outer()
        && ret == inode
    {
        pass::<{ Site::HashInsert as usize }, { role::INSERT5 }>(slot);
    }
}

/// Entry of `iget_locked(sb, ino)`.
#[inline(always)]
pub(crate) unsafe fn iget_locked_entry<R: Read>(sb: u64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: by the caller's promise.
    let slot = unsafe { slot_of::<R>(sb) };
    enter_outer::<{ role::IGET_LOCKED }>(slot, sb);
}

/// Exit of `iget_locked`: an inode with `I_NEW` is one it has just inserted (for one it found, it
/// waits until that flag is gone).
#[inline(always)]
pub(crate) fn iget_locked_exit(ret: u64) {
    let Some((slot, _)) = leave_outer() else {
        return;
    };
    if ret == 0 {
        return;
    }
    // SAFETY: the helper checks the address. The verifier does not know a return value's type.
    let state =
        unsafe { bpf_probe_read_kernel((ret + u64::from(globals::inode_i_state())) as *const u32) };
    if state.is_ok_and(|state| state & globals::i_new() != 0) {
        pass::<{ Site::HashInsert as usize }, { role::IGET_LOCKED }>(slot);
    }
}

/// `__remove_inode_hash(inode)`.
#[inline(always)]
pub(crate) unsafe fn remove_hash<R: Read>(inode: u64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: by the caller's promise.
    let slot = unsafe { slot_of::<R>(R::u64(inode, globals::inode_i_sb())) };
    pass::<{ Site::HashRemove as usize }, { role::REMOVE_HASH }>(slot);
    enter::<{ role::REMOVE_HASH }>(Site::HashRemove, slot, globals::inode_hash_lock(), inode);
}

/// The superblock whose inode LRU this is; 0 for the LRU of dentries and everything else that
/// `list_lru` serves.
#[inline(always)]
fn lru_owner(lru: u64, item: u64) -> u64 {
    let sb = lru.wrapping_sub(u64::from(globals::sb_s_inode_lru()));
    let i_sb = item
        .wrapping_sub(u64::from(globals::inode_i_lru()))
        .wrapping_add(u64::from(globals::inode_i_sb()));
    // SAFETY: the helper checks the address.
    let found = unsafe { bpf_probe_read_kernel(i_sb as *const u64) };
    if found == Ok(sb) { sb } else { 0 }
}

macro_rules! lru {
    ($name:ident, $site:expr, $role:expr, calls: $calls:literal) => {
        /// `list_lru_add(lru, item, …)`, `list_lru_del(lru, item, …)`.
        #[inline(always)]
        pub(crate) fn $name(lru: u64, item: u64) {
            let sb = lru_owner(lru, item);
            if sb == 0 || !filter::wanted() {
                return;
            }
            // SAFETY: `Helper` reads from any address.
            let slot = unsafe { slot_of::<crate::read::Helper>(sb) };
            if let Some(counters) = counters(slot) {
                if $calls {
                    count(counters, calls($site));
                }
                if globals::entry_takes_lock() & (1 << $role) != 0 {
                    count(counters, acquisitions($site));
                }
            }
            enter::<{ $role }>($site, slot, 0, 0);
        }
    };
}

lru!(lru_add, Site::LruAdd, role::LRU_ADD, calls: true);
// Its passes are the evictions outside of the shrinker; user space derives them.
lru!(lru_del, Site::LruDel, role::LRU_DEL, calls: false);

/// `inode_io_list_del(inode)`. Since 6.19 it is called for every inode and returns at once when
/// the inode is on no list; such a pass notes nothing.
#[inline(always)]
pub(crate) unsafe fn io_list_del<R: Read>(inode: u64) {
    if !filter::wanted() {
        return;
    }
    // SAFETY: by the caller's promise.
    let slot = unsafe { slot_of::<R>(R::u64(inode, globals::inode_i_sb())) };
    pass::<{ Site::WbListDel as usize }, { role::IO_LIST_DEL }>(slot);
    let list = globals::inode_i_io_list();
    // SAFETY: by the caller's promise.
    if unsafe { R::u64(inode, list) } != inode + u64::from(list) {
        let i_lock = inode + u64::from(globals::inode_i_lock());
        enter::<{ role::IO_LIST_DEL }>(Site::WbListDel, slot, i_lock, inode);
    }
}

macro_rules! orphan {
    ($name:ident, $site:expr, $role:expr) => {
        /// `ext4_orphan_add(handle, inode)`, `ext4_orphan_del(handle, inode)`.
        #[inline(always)]
        pub(crate) unsafe fn $name<R: Read>(inode: u64) {
            if !filter::wanted() {
                return;
            }
            // SAFETY: by the caller's promise.
            let (sb, slot) = unsafe {
                let sb = R::u64(inode, globals::inode_i_sb());
                (sb, slot_of::<R>(sb))
            };
            pass::<{ $site as usize }, { $role }>(slot);
            let info = match SLOTS.get(slot) {
                Some(known) if slot != OTHER => known.fs_info,
                // SAFETY: the helper checks the address.
                _ => unsafe {
                    bpf_probe_read_kernel((sb + u64::from(globals::sb_s_fs_info())) as *const u64)
                }
                .unwrap_or(0),
            };
            enter::<{ $role }>(
                $site,
                slot,
                info + u64::from(globals::ext4_s_orphan_lock()),
                inode,
            );
        }
    };
}

orphan!(orphan_add, Site::OrphanAdd, role::ORPHAN_ADD);
orphan!(orphan_del, Site::OrphanDel, role::ORPHAN_DEL);
