// SPDX-License-Identifier: GPL-2.0-only
//! The maps; their layout is described in `inodetrace_common::layout`. Sizes of those that depend
//! on the machine are set when they are created.

use aya_ebpf::{
    bindings::BPF_F_MMAPABLE,
    macros::map,
    maps::{Array, HashMap},
};
use inodetrace_common::{Counters, Hist, SbSlot, TASK_SLOTS, TaskState, loss};

#[map]
pub(crate) static SLOTS: Array<SbSlot> = Array::with_max_entries(1, BPF_F_MMAPABLE);

#[map]
pub(crate) static COUNTERS: Array<Counters> = Array::with_max_entries(1, BPF_F_MMAPABLE);

#[map]
pub(crate) static HIST_DIR: Array<u64> = Array::with_max_entries(1, BPF_F_MMAPABLE);

#[map]
pub(crate) static HISTS: Array<Hist> = Array::with_max_entries(1, BPF_F_MMAPABLE);

#[map]
pub(crate) static TASKS: Array<TaskState> = Array::with_max_entries(TASK_SLOTS, 0);

#[map]
pub(crate) static CLAIMS: HashMap<u32, u64> = HashMap::with_max_entries(1, 0);

#[map]
pub(crate) static LOSSES: Array<u64> = Array::with_max_entries(loss::COUNT, 0);

#[map]
pub(crate) static CALIBRATION: Array<u64> = Array::with_max_entries(4, 0);
