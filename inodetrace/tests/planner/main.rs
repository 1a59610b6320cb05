//! The planner on facts recorded from real kernels, and on the same facts damaged in ways that
//! must never make a site look observed when it is not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in tests; clippy knows only functions marked #[test] as such"
)]

mod damage;
mod fixture;
mod pins;
mod robustness;
