//! What the functions of the kernel that take the inode-list locks take them for, from its source
//! (`fs/inode.c`, `fs/fs-writeback.c`, `fs/drop_caches.c`, `fs/notify/fsnotify.c`,
//! `fs/quota/dquot.c`, `fs/super.c`, `block/bdev.c`, `security/landlock/fs.c`, `fs/ext4/orphan.c`,
//! `mm/list_lru.c`) and from the code of Debian's kernels 5.10 to 7.2.
//!
//! Names only: which of them a kernel has, and what the compiler made of them, is found out.

/// Locks that are recognised by their address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lock {
    /// `super_block.s_inode_list_lock`.
    SbInodes,
    /// `inode_hash_lock`.
    InodeHash,
    /// `ext4_sb_info.s_orphan_lock`.
    Ext4Orphan,
}

/// What a function takes a lock for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// To add to the list or hash.
    Add,
    /// To remove from it.
    Remove,
    /// To look something up in it or to wait for something in it, without changing it.
    LookUp,
    /// To walk over all of it.
    Walk,
}

/// Functions and what they take which lock for. In the kernel's source each of them does this
/// itself or calls a static helper that does nothing else.
const KNOWN: &[(Lock, Purpose, &[&str])] = &[
    (Lock::SbInodes, Purpose::Add, &["inode_sb_list_add"]),
    (
        Lock::SbInodes,
        Purpose::Remove,
        &["evict", "inode_sb_list_del"],
    ),
    (
        Lock::SbInodes,
        Purpose::Walk,
        &[
            "add_dquot_ref",
            "dquot_disable",
            "dquot_load_quota_sb",
            "drop_pagecache_sb",
            "evict_inodes",
            "fsnotify_sb_delete",
            "fsnotify_unmount_inodes",
            "generic_shutdown_super",
            "hook_sb_delete",
            "invalidate_inodes",
            "iterate_bdevs",
            "nr_blockdev_pages",
            "remove_dquot_ref",
            "sync_bdevs",
        ],
    ),
    (
        Lock::InodeHash,
        Purpose::Add,
        &[
            "__insert_inode_hash",
            "iget_locked",
            "inode_insert5",
            "insert_inode_locked",
        ],
    ),
    (
        Lock::InodeHash,
        Purpose::Remove,
        &["__remove_inode_hash", "evict"],
    ),
    (
        Lock::InodeHash,
        Purpose::LookUp,
        &[
            "__wait_on_freeing_inode",
            "find_inode_nowait",
            "ilookup",
            "ilookup5",
            "ilookup5_nowait",
        ],
    ),
    (Lock::Ext4Orphan, Purpose::Add, &["ext4_orphan_add"]),
    (Lock::Ext4Orphan, Purpose::Remove, &["ext4_orphan_del"]),
];

/// Functions whose source calls the one which adds or removes; the section is found in them if
/// the compiler inlined that one.
const HOSTS: &[(Lock, Purpose, &[&str])] = &[
    (
        Lock::SbInodes,
        Purpose::Add,
        &["iget_locked", "inode_insert5", "new_inode"],
    ),
    (
        Lock::InodeHash,
        Purpose::Add,
        &["iget5_locked", "iget5_locked_rcu", "insert_inode_locked4"],
    ),
    (
        Lock::InodeHash,
        Purpose::Remove,
        &["ext4_clear_inode", "iget_failed", "make_bad_inode"],
    ),
];

/// What `function` takes `lock` for, if the tables know.
pub fn purpose(lock: Lock, function: &str) -> Option<Purpose> {
    look_up(KNOWN, lock, function)
}

/// What a section of `lock` in `function` must be an inlined copy of, if the tables know.
pub fn inlined_purpose(lock: Lock, function: &str) -> Option<Purpose> {
    look_up(HOSTS, lock, function)
}

fn look_up(table: &[(Lock, Purpose, &[&str])], lock: Lock, function: &str) -> Option<Purpose> {
    let name = base_name(function);
    let row = table
        .iter()
        .find(|(l, _, names)| *l == lock && names.contains(&name));
    row.map(|(_, purpose, _)| *purpose)
}

/// The name in the source: without what the compiler appended (`.part.0`, `.constprop.0`,
/// `.isra.0`, `.cold`).
pub fn base_name(symbol: &str) -> &str {
    let dot = symbol.bytes().position(|b| b == b'.');
    dot.and_then(|dot| symbol.get(..dot)).unwrap_or(symbol)
}

/// Functions that take the lock whose address is their first argument.
pub(crate) const SPIN_LOCKS: &[&str] = &[
    "_raw_spin_lock",
    "_raw_spin_lock_bh",
    "_raw_spin_lock_irq",
    "_raw_spin_lock_irqsave",
    "_raw_spin_lock_nest_lock",
    "_raw_spin_lock_nested",
    "_raw_spin_trylock",
    "_raw_spin_trylock_bh",
    "rt_spin_lock",
    "rt_spin_lock_nest_lock",
    "rt_spin_lock_nested",
    "rt_spin_trylock",
    "rt_spin_trylock_bh",
];

