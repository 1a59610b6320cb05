//! The probe plan: how each site is observed on the kernel at hand, or why not.
//!
//! The plan is made from facts only (symbols, BTF, machine code), is complete before anything is
//! attached, and can be printed. Nothing here does a system call.

mod attach;
mod builder;
mod globals;
mod hash;
mod lru;
mod options;
mod orphan;
mod passes;
mod sb_list;
mod waits;
mod wb;

use inodetrace_common::Site;

pub use options::{AttachChoice, Features, PlanOptions};

use crate::{kernel::facts::Facts, sites::section::SectionPoint};
pub(crate) use builder::SECTION_KINDS;
use builder::{Builder, Want};

/// Why there is no plan at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Without this member no superblock can be told from another.
    #[error("the place of `{member}` is not known: {why}")]
    Layout {
        /// The member.
        member: String,
        /// Why it is not known.
        why: String,
    },
    /// Superblocks that go away cannot be told from others that take their place.
    #[error("the shutdown of superblocks cannot be seen: {0}")]
    NoShutdown(String),
}

/// Makes the plan.
///
/// # Errors
/// If the kernel's types lack what every site needs.
pub fn plan(facts: &Facts, features: Features, options: &PlanOptions) -> Result<Plan, PlanError> {
    let mut builder = Builder::new(facts, features, options)?;
    builder.spin_waits = waits::check_spin(&builder);
    let sites = [
        passes::evict,
        passes::alloc,
        sb_list::add,
        sb_list::del,
        sb_list::walk,
        hash::insert,
        hash::remove,
        lru::add,
        lru::del,
        wb::del,
        orphan::add,
        orphan::del,
    ];
    for site in sites {
        let planned = site(&mut builder);
        builder.finish(planned);
    }
    probe_shutdown(&mut builder).map_err(PlanError::NoShutdown)?;
    Ok(builder.plan())
}

/// A superblock that goes away must be told from the next one at its address.
fn probe_shutdown(builder: &mut Builder<'_>) -> Result<(), String> {
    const SHUTDOWN: &str = "generic_shutdown_super";
    if let Ok(analysis) = builder.analysis()
        && analysis.callers(SHUTDOWN).is_empty()
    {
        return Err(format!("nothing calls {SHUTDOWN}(): it is inlined"));
    }
    let want = Want {
        exit: true,
        ..Want::entry(Role::ShutdownSuper, SHUTDOWN, &[(0, "super_block")])
    };
    for site in builder.options.sites.clone() {
        builder.probe(site, &want)?;
    }
    Ok(())
}

/// What is done on this kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// One entry for every site of the contract, in the order of `Site::ALL`.
    pub sites: Vec<SitePlan>,
    /// What is to be attached. Sites share probes.
    pub probes: Vec<Probe>,
    /// Constants of this kernel for the eBPF programs.
    pub globals: Globals,
}

/// How one site is observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitePlan {
    /// The site.
    pub site: Site,
    /// Whether its passes are counted.
    pub status: Status,
    /// The places observed, in the words of the run file.
    pub how: Vec<Point>,
    /// Why it is not observed, or absent. `None` exactly if `status` is `Observed`.
    pub reason: Option<String>,
    /// Whether `calls` is counted.
    pub calls: Quantity,
    /// Whether `acquisitions` is counted.
    pub acquisitions: Quantity,
    /// Whether `contended` and the wait histogram are counted. This can be so for a site whose
    /// passes are not observed: the slow path is told the lock.
    pub contended: Quantity,
    /// Whether hold times are measured.
    pub hold: Quantity,
}

/// Whether a site's passes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The probes cover every place in the kernel text that performs it.
    Observed,
    /// This kernel has no such operation.
    Absent,
    /// It exists, and its passes are not counted.
    NotObservable,
}

impl Status {
    /// The word in files.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Absent => "absent",
            Self::NotObservable => "not_observable",
        }
    }
}

/// Whether a number is counted, and why not. A number that is not is `null`, never 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// It is counted.
    Counted,
    /// It is not, for this reason.
    Null(String),
}

impl Quantity {
    /// Whether it is counted.
    pub const fn is_counted(&self) -> bool {
        matches!(self, Self::Counted)
    }

    /// The reason why not.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Counted => None,
            Self::Null(reason) => Some(reason),
        }
    }
}

/// A place that is observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// How.
    pub kind: Attach,
    /// Function the probe is in.
    pub function: String,
    /// Offset in it, bytes. Of an inlined section: that of the call which takes the lock.
    pub offset: u64,
}

/// The mechanism of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    /// BPF trampoline (fentry, with fexit where the exit is wanted).
    Fentry,
    /// kprobe (with kretprobe where the exit is wanted).
    Kprobe,
    /// kprobe within a function, where a section was inlined.
    InlinedCall,
}

