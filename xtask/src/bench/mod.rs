//! `cargo xtask bench`: measurements of inodetrace itself.

pub(crate) mod overhead;
