//! Loops with as few instructions as possible besides the system calls, for measuring.

use std::ffi::CStr;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};

use crate::args::Args;
use crate::inodes;

/// Operations between two looks at the clock: enough for a look to cost little per operation (7
/// instructions), few enough for most chunks to see no timer tick, no RCU batch and no refill of a
/// slab. With 8, the median repeats to the last digit in instructions on 6.12; with 64 it was 5 %
/// up or down.
const CHUNK: u64 = 8;

/// Runs it; says in JSON how long it took.
pub(crate) fn run(args: &mut Args) -> anyhow::Result<String> {
    let what = args.positional().context("socket or tmpfs?")?;
    let chunks = args.positional_number()?.div_ceil(CHUNK);
    let dir = args
        .positional()
        .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    args.end()?;
    let times = match &*what.to_string_lossy() {
        "socket" => timed(chunks, socket)?,
        "tmpfs" => {
            let name = inodes::name(&dir, 0)?;
            timed(chunks, || file(&name))?
        }
        other => bail!("{other}: socket or tmpfs?"),
    };
    let elapsed: u64 = times.iter().sum();
    Ok(format!(
        "{{\"loop\": {:?}, \"count\": {}, \"elapsed_ns\": {elapsed}, \"chunk\": {CHUNK}, \
         \"median_chunk_ns\": {}}}",
        what.to_string_lossy(),
        chunks * CHUNK,
        median(times)
    ))
}

/// socket + close.
fn socket() -> bool {
    // SAFETY: socket() takes plain numbers; what it returns is ours to close.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        fd >= 0 && libc::close(fd) == 0
    }
}

/// create + unlink + close.
fn file(name: &CStr) -> bool {
    // SAFETY: `name` is a C string that outlives the calls; the descriptor is ours to close.
    unsafe {
        let fd = libc::open(name.as_ptr(), libc::O_CREAT | libc::O_RDWR, 0o600);
        fd >= 0 && libc::unlink(name.as_ptr()) == 0 && libc::close(fd) == 0
    }
}

/// Time of each chunk, ns.
fn timed(chunks: u64, mut operation: impl FnMut() -> bool) -> anyhow::Result<Vec<u64>> {
    let mut times = vec![0; usize::try_from(chunks)?];
    let mut last = Instant::now();
    for time in &mut times {
        for _ in 0..CHUNK {
            if !operation() {
                return Err(std::io::Error::last_os_error()).context("the loop's system calls");
            }
        }
        let now = Instant::now();
        *time = u64::try_from((now - last).as_nanos())?;
        last = now;
    }
    Ok(times)
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}
