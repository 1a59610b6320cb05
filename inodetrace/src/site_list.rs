//! `inodetrace sites`: the plan, printed.

use serde::Serialize;

use crate::{
    backend::Host,
    plan::{Plan, SitePlan, Status},
    runfile::{SiteEntry, site_entries},
    text_table::{self, Head},
    units::Look,
    vocab::SiteExt as _,
};

/// Schema of the JSON form.
pub const SCHEMA: &str = "inodetrace.sites/1";

#[derive(Serialize)]
struct Sites {
    schema: &'static str,
    host: Host,
    sites: Vec<SiteEntry>,
}

/// As JSON; `sites` is as in the run file.
pub fn json(plan: &Plan, host: Host) -> String {
    let sites = Sites {
        schema: SCHEMA,
        host,
        sites: site_entries(plan),
    };
    let mut text = serde_json::to_string_pretty(&sites).unwrap_or_default();
    text.push('\n');
    text
}

/// As a table, wrapped to `width`.
pub fn table(plan: &Plan, host: &Host, look: Look, width: Option<u16>) -> String {
    let observed = plan
        .sites
        .iter()
        .filter(|s| s.status == Status::Observed)
        .count();
    let mut text = format!(
        "{} ({}, {} CPUs): {observed} of {} sites observed\n\n",
        host.kernel,
        host.arch,
        host.cpus,
        plan.sites.len()
    );
    let rows = plan
        .sites
        .iter()
        .map(|site| {
            vec![
                site.site.id().to_owned(),
                site.site
                    .lock()
                    .map_or_else(|| look.null().to_owned(), |l| l.id().to_owned()),
                site.status.id().replace('_', " "),
                counted(site, look),
                how(site),
            ]
        })
        .collect();
    let heads = ["SITE", "LOCK", "STATUS", "COUNTED", "HOW, OR WHY NOT"].map(Head::text);
    text.push_str(&text_table::render(&heads, rows, look, width));
    text.push_str(
        "\nCOUNTED: c calls, a acquisitions, w contention and wait, h hold times.\n\
         Not counted is null in files, never 0; --json gives the reason for each.\n",
    );
    text
}

fn counted(site: &SitePlan, look: Look) -> String {
    [
        ("c", &site.calls),
        ("a", &site.acquisitions),
        ("w", &site.contended),
        ("h", &site.hold),
    ]
    .map(|(letter, q)| if q.is_counted() { letter } else { look.null() })
    .concat()
}

fn how(site: &SitePlan) -> String {
    if let Some(reason) = &site.reason {
        return reason.clone();
    }
    site.how
        .iter()
        .map(|p| match p.offset {
            0 => format!("{} {}", p.kind.id(), p.function),
            offset => format!("{} {}+{offset:#x}", p.kind.id(), p.function),
        })
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn wrapped_to_the_terminal() {
        let text = table(&fake::plan(), &fake::host(), Look::default(), Some(80));
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn as_json() {
        let text = json(&fake::plan(), fake::host());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["schema"], SCHEMA);
        assert_eq!(value["sites"].as_array().unwrap().len(), 12);
        let sb_list_add = &value["sites"][2];
        assert_eq!(sb_list_add["status"], "not_observable");
        assert!(sb_list_add["reason"].as_str().unwrap().contains("inlined"));
        assert!(sb_list_add["nulls"]["calls"].is_string());
        assert!(sb_list_add["nulls"]["contended"].is_null());
        assert_eq!(
            value["sites"][4]["how"][0]["function"],
            "__insert_inode_hash"
        );
    }
}
