//! The cases, a file per subject.

mod contention;
mod counts;
mod environment;
mod errors;
mod lifetime;
mod selection;
mod sites;
mod together;

use super::Case;

/// All of them.
pub(crate) fn all() -> Vec<Case> {
    [
        environment::cases(),
        sites::cases(),
        counts::cases(),
        contention::cases(),
        lifetime::cases(),
        together::cases(),
        selection::cases(),
        errors::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// For [`Case::applies`].
fn everywhere(_kernel: &str) -> bool {
    true
}
