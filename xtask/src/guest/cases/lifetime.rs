//! A superblock that goes away keeps its counts, and the next one gets its own, even at the same
//! address and with the same device number.

use anyhow::ensure;

use super::everywhere;
use crate::guest::evidence::Evidence;
use crate::guest::{Case, step};

/// Files of the first and of the second superblock.
const FILES: [u64; 2] = [300, 500];
/// Superblocks in between, all with the same device number, and the files of each.
const CYCLES: usize = 20;
const CYCLE_FILES: u64 = 7;

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        name: "superblocks_that_go_away",
        applies: everywhere,
        steps: || {
            // The kernel takes the lowest free minor number for the second as for the first.
            let [first, second] = FILES;
            let work = format!(
                "set -e; mkdir -p /tmp/gone
                 mount -t tmpfs gone /tmp/gone
                 guest-workload churn --dir /tmp/gone --files {first}
                 umount /tmp/gone
                 i=0; while [ $i -lt {CYCLES} ]; do
                     mount -t tmpfs gone /tmp/gone
                     guest-workload churn --dir /tmp/gone --files {CYCLE_FILES}
                     umount /tmp/gone
                     i=$((i+1))
                 done
                 mount -t tmpfs gone /tmp/gone
                 guest-workload churn --dir /tmp/gone --files {second}"
            );
            vec![
                step(
                    "record",
                    &[
                        "sh",
                        "-c",
                        "exec inodetrace record -o $OUT/run.json -- sh -c \"$0\"",
                        &work,
                    ],
                ),
                step("clean", &["umount", "/tmp/gone"]),
            ]
        },
        check,
    }]
}

fn check(evidence: &Evidence) -> anyhow::Result<()> {
    evidence.step("record")?.exited(0)?;
    let file = evidence.run_file("record", "run.json")?;
    file.check_no_losses()?;
    // evict() is called for the files, and for the root directory when the superblock goes away.
    let [first, second] = FILES;
    for (number, gone, expected) in [
        (1, true, first + 1),
        (CYCLES, true, CYCLE_FILES + 1),
        (1, false, second),
    ] {
        let found: Vec<_> = file
            .series
            .iter()
            .filter(|s| s.fstype == "tmpfs" && s.site == "evict" && s.gone == gone)
            .filter(|s| s.calls == Some(expected))
            .collect();
        ensure!(
            found.len() == number,
            "{} superblocks, expected {number}, with gone = {gone} and {expected} evictions; evictions of tmpfs: {:?}",
            found.len(),
            file.series
                .iter()
                .filter(|s| s.fstype == "tmpfs" && s.site == "evict")
                .collect::<Vec<_>>()
        );
    }
    Ok(())
}
