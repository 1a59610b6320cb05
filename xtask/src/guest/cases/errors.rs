//! Exit codes and what survives an interruption.

use anyhow::ensure;

use super::everywhere;
use crate::guest::{Case, step};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "bad_usage_is_2",
            applies: everywhere,
            steps: || {
                vec![
                    step(
                        "unknown-site",
                        &[
                            "inodetrace",
                            "record",
                            "-o",
                            "/tmp/x.json",
                            "--site",
                            "no_such_site",
                            "-d",
                            "1s",
                        ],
                    ),
                    step(
                        "unknown-lock",
                        &[
                            "inodetrace",
                            "record",
                            "-o",
                            "/tmp/x.json",
                            "--lock",
                            "no-such-lock",
                            "-d",
                            "1s",
                        ],
                    ),
                    step(
                        "unwritable",
                        &[
                            "inodetrace",
                            "record",
                            "-o",
                            "/no/such/dir/x.json",
                            "-d",
                            "1s",
                        ],
                    ),
                    step("no-run-file", &["inodetrace", "report", "/etc/passwd"]),
                ]
            },
            check: |evidence| {
                let said = |step, word| evidence.step(step)?.exited(2)?.says_one_of(&[word]);
                said("unknown-site", "no_such_site")?;
                said("unknown-lock", "no-such-lock")?;
                said("unwritable", "/no/such/dir/x.json")?;
                said("no-run-file", "/etc/passwd")?;
                Ok(())
            },
        },
        Case {
            name: "exit_code_of_the_command_is_passed_on",
            applies: everywhere,
            steps: || {
                vec![step(
                    "record",
                    &[
                        "sh",
                        "-c",
                        "exec inodetrace record -o $OUT/run.json -- sh -c 'exit 42'",
                    ],
                )]
            },
            check: |evidence| {
                evidence.step("record")?.exited(42)?;
                evidence.run_file("record", "run.json").map(drop)
            },
        },
        Case {
            name: "interrupted_record_writes_its_file",
            applies: everywhere,
            steps: || {
                vec![
                    step(
                        "with-command",
                        &[
                            "sh",
                            "-c",
                            "exec guest-workload interrupt /tmp/recording inodetrace record \
                             -o $OUT/run.json -- sh -c 'echo > /tmp/recording; exec sleep 50'",
                        ],
                    ),
                    step(
                        "until-interrupted",
                        &[
                            "sh",
                            "-c",
                            "exec guest-workload interrupt attached inodetrace record \
                             -o $OUT/run.json",
                        ],
                    ),
                ]
            },
            check: |evidence| {
                // The command died by SIGINT, as shells have it, or inodetrace did what it was
                // asked to: both are fine, but nothing else is.
                let status = evidence.step("with-command")?.status;
                ensure!(
                    status == Some(130) || status == Some(0),
                    "with-command ended with {status:?}"
                );
                evidence.run_file("with-command", "run.json")?;
                evidence.step("until-interrupted")?.exited(0)?;
                evidence.run_file("until-interrupted", "run.json")?;
                Ok(())
            },
        },
        Case {
            name: "no_privilege_is_3",
            applies: everywhere,
            steps: || {
                vec![
                    step(
                        "record",
                        &[
                            "guest-workload",
                            "as-nobody",
                            "inodetrace",
                            "record",
                            "-o",
                            "/tmp/nobody.json",
                            "-d",
                            "1s",
                        ],
                    ),
                    step(
                        "sites",
                        &["guest-workload", "as-nobody", "inodetrace", "sites"],
                    ),
                ]
            },
            check: |evidence| {
                for step in ["record", "sites"] {
                    evidence
                        .step(step)?
                        .exited(3)?
                        .says_one_of(&["CAP_", "root", "privilege"])?;
                }
                Ok(())
            },
        },
    ]
}
