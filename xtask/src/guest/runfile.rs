//! Reading run files as a stranger would: by the contract, not by inodetrace's own types.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

/// The sites of the contract and their lock classes.
pub(crate) const SITES: [(&str, Option<&str>); 12] = [
    ("evict", None),
    ("alloc", None),
    ("sb_list_add", Some("sb-inodes")),
    ("sb_list_del", Some("sb-inodes")),
    ("hash_insert", Some("inode-hash")),
    ("hash_remove", Some("inode-hash")),
    ("lru_add", Some("sb-lru")),
    ("lru_del", Some("sb-lru")),
    ("wb_list_del", Some("wb-list")),
    ("orphan_add", Some("ext4-orphan")),
    ("orphan_del", Some("ext4-orphan")),
    ("sb_list_walk", Some("sb-inodes")),
];

/// `inodetrace.run/1`
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RunFile {
    schema: String,
    /// The time covered.
    pub(crate) window: Window,
    /// All sites.
    pub(crate) sites: Vec<Site>,
    /// The numbers.
    pub(crate) series: Vec<Series>,
    /// What was lost; null is "not known".
    pub(crate) losses: BTreeMap<String, Option<u64>>,
}

/// The time covered.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Window {
    /// Its length.
    pub(crate) seconds: f64,
}

/// How a site was observed.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Site {
    /// Its id.
    pub(crate) id: String,
    /// Its lock class.
    pub(crate) lock: Option<String>,
    /// `observed`, `absent` or `not_observable`.
    pub(crate) status: String,
    /// Where.
    pub(crate) how: Vec<How>,
    /// Why not.
    pub(crate) reason: Option<String>,
    /// Why a quantity is null.
    #[serde(default)]
    pub(crate) nulls: BTreeMap<String, String>,
}

/// A place that is probed.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct How {
    /// By which mechanism.
    pub(crate) kind: String,
    /// In which function.
    pub(crate) function: String,
}

/// Numbers of one site and superblock.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Series {
    /// The site.
    pub(crate) site: String,
    /// Its lock class.
    pub(crate) lock: Option<String>,
    /// The superblock's type.
    pub(crate) fstype: String,
    /// It was shut down within the window.
    #[serde(default)]
    pub(crate) gone: bool,
    /// Where it is mounted.
    pub(crate) mounts: Vec<String>,
    /// Passes.
    pub(crate) calls: Option<u64>,
    /// Passes that took the lock.
    pub(crate) acquisitions: Option<u64>,
    /// Acquisitions through the slow path.
    pub(crate) contended: Option<u64>,
    /// Time in the slow path.
    pub(crate) wait: Option<Times>,
}

/// A distribution of times.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Times {
    /// Samples.
    pub(crate) count: u64,
    /// Their sum.
    pub(crate) sum_ns: u64,
    /// The longest.
    pub(crate) max_ns: Option<u64>,
    /// The median.
    pub(crate) p50_ns: Option<u64>,
}

/// Which superblock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Superblock {
    /// Its type.
    pub(crate) fstype: &'static str,
    /// One of its mounts; `None` for those that are never mounted.
    pub(crate) mount: Option<&'static str>,
}

impl std::fmt::Display for Superblock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.mount {
            Some(mount) => write!(f, "{} on {mount}", self.fstype),
            None => f.write_str(self.fstype),
        }
    }
}

impl Series {
    /// Whether it is of that superblock.
    pub(crate) fn is_of(&self, superblock: Superblock) -> bool {
        self.fstype == superblock.fstype
            && superblock
                .mount
                .is_none_or(|mount| self.mounts.iter().any(|m| m == mount))
    }
}

impl RunFile {
    /// Reads one, and checks what holds for every run file.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let file: Self = serde_json::from_str(text).context("not a run file")?;
        ensure!(file.schema == "inodetrace.run/1", "schema {}", file.schema);
        check_sites(&file.sites)?;
        for series in &file.series {
            file.check_series(series)
                .with_context(|| format!("series {} of {}", series.site, series.fstype))?;
        }
        Ok(file)
    }

    /// A site's entry.
    pub(crate) fn site(&self, id: &str) -> anyhow::Result<&Site> {
        self.sites
            .iter()
            .find(|site| site.id == id)
            .with_context(|| format!("no site {id}"))
    }

    /// The series of a site and superblock.
    pub(crate) fn series(
        &self,
        site: &str,
        superblock: Superblock,
    ) -> anyhow::Result<Option<&Series>> {
        let mut found = self
            .series
            .iter()
            .filter(|s| s.site == site && s.is_of(superblock));
        let series = found.next();
        ensure!(found.next().is_none(), "{site}: two series of {superblock}");
        Ok(series)
    }

    /// Nothing may have been lost.
    pub(crate) fn check_no_losses(&self) -> anyhow::Result<()> {
        for (name, count) in &self.losses {
            ensure!(count.unwrap_or(0) == 0, "losses: {name} is {count:?}");
        }
        Ok(())
    }

    /// A number that is not counted is null and has a reason; a site that is not observed has no
    /// calls at all.
    fn check_series(&self, series: &Series) -> anyhow::Result<()> {
        let site = self.site(&series.site)?;
        ensure!(series.lock == site.lock, "lock {:?}", series.lock);
        if site.status != "observed" && series.calls.is_some() {
            bail!("{} but has {:?} calls", site.status, series.calls);
        }
        for (name, is_null) in [
            ("calls", series.calls.is_none()),
            ("acquisitions", series.acquisitions.is_none()),
            ("contended", series.contended.is_none()),
            ("wait", series.wait.is_none()),
        ] {
            let reason = site.nulls.get(name).or(site.reason.as_ref());
            if is_null && reason.is_none_or(|r| r.trim().is_empty()) {
                bail!("{name} is null without a reason");
            }
            if !is_null && site.nulls.contains_key(name) {
                bail!("{name} has a value and a reason why it is null");
            }
        }
        if let (Some(calls), Some(acquisitions)) = (series.calls, series.acquisitions) {
            ensure!(
                acquisitions <= calls,
                "{acquisitions} acquisitions in {calls} calls"
            );
        }
        if let (Some(contended), Some(wait)) = (series.contended, &series.wait) {
            ensure!(
                wait.count == contended,
                "{contended} contended, {} waits",
                wait.count
            );
        }
        Ok(())
    }
}

