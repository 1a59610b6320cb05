//! What the commands need from the kernel side, as a trait, so that all above it runs in tests
//! without a kernel.

use std::collections::BTreeMap;

use inodetrace_common::Site;
use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    model::{DevNumber, Source},
    plan::Plan,
};

/// What is to be observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Sites asked for, in the order of `Site::ALL`. Never empty.
    pub sites: Vec<Site>,
    /// How hold times are measured.
    pub hold: Hold,
    /// Whose passes count.
    pub tasks: TaskFilter,
    /// Superblocks told apart; further ones are counted together.
    pub max_superblocks: u32,
    /// Which mechanisms may be used.
    pub probe: ProbeMode,
}

impl Request {
    /// Everything, with the defaults of the command line.
    pub fn all() -> Self {
        use crate::vocab::SiteExt;
        Self {
            sites: Site::ALL.to_vec(),
            hold: Hold::Span,
            tasks: TaskFilter::default(),
            max_superblocks: inodetrace_common::DEFAULT_SLOTS,
            probe: ProbeMode::Auto,
        }
    }
}

/// Whose passes count: those of tasks to which all that is given applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFilter {
    /// Process id (all its threads).
    pub pid: Option<u32>,
    /// Name of the thread, at most 15 bytes.
    pub comm: Option<String>,
    /// Cgroup id, which is the inode number of the cgroup2 directory. Tasks in that very group,
    /// not in its children.
    pub cgroup: Option<u64>,
}

impl TaskFilter {
    /// Whether every task counts.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How hold times are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// Function exit minus entry minus wait: an upper bound.
    #[default]
    Span,
    /// Not at all.
    Off,
}

/// Which probe mechanisms may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeMode {
    /// The cheapest that the kernel has.
    #[default]
    Auto,
    /// Only kprobes.
    Kprobe,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// Machine, as `uname -m` prints it.
    pub arch: String,
    /// CPUs online.
    pub cpus: u32,
}

/// Mount points by device number; a device may be mounted at several places.
pub type Mounts = BTreeMap<DevNumber, Vec<String>>;

/// The kernel side: planning, attaching, reading the machine.
pub trait Backend {
    /// Plans, loads and attaches. Counting goes on until the source is dropped.
    fn start(&self, request: &Request) -> Result<Box<dyn Source>, Error>;
    /// Plans only; changes nothing.
    fn plan(&self, request: &Request) -> Result<Plan, Error>;
    /// What is mounted where, now.
    fn mounts(&self) -> Mounts;
    /// The machine.
    fn host(&self) -> Host;
}
