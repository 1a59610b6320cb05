//! Where things lie: the checkout, its target directory, and the cache shared by all checkouts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The checkout's root.
pub(crate) fn root() -> PathBuf {
    // Cargo says at run time where the package lies; the path at compile time may be stale.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    match manifest.parent() {
        Some(root) => root.to_path_buf(),
        None => manifest,
    }
}

/// The checkout's `target`.
pub(crate) fn target() -> PathBuf {
    root().join("target")
}

/// Kernels, tools and package lists: `~/.cache/inodetrace`.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    if let Some(dir) = std::env::var_os("XDG_CACHE_HOME").filter(|d| !d.is_empty()) {
        return Ok(PathBuf::from(dir).join("inodetrace"));
    }
    match std::env::var_os("HOME").filter(|d| !d.is_empty()) {
        Some(home) => Ok(PathBuf::from(home).join(".cache/inodetrace")),
        None => bail!("no cache directory: neither XDG_CACHE_HOME nor HOME is set"),
    }
}

/// A directory in the cache, made if missing.
pub(crate) fn cache_dir(name: &str) -> anyhow::Result<PathBuf> {
    let dir = cache()?.join(name);
    make_dir(&dir)?;
    Ok(dir)
}

/// Makes a directory and its parents.
pub(crate) fn make_dir(dir: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("mkdir {}", dir.display()))
}

/// Reads a file; the error names it.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| path.display().to_string())
}

/// Waits for the lock that only one xtask at a time holds while it writes into that directory.
pub(crate) fn lock(dir: &Path) -> anyhow::Result<File> {
    let path = dir.join(".lock");
    let file = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .open(&path)
        .with_context(|| path.display().to_string())?;
    file.lock().with_context(|| path.display().to_string())?;
    Ok(file)
}
