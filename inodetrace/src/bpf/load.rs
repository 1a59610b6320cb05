//! From the plan to a loaded object: constants and map sizes.

use aya::{Btf, Ebpf, EbpfLoader, include_bytes_aligned};
use inodetrace_common::DEFAULT_HISTS;

use super::{BpfError, Options, attach::section_kinds};
use crate::plan::{Plan, Probe, Role, SECTION_KINDS};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/inodetrace.bpf.o"));

/// Sizes of the maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Possible CPUs.
    pub(super) cpus: u32,
    /// Superblock slots, a power of two, without the one for all others.
    pub(super) slots: u32,
    /// Histograms, a power of two.
    pub(super) hists: u32,
    /// Shards of each histogram, a power of two: CPUs share one where there are more.
    pub(super) shards: u32,
}

/// More shards would cost 4.7 MB each and gain little: histograms are written in slow paths and
/// at function exits.
const MAX_SHARDS: u32 = 8;

impl Sizes {
    pub(super) fn new(options: &Options) -> Result<Self, BpfError> {
        let cpus = aya::util::nr_cpus().map_err(|(path, error)| BpfError::Map {
            map: "COUNTERS",
            error: std::io::Error::new(error.kind(), format!("{path}: {error}")),
        })?;
        let cpus = u32::try_from(cpus).unwrap_or(u32::MAX).max(1);
        let slots = options
            .max_superblocks
            .clamp(16, 1 << 16)
            .next_power_of_two();
        Ok(Self {
            cpus,
            slots,
            hists: DEFAULT_HISTS.max(slots / 2),
            shards: cpus.next_power_of_two().min(MAX_SHARDS),
        })
    }

    /// Slots with the one for all others.
    pub(super) const fn all_slots(self) -> u32 {
        self.slots + 1
    }
}

/// Offset in `struct pt_regs` (arch/x86/include/asm/ptrace.h) of each register by its number.
const PT_REGS: [u32; 16] = [
    80, 88, 96, 40, 152, 32, 104, 112, 72, 64, 56, 48, 24, 16, 8, 0,
];

/// The constants of each role's section programs: offset of the register, and what to add to it.
const SECTION_GLOBALS: [(Role, &str, &str); 3] = [
    (
        Role::SbListAddSection,
        "SB_LIST_ADD_REGISTER",
        "SB_LIST_ADD_ADJUST",
    ),
    (
        Role::SbListDelSection,
        "SB_LIST_DEL_REGISTER",
        "SB_LIST_DEL_ADJUST",
    ),
    (
        Role::RemoveHashSection,
        "REMOVE_HASH_REGISTER",
        "REMOVE_HASH_ADJUST",
    ),
];

/// A thread's name in two words, as the programs compare it.
fn comm_words(comm: &str) -> (u64, u64) {
    let mut bytes = [0; 16];
    // TASK_COMM_LEN is 16 with the terminator.
    for (to, from) in bytes.iter_mut().take(15).zip(comm.bytes()) {
        *to = from;
    }
    let word = |at: usize| {
        let mut half = [0; 8];
        half.copy_from_slice(&bytes[at..at + 8]);
        u64::from_ne_bytes(half)
    };
    (word(0), word(8))
}

