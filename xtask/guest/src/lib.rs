//! What the host (xtask) and the guest (`guest-init`) agree on.

pub mod batch;
pub mod ports;
pub mod spec;
