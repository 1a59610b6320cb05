//! Maps and their values.
//!
//! | map | index | value |
//! |---|---|---|
//! | `SLOTS` | slot | [`SbSlot`]: which superblock the slot stands for |
//! | `COUNTERS` | cpu × slots + slot | [`Counters`]: per-CPU counts of one superblock |
//! | `HIST_DIR` | bucket of an open hash | key of the histogram there, see [`hist_key`] |
//! | `HISTS` | shard × histograms + index in `HIST_DIR` | [`Hist`] |
//! | `TASKS` | thread id modulo [`TASK_SLOTS`] | [`TaskState`]: what the thread is passing |
//! | `CLAIMS` | hash: slot or histogram index | who won it (first sight only) |
//! | `LOSSES` | [`loss`] | count |
//!
//! `SLOTS`, `COUNTERS`, `HIST_DIR`, `HISTS` are mmapable, so that reading them costs no system
//! call per entry. All are written by the programs and only read by user space.

/// Sites, in the order of the contract's vocabulary. The number is the index in [`Counters`].
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Site {
    /// `evict()`: inode teardown. Takes no list lock; the denominator of the deletions.
    Evict = 0,
    /// Inode construction. Takes no list lock; the denominator of the insertions.
    Alloc = 1,
    /// Insertion into `super_block.s_inodes`.
    SbListAdd = 2,
    /// Removal from `super_block.s_inodes`.
    SbListDel = 3,
    /// Insertion into the inode hash.
    HashInsert = 4,
    /// Removal from the inode hash.
    HashRemove = 5,
    /// Insertion into `super_block.s_inode_lru`.
    LruAdd = 6,
    /// Removal from `super_block.s_inode_lru`.
    LruDel = 7,
    /// Removal from a writeback list (`inode_io_list_del`, once `inode_wb_list_del`).
    WbListDel = 8,
    /// `ext4_orphan_add`.
    OrphanAdd = 9,
    /// `ext4_orphan_del`.
    OrphanDel = 10,
    /// A walk over the whole of `super_block.s_inodes` under its lock.
    SbListWalk = 11,
}

/// Number of sites.
pub const SITES: usize = 12;

/// Superblocks told apart by default (a power of two). One more slot, number 0, holds all that
/// found no room.
pub const DEFAULT_SLOTS: u32 = 1024;
/// Slots tried after the one a device number hashes to before a superblock counts under slot 0.
pub const SLOT_PROBES: u32 = 64;
/// Histograms by default (a power of two): one per site, superblock and kind that had a sample.
pub const DEFAULT_HISTS: u32 = 512;
/// As [`SLOT_PROBES`], for histograms.
pub const HIST_PROBES: u32 = 16;
/// Threads told apart; two threads whose ids are equal modulo this and that are inside a site at
/// the same time cost a sample, and where a kretprobe counts a count ([`loss::UNMATCHED`]).
pub const TASK_SLOTS: u32 = 32768;

/// `SbSlot::state`: nothing here yet.
pub const SLOT_FREE: u32 = 0;
/// `SbSlot::state`: the superblock is alive.
pub const SLOT_LIVE: u32 = 1;
/// `SbSlot::state`: the superblock was shut down; its pointer may be reused by another one,
/// which then gets a slot of its own. The counts stay.
pub const SLOT_DEAD: u32 = 2;

/// What a slot stands for; written once, by the program that saw the superblock first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SbSlot {
    /// Kernel address of the `super_block`; 0 once it is dead.
    pub sb: u64,
    /// `super_block.s_dev` in the kernel's encoding: major << 20 | minor.
    pub dev: u32,
    /// [`SLOT_FREE`], [`SLOT_LIVE`] or [`SLOT_DEAD`].
    pub state: u32,
    /// `super_block.s_magic`.
    pub magic: u64,
    /// `CLOCK_MONOTONIC` of the first sight, ns.
    pub first_seen_ns: u64,
    /// `super_block.s_type->name`, NUL-terminated, cut at 31 bytes.
    pub fstype: [u8; 32],
    /// `super_block.s_id`, NUL-terminated.
    pub s_id: [u8; 32],
    /// Kernel address of `s_fs_info` (ext4: the `ext4_sb_info`), 0 when not read.
    pub fs_info: u64,
    /// Pads the slot to a power of two.
    pub pad: [u64; 3],
}

/// Counters of one superblock on one CPU. Index: [`calls`], [`acquisitions`], [`contended`]
/// or one of the `EXTRA_*` numbers.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    /// The counts.
    pub n: [u64; COUNTERS],
}

/// Counters per superblock and CPU: three for each of 16 sites that a masked index can name.
pub const COUNTERS: usize = 48;

/// Where the passes of a site are counted.
pub const fn calls(site: Site) -> usize {
    site as usize * 3
}

/// Where the acquisitions of a site are counted.
pub const fn acquisitions(site: Site) -> usize {
    site as usize * 3 + 1
}

