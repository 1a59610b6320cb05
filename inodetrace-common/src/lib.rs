//! Data that the eBPF programs write and user space reads: plain `repr(C)` types with a fixed
//! layout, and the arithmetic both sides must agree on.
#![no_std]

pub mod hist;
pub mod layout;

pub use hist::{BUCKETS, bucket_bounds, bucket_of};
pub use layout::*;
