// SPDX-License-Identifier: GPL-2.0-only
//! Superblocks that go away, and the shrinker's walk over the inode LRU.

use crate::{account::retire, task};

/// Entry of `generic_shutdown_super(sb)`: the inodes are evicted within, under this superblock.
#[inline(always)]
pub(crate) fn shutdown_entry(sb: u64) {
    if let Some(task) = task::enter() {
        task.shutdown = sb;
    }
}

/// Exit of `generic_shutdown_super`; a kretprobe has no arguments and takes what was noted.
#[inline(always)]
pub(crate) fn shutdown_exit(sb: Option<u64>) {
    let noted = match task::current() {
        Some(task) => core::mem::take(&mut task.shutdown),
        None => 0,
    };
    let sb = sb.unwrap_or(noted);
    if sb != 0 {
        retire(sb);
    }
}

/// Entry of `prune_icache_sb`.
#[inline(always)]
pub(crate) fn prune_entry() {
    if let Some(task) = task::enter() {
        task.pruning = 1;
    }
}

/// Exit of `prune_icache_sb`.
#[inline(always)]
pub(crate) fn prune_exit() {
    if let Some(task) = task::current() {
        task.pruning = 0;
    }
}
