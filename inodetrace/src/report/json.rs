//! For scripts: the run file without its histograms, with what follows from the counts.

use serde::Serialize;

use super::{share, skipped};
use crate::{
    backend::Host,
    runfile::{CaveatEntry, Filters, LossCounts, RunFile, Series, SiteEntry, Summary, Window},
};

/// Schema of the JSON form.
const SCHEMA: &str = "inodetrace.report/1";

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    file: &'a str,
    host: &'a Host,
    window: &'a Window,
    filters: &'a Filters,
    rows: Vec<Row<'a>>,
    sites: &'a [SiteEntry],
    losses: &'a LossCounts,
    caveats: &'a [CaveatEntry],
}

#[derive(Serialize)]
struct Row<'a> {
    site: &'a str,
    lock: Option<&'a str>,
    fstype: &'a str,
    dev: &'a str,
    sb: &'a str,
    mounts: &'a [String],
    gone: bool,
    calls: Option<u64>,
    acquisitions: Option<u64>,
    skipped: Option<u64>,
    /// 0 to 1.
    skipped_share: Option<f64>,
    contended: Option<u64>,
    /// 0 to 1.
    contended_share: Option<f64>,
    wait: Option<Times<'a>>,
    hold: Option<Times<'a>>,
}

#[derive(Serialize)]
struct Times<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    count: u64,
    sum_ns: u64,
    min_ns: Option<u64>,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl<'a> Times<'a> {
    fn new(s: &Summary, method: Option<&'a str>) -> Self {
        Self {
            method,
            count: s.count,
            sum_ns: s.sum_ns,
            min_ns: s.min_ns,
            p50_ns: s.p50_ns,
            p90_ns: s.p90_ns,
            p99_ns: s.p99_ns,
            p999_ns: s.p999_ns,
            max_ns: s.max_ns,
        }
    }
}

pub(super) fn render(name: &str, file: &RunFile) -> String {
    let report = Report {
        schema: SCHEMA,
        file: name,
        host: &file.host,
        window: &file.window,
        filters: &file.filters,
        rows: file.series.iter().map(row).collect(),
        sites: &file.sites,
        losses: &file.losses,
        caveats: &file.caveats,
    };
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}

fn row(s: &Series) -> Row<'_> {
    Row {
        site: &s.site,
        lock: s.lock.as_deref(),
        fstype: &s.fstype,
        dev: &s.dev,
        sb: &s.sb,
        mounts: &s.mounts,
        gone: s.gone,
        calls: s.calls,
        acquisitions: s.acquisitions,
        skipped: skipped(s),
        skipped_share: share(skipped(s), s.calls),
        contended: s.contended,
        contended_share: share(s.contended, s.acquisitions),
        wait: s.wait.as_ref().map(|w| Times::new(w, None)),
        hold: s
            .hold
            .as_ref()
            .map(|h| Times::new(&h.times, Some(&h.method))),
    }
}
