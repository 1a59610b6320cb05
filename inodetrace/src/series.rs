//! Counts joined with the plan: what was counted is a number, what was not is `None`.

use std::collections::HashMap;

use inodetrace_common::Site;

use crate::{
    delta::Delta,
    filter::{OTHER, SuperblockFilter},
    model::{LogHist, SbCounts, SiteCounts, SuperBlock},
    mount_names::MountNames,
    plan::{Plan, SitePlan, Status},
};

/// Numbers of one site and superblock in a window; `None` is "not counted", never "none".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Passes, lock taken or not.
    pub calls: Option<u64>,
    /// Passes that took the lock.
    pub acquisitions: Option<u64>,
    /// Acquisitions that went through the slow path.
    pub contended: Option<u64>,
    /// Time in the slow path; one sample for each contended acquisition.
    pub wait: Option<LogHist>,
    /// Time from acquisition to release.
    pub hold: Option<LogHist>,
}

impl Numbers {
    /// Those of `counts` that the plan counts.
    pub fn new(counts: &SiteCounts, plan: &SitePlan) -> Self {
        Self {
            calls: plan.calls.is_counted().then_some(counts.calls),
            acquisitions: plan
                .acquisitions
                .is_counted()
                .then_some(counts.acquisitions),
            contended: plan.contended.is_counted().then_some(counts.contended),
            wait: plan.contended.is_counted().then(|| counts.wait.clone()),
            hold: plan.hold.is_counted().then(|| counts.hold.clone()),
        }
    }

    /// Passes that did not take the lock. `None` as well should there be more acquisitions than
    /// passes, for then one of the two is wrong.
    pub fn skipped(&self) -> Option<u64> {
        self.calls?.checked_sub(self.acquisitions?)
    }

    /// Share of the passes that did not take the lock, 0 to 1; `None` also without passes.
    pub fn skipped_share(&self) -> Option<f64> {
        share(self.skipped()?, self.calls?)
    }

    /// Share of the acquisitions that were contended, 0 to 1; `None` also without acquisitions.
    pub fn contended_share(&self) -> Option<f64> {
        share(self.contended?, self.acquisitions?)
    }

    /// Whether nothing at all was counted. True zeros and nulls are alike here.
    pub fn is_idle(&self) -> bool {
        let idle = |n: Option<u64>| n.unwrap_or(0) == 0;
        idle(self.calls)
            && idle(self.acquisitions)
            && idle(self.contended)
            && self.hold.as_ref().is_none_or(|h| h.count == 0)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

/// One site on one superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The site.
    pub site: Site,
    /// The superblock.
    pub superblock: SuperBlock,
    /// Its mount points.
    pub mounts: Vec<String>,
    /// Its numbers.
    pub numbers: Numbers,
}

impl Row {
    /// What tells it from the other rows.
    pub fn key(&self) -> (u32, Site) {
        (self.superblock.slot, self.site)
    }
}

/// Names a superblock in a table: its mount points, else what the kernel calls it.
pub fn superblock_label(sb: &SuperBlock, mounts: &[String]) -> String {
    let gone = if sb.dead { " (gone)" } else { "" };
    match mounts {
        [] if sb.fstype == OTHER => "all without a slot".into(),
        [] => format!("{}{gone}", sb.s_id),
        [one] => format!("{one}{gone}"),
        [first, rest @ ..] => format!("{first} +{}{gone}", rest.len()),
    }
}

/// Rows of a window: one for every site and superblock at which anything was counted, and further
/// ones with true zeros where a pass could have been: an observed site has a row on every
/// superblock that had the inode passes that lead to it (so "sockfs, hash_remove: 0" is shown once
/// a socket was torn down).
pub fn rows(
    delta: &Delta,
    plan: &Plan,
    filter: &SuperblockFilter,
    names: &mut MountNames,
) -> Vec<Row> {
    let mut rows = Vec::new();
    for sb in &delta.superblocks {
        if !filter.matches(&sb.superblock) {
            continue;
        }
        let mut mounts = None;
        for site in &plan.sites {
            let Some(counts) = sb.sites.get(site.site as usize) else {
                continue;
            };
            let numbers = Numbers::new(counts, site);
            if numbers.is_idle() && !could_have_been(site, sb, plan) {
                continue;
            }
            let mounts = mounts.get_or_insert_with(|| names.of(&sb.superblock));
            rows.push(Row {
                site: site.site,
                superblock: sb.superblock.clone(),
                mounts: mounts.clone(),
                numbers,
            });
        }
    }
    rows
}

/// Numbers of another window for the same rows; true zeros where it has nothing of a superblock.
pub fn numbers_for(rows: &[Row], delta: &Delta, plan: &Plan) -> Vec<Option<Numbers>> {
    let by_slot: HashMap<u32, &SbCounts> = delta
        .superblocks
        .iter()
        .map(|s| (s.superblock.slot, s))
        .collect();
    let nothing = SiteCounts::empty();
    rows.iter()
        .map(|row| {
            let counts = by_slot
                .get(&row.superblock.slot)
                .and_then(|sb| sb.sites.get(row.site as usize))
                .unwrap_or(&nothing);
            plan.site(row.site).map(|plan| Numbers::new(counts, plan))
        })
        .collect()
}

/// Whether a zero of this observed site is worth a row.
fn could_have_been(site: &SitePlan, sb: &SbCounts, plan: &Plan) -> bool {
    if site.status != Status::Observed || !site.calls.is_counted() {
        return false;
    }
    let Some(leads_here) = denominator(site.site) else {
        return false;
    };
    if matches!(site.site, Site::OrphanAdd | Site::OrphanDel) && sb.superblock.fstype != "ext4" {
        return false;
    }
    plan.site(leads_here).is_some_and(|p| p.calls.is_counted())
        && sb
            .sites
            .get(leads_here as usize)
            .is_some_and(|c| c.calls > 0)
}

/// The pass that every pass through the site belongs to, where there is one.
const fn denominator(site: Site) -> Option<Site> {
    match site {
        Site::SbListAdd | Site::HashInsert | Site::LruAdd => Some(Site::Alloc),
        Site::SbListDel
        | Site::HashRemove
        | Site::LruDel
        | Site::WbListDel
        | Site::OrphanAdd
        | Site::OrphanDel => Some(Site::Evict),
        Site::Evict | Site::Alloc | Site::SbListWalk => None,
    }
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
