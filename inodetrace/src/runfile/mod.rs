//! The run file, schema `inodetrace.run/1`. docs/run-file.md describes every field; the meaning of
//! a field never changes under this schema number, fields may be added.

mod build;
mod read;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::{
    build::{Recording, series, site_entries},
    read::{parse, read},
};
use crate::backend::Host;

/// The schema written.
pub const SCHEMA: &str = "inodetrace.run/1";

/// A whole run file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// [`SCHEMA`].
    pub schema: String,
    /// What wrote it.
    pub tool: Tool,
    /// Where it was recorded.
    pub host: Host,
    /// When.
    pub window: Window,
    /// What was left out on request. Empty if everything was asked for.
    #[serde(default)]
    pub filters: Filters,
    /// Every site of the vocabulary, in its order.
    pub sites: Vec<SiteEntry>,
    /// The numbers.
    pub series: Vec<Series>,
    /// What was lost.
    pub losses: LossCounts,
    /// The same in words, and what else must be known to read the numbers.
    #[serde(default)]
    pub caveats: Vec<CaveatEntry>,
}

/// The writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Version of inodetrace.
    pub version: String,
}

/// The time that the counts cover.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Start, RFC 3339, UTC.
    pub start: String,
    /// Length, seconds.
    pub seconds: f64,
    /// The command that ran, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

/// What was left out on request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filters {
    /// Filesystem types, if only these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fstypes: Vec<String>,
    /// Devices `major:minor`, if only these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devs: Vec<String>,
    /// Process, if only that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Thread name, if only those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comm: Option<String>,
    /// Cgroup id, if only that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<u64>,
}

/// How a site was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteEntry {
    /// Id of the site.
    pub id: String,
    /// Id of its lock class; null for `evict` and `alloc`.
    pub lock: Option<String>,
    /// `observed`, `absent` or `not_observable`.
    pub status: String,
    /// The places probed.
    pub how: Vec<How>,
    /// Why it is not observed; null if it is.
    pub reason: Option<String>,
    /// Quantity (`calls`, `acquisitions`, `contended`, `wait`, `hold`) to the reason why it is null
    /// in every series of this site.
    #[serde(default)]
    pub nulls: BTreeMap<String, String>,
}

/// A probed place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct How {
    /// `fentry`, `kprobe`, `inlined-call`.
    pub kind: String,
    /// Function.
    pub function: String,
    /// Offset in it, bytes.
    pub offset: u64,
}

/// Numbers of one site on one superblock. A number that was not counted is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Id of the site.
    pub site: String,
    /// Id of its lock class.
    pub lock: Option<String>,
    /// Filesystem type.
    pub fstype: String,
    /// `major:minor` of the superblock's `s_dev`.
    pub dev: String,
    /// The kernel's name for the superblock (`s_id`).
    pub sb: String,
    /// Mount points; empty where there never were any (sockfs, pipefs).
    pub mounts: Vec<String>,
    /// It was shut down before the window ended; its device number may have been reused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
    /// Passes, lock taken or not.
    pub calls: Option<u64>,
    /// Passes that took the lock.
    pub acquisitions: Option<u64>,
    /// Acquisitions that went through the slow path.
    pub contended: Option<u64>,
    /// Time in the slow path.
    pub wait: Option<Summary>,
    /// Time from acquisition to release.
    pub hold: Option<HoldSummary>,
}

/// A distribution of times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Samples.
    pub count: u64,
    /// Sum, ns, exact.
    pub sum_ns: u64,
    /// Smallest, ns; null without samples, as are the following.
    pub min_ns: Option<u64>,
    /// Largest, ns.
    pub max_ns: Option<u64>,
    /// Median, ns; within 1/32 like all quantiles.
    pub p50_ns: Option<u64>,
    /// 90 % quantile, ns.
    pub p90_ns: Option<u64>,
    /// 99 % quantile, ns.
    pub p99_ns: Option<u64>,
    /// 99.9 % quantile, ns.
    pub p999_ns: Option<u64>,
    /// All samples: hdrhistogram's V2 encoding in base64.
    pub hdr: String,
}

/// A distribution of hold times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldSummary {
    /// `exact`, `span` or `handoff`.
    pub method: String,
    /// The distribution.
    #[serde(flatten)]
    pub times: Summary,
}

/// What was lost; each is 0 in a clean run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossCounts {
    /// Superblocks or histograms that found no room.
    pub map_full: u64,
    /// Times a probe did not run; null where the kernel does not tell.
    pub missed_probes: Option<u64>,
    /// Exits without their entry: samples lost.
    pub unmatched: u64,
    /// Samples beyond the histograms' range, counted in the last bucket.
    #[serde(default)]
    pub clamped: u64,
    /// Passes whose inode or superblock could not be read.
    #[serde(default)]
    pub unreadable: u64,
    /// Counts found smaller than at the start of the window.
    #[serde(default)]
    pub went_back: u64,
}

/// A caveat in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaveatEntry {
    /// Its word.
    pub id: String,
    /// Its sentence.
    pub text: String,
}

impl RunFile {
    /// As it is written: indented JSON and a newline.
    pub fn to_json(&self) -> String {
        // Only maps with other than string keys and failing writers make this an error.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
