//! inodetrace: how often the kernel's inode-list locks are taken, skipped and contended.

pub mod kernel;
pub mod model;
pub mod plan;
pub mod sites;
pub mod vocab;
