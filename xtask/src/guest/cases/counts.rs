//! Counts are exact: a workload whose inodes are known, and every number that follows from it.

use anyhow::Context;

use super::everywhere;
use crate::guest::evidence::Evidence;
use crate::guest::implied::{self, Kind};
use crate::guest::runfile::Superblock;
use crate::guest::{Case, Step, step};

const FILES: u64 = 1000;
const SOCKETS: u64 = 700;
const PIPES: u64 = 300;

const TMPFS: Superblock = Superblock {
    fstype: "tmpfs",
    // Mounted for this test alone, so that nothing else makes inodes on it.
    mount: Some("/tmp/exact"),
};
const EXT4: Superblock = Superblock {
    fstype: "ext4",
    mount: Some("/mnt/ext4"),
};
const EXT4_CLASSIC: Superblock = Superblock {
    fstype: "ext4",
    mount: Some("/mnt/ext4-classic"),
};
const SOCKFS: Superblock = Superblock {
    fstype: "sockfs",
    mount: None,
};
const PIPEFS: Superblock = Superblock {
    fstype: "pipefs",
    mount: None,
};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "exact_counts",
            applies: everywhere,
            steps: || steps("auto"),
            check: exact,
        },
        // The same programs by the way that kernels without trampolines would go.
        Case {
            name: "exact_counts_by_kprobes",
            applies: everywhere,
            steps: || steps("kprobe"),
            check: by_kprobes,
        },
    ]
}

fn steps(probe: &str) -> Vec<Step> {
    let record = format!(
        "exec inodetrace record --probe {probe} -o $OUT/run.json -- guest-workload exact \
         --dir /tmp/exact --dir /mnt/ext4/exact --dir /mnt/ext4-classic/exact \
         --files {FILES} --sockets {SOCKETS} --pipes {PIPES}"
    );
    vec![
        step(
            "prepare",
            &[
                "sh",
                "-c",
                "set -e; mkdir -p /tmp/exact /mnt/ext4/exact /mnt/ext4-classic/exact; \
                 mount -t tmpfs exact /tmp/exact; sync",
            ],
        ),
        step("record", &["sh", "-c", &record]),
        step("clean", &["umount", "/tmp/exact"]),
    ]
}

fn by_kprobes(evidence: &Evidence) -> anyhow::Result<()> {
    let file = evidence.run_file("record", "run.json")?;
    let others = file
        .sites
        .iter()
        .flat_map(|site| &site.how)
        .find(|how| how.kind != "kprobe" && how.kind != "inlined-call");
    anyhow::ensure!(others.is_none(), "not a kprobe: {others:?}");
    exact(evidence)
}

fn exact(evidence: &Evidence) -> anyhow::Result<()> {
    evidence.step("prepare")?.exited(0)?;
    let done = evidence.step("record")?.exited(0)?;
    // The workload did what the expectations are about.
    for (field, number) in [("files", FILES), ("sockets", SOCKETS), ("pipes", PIPES)] {
        anyhow::ensure!(done.number(field)? == number, "the workload's {field}");
    }
    let file = evidence.run_file("record", "run.json")?;
    file.check_no_losses()?;
    let mut wrong = Vec::new();
    for (superblock, kind, n) in [
        (TMPFS, Kind::Tmpfs, FILES),
        (
            EXT4,
            Kind::Ext4 {
                orphan_file: evidence.orphan_file,
            },
            FILES,
        ),
        (EXT4_CLASSIC, Kind::Ext4 { orphan_file: false }, FILES),
        (SOCKFS, Kind::Pseudo, SOCKETS),
        (PIPEFS, Kind::Pseudo, PIPES),
    ] {
        if let Err(error) = implied::check(&file, superblock, kind, n, evidence.kernel) {
            wrong.push(format!("{error:#}"));
        }
    }
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    evidence.step("clean")?.exited(0).context("umount")?;
    Ok(())
}
