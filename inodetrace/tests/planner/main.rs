//! The planner on facts recorded from real kernels, and on the same facts damaged in ways that
//! must never make a site look observed when it is not.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests, outside of test functions"
)]

mod changes;
mod damage;
mod fixture;
mod pins;
mod robustness;
