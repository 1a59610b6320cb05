// SPDX-License-Identifier: GPL-2.0-only
//! The slow paths: time that a task waits for a lock, and for which site.
//!
//! Every contended lock of the system comes through here, so the first thing is to leave: a task
//! that has never been in a site has no state.

use aya_ebpf::helpers::bpf_ktime_get_ns;
use inodetrace_common::{
    COUNTERS, Counters, HistKind, Site, TaskState, contended, frame_parts, hist_key, loss,
};

use crate::{
    account::{add, counters, lose},
    globals, hist, task,
};

/// The site and slot that a wait for `lock` belongs to.
#[inline(always)]
fn attribute(task: &TaskState, lock: u64) -> Option<(u32, u32)> {
    let (site, slot) = frame_parts(task.frame);
    if task.frame != 0 {
        let matches = if site == Site::WbListDel as u32 {
            // `inode_io_list_del` takes `i_lock`, noted in `lock`, and then the list's.
            lock != task.lock
        } else if site == Site::LruAdd as u32 || site == Site::LruDel as u32 {
            // One lock per node, or per node and memory cgroup: the only one taken within.
            true
        } else {
            lock == task.lock
        };
        if matches {
            return Some((site, slot));
        }
    }
    let hash = lock == globals::inode_hash_lock();
    if task.outer != 0 && hash {
        return Some(frame_parts(task.outer));
    }
    // A section without a function of its own: what the thread last began to do tells which.
    if task.phase != 0 {
        let (phase, slot) = frame_parts(task.phase);
        let evict = phase == Site::Evict as u32;
        if hash {
            let inlined = globals::hash_by_phase() != 0;
            return (evict && inlined).then_some((Site::HashRemove as u32, slot));
        }
        if lock == task.phase_lock {
            let site = if evict {
                Site::SbListDel
            } else {
                Site::SbListAdd
            };
            return Some((site as u32, slot));
        }
    }
    None
}

/// Counts a contended acquisition of `site`, which is one of those that [`attribute`] gives.
#[inline(always)]
fn count_contended(to: *mut Counters, site: u32) {
    // The mask is what tells the verifier that the index is below the array's length.
    let at = (site & 0xf) as usize * 3 + contended(Site::Evict);
    // SAFETY: a map value, and the index is below its length.
    add(unsafe { (&raw mut (*to).n).cast::<u64>().add(at) }, 1);
}

const _: () = assert!(0xf * 3 + contended(Site::Evict) < COUNTERS);

/// Entry of a slow path.
#[inline(always)]
pub(crate) fn entry(lock: u64) {
    let Some(task) = task::current() else {
        return;
    };
    if task.wait_lock != 0 {
        // An interrupt that waits for a lock of its own on top of this task's wait.
        task.wait_depth += 1;
        return;
    }
    let Some((site, slot)) = attribute(task, lock) else {
        return;
    };
    // Counted and looked up here rather than at the exit, which is inside the critical section.
    if let Some(counters) = counters(slot) {
        count_contended(counters, site);
    }
    task.wait_hist = hist::find(hist_key(slot, site, HistKind::Wait as u32));
    task.wait_depth = 0;
    task.wait_lock = lock;
    // SAFETY: no preconditions.
    task.wait_ns = unsafe { bpf_ktime_get_ns() };
}

/// Exit of a slow path; the lock is held now. `lock` is `None` where the probe has no arguments.
#[inline(always)]
pub(crate) fn exit(lock: Option<u64>) {
    let Some(task) = task::current() else {
        return;
    };
    if task.wait_lock == 0 {
        return;
    }
    if task.wait_depth != 0 {
        task.wait_depth -= 1;
        return;
    }
    if lock.is_some_and(|lock| lock != task.wait_lock) {
        lose(loss::UNMATCHED);
        return;
    }
    task.wait_lock = 0;
    // SAFETY: no preconditions.
    let waited = unsafe { bpf_ktime_get_ns() }.saturating_sub(task.wait_ns);
    task.waited_ns += waited;
    hist::record(task.wait_hist, waited);
}
