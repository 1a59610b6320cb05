//! The binary from outside, as far as no kernel is needed.
#![expect(clippy::unwrap_used, reason = "helpers of tests are not seen as tests")]

use std::{
    io::Read as _,
    process::{Command as StdCommand, Stdio},
};

use assert_cmd::{Command, cargo::cargo_bin_cmd};

const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/run-6.18.json");

fn inodetrace(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("inodetrace");
    command.args(args);
    command
}

fn refused(args: &[&str]) -> String {
    let output = inodetrace(args).assert().code(2).get_output().clone();
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("inodetrace: "), "{text}");
    text
}

#[test]
fn help_and_version_go_to_standard_output() {
    for args in [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["help", "record"],
    ] {
        let output = inodetrace(args).assert().code(0).get_output().clone();
        assert!(!output.stdout.is_empty() && output.stderr.is_empty());
    }
}

#[test]
fn bad_usage_is_2_and_names_what_is_valid() {
    assert!(refused(&["--site", "nonsense"]).contains("sb_list_del"));
    assert!(refused(&["record", "--lock", "nonsense"]).contains("ext4-orphan"));
    assert!(refused(&["report", RUN, "--format", "pdf"]).contains("csv"));
    assert!(refused(&["nonsense"]).contains("nonsense"));
    assert!(refused(&["--hold", "exact"]).contains("hint: --hold span"));
    assert!(refused(&["--mount", "/no/such/mount"]).contains("unknown mount"));
    assert!(refused(&["--cgroup", "/"]).contains("no cgroup2 directory"));
}

#[test]
fn a_bad_output_is_2_before_privileges_matter() {
    let text = refused(&["record", "-o", "/no/such/dir/x.json", "--", "true"]);
    assert!(text.contains("cannot write /no/such/dir/x.json"), "{text}");
    assert!(text.contains("hint: create the directory first"), "{text}");
}

#[test]
fn where_nothing_can_be_observed_it_is_3_with_a_remedy() {
    let output = inodetrace(&["sites"]).output().unwrap();
    match output.status.code() {
        Some(0) => assert!(!output.stdout.is_empty()),
        Some(3) => {
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(text.starts_with("inodetrace: "), "{text}");
            assert!(text.contains("\nhint: "), "{text}");
            assert!(output.stdout.is_empty());
        }
        other => panic!("exit code {other:?}"),
    }
}

#[test]
fn report_in_every_format() {
    for (format, sign) in [
        ("table", "Not observed (not zero)"),
        ("json", "inodetrace.report/1"),
        ("csv", "file,fstype,dev"),
    ] {
        let output = inodetrace(&["report", RUN, "--format", format])
            .assert()
            .code(0)
            .get_output()
            .clone();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(sign), "{text}");
        assert!(!text.contains('\x1b'), "colours in a pipe");
    }
}

#[test]
fn report_reads_standard_input_and_several_files() {
    let run = std::fs::read(RUN).unwrap();
    let output = inodetrace(&["report", "-", RUN, "--json"])
        .write_stdin(run)
        .assert()
        .code(0)
        .get_output()
        .clone();
    let reports: Vec<serde_json::Value> = serde_json::Deserializer::from_slice(&output.stdout)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0]["file"], "-");
    assert_eq!(reports[0]["rows"], reports[1]["rows"]);
}

#[test]
fn a_bad_run_file_is_2_and_prints_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut.json");
    let run = std::fs::read(RUN).unwrap();
    std::fs::write(&cut, &run[..run.len() / 2]).unwrap();
    let text = refused(&["report", RUN, cut.to_str().unwrap()]);
    assert!(text.contains("ends in the middle"), "{text}");
    assert!(refused(&["report", "/no/such/file"]).contains("No such file"));
}

/// `inodetrace report … | head -1`
#[test]
fn a_closed_pipe_is_no_failure() {
    let mut child = StdCommand::new(assert_cmd::cargo::cargo_bin!("inodetrace"))
        // More than a pipe holds.
        .args(std::iter::once("report").chain(std::iter::repeat_n(RUN, 100)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut some = [0; 10];
    out.read_exact(&mut some).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty());
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = inodetrace(&["completions", shell])
            .assert()
            .code(0)
            .get_output()
            .clone();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("inodetrace") && text.contains("record"));
    }
    assert!(refused(&["completions", "tcsh"]).contains("bash"));
}
