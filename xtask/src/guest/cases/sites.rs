//! `inodetrace sites`.

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::everywhere;
use crate::guest::runfile::{self, Site};
use crate::guest::{Case, step};

#[derive(Deserialize)]
struct Plan {
    sites: Vec<Site>,
}

/// Sites at which every kernel lets the taking of the lock be seen.
const LOCK_SEEN: [&str; 5] = [
    "sb_list_add",
    "sb_list_del",
    "hash_remove",
    "lru_add",
    "lru_del",
];

pub(super) fn cases() -> Vec<Case> {
    vec![Case {
        name: "sites",
        applies: everywhere,
        steps: || {
            vec![
                step("json", &["inodetrace", "sites", "--json"]),
                step("table", &["inodetrace", "sites"]),
            ]
        },
        check: |evidence| {
            let json = evidence.step("json")?.exited(0)?.stdout;
            let plan: Plan = serde_json::from_str(&json).context("sites --json")?;
            runfile::check_sites(&plan.sites)?;
            // All these kernels have kprobes and readable code, so there is no excuse.
            for site in &plan.sites {
                let expected = match site.id.as_str() {
                    "sb_list_walk" => "not_observable",
                    _ => "observed",
                };
                ensure!(
                    site.status == expected,
                    "{}: {}: {:?}",
                    site.id,
                    site.status,
                    site.reason
                );
                let counted = |quantity: &str| !site.nulls.contains_key(quantity);
                if expected == "observed" {
                    ensure!(counted("calls"), "{}: calls are not counted", site.id);
                    ensure!(
                        site.lock.is_none() || counted("contended"),
                        "{}: contention is not counted",
                        site.id
                    );
                }
                if LOCK_SEEN.contains(&site.id.as_str()) {
                    ensure!(counted("acquisitions"), "{}: acquisitions", site.id);
                }
            }
            let table = evidence.step("table")?.exited(0)?.stdout;
            for (id, _) in runfile::SITES {
                ensure!(table.contains(id), "the table lacks {id}");
            }
            Ok(())
        },
    }]
}
