// SPDX-License-Identifier: GPL-2.0-only
//! Constants that user space fills in before loading. The verifier knows their values, so what
//! they switch off costs nothing.

/// Programs for the sections of one site (`inodetrace::plan::builder::SECTION_KINDS`).
pub(crate) const SECTION_KINDS: usize = 4;

/// Declares constants in `.rodata` and a function of the same name that reads each.
macro_rules! globals {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $symbol:ident;)*) => {$(
        #[unsafe(no_mangle)]
        // SAFETY: zero is a value of all these plain types.
        static $symbol: $ty = unsafe { core::mem::zeroed() };

        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name() -> $ty {
            // SAFETY: a static of plain data. Volatile, since the value in the object file is
            // not the one the kernel sees.
            unsafe { core::ptr::read_volatile(&raw const $symbol) }
        }
    )*};
}

globals! {
    inode_i_sb: u32 = INODE_I_SB;
    inode_i_lock: u32 = INODE_I_LOCK;
    inode_i_hash: u32 = INODE_I_HASH;
    inode_i_lru: u32 = INODE_I_LRU;
    inode_i_io_list: u32 = INODE_I_IO_LIST;
    inode_i_state: u32 = INODE_I_STATE;
    /// Mask of `I_NEW` in `i_state`.
    i_new: u32 = I_NEW;
    sb_s_dev: u32 = SB_S_DEV;
    sb_s_type: u32 = SB_S_TYPE;
    sb_s_magic: u32 = SB_S_MAGIC;
    sb_s_id: u32 = SB_S_ID;
    sb_s_fs_info: u32 = SB_S_FS_INFO;
    sb_s_inode_list_lock: u32 = SB_S_INODE_LIST_LOCK;
    sb_s_inode_lru: u32 = SB_S_INODE_LRU;
    fstype_name: u32 = FSTYPE_NAME;
    ext4_s_orphan_lock: u32 = EXT4_S_ORPHAN_LOCK;
    /// Address of `inode_hash_lock`; 0 when unknown.
    inode_hash_lock: u64 = INODE_HASH_LOCK;

    /// Superblock slots without the one for all others, minus 1.
    slot_mask: u32 = SLOT_MASK;
    /// Histograms minus 1.
    hist_mask: u32 = HIST_MASK;
    /// Histogram shards minus 1.
    shard_mask: u32 = SHARD_MASK;

    /// Bit `role`: every entry of that role's function takes the lock.
    entry_takes_lock: u32 = ENTRY_TAKES_LOCK;
    /// `evict()` tests the hash before it calls the function that takes the lock.
    evict_guards_hash: u32 = EVICT_GUARDS_HASH;
    /// `evict()` tests the writeback list before it calls the function that takes the lock.
    evict_guards_wb: u32 = EVICT_GUARDS_WB;
    /// `evict()` and `alloc` note themselves as the thread's phase.
    track_phase: u32 = TRACK_PHASE;
    /// The removal from the hash is inlined into `evict()`, so a wait for its lock belongs there
    /// when that is what the thread last began.
    hash_by_phase: u32 = HASH_BY_PHASE;
    /// Bit `role`: the exits of that role's function are probed.
    exit_probed: u32 = EXIT_PROBED;
    /// Hold times are wanted.
    measure_hold: u32 = MEASURE_HOLD;
    /// What a probed call of an empty function takes longer than nothing, ns.
    bracket_ns: u64 = BRACKET_NS;

    /// Offset in `pt_regs` of the register that each section program reads, and what to add to it.
    sb_list_add_register: [u32; SECTION_KINDS] = SB_LIST_ADD_REGISTER;
    sb_list_add_adjust: [i64; SECTION_KINDS] = SB_LIST_ADD_ADJUST;
    sb_list_del_register: [u32; SECTION_KINDS] = SB_LIST_DEL_REGISTER;
    sb_list_del_adjust: [i64; SECTION_KINDS] = SB_LIST_DEL_ADJUST;
    remove_hash_register: [u32; SECTION_KINDS] = REMOVE_HASH_REGISTER;
    remove_hash_adjust: [i64; SECTION_KINDS] = REMOVE_HASH_ADJUST;

    /// Thread group to count; 0 for all.
    filter_pid: u32 = FILTER_PID;
    /// Whether only tasks named `FILTER_COMM` are counted.
    filter_by_comm: u32 = FILTER_BY_COMM;
    /// First and last eight bytes of the name.
    filter_comm_low: u64 = FILTER_COMM_LOW;
    filter_comm_high: u64 = FILTER_COMM_HIGH;
    /// cgroup v2 id to count; 0 for all.
    filter_cgroup: u64 = FILTER_CGROUP;
}
