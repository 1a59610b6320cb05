use super::*;

fn every_error() -> Vec<Error> {
    let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
    vec![
        Error::NoPrivilege {
            missing: vec!["CAP_BPF".into(), "CAP_PERFMON".into()],
        },
        Error::NoBtf {
            path: "/sys/kernel/btf/vmlinux".into(),
            cause: "No such file or directory".into(),
        },
        Error::NoKprobes,
        Error::KptrRestrict { value: 2 },
        Error::Lockdown {
            mode: "confidentiality".into(),
        },
        Error::BpfRefused {
            what: "to load the program for evict".into(),
            cause: "Operation not permitted (os error 1)".into(),
        },
        Error::Inspect {
            what: "/proc/kcore".into(),
            cause: "Permission denied (os error 13)".into(),
        },
        Error::NothingToObserve {
            reasons: vec![
                ("sb_list_add".into(), "inlined into new_inode".into()),
                ("sb_list_del".into(), "inlined into evict".into()),
            ],
        },
        Error::Snapshot {
            cause: "counts of slot 3 went away".into(),
        },
        Error::UnknownName {
            kind: "mount",
            given: "/tpm".into(),
            valid: vec!["/".into(), "/tmp".into()],
        },
        Error::UnknownName {
            kind: "format",
            given: "yaml".into(),
            valid: vec!["table".into(), "json".into(), "csv".into()],
        },
        Error::BadValue {
            option: "--interval",
            given: "1 parsec".into(),
            why: "a duration such as 1s or 500ms".into(),
        },
        Error::NotAvailable {
            what: "--hold exact",
            instead: "--hold span measures an upper bound",
        },
        Error::Output {
            path: "/proc/x.json".into(),
            cause: denied(),
        },
        Error::Output {
            path: "gone/x.json".into(),
            cause: io::Error::from(io::ErrorKind::NotFound),
        },
        Error::Input {
            path: "x.json".into(),
            cause: "it ends in the middle (line 3)".into(),
        },
        Error::Command {
            command: "mkae".into(),
            cause: io::Error::from(io::ErrorKind::NotFound),
        },
        Error::Terminal { cause: denied() },
        Error::System {
            what: "cannot listen to signals",
            cause: denied(),
        },
    ]
}

/// One place to read every message a user can get, with its exit code.
#[test]
fn every_message() {
    let text: Vec<String> = every_error()
        .iter()
        .map(|e| format!("[exit {}] {}", e.exit_code(), e.message()))
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn a_closed_pipe_is_told_from_a_full_disk() {
    assert!(Error::stdout(io::ErrorKind::BrokenPipe.into()).is_broken_pipe());
    assert!(!Error::stdout(io::ErrorKind::StorageFull.into()).is_broken_pipe());
}
