// SPDX-License-Identifier: GPL-2.0-only
//! What the current thread is passing: an array indexed by thread id, which costs a tenth of a
//! hash map's insertion and deletion.

use aya_ebpf::helpers::bpf_get_current_pid_tgid;
use inodetrace_common::{TASK_SLOTS, TaskState, loss};

use crate::{account::lose, maps::TASKS};

#[inline(always)]
fn entry() -> Option<(u32, &'static mut TaskState)> {
    let tid = bpf_get_current_pid_tgid() as u32;
    if tid == 0 {
        // The idle tasks all have this id. They take no list lock, but interrupts on top of them
        // come through the slow path.
        return None;
    }
    let state = TASKS.get_ptr_mut(tid & (TASK_SLOTS - 1))?;
    // SAFETY: a map value; only the thread with this id goes on to use it (see `owner`).
    Some((tid, unsafe { &mut *state }))
}

/// The thread's state; takes over an entry whose owner is outside of any site.
#[inline(always)]
pub(crate) fn enter() -> Option<&'static mut TaskState> {
    let (tid, state) = entry()?;
    if state.owner != tid {
        let inside = state.frame | state.outer | state.pruning != 0;
        if inside || state.wait_lock | state.shutdown != 0 {
            lose(loss::UNMATCHED);
        }
        state.frame = 0;
        state.outer = 0;
        state.phase = 0;
        state.pruning = 0;
        state.wait_lock = 0;
        state.shutdown = 0;
        state.owner = tid;
    } else if state.wait_lock != 0 {
        // No site is entered within the own thread's wait: the end of that wait was not seen.
        lose(loss::UNMATCHED);
        state.wait_lock = 0;
        state.wait_depth = 0;
    }
    Some(state)
}

/// The thread's state if it has one.
#[inline(always)]
pub(crate) fn current() -> Option<&'static mut TaskState> {
    let (tid, state) = entry()?;
    (state.owner == tid).then_some(state)
}