/// Every site of the contract once, each with a reason exactly if it is not observed.
pub(crate) fn check_sites(sites: &[Site]) -> anyhow::Result<()> {
    for (id, lock) in SITES {
        let mut found = sites.iter().filter(|s| s.id == id);
        let site = found.next().with_context(|| format!("no site {id}"))?;
        ensure!(found.next().is_none(), "{id} is listed twice");
        ensure!(site.lock.as_deref() == lock, "{id}: lock {:?}", site.lock);
        let has_reason = site.reason.as_ref().is_some_and(|r| !r.trim().is_empty());
        match site.status.as_str() {
            "observed" => {
                ensure!(!has_reason, "{id}: observed, and a reason why not");
                ensure!(!site.how.is_empty(), "{id}: observed, and nowhere");
            }
            "absent" | "not_observable" => {
                ensure!(has_reason, "{id}: {} without a reason", site.status);
            }
            other => bail!("{id}: status {other}"),
        }
        for how in &site.how {
            ensure!(
                !how.kind.is_empty() && !how.function.is_empty(),
                "{id}: a place without kind or function"
            );
        }
    }
    ensure!(sites.len() == SITES.len(), "{} sites", sites.len());
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A run file in which every site is observed and nothing was counted.
    pub(in crate::guest) fn empty() -> Value {
        let sites: Vec<Value> = SITES
            .iter()
            .map(|(id, lock)| {
                let how = json!([{"kind": "kprobe", "function": "f", "offset": 0}]);
                json!({"id": id, "lock": lock, "status": "observed", "how": how, "reason": null})
            })
            .collect();
        json!({"schema": "inodetrace.run/1", "window": {"start": "", "seconds": 1.0},
               "sites": sites, "series": [], "losses": {"map_full": 0, "missed_probes": null}})
    }

    pub(in crate::guest) fn parse(value: &Value) -> anyhow::Result<RunFile> {
        RunFile::parse(&value.to_string())
    }

    fn series(changes: Value) -> Value {
        let mut file = empty();
        let mut series = json!({"site": "sb_list_del", "lock": "sb-inodes", "fstype": "tmpfs",
            "dev": "0:1", "sb": "tmpfs", "mounts": ["/tmp"], "calls": 10, "acquisitions": 10,
            "contended": 2, "wait": {"count": 2, "sum_ns": 5, "max_ns": 3, "p50_ns": 2}});
        for (key, value) in changes.as_object().unwrap() {
            series[key] = value.clone();
        }
        file["series"] = json!([series]);
        file
    }

    #[test]
    fn a_good_file_is_good() {
        let file = parse(&series(json!({}))).unwrap();
        file.check_no_losses().unwrap();
        let superblock = Superblock {
            fstype: "tmpfs",
            mount: Some("/tmp"),
        };
        let found = file.series("sb_list_del", superblock).unwrap();
        assert_eq!(found.unwrap().calls, Some(10));
        assert!(file.series("evict", superblock).unwrap().is_none());
    }

    #[test]
    fn false_zeros_and_bare_nulls_are_refused() {
        for changes in [
            json!({"calls": null}),
            json!({"acquisitions": null}),
            json!({"contended": 3}),
            json!({"acquisitions": 11}),
            json!({"lock": "sb-lru"}),
        ] {
            assert!(parse(&series(changes.clone())).is_err(), "{changes}");
        }
        let mut file = series(json!({"calls": 0, "acquisitions": 0}));
        file["sites"][3]["status"] = json!("not_observable");
        file["sites"][3]["reason"] = json!("inlined into evict");
        let error = parse(&file).unwrap_err();
        assert!(
            format!("{error:#}").contains("not_observable but has"),
            "{error:#}"
        );
    }

    #[test]
    fn a_null_with_its_reason_is_good() {
        let mut file = series(json!({"acquisitions": null}));
        file["sites"][3]["nulls"] = json!({"acquisitions": "the unlock is inlined"});
        parse(&file).unwrap();
    }

    #[test]
    fn losses_are_seen() {
        let mut file = empty();
        file["losses"]["map_full"] = json!(1);
        assert!(parse(&file).unwrap().check_no_losses().is_err());
    }

    #[test]
    fn sites_must_be_whole() {
        let mut file = empty();
        file["sites"].as_array_mut().unwrap().pop();
        assert!(parse(&file).is_err());
        let mut file = empty();
        file["sites"][0]["status"] = json!("absent");
        assert!(parse(&file).is_err());
    }
}