impl Attach {
    /// `how[].kind` in the run file.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Fentry => "fentry",
            Self::Kprobe => "kprobe",
            Self::InlinedCall => "inlined-call",
        }
    }
}

/// One function to attach to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Which program.
    pub role: Role,
    /// The function, as kallsyms names it.
    pub function: String,
    /// Its address.
    pub address: u64,
    /// How.
    pub attach: Attach,
    /// Whether its entry is probed.
    pub entry: bool,
    /// Whether its exit is probed.
    pub exit: bool,
    /// Every entry of the function takes the lock: its text reaches the lock call without a branch.
    pub entry_takes_lock: bool,
    /// For an inlined section: what is found where.
    pub section: Option<SectionPoint>,
    /// Sites it serves; a probe that serves none of the sites asked for is left out.
    pub serves: Vec<Site>,
}

/// What the program at a probe does; each is one pair of programs in `inodetrace-ebpf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Role {
    /// `evict(inode)`; entry.
    Evict = 0,
    /// Inode construction, first argument the superblock; entry.
    Alloc = 1,
    /// `inode_sb_list_add(inode)`; entry, exit for hold.
    SbListAdd = 2,
    /// `__insert_inode_hash(inode, hashval)`; entry, exit for hold.
    InsertHash = 3,
    /// `insert_inode_locked(inode)`; entry and exit (inserted if it returned 0).
    InsertLocked = 4,
    /// `inode_insert5(inode, …)`, five arguments; entry and exit (inserted if it returned its inode).
    Insert5 = 5,
    /// `iget_locked(sb, ino)`; entry and exit (inserted if what it returned is I_NEW).
    IgetLocked = 6,
    /// `__remove_inode_hash(inode)`; entry, exit for hold.
    RemoveHash = 7,
    /// `list_lru_add(lru, item, …)` or `list_lru_add_obj(lru, item)`; entry, exit for hold.
    LruAdd = 8,
    /// `list_lru_del(lru, item, …)` or `list_lru_del_obj(lru, item)`; entry, exit for hold.
    LruDel = 9,
    /// `inode_io_list_del(inode)`; entry, exit for hold.
    IoListDel = 10,
    /// `ext4_orphan_add(handle, inode)`; entry, exit for hold.
    OrphanAdd = 11,
    /// `ext4_orphan_del(handle, inode)`; entry, exit for hold.
    OrphanDel = 12,
    /// `generic_shutdown_super(sb)`; entry and exit: after it the superblock's slot is retired.
    ShutdownSuper = 13,
    /// `prune_icache_sb(sb, …)`; entry and exit.
    Prune = 14,
    /// `native_queued_spin_lock_slowpath(lock, …)`; entry and exit.
    SpinNative = 15,
    /// `__pv_queued_spin_lock_slowpath(lock, …)`; entry and exit.
    SpinPv = 16,
    /// `queued_spin_lock_slowpath(lock, …)`; entry and exit.
    SpinPlain = 17,
    /// `__mutex_lock_slowpath(lock)`; entry and exit.
    MutexSlow = 18,
    /// A copy of `inode_sb_list_add()` in another function.
    SbListAddSection = 19,
    /// The copy of `inode_sb_list_del()` in `evict()`.
    SbListDelSection = 20,
    /// A copy of `__remove_inode_hash()` in another function.
    RemoveHashSection = 21,
}

/// Constants of the kernel at hand. Offsets are in bytes within the structure named first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names are the kernel's
pub struct Globals {
    pub inode_i_sb: u32,
    pub inode_i_lock: u32,
    /// `inode.i_hash.pprev`
    pub inode_i_hash_pprev: u32,
    pub inode_i_lru: u32,
    pub inode_i_io_list: u32,
    /// `inode.i_state` and, where it is a structure, the word in it.
    pub inode_i_state: u32,
    /// Mask of `I_NEW` in that word.
    pub i_new: u32,
    pub sb_s_dev: u32,
    pub sb_s_type: u32,
    pub sb_s_magic: u32,
    pub sb_s_id: u32,
    pub sb_s_fs_info: u32,
    pub sb_s_inode_list_lock: u32,
    pub sb_s_inode_lru: u32,
    pub fstype_name: u32,
    /// `ext4_sb_info.s_orphan_lock`; `None` where this kernel's BTF has no ext4.
    pub ext4_s_orphan_lock: Option<u32>,
    /// Address of `inode_hash_lock`.
    pub inode_hash_lock: u64,
    /// `evict()` tests whether the inode is hashed before it calls the function that takes the
    /// lock, so a skipped pass of `hash_remove` is counted there.
    pub evict_guards_hash: bool,
    /// Likewise for `inode.i_io_list` and `wb_list_del`.
    pub evict_guards_wb: bool,
}

impl Plan {
    /// The entry of `site`.
    pub fn site(&self, site: Site) -> Option<&SitePlan> {
        self.sites.iter().find(|s| s.site == site)
    }
}
