//! Where the kernel takes the inode-list locks, found in its machine code (x86-64).
//!
//! The compiler may inline the function that takes a lock into its callers and leave the symbol
//! behind, so that a probe on it counts nothing. Whether it did is seen in the code only: taking
//! a lock is a call, and what is passed to it says which lock it is.

pub mod analysis;
pub mod code;
pub mod collect;
mod flow;
pub mod locks;
mod scan;
mod search;
pub mod section;
pub mod tables;
mod value;
