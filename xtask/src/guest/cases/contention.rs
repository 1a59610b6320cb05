//! Two tasks on two CPUs of one superblock contend, and it shows.

use anyhow::{Context, ensure};

use super::everywhere;
use crate::guest::evidence::Evidence;
use crate::guest::runfile::Superblock;
use crate::guest::{Case, step};

const THREADS: u64 = 2;
const SECONDS: u64 = 3;
const TMPFS: Superblock = Superblock {
    fstype: "tmpfs",
    mount: Some("/tmp/hammer"),
};

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        name: "contention",
        applies: everywhere,
        steps: || {
            let record = format!(
                "exec inodetrace record -o $OUT/run.json -- guest-workload hammer \
                 --dir /tmp/hammer --threads {THREADS} --seconds {SECONDS}"
            );
            vec![
                step(
                    "prepare",
                    &[
                        "sh",
                        "-c",
                        "mkdir /tmp/hammer && mount -t tmpfs hammer /tmp/hammer",
                    ],
                ),
                step("record", &["sh", "-c", &record]),
                step("clean", &["umount", "/tmp/hammer"]),
            ]
        },
        check: contention,
    }]
}

fn contention(evidence: &Evidence) -> anyhow::Result<()> {
    evidence.step("prepare")?.exited(0)?;
    let done = evidence.step("record")?.exited(0)?;
    let (files, directories) = (done.number("files")?, done.number("directories")?);
    let file = evidence.run_file("record", "run.json")?;
    file.check_no_losses()?;

    // Counts stay exact under contention.
    let calls = |site| anyhow::Ok(file.series(site, TMPFS)?.and_then(|s| s.calls));
    ensure!(
        calls("evict")? == Some(files),
        "evict: {:?} of {files}",
        calls("evict")?
    );
    let made = files + directories;
    ensure!(
        calls("alloc")? == Some(made),
        "alloc: {:?} of {made}",
        calls("alloc")?
    );

    let (mut contended, mut waited) = (0, 0);
    for series in &file.series {
        if series.lock.as_deref() != Some("sb-inodes") || !series.is_of(TMPFS) {
            continue;
        }
        // The reader has checked that contended and the number of waits agree.
        contended += series.contended.unwrap_or(0);
        if let Some(wait) = &series.wait {
            waited += wait.sum_ns;
            if wait.count > 0 {
                let (max, p50) = (wait.max_ns, wait.p50_ns);
                let max = max.with_context(|| format!("{}: no max_ns", series.site))?;
                let p50 = p50.with_context(|| format!("{}: no p50_ns", series.site))?;
                ensure!(
                    p50 <= max + max / 32 + 1 && max <= wait.sum_ns,
                    "{}: p50 {p50}, max {max}, sum {}",
                    series.site,
                    wait.sum_ns
                );
            }
        }
    }
    ensure!(
        contended > 0,
        "nothing contended in {files} files on two CPUs"
    );
    ensure!(waited > 0, "{contended} waits took no time");
    ensure!(
        contended <= 2 * made,
        "{contended} contended, and only {} acquisitions there can be",
        2 * made
    );
    // Each thread waits at most all of the time.
    let limit = file.window.seconds * 1e9 * f64::from(u32::try_from(THREADS)?);
    ensure!(
        waited as f64 <= limit,
        "waited {waited} ns in {} s with {THREADS} threads",
        file.window.seconds
    );
    ensure!(
        file.window.seconds >= SECONDS as f64,
        "the window is {} s long",
        file.window.seconds
    );
    Ok(())
}
