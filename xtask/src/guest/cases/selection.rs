//! A site asked for alone is counted as it is among all, and the others are null, not 0.

use anyhow::ensure;

use super::everywhere;
use crate::guest::evidence::Evidence;
use crate::guest::{Case, step};

const FILES: u64 = 400;

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        name: "one_site_alone",
        applies: everywhere,
        steps: || {
            let record = format!(
                "exec inodetrace record --site sb_list_del -o $OUT/run.json -- \
                 guest-workload churn --dir /tmp/alone --files {FILES}"
            );
            vec![
                step(
                    "prepare",
                    &[
                        "sh",
                        "-c",
                        "mkdir /tmp/alone && mount -t tmpfs alone /tmp/alone",
                    ],
                ),
                step("record", &["sh", "-c", &record]),
                step("clean", &["umount", "/tmp/alone"]),
            ]
        },
        check,
    }]
}

fn check(evidence: &Evidence) -> anyhow::Result<()> {
    evidence.step("record")?.exited(0)?;
    let file = evidence.run_file("record", "run.json")?;
    file.check_no_losses()?;
    for site in &file.sites {
        let observed = site.status == "observed";
        ensure!(
            observed == (site.id == "sb_list_del"),
            "{} is {}",
            site.id,
            site.status
        );
    }
    ensure!(
        file.series.iter().all(|s| s.site == "sb_list_del"),
        "series of other sites"
    );
    let counts: Vec<_> = file
        .series
        .iter()
        .filter(|s| s.mounts.iter().any(|m| m == "/tmp/alone"))
        .map(|s| (s.calls, s.acquisitions))
        .collect();
    // Each file is taken off the superblock's list once.
    ensure!(
        counts == [(Some(FILES), Some(FILES))],
        "calls and acquisitions {counts:?}, expected {FILES} of each"
    );
    Ok(())
}
