//! What the planner is told besides the facts about the kernel.

use crate::vocab::{Site, SiteExt};

/// Which kinds of probe this kernel and these privileges allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// BPF trampolines (fentry, fexit).
    pub fentry: bool,
    /// kprobes.
    pub kprobe: bool,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// The sites asked for. The plan has an entry for the others too, with nothing counted.
    pub sites: Vec<Site>,
    /// Measure hold times from entry to exit.
    pub hold: bool,
    /// Which kind of probe to choose.
    pub attach: AttachChoice,
}

/// Which kind of probe to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttachChoice {
    /// fentry where possible, else kprobe.
    #[default]
    Auto,
    /// kprobe everywhere, as on kernels without fentry.
    ForceKprobe,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            sites: Site::ALL.to_vec(),
            hold: true,
            attach: AttachChoice::Auto,
        }
    }
}
