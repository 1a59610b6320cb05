//! Debian's package archive: versions, mirrors, and packages of other suites than the machine's.

pub(crate) mod archive;
pub(crate) mod sources;
pub(crate) mod version;
