//! For spreadsheets. Columns are only ever added, at the end. Null is an empty cell; a site that
//! was not observed has a line of its own with the reason, so that its absence is no zero.

use super::{share, skipped};
use crate::runfile::{RunFile, Series, SiteEntry, Summary};

const COLUMNS: [&str; 32] = [
    "file",
    "fstype",
    "dev",
    "superblock",
    "mounts",
    "site",
    "lock",
    "status",
    "reason",
    "seconds",
    "calls",
    "acquisitions",
    "skipped",
    "skipped_share",
    "contended",
    "contended_share",
    "wait_count",
    "wait_sum_ns",
    "wait_min_ns",
    "wait_p50_ns",
    "wait_p90_ns",
    "wait_p99_ns",
    "wait_p999_ns",
    "wait_max_ns",
    "hold_method",
    "hold_sum_ns",
    "hold_min_ns",
    "hold_p50_ns",
    "hold_p90_ns",
    "hold_p99_ns",
    "hold_p999_ns",
    "hold_max_ns",
];

pub(super) fn render(files: &[(String, RunFile)]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory fails only when a line has another length than the header.
    let _ = writer.write_record(COLUMNS);
    for (name, file) in files {
        for series in &file.series {
            let _ = writer.write_record(line(name, file, series));
        }
        for site in file.sites.iter().filter(|s| s.status != "observed") {
            let _ = writer.write_record(unobserved(name, site));
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn line(name: &str, file: &RunFile, s: &Series) -> Vec<String> {
    let site = file.sites.iter().find(|e| e.id == s.site);
    let ratio = |r: Option<f64>| r.map(|r| format!("{r:.6}")).unwrap_or_default();
    let mut line = vec![
        name.to_owned(),
        s.fstype.clone(),
        s.dev.clone(),
        s.sb.clone(),
        s.mounts.join(" "),
        s.site.clone(),
        s.lock.clone().unwrap_or_default(),
        site.map(|e| e.status.clone()).unwrap_or_default(),
        site.and_then(|e| e.reason.clone()).unwrap_or_default(),
        format!("{:.6}", file.window.seconds),
        number(s.calls),
        number(s.acquisitions),
        number(skipped(s)),
        ratio(share(skipped(s), s.calls)),
        number(s.contended),
        ratio(share(s.contended, s.acquisitions)),
        number(s.wait.as_ref().map(|w| w.count)),
    ];
    line.extend(times(s.wait.as_ref()));
    line.push(
        s.hold
            .as_ref()
            .map(|h| h.method.clone())
            .unwrap_or_default(),
    );
    line.extend(times(s.hold.as_ref().map(|h| &h.times)));
    line
}

fn times(s: Option<&Summary>) -> [String; 7] {
    let of = |f: fn(&Summary) -> Option<u64>| number(s.and_then(f));
    [
        of(|s| Some(s.sum_ns)),
        of(|s| s.min_ns),
        of(|s| s.p50_ns),
        of(|s| s.p90_ns),
        of(|s| s.p99_ns),
        of(|s| s.p999_ns),
        of(|s| s.max_ns),
    ]
}

fn number(n: Option<u64>) -> String {
    n.map(|n| n.to_string()).unwrap_or_default()
}

fn unobserved(name: &str, site: &SiteEntry) -> Vec<String> {
    let mut line = vec![String::new(); COLUMNS.len()];
    line[0] = name.to_owned();
    line[5] = site.id.clone();
    line[6] = site.lock.clone().unwrap_or_default();
    line[7] = site.status.clone();
    line[8] = site.reason.clone().unwrap_or_default();
    line
}
