//! Several threads, each on a CPU of its own, creating and removing files on one superblock.

use std::path::PathBuf;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::args::Args;
use crate::inodes;

/// Runs it; says in JSON how many files there were.
pub(crate) fn run(args: &mut Args) -> anyhow::Result<String> {
    let dir = args.path("dir")?;
    let threads = usize::try_from(args.number("threads")?)?;
    let seconds = args.number("seconds")?;
    args.end()?;
    ensure!(threads > 0, "--threads 0: nothing to do");
    let cpus = allowed_cpus()?;

    // Directories of their own: the directory's lock would let only one thread in at a time.
    let dirs: Vec<PathBuf> = (0..threads)
        .map(|t| dir.join(format!("thread-{t}")))
        .collect();
    for dir in &dirs {
        std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    }
    let barrier = Barrier::new(threads);
    let files = std::thread::scope(|scope| {
        let workers: Vec<_> = dirs
            .iter()
            .enumerate()
            .map(|(number, dir)| {
                let (barrier, cpu) = (&barrier, cpus[number % cpus.len()]);
                scope.spawn(move || -> anyhow::Result<u64> {
                    let mut set = CpuSet::new();
                    set.set(cpu);
                    sched_setaffinity(None, &set).context("sched_setaffinity")?;
                    let name = inodes::name(dir, 0)?;
                    barrier.wait();
                    let end = Instant::now() + Duration::from_secs(seconds);
                    let mut files = 0;
                    while Instant::now() < end {
                        for _ in 0..64 {
                            inodes::create(&name)?;
                            inodes::remove(&name)?;
                        }
                        files += 64;
                    }
                    Ok(files)
                })
            })
            .collect();
        let mut total = 0;
        for worker in workers {
            match worker.join() {
                Ok(files) => total += files?,
                Err(_) => anyhow::bail!("a thread panicked"),
            }
        }
        Ok(total)
    })?;
    Ok(format!(
        "{{\"threads\": {threads}, \"seconds\": {seconds}, \"files\": {files}, \"directories\": {threads}}}"
    ))
}

fn allowed_cpus() -> anyhow::Result<Vec<usize>> {
    let set = sched_getaffinity(None).context("sched_getaffinity")?;
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| set.is_set(cpu))
        .collect();
    ensure!(!cpus.is_empty(), "no CPU is allowed");
    Ok(cpus)
}
