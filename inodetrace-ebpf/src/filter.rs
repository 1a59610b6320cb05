// SPDX-License-Identifier: GPL-2.0-only
//! Which tasks count.

use aya_ebpf::helpers::{
    bpf_get_current_cgroup_id, bpf_get_current_comm, bpf_get_current_pid_tgid,
};

use crate::globals;

/// Whether the current task is one that was asked for. Costs nothing when none was.
#[inline(always)]
pub(crate) fn wanted() -> bool {
    let pid = globals::filter_pid();
    if pid != 0 && (bpf_get_current_pid_tgid() >> 32) as u32 != pid {
        return false;
    }
    let cgroup = globals::filter_cgroup();
    // SAFETY: no preconditions.
    if cgroup != 0 && unsafe { bpf_get_current_cgroup_id() } != cgroup {
        return false;
    }
    if globals::filter_by_comm() != 0 {
        let Ok(comm) = bpf_get_current_comm() else {
            return false;
        };
        let half = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&comm[at..at + 8]);
            u64::from_ne_bytes(bytes)
        };
        return half(0) == globals::filter_comm_low() && half(8) == globals::filter_comm_high();
    }
    true
}
