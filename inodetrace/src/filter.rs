//! Which superblocks are shown and written.

use crate::model::{DevNumber, SuperBlock};

/// Filesystem type of the slot that holds all superblocks that found no room.
pub const OTHER: &str = "(other)";

/// A superblock passes if its type is one of `fstypes` and its device one of `devs`; an empty list
/// lets everything pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuperblockFilter {
    /// Names of filesystem types.
    pub fstypes: Vec<String>,
    /// Device numbers.
    pub devs: Vec<DevNumber>,
}

impl SuperblockFilter {
    /// Whether `sb` passes.
    pub fn matches(&self, sb: &SuperBlock) -> bool {
        (self.fstypes.is_empty() || self.fstypes.contains(&sb.fstype))
            && (self.devs.is_empty() || self.devs.contains(&sb.dev))
    }
}
