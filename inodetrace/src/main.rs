//! The `inodetrace` binary.
fn main() {}
