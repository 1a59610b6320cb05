//! The running programs: loading, attaching, reading the maps. All bpf() system calls are below
//! this module.

mod attach;
mod calibrate;
mod features;
mod load;
mod log;
mod missed;
mod region;
mod snapshot;

pub use features::features;

use std::io;

use aya::{Ebpf, EbpfError, programs::ProgramError};

use crate::{
    model::{Snapshot, Source},
    plan::Plan,
};

/// What the programs are loaded with, beside the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Superblocks to tell apart; rounded up to a power of two.
    pub max_superblocks: u32,
    /// Whether hold times are measured.
    pub hold: bool,
    /// Count only what this thread group does.
    pub pid: Option<u32>,
    /// Count only tasks of this name (15 bytes at most, as the kernel cuts them).
    pub comm: Option<String>,
    /// Count only tasks of the cgroup v2 with this id (inode number of its directory).
    pub cgroup: Option<u64>,
    /// Whether the programs log what happens once per superblock.
    pub verbose: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_superblocks: inodetrace_common::DEFAULT_SLOTS,
            hold: true,
            pid: None,
            comm: None,
            cgroup: None,
            verbose: false,
        }
    }
}

/// Why the programs do not run.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// The object could not be loaded: map creation, or bpf() refused.
    #[error("loading the eBPF programs: {0}")]
    Load(#[from] EbpfError),
    /// The kernel's BTF could not be read.
    #[error("reading the kernel's BTF: {0}")]
    Btf(#[from] aya::BtfError),
    /// A program was refused, or could not be attached.
    #[error("{program} on {function}: {error}")]
    Attach {
        /// The program.
        program: String,
        /// The kernel function.
        function: String,
        /// What the kernel said.
        error: Box<ProgramError>,
    },
    /// The object lacks something this user space expects: the two do not belong together.
    #[error("the eBPF object has no {0}")]
    Missing(String),
    /// A map could not be mapped into this process.
    #[error("mapping {map}: {error}")]
    Map {
        /// The map.
        map: &'static str,
        /// Why.
        error: io::Error,
    },
}

impl BpfError {
    /// The error number that the kernel gave, if it was a system call that failed.
    pub fn os_error(&self) -> Option<io::ErrorKind> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            if let Some(io) = error.downcast_ref::<io::Error>() {
                return Some(io.kind());
            }
            cause = error.source();
        }
        None
    }
}

/// The attached programs. Dropping it detaches them.
pub struct Running {
    plan: Plan,
    maps: snapshot::Maps,
    ebpf: Ebpf,
    messages: log::Messages,
    bracket_ns: Option<u64>,
}

impl Running {
    /// Loads and attaches what `plan` asks for.
    ///
    /// # Errors
    ///
    /// Nothing stays attached when one program fails: counts without it would be wrong.
    pub fn start(plan: Plan, options: &Options) -> Result<Self, BpfError> {
        raise_memlock();
        let btf = aya::Btf::from_sys_fs()?;
        let bracket_ns = if options.hold {
            calibrate::bracket_ns(&plan, &btf)
        } else {
            None
        };
        let sizes = load::Sizes::new(options)?;
        let mut ebpf = load::load(&plan, options, sizes, bracket_ns.unwrap_or(0), &btf)?;
        let maps = snapshot::Maps::new(&mut ebpf, sizes)?;
        let messages = log::Messages::new(&mut ebpf, options.verbose);
        attach::attach(&plan, &mut ebpf, &btf)?;
        Ok(Self {
            plan,
            maps,
            ebpf,
            messages,
            bracket_ns,
        })
    }

    /// Time that two probes around an empty function take, ns; already subtracted from the hold
    /// times. `None` where it could not be measured, and nothing was subtracted.
    pub const fn bracket_ns(&self) -> Option<u64> {
        self.bracket_ns
    }
}

impl Source for Running {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn snapshot(&mut self) -> anyhow::Result<Snapshot> {
        self.messages.print();
        let mut snapshot = self.maps.read(&self.plan)?;
        snapshot.losses.missed_probes = missed::count(&self.ebpf);
        Ok(snapshot)
    }
}

/// Kernels before 5.11 charge maps to RLIMIT_MEMLOCK. Where it cannot be raised, map creation
/// fails and says so.
fn raise_memlock() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    let _ = setrlimit(Resource::Memlock, unlimited);
}
