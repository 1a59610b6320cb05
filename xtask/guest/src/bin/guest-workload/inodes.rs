//! Making and removing inodes, one at a time.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use rustix::net::{AddressFamily, SocketType, socket};

/// Creates (empty), closes and unlinks `files` regular files; with `batch`, first all of the one
/// and then all of the other.
pub(crate) fn churn(dir: &Path, files: u64, batch: bool) -> anyhow::Result<()> {
    if batch {
        for number in 0..files {
            create(&name(dir, number)?)?;
        }
        for number in 0..files {
            remove(&name(dir, number)?)?;
        }
    } else {
        for number in 0..files {
            let name = name(dir, number)?;
            create(&name)?;
            remove(&name)?;
        }
    }
    Ok(())
}

/// Makes and closes UDP sockets: one inode on sockfs each.
pub(crate) fn sockets(count: u64) -> anyhow::Result<()> {
    for _ in 0..count {
        drop(socket(AddressFamily::INET, SocketType::DGRAM, None).context("socket")?);
    }
    Ok(())
}

/// Makes and closes pipes: one inode on pipefs each.
pub(crate) fn pipes(count: u64) -> anyhow::Result<()> {
    for _ in 0..count {
        drop(rustix::pipe::pipe().context("pipe")?);
    }
    Ok(())
}

/// Path of a file that nobody else uses.
pub(crate) fn name(dir: &Path, number: u64) -> anyhow::Result<CString> {
    let path = dir.join(format!("inodetrace-{number}"));
    CString::new(path.as_os_str().as_bytes()).context("path with a NUL byte")
}

/// Creates an empty file and closes it.
pub(crate) fn create(name: &CString) -> anyhow::Result<()> {
    openat(
        CWD,
        name,
        OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::RUSR | Mode::WUSR,
    )
    .map(drop)
    .with_context(|| format!("creating {}", name.to_string_lossy()))
}

/// Removes a file.
pub(crate) fn remove(name: &CString) -> anyhow::Result<()> {
    unlinkat(CWD, name, AtFlags::empty())
        .with_context(|| format!("removing {}", name.to_string_lossy()))
}
