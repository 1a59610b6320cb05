//! From what was counted to what is written.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CaveatEntry, Filters, HoldSummary, How, LossCounts, RunFile, SCHEMA, Series, SiteEntry,
    Summary, Tool, Window,
};
use crate::{
    backend::Host,
    caveat::Caveat,
    delta::Delta,
    model::{DevNumber, LogHist},
    plan::Plan,
    series::{Numbers, Row},
    vocab::SiteExt,
};

/// How hold times come about in this version.
const HOLD_METHOD: &str = "span";

/// The ingredients of a run file.
#[derive(Debug)]
pub struct Recording<'a> {
    /// The machine.
    pub host: Host,
    /// Start of the window.
    pub start: jiff::Timestamp,
    /// The command that ran.
    pub command: Option<Vec<String>>,
    /// What was left out.
    pub filters: Filters,
    /// The plan as asked for.
    pub plan: &'a Plan,
    /// What was counted.
    pub delta: &'a Delta,
    /// The same, joined with the plan.
    pub rows: &'a [Row],
    /// Reservations.
    pub caveats: Vec<Caveat>,
}

impl Recording<'_> {
    /// The run file.
    pub fn into_file(self) -> RunFile {
        RunFile {
            schema: SCHEMA.into(),
            tool: Tool {
                version: env!("CARGO_PKG_VERSION").into(),
            },
            host: self.host,
            window: Window {
                start: format!("{:.3}", self.start),
                seconds: self.delta.seconds(),
                command: self.command,
            },
            filters: self.filters,
            sites: site_entries(self.plan),
            series: self.rows.iter().map(series).collect(),
            losses: self.delta.into(),
            caveats: self.caveats.iter().map(CaveatEntry::from).collect(),
        }
    }
}

/// Device number as it is written.
fn dev_text((major, minor): DevNumber) -> String {
    format!("{major}:{minor}")
}

/// The plan as it is written.
pub fn site_entries(plan: &Plan) -> Vec<SiteEntry> {
    plan.sites
        .iter()
        .map(|site| {
            let nulls: BTreeMap<String, String> = [
                ("calls", &site.calls),
                ("acquisitions", &site.acquisitions),
                ("contended", &site.contended),
                ("wait", &site.contended),
                ("hold", &site.hold),
            ]
            .into_iter()
            .filter_map(|(name, q)| Some((name.to_owned(), q.reason()?.to_owned())))
            .collect();
            SiteEntry {
                id: site.site.id().into(),
                lock: site.site.lock().map(|l| l.id().into()),
                status: site.status.id().into(),
                how: site
                    .how
                    .iter()
                    .map(|p| How {
                        kind: p.kind.id().into(),
                        function: p.function.clone(),
                        offset: p.offset,
                    })
                    .collect(),
                reason: site.reason.clone(),
                nulls,
            }
        })
        .collect()
}

/// One row as it is written.
pub fn series(row: &Row) -> Series {
    let Numbers {
        calls,
        acquisitions,
        contended,
        wait,
        hold,
    } = &row.numbers;
    Series {
        site: row.site.id().into(),
        lock: row.site.lock().map(|l| l.id().into()),
        fstype: row.superblock.fstype.clone(),
        dev: dev_text(row.superblock.dev),
        sb: row.superblock.s_id.clone(),
        mounts: row.mounts.clone(),
        gone: row.superblock.dead,
        calls: *calls,
        acquisitions: *acquisitions,
        contended: *contended,
        wait: wait.as_ref().map(Summary::from),
        hold: hold.as_ref().map(|h| HoldSummary {
            method: HOLD_METHOD.into(),
            times: h.into(),
        }),
    }
}

impl From<&LogHist> for Summary {
    fn from(h: &LogHist) -> Self {
        let extremes = h.extremes();
        Self {
            count: h.count,
            sum_ns: h.sum_ns,
            min_ns: extremes.map(|e| e.0),
            max_ns: extremes.map(|e| e.1),
            p50_ns: h.quantile(0.5),
            p90_ns: h.quantile(0.9),
            p99_ns: h.quantile(0.99),
            p999_ns: h.quantile(0.999),
            hdr: h.to_hdr_base64(),
        }
    }
}

impl From<&Delta> for LossCounts {
    fn from(delta: &Delta) -> Self {
        let l = &delta.losses;
        Self {
            map_full: l.map_full,
            missed_probes: l.missed_probes,
            unmatched: l.unmatched,
            clamped: l.clamped,
            unreadable: l.unreadable,
            went_back: delta.went_back,
        }
    }
}

impl From<&Caveat> for CaveatEntry {
    fn from(c: &Caveat) -> Self {
        Self {
            id: c.id().into(),
            text: c.text(),
        }
    }
}

impl Filters {
    /// Those of a request.
    pub fn new(
        superblocks: &crate::filter::SuperblockFilter,
        tasks: &crate::backend::TaskFilter,
    ) -> Self {
        let devs: BTreeSet<DevNumber> = superblocks.devs.iter().copied().collect();
        Self {
            fstypes: superblocks.fstypes.clone(),
            devs: devs.into_iter().map(dev_text).collect(),
            pid: tasks.pid,
            comm: tasks.comm.clone(),
            cgroup: tasks.cgroup,
        }
    }
}
