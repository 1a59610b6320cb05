//! Placeholder for the build of the eBPF programs.
fn main() {}
