//! The guest is what the contract says.

use anyhow::ensure;

use crate::guest::{Case, step};
use crate::kernels::catalog::TESTED;

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        name: "environment",
        // Of others, Debian may no longer have the modules.
        applies: |kernel| TESTED.contains(&kernel),
        steps: || {
            vec![
                step("mounts", &["cat", "/proc/mounts"]),
                step(
                    "arguments",
                    &[
                        "sh",
                        "-c",
                        "printf '[%s]' \"$@\"; echo e >&2; exit 7",
                        "x",
                        "a  b",
                        "",
                        "'\"$\n",
                    ],
                ),
                step("loopback", &["ping", "-c", "1", "-w", "5", "127.0.0.1"]),
            ]
        },
        check: |evidence| {
            let mounts = evidence.step("mounts")?.exited(0)?.stdout;
            for (target, fstype) in [
                ("/tmp", "tmpfs"),
                ("/mnt/ext4", "ext4"),
                ("/mnt/ext4-classic", "ext4"),
                ("/mnt/xfs", "xfs"),
                ("/mnt/btrfs", "btrfs"),
                ("/sys/kernel/debug", "debugfs"),
                ("/sys/kernel/tracing", "tracefs"),
                ("/sys/fs/cgroup", "cgroup2"),
            ] {
                ensure!(
                    mounts.contains(&format!(" {target} {fstype} ")),
                    "{target} is not mounted"
                );
            }
            let arguments = evidence.step("arguments")?.exited(7)?;
            ensure!(
                arguments.stdout == "[a  b][]['\"$\n]",
                "{:?}",
                arguments.stdout
            );
            ensure!(arguments.stderr == "e\n", "{:?}", arguments.stderr);
            evidence.step("loopback")?.exited(0)?;
            Ok(())
        },
    }]
}
