//! Placeholder: set-up, kernels and virtual machines follow.
fn main() {}
