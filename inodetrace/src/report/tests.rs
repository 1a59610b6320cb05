use super::*;
use crate::{
    backend::TaskFilter,
    caveat,
    delta::Delta,
    fake,
    filter::SuperblockFilter,
    mount_names::MountNames,
    runfile::{Filters, Recording, parse},
    series,
};

fn recording() -> RunFile {
    let plan = fake::plan();
    let mut after = fake::snapshot(3);
    after.losses.unmatched = 2;
    let delta = Delta::between(&fake::snapshot(0), &after);
    let mut names = MountNames::new(fake::mounts());
    let rows = series::rows(&delta, &plan, &SuperblockFilter::default(), &mut names);
    Recording {
        host: fake::host(),
        start: "2026-12-01T10:00:00Z".parse().unwrap(),
        command: Some(vec!["make".into(), "-j8".into()]),
        filters: Filters::default(),
        plan: &plan,
        delta: &delta,
        rows: &rows,
        caveats: caveat::caveats(&delta, &TaskFilter::default()),
    }
    .into_file()
}

fn report(format: Format) -> String {
    let files = [("run.json".to_owned(), recording())];
    render(&files, format, Look::default(), Some(150))
}

#[test]
fn as_table() {
    insta::assert_snapshot!(report(Format::Table));
}

#[test]
fn as_csv() {
    insta::assert_snapshot!(report(Format::Csv));
}

#[test]
fn as_json() {
    let value: serde_json::Value = serde_json::from_str(&report(Format::Json)).unwrap();
    assert_eq!(value["schema"], "inodetrace.report/1");
    let rows = value["rows"].as_array().unwrap();
    let row = |site: &str, fstype: &str| {
        rows.iter()
            .find(|r| r["site"] == site && r["fstype"] == fstype)
            .unwrap()
    };
    assert_eq!(row("lru_del", "ext4")["skipped"], 27);
    assert_eq!(row("lru_del", "ext4")["skipped_share"], 0.75);
    let add = row("sb_list_add", "tmpfs");
    for field in [
        "calls",
        "acquisitions",
        "skipped",
        "contended_share",
        "hold",
    ] {
        assert!(add[field].is_null(), "{field}");
    }
    assert_eq!(add["contended"], 12);
    assert_eq!(value["losses"]["unmatched"], 2);
}

/// No cell of a quantity that was not counted holds a number, in any format.
#[test]
fn csv_has_no_number_for_what_was_not_counted() {
    let text = report(Format::Csv);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().unwrap().clone();
    let column = |name| heads.iter().position(|h| h == name).unwrap();
    let mut seen = 0;
    for line in reader.records() {
        let line = line.unwrap();
        if &line[column("status")] == "not_observable" {
            seen += 1;
            assert_eq!(&line[column("calls")], "");
            assert_eq!(&line[column("acquisitions")], "");
            assert_eq!(&line[column("hold_p50_ns")], "");
            assert_ne!(&line[column("reason")], "");
        }
    }
    assert_eq!(seen, 6); // four sites, two of them with contention on tmpfs
}

#[test]
fn run_files_come_back_as_they_went() {
    let file = recording();
    assert_eq!(parse(file.to_json().as_bytes()).unwrap(), file);
}

#[test]
fn what_is_no_run_file_is_told_why() {
    let text = recording().to_json();
    let cut = &text.as_bytes()[..text.len() / 2];
    let newer = text.replace("inodetrace.run/1", "inodetrace.run/2");
    let bench = "{\"schema\": \"inodetrace.bench/1\"}";
    let damaged = text.replace("\"losses\"", "\"lusses\"");
    for (bytes, why) in [
        (&b""[..], "it is empty"),
        (cut, "it ends in the middle"),
        (b"{\"a\": 1}", "it has no \"schema\""),
        (b"\x7fELF\x02\x01", "it is no run file"),
        (newer.as_bytes(), "\"inodetrace.run/2\", and this version"),
        (bench.as_bytes(), "\"inodetrace.bench/1\", and this version"),
        (damaged.as_bytes(), "it is damaged: missing field `losses`"),
    ] {
        let got = parse(bytes).unwrap_err();
        assert!(got.contains(why), "{got:?} for {why:?}");
    }
}

/// A later version of this schema may add fields and kinds.
#[test]
fn unknown_fields_are_no_obstacle() {
    let text = recording()
        .to_json()
        .replacen("\"tool\"", "\"weather\": \"fine\", \"tool\"", 1)
        .replace("\"fentry\"", "\"telepathy\"");
    assert!(parse(text.as_bytes()).is_ok());
}
