//! `live` without a terminal: a table or a JSON line per interval.

use serde::Serialize;

use crate::{
    backend::Host,
    caveat,
    column::{Basis, Column, LiveRow},
    plan::{Plan, Status},
    runfile::{self, CaveatEntry, LossCounts, Series},
    sampler::Sample,
    text_table::{self, Head},
    units::Look,
    vocab::SiteExt as _,
};

/// Said once, before the first table: the machine and what is not observed on it.
pub fn preamble(plan: &Plan, host: &Host) -> String {
    let mut text = format!("inodetrace on {}, {} CPUs\n", host.kernel, host.cpus);
    for site in plan.sites.iter().filter(|s| s.status != Status::Observed) {
        text.push_str(&format!(
            "{} {}: {}\n",
            match site.status {
                Status::Absent => "absent",
                Status::Observed | Status::NotObservable => "not observed",
            },
            site.site.id(),
            site.reason.as_deref().unwrap_or("no reason is known")
        ));
    }
    text
}

/// One interval as a table, with the columns that fit in `width`.
pub fn table(sample: &Sample, look: Look, width: Option<u16>) -> String {
    let mut text = format!("\n{:.3}  {:.1} s\n", sample.at, sample.seconds);
    let mut rows: Vec<LiveRow> = sample
        .rows
        .iter()
        .map(|row| LiveRow::new(row, sample.seconds, sample.total_seconds))
        .collect();
    rows.sort_by(|a, b| (&a.fstype, &a.label, a.key()).cmp(&(&b.fstype, &b.label, b.key())));
    let idle = rows.iter().filter(|r| r.idle).count();
    rows.retain(|r| !r.idle);
    let columns: Vec<Column> = Column::ALL
        .into_iter()
        .filter(|c| *c != Column::Spark)
        .collect();
    if rows.is_empty() {
        text.push_str("no passes at any observed site\n");
    } else {
        let heads: Vec<Head<'_>> = columns
            .iter()
            .map(|c| Head {
                title: c.title(),
                right: !c.is_text(),
                rank: c.rank(),
            })
            .collect();
        let cells = rows
            .iter()
            .map(|row| {
                columns
                    .iter()
                    .map(|c| row.cell(*c, Basis::Interval, look))
                    .collect()
            })
            .collect();
        text.push_str(&text_table::render_rows(&heads, cells, look, width));
    }
    if idle > 0 {
        text.push_str(&format!(
            "{idle} rows without a pass in this interval not shown\n"
        ));
    }
    for caveat in sample.caveats.iter().filter(|c| c.is_loss()) {
        text.push_str(&format!("lost: {}\n", caveat.text()));
    }
    text
}

/// Schema of the JSON lines.
pub const INTERVAL_SCHEMA: &str = "inodetrace.interval/1";

#[derive(Serialize)]
struct Interval<'a> {
    schema: &'static str,
    /// End of the interval, RFC 3339, UTC.
    time: String,
    seconds: f64,
    series: Vec<Series>,
    not_observed: Vec<NotObserved<'a>>,
    losses: LossCounts,
    caveats: Vec<CaveatEntry>,
}

#[derive(Serialize)]
struct NotObserved<'a> {
    site: &'static str,
    status: &'static str,
    reason: Option<&'a str>,
}

/// One interval as one line of JSON. Series, losses and caveats are as in the run file.
pub fn json_line(sample: &Sample, plan: &Plan) -> String {
    let interval = Interval {
        schema: INTERVAL_SCHEMA,
        time: format!("{:.3}", sample.at),
        seconds: sample.seconds,
        series: sample
            .rows
            .iter()
            .map(|row| runfile::series(&row.interval_row()))
            .collect(),
        not_observed: plan
            .sites
            .iter()
            .filter(|s| s.status != Status::Observed)
            .map(|s| NotObserved {
                site: s.site.id(),
                status: s.status.id(),
                reason: s.reason.as_deref(),
            })
            .collect(),
        losses: (&sample.interval).into(),
        caveats: caveat::losses(&sample.interval.losses, sample.interval.went_back)
            .iter()
            .chain(sample.caveats.iter().filter(|c| !c.is_loss()))
            .map(CaveatEntry::from)
            .collect(),
    };
    let mut line = serde_json::to_string(&interval).unwrap_or_default();
    line.push('\n');
    line
}

#[cfg(test)]
#[path = "plain_tests.rs"]
pub(crate) mod tests;
