//! Loops with as few instructions as possible besides the system calls, for measuring.

use std::ffi::CStr;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::args::Args;
use crate::inodes;

/// Runs it; says in JSON how long it took.
pub(crate) fn run(args: &mut Args) -> anyhow::Result<String> {
    let what = args.positional().context("socket or tmpfs?")?;
    let count = args.positional_number()?;
    let dir = args
        .positional()
        .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    args.end()?;
    let elapsed = match &*what.to_string_lossy() {
        "socket" => sockets(count)?,
        "tmpfs" => files(count, &inodes::name(&dir, 0)?)?,
        other => bail!("{other}: socket or tmpfs?"),
    };
    Ok(format!(
        "{{\"loop\": {:?}, \"count\": {count}, \"elapsed_ns\": {elapsed}}}",
        what.to_string_lossy()
    ))
}

/// socket + close.
fn sockets(count: u64) -> anyhow::Result<u64> {
    timed(|| {
        for _ in 0..count {
            // SAFETY: socket() takes plain numbers; what it returns is ours to close.
            let failed = unsafe {
                let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
                fd < 0 || libc::close(fd) != 0
            };
            if failed {
                return false;
            }
        }
        true
    })
}

/// create + unlink + close.
fn files(count: u64, name: &CStr) -> anyhow::Result<u64> {
    timed(|| {
        for _ in 0..count {
            // SAFETY: `name` is a C string that outlives the calls; the descriptor is ours to close.
            let failed = unsafe {
                let fd = libc::open(name.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600);
                fd < 0 || libc::unlink(name.as_ptr()) != 0 || libc::close(fd) != 0
            };
            if failed {
                return false;
            }
        }
        true
    })
}

fn timed(work: impl FnOnce() -> bool) -> anyhow::Result<u64> {
    let start = std::time::Instant::now();
    let done = work();
    let elapsed = start.elapsed();
    if !done {
        return Err(std::io::Error::last_os_error()).context("the loop's system calls");
    }
    Ok(u64::try_from(elapsed.as_nanos())?)
}
