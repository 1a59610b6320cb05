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
            // Out of line on every kernel that there is, so there is no excuse.
            for site in plan
                .sites
                .iter()
                .filter(|s| ["evict", "alloc"].contains(&s.id.as_str()))
            {
                ensure!(site.status == "observed", "{}: {}", site.id, site.status);
            }
            let table = evidence.step("table")?.exited(0)?.stdout;
            for (id, _) in runfile::SITES {
                ensure!(table.contains(id), "the table lacks {id}");
            }
            Ok(())
        },
    }]
}