/// Where the contended acquisitions of a site are counted: entries of the lock's slow path.
pub const fn contended(site: Site) -> usize {
    site as usize * 3 + 2
}

/// `evict()` calls made by `prune_icache_sb()`: these inodes left the LRU under the walk's own
/// lock, so they are no passes of `lru_del`.
pub const EXTRA_EVICT_IN_PRUNE: usize = 36;

/// Kinds of histogram.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HistKind {
    /// Time in the lock's slow path.
    Wait = 0,
    /// Time from acquisition to release.
    Hold = 1,
}

/// Key of a histogram in `HIST_DIR`; never 0, which marks a free entry.
#[inline(always)]
pub const fn hist_key(slot: u32, site: u32, kind: u32) -> u32 {
    1 << 31 | slot << 8 | site << 1 | kind
}

/// The inverse of [`hist_key`]: slot, site index, kind index.
pub const fn hist_key_parts(key: u32) -> (u32, u32, u32) {
    ((key >> 8) & 0x7f_ffff, (key >> 1) & 0x7f, key & 1)
}

/// One shard of one histogram.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
pub struct Hist {
    /// Samples.
    pub count: u64,
    /// Sum of the samples, ns, exact.
    pub sum: u64,
    /// Largest sample, ns. Two CPUs that share the shard may race here; the highest filled
    /// bucket bounds the error to 1/32.
    pub max: u64,
    /// Bitwise complement of the smallest sample, so that 0 means none.
    pub not_min: u64,
    /// Counts by bucket, see [`crate::hist`].
    pub buckets: [u64; crate::hist::BUCKETS],
}

/// What a thread is passing. Written by the thread itself only.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TaskState {
    /// Thread id of the owner of the fields below; 0 when free.
    pub owner: u32,
    /// [`frame`] of the site function the thread is in; 0 outside of any.
    pub frame: u32,
    /// Entry of that function, ns.
    pub entered_ns: u64,
    /// Time spent waiting since `entered_ns`, ns.
    pub waited_ns: u64,
    /// Lock that function takes, see the eBPF side's `wait.rs`.
    pub lock: u64,
    /// Its inode, for the exit (a kretprobe has no arguments).
    pub inode: u64,
    /// [`frame`] of a function around the site's own, which may pass another site on its way
    /// (`iget_locked`, `inode_insert5`); 0 outside.
    pub outer: u32,
    /// [`frame`] of the last `evict()` or inode construction: to what an inlined section belongs.
    pub phase: u32,
    /// First argument of that outer function.
    pub outer_arg: u64,
    /// Lock whose slow path the thread is in; 0 outside.
    pub wait_lock: u64,
    /// Entry of that slow path, ns.
    pub wait_ns: u64,
    /// Index of the histogram that the wait goes to.
    pub wait_hist: u32,
    /// Slow paths entered by interrupts within that wait.
    pub wait_depth: u32,
    /// `super_block` that the thread shuts down.
    pub shutdown: u64,
    /// Non-zero inside `prune_icache_sb()`.
    pub pruning: u32,
    /// Unused.
    pub pad: u32,
    /// `s_inode_list_lock` of the superblock of `phase`.
    pub phase_lock: u64,
    /// Pads the state to a power of two.
    pub pad2: [u64; 3],
}

/// A site and a slot in one word; never 0.
#[inline(always)]
pub const fn frame(site: u32, slot: u32) -> u32 {
    1 << 31 | slot << 8 | site
}

/// The inverse of [`frame`]: site index, slot.
#[inline(always)]
pub const fn frame_parts(frame: u32) -> (u32, u32) {
    (frame & 0xff, (frame >> 8) & 0x7f_ffff)
}

/// Indices into `LOSSES`.
pub mod loss {
    /// Superblocks that found no slot and are counted under slot 0 (once per pass).
    pub const SLOTS_FULL: u32 = 0;
    /// Wait or hold samples that found no histogram.
    pub const HISTS_FULL: u32 = 1;
    /// Exits whose entry was not seen or was overwritten: samples lost.
    pub const UNMATCHED: u32 = 2;
    /// Samples beyond the histogram's range, counted in its last bucket.
    pub const CLAMPED: u32 = 3;
    /// Passes at which the inode or superblock could not be read.
    pub const UNREADABLE: u32 = 4;
    /// Number of entries.
    pub const COUNT: u32 = 8;
}

const _: () = assert!(EXTRA_EVICT_IN_PRUNE >= SITES * 3 && EXTRA_EVICT_IN_PRUNE < COUNTERS);
const _: () = assert!(size_of::<SbSlot>() == 128);
const _: () = assert!(size_of::<Counters>() == 384);
const _: () = assert!(size_of::<TaskState>() == 128);
const _: () = assert!(size_of::<Hist>() == 32 + 8 * crate::hist::BUCKETS);
