use std::{fs, path::Path};

use super::*;
use crate::{fake::Fake, plain::tests::scope, runfile};

fn options(output: &Path, args: &[&str], command: &[&str]) -> Record {
    Record {
        scope: scope(args),
        output: output.into(),
        duration: None,
        command: command.iter().map(OsString::from).collect(),
    }
}

fn in_dir(test: impl FnOnce(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    test(&dir.path().join("run.json"));
}

#[test]
fn a_command_passes_its_exit_code_on() {
    in_dir(|path| {
        let fake = Fake::default();
        let code = record(&options(path, &[], &["sh", "-c", "exit 7"]), &fake).unwrap();
        assert_eq!(code, 7);
        let file = runfile::read(path).unwrap();
        assert_eq!(
            file.window.command.as_deref().unwrap(),
            ["sh", "-c", "exit 7"]
        );
        assert_eq!(file.window.seconds, 1.0);
        let code = record(&options(path, &[], &["sh", "-c", "kill -9 $$"]), &fake).unwrap();
        assert_eq!(code, 128 + 9);
    });
}

#[test]
fn the_file_holds_what_was_counted_and_why_the_rest_was_not() {
    in_dir(|path| {
        let fake = Fake::default();
        record(&options(path, &[], &["true"]), &fake).unwrap();
        let mut file = runfile::read(path).unwrap();
        file.window.start = "2026-12-01T10:00:00.000Z".into();
        insta::assert_snapshot!(file.to_json());
    });
}

#[test]
fn a_duration_ends_it() {
    in_dir(|path| {
        let options = Record {
            duration: Some(Duration::from_millis(30)),
            ..options(path, &["--fstype", "sockfs"], &[])
        };
        assert_eq!(record(&options, &Fake::default()).unwrap(), 0);
        let file = runfile::read(path).unwrap();
        assert!(file.window.command.is_none());
        assert!(file.series.iter().all(|s| s.fstype == "sockfs"));
        assert_eq!(file.filters.fstypes, ["sockfs"]);
    });
}

/// The window ends, the file is there, the command goes on and still has its say.
#[test]
fn a_duration_does_not_end_the_command() {
    in_dir(|path| {
        let script = format!(
            "until test -e {p}; do sleep 0.02; done; exit 5",
            p = path.display()
        );
        let options = Record {
            duration: Some(Duration::from_millis(30)),
            ..options(path, &[], &["sh", "-c", &script])
        };
        assert_eq!(record(&options, &Fake::default()).unwrap(), 5);
    });
}

#[test]
fn a_bad_path_fails_before_anything_is_attached() {
    let fake = Fake::default();
    let options = options(Path::new("/no/such/dir/run.json"), &[], &["true"]);
    let e = record(&options, &fake).unwrap_err();
    assert_eq!(e.exit_code(), 2);
    assert!(fake.requests.borrow().is_empty());
}

#[test]
fn no_file_is_left_when_nothing_can_be_observed() {
    in_dir(|path| {
        let fake = Fake {
            unprivileged: true,
            ..Fake::default()
        };
        let e = record(&options(path, &[], &["true"]), &fake).unwrap_err();
        assert_eq!(e.exit_code(), 3);
        let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 0);
        let e = record(
            &options(path, &["--site", "sb_list_walk"], &["true"]),
            &Fake::default(),
        )
        .unwrap_err();
        assert_eq!(e.exit_code(), 3);
        assert!(e.to_string().contains("sb_list_walk: its places"), "{e}");
    });
}

#[test]
fn a_command_that_is_not_there_is_bad_usage() {
    in_dir(|path| {
        let e = record(&options(path, &[], &["no-such-command"]), &Fake::default()).unwrap_err();
        assert_eq!(e.exit_code(), 2);
        assert!(!path.exists());
    });
}