/// As [`SPIN_LOCKS`], for mutexes.
pub(crate) const MUTEX_LOCKS: &[&str] = &[
    "mutex_lock",
    "mutex_lock_interruptible",
    "mutex_lock_killable",
    "mutex_lock_nested",
    "mutex_trylock",
];

/// Functions that try a lock: a call that fails takes nothing.
pub(crate) const TRY_LOCKS: &[&str] = &[
    "_raw_spin_trylock",
    "_raw_spin_trylock_bh",
    "mutex_trylock",
    "rt_spin_trylock",
    "rt_spin_trylock_bh",
];

/// Functions that do not return.
pub(crate) const STOPS: &[&str] = &[
    "__stack_chk_fail",
    "panic",
    "__fortify_panic",
    "fortify_panic",
];

/// Functions that a traced function may call at its entry (`arch/x86/kernel/ftrace_64.S`).
pub(crate) const FTRACE: &[&str] = &["ftrace_caller", "ftrace_regs_caller"];

/// Functions of `mm/list_lru.c` that are given a list; an inode LRU that goes there is handled by
/// a function of its own.
pub(crate) const LIST_LRU: &[&str] = &[
    "list_lru_add",
    "list_lru_add_obj",
    "list_lru_count_node",
    "list_lru_count_one",
    "list_lru_del",
    "list_lru_del_obj",
    "list_lru_destroy",
    "list_lru_walk_node",
    "list_lru_walk_one",
    "list_lru_walk_one_irq",
    "__list_lru_init",
];

/// Functions of `fs/inode.c` that put inodes on an LRU or take them off.
pub(crate) const LRU_USERS: &[&str] = &[
    "__inode_add_lru",
    "__inode_lru_list_add",
    "evict",
    "evict_inodes",
    "inode_add_lru",
    "inode_lru_list_add",
    "inode_lru_list_del",
    "invalidate_inodes",
    "iput",
    "iput_final",
];

/// Functions whose code is always kept, whether or not the search hits them: those the planner
/// draws conclusions from, also from what is not in them.
pub(crate) const KEPT: &[&str] = &[
    "__insert_inode_hash",
    "__remove_inode_hash",
    "alloc_inode",
    "ext4_orphan_add",
    "ext4_orphan_del",
    "iget_locked",
    "inode_init_always",
    "inode_init_always_gfp",
    "inode_insert5",
    "inode_io_list_del",
    "inode_sb_list_add",
    "insert_inode_locked",
    "list_lru_add",
    "list_lru_add_obj",
    "list_lru_del",
    "list_lru_del_obj",
    "locked_inode_to_wb_and_lock_list",
    "new_inode",
    "prune_icache_sb",
];

/// Functions whose callers are recorded.
pub(crate) const WATCHED: &[&str] = &[
    "__insert_inode_hash",
    "__remove_inode_hash",
    "alloc_inode",
    "evict",
    "ext4_orphan_add",
    "ext4_orphan_del",
    "generic_shutdown_super",
    "iget_locked",
    "inode_init_always",
    "inode_init_always_gfp",
    "inode_insert5",
    "inode_io_list_del",
    "inode_sb_list_add",
    "inode_wait_for_writeback",
    "insert_inode_locked",
    "list_lru_add",
    "list_lru_add_obj",
    "list_lru_del",
    "list_lru_del_obj",
    "locked_inode_to_wb_and_lock_list",
    "prune_icache_sb",
];

/// Functions that may call `inode_wait_for_writeback()`. In the source only `evict()` and
/// `writeback_single_inode()` do; anybody else must have one of them inlined.
pub(crate) const WRITEBACK_WAITERS: &[&str] = &["evict", "writeback_single_inode"];

/// Further symbols the planner asks for.
pub(crate) const SYMBOLS: &[&str] = &[
    "__mutex_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "inode_hash_lock",
    "native_queued_spin_lock_slowpath",
    "queued_spin_lock_slowpath",
];

/// Members whose offsets are recorded, by structure.
pub(crate) const MEMBERS: &[(&str, &[&str])] = &[
    (
        "inode",
        &[
            "i_sb",
            "i_lock",
            "i_hash",
            "i_hash.pprev",
            "i_lru",
            "i_io_list",
            "i_sb_list",
            "i_state",
        ],
    ),
    (
        "super_block",
        &[
            "s_dev",
            "s_type",
            "s_magic",
            "s_id",
            "s_fs_info",
            "s_inode_list_lock",
            "s_inodes",
            "s_inode_lru",
        ],
    ),
    ("file_system_type", &["name"]),
    ("bdi_writeback", &["list_lock"]),
    ("ext4_sb_info", &["s_orphan_lock"]),
];