pub(super) fn load(
    plan: &Plan,
    options: &Options,
    sizes: Sizes,
    bracket_ns: u64,
    btf: &Btf,
) -> Result<Ebpf, BpfError> {
    let g = &plan.globals;
    let mask = |wanted: fn(&Probe) -> bool| {
        plan.probes
            .iter()
            .filter(|p| wanted(p))
            .fold(0u32, |mask, p| mask | 1 << p.role as u32)
    };
    let waits = plan.probes.iter().any(|p| {
        matches!(
            p.role,
            Role::SpinNative | Role::SpinPv | Role::SpinPlain | Role::MutexSlow
        )
    });
    let inlined = plan.probes.iter().any(|p| p.section.is_some());
    // Where every removal is a call of the function, its frame tells; the phase could only err.
    let has = |role| plan.probes.iter().any(|p| p.role == role);
    let hash_by_phase = !has(Role::RemoveHash) || has(Role::RemoveHashSection);
    let prunes = plan.probes.iter().any(|p| p.role == Role::Prune);
    let (comm_low, comm_high) = comm_words(options.comm.as_deref().unwrap_or_default());

    let u32s: [(&str, u32); 27] = [
        ("INODE_I_SB", g.inode_i_sb),
        ("INODE_I_LOCK", g.inode_i_lock),
        // `pprev` is the second word of the `hlist_node`.
        ("INODE_I_HASH", g.inode_i_hash_pprev.saturating_sub(8)),
        ("INODE_I_LRU", g.inode_i_lru),
        ("INODE_I_IO_LIST", g.inode_i_io_list),
        ("INODE_I_STATE", g.inode_i_state),
        ("I_NEW", g.i_new),
        ("SB_S_DEV", g.sb_s_dev),
        ("SB_S_TYPE", g.sb_s_type),
        ("SB_S_MAGIC", g.sb_s_magic),
        ("SB_S_ID", g.sb_s_id),
        ("SB_S_FS_INFO", g.sb_s_fs_info),
        ("SB_S_INODE_LIST_LOCK", g.sb_s_inode_list_lock),
        ("SB_S_INODE_LRU", g.sb_s_inode_lru),
        ("FSTYPE_NAME", g.fstype_name),
        ("EXT4_S_ORPHAN_LOCK", g.ext4_s_orphan_lock.unwrap_or(0)),
        ("SLOT_MASK", sizes.slots - 1),
        ("HIST_MASK", sizes.hists - 1),
        ("SHARD_MASK", sizes.shards - 1),
        ("ENTRY_TAKES_LOCK", mask(|p| p.entry_takes_lock)),
        ("EVICT_GUARDS_HASH", u32::from(g.evict_guards_hash)),
        ("EVICT_GUARDS_WB", u32::from(g.evict_guards_wb)),
        ("TRACK_PHASE", u32::from(waits || prunes || inlined)),
        ("EXIT_PROBED", mask(|p| p.exit)),
        ("HASH_BY_PHASE", u32::from(hash_by_phase)),
        ("MEASURE_HOLD", u32::from(options.hold)),
        ("FILTER_BY_COMM", u32::from(options.comm.is_some())),
    ];
    let u64s: [(&str, u64); 5] = [
        ("INODE_HASH_LOCK", g.inode_hash_lock),
        ("BRACKET_NS", bracket_ns),
        ("FILTER_COMM_LOW", comm_low),
        ("FILTER_COMM_HIGH", comm_high),
        ("FILTER_CGROUP", options.cgroup.unwrap_or(0)),
    ];
    let filter_pid = options.pid.unwrap_or(0);

    let sections = SECTION_GLOBALS.map(|(role, registers, adjusts)| {
        let mut register = [0u32; SECTION_KINDS];
        let mut adjust = [0i64; SECTION_KINDS];
        for (i, (number, add)) in section_kinds(plan, role)
            .iter()
            .enumerate()
            .take(SECTION_KINDS)
        {
            register[i] = PT_REGS.get(*number).copied().unwrap_or(0);
            adjust[i] = *add;
        }
        (registers, register, adjusts, adjust)
    });

    let mut loader = EbpfLoader::new();
    loader.btf(Some(btf));
    for (registers, register, adjusts, adjust) in &sections {
        loader.override_global(registers, register, true);
        loader.override_global(adjusts, adjust, true);
    }
    for (name, value) in &u32s {
        loader.override_global(name, value, true);
    }
    for (name, value) in &u64s {
        loader.override_global(name, value, true);
    }
    loader.override_global("FILTER_PID", &filter_pid, true);
    let log_level = if options.verbose {
        aya_log::Level::Debug as u8
    } else {
        0
    };
    loader.override_global("AYA_LOG_LEVEL", &log_level, true);
    loader
        .map_max_entries("SLOTS", sizes.all_slots())
        .map_max_entries("COUNTERS", sizes.cpus.saturating_mul(sizes.all_slots()))
        .map_max_entries("HIST_DIR", sizes.hists)
        .map_max_entries("HISTS", sizes.shards.saturating_mul(sizes.hists))
        .map_max_entries("CLAIMS", sizes.all_slots() + sizes.hists);
    Ok(loader.load(OBJECT)?)
}

/// The object without sizes and constants, for the calibration.
pub(super) fn load_bare(btf: &Btf) -> Result<Ebpf, BpfError> {
    Ok(EbpfLoader::new().btf(Some(btf)).load(OBJECT)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two_and_bounded() {
        for max in [0, 1, 1000, 1024, 1025, u32::MAX] {
            let options = Options {
                max_superblocks: max,
                ..Options::default()
            };
            let sizes = Sizes::new(&options).unwrap();
            assert!(sizes.slots.is_power_of_two() && sizes.slots <= 1 << 16);
            assert!(sizes.slots >= max.min(1 << 16));
            assert!(sizes.hists.is_power_of_two());
            assert!(sizes.shards.is_power_of_two() && sizes.shards <= MAX_SHARDS);
        }
    }

    #[test]
    fn a_name_is_cut_as_the_kernel_cuts_it() {
        let (low, high) = comm_words("postgres: checkpointer");
        assert_eq!(low.to_ne_bytes(), *b"postgres");
        assert_eq!(high.to_ne_bytes(), *b": check\0");
    }
}
