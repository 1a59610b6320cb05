//! Two at once: what the first has put into the kernel's code must not blind the second.

use anyhow::ensure;

use super::everywhere;
use crate::guest::evidence::Evidence;
use crate::guest::{Case, step};

const FILES: u64 = 250;

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        name: "two_at_once",
        applies: everywhere,
        steps: || {
            let inner = format!(
                "exec inodetrace record -o $OUT/inner.json -- \
                 guest-workload churn --dir /tmp/together --files {FILES}"
            );
            vec![
                step(
                    "prepare",
                    &[
                        "sh",
                        "-c",
                        "mkdir /tmp/together && mount -t tmpfs together /tmp/together",
                    ],
                ),
                step(
                    "record",
                    &[
                        "sh",
                        "-c",
                        "exec inodetrace record -o $OUT/outer.json -- sh -c \"$0\"",
                        &inner,
                    ],
                ),
                step("clean", &["umount", "/tmp/together"]),
            ]
        },
        check,
    }]
}

fn check(evidence: &Evidence) -> anyhow::Result<()> {
    evidence.step("record")?.exited(0)?;
    let outer = evidence.run_file("record", "outer.json")?;
    let inner = evidence.run_file("record", "inner.json")?;
    for (a, b) in outer.sites.iter().zip(&inner.sites) {
        ensure!(
            (&a.id, &a.status) == (&b.id, &b.status),
            "{} is {} for the first and {} for the second: {:?}",
            a.id,
            a.status,
            b.status,
            b.reason
        );
    }
    for (name, file) in [("outer", &outer), ("inner", &inner)] {
        // tmpfs puts each file on the superblock's list and takes it off again.
        for site in ["evict", "alloc", "sb_list_add", "sb_list_del"] {
            let calls: Vec<_> = file
                .series
                .iter()
                .filter(|s| s.site == site && s.mounts.iter().any(|m| m == "/tmp/together"))
                .map(|s| s.calls)
                .collect();
            ensure!(
                calls == [Some(FILES)],
                "{name}: {site}: {calls:?} calls, expected {FILES}"
            );
        }
    }
    Ok(())
}
