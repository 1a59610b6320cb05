//! Readers of what the kernel tells about itself. Each takes the root of a file system, so that
//! tests can give it a `/proc` and `/sys` of their own; what is parsed is parsed by pure functions.

pub mod btf;
pub mod btf_query;
#[cfg(test)]
mod btf_tests;
mod bytes;
pub mod facts;
pub mod facts_cache;
pub(crate) mod fnv;
pub mod kallsyms;
pub mod kcore;
pub mod mounts;
pub mod sources;

pub use sources::{SourceError, Sources};
