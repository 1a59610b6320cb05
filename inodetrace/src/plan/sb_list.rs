//! The sites of `super_block.s_inode_list_lock` (`fs/inode.c`).

use super::builder::{Builder, Want, list};
use super::passes::probe_alloc;
use super::{Quantity, Role, SitePlan};
use crate::kernel::facts::Place;
use crate::sites::analysis::Taken;
use crate::sites::tables::{Lock, Purpose};
use crate::vocab::Site;

const LOCK: &str = "s_inode_list_lock";
const ADD: &str = "inode_sb_list_add";

/// `sb_list_add`.
pub(super) fn add(builder: &mut Builder<'_>) -> SitePlan {
    let site = Site::SbListAdd;
    if let Some(absent) = absent(builder, site) {
        return absent;
    }
    let takes_lock = match add_is_out_of_line(builder) {
        Ok(takes_lock) => takes_lock,
        Err(why) => {
            return waits_only(
                builder,
                SitePlan::not_observable(site, why),
                probe_alloc_phase,
            );
        }
    };
    let want = Want {
        exit: builder.exit_wanted(),
        entry_takes_lock: takes_lock,
        ..Want::entry(Role::SbListAdd, ADD, &[(0, "inode")])
    };
    match builder.probe(site, &want) {
        Err(why) => SitePlan::not_observable(site, why),
        Ok(point) => {
            let mut plan = SitePlan::observed(site, vec![point]);
            builder.quantities(&mut plan, takes_lock.then_some(()).ok_or(ADD));
            plan.contended = builder.spin_waits(site);
            plan
        }
    }
}

/// Whether every addition is a call of the function, and if so whether each takes the lock.
fn add_is_out_of_line(builder: &Builder<'_>) -> Result<bool, String> {
    let taken = builder.all_known(LOCK_SB, LOCK)?;
    let analysis = builder.analysis()?;
    let callers: Vec<&Place> = analysis.callers(ADD).iter().collect();
    let inlined = places(&taken, |t| t.purpose == Some(Purpose::Add) && t.inlined);
    if !inlined.is_empty() {
        let symbol = match (builder.facts.has_function(ADD), callers.is_empty()) {
            (false, _) => String::new(),
            (true, true) => format!("; the symbol {ADD} exists but nothing calls it"),
            (true, false) => format!(
                "; the symbol {ADD} exists but is called only by {}",
                list(&callers)
            ),
        };
        return Err(format!("inlined into {}{symbol}", list(&inlined)));
    }
    if !taken.iter().any(|t| t.purpose == Some(Purpose::Add)) {
        return Err(format!(
            "no code that takes {LOCK} to add an inode was found"
        ));
    }
    if callers.is_empty() {
        return Err(format!("nothing calls {ADD}()"));
    }
    let silent: Vec<&str> = ["new_inode", "iget_locked", "inode_insert5"]
        .into_iter()
        .filter(|host| builder.facts.has_function(host) && !analysis.leads_to(host, ADD))
        .collect();
    if !silent.is_empty() {
        return Err(format!(
            "{}() neither calls {ADD}() nor has a copy of it",
            silent.join("(), ")
        ));
    }
    Ok(analysis.always_takes(ADD, LOCK_SB))
}

/// `sb_list_del`: `static inline` in the source, so it is in `evict()` on every kernel.
pub(super) fn del(builder: &mut Builder<'_>) -> SitePlan {
    let site = Site::SbListDel;
    if let Some(absent) = absent(builder, site) {
        return absent;
    }
    let why = match builder.all_known(LOCK_SB, LOCK) {
        Err(why) => why,
        Ok(taken) => {
            let sections = places(&taken, |t| t.purpose == Some(Purpose::Remove));
            if sections.is_empty() {
                format!("no code that takes {LOCK} to remove an inode was found")
            } else {
                format!("inlined into {}", list(&sections))
            }
        }
    };
    waits_only(
        builder,
        SitePlan::not_observable(site, why),
        |builder, site| builder.probe_evict(site).map(|_| ()),
    )
}

/// `sb_list_walk`.
pub(super) fn walk(builder: &mut Builder<'_>) -> SitePlan {
    let site = Site::SbListWalk;
    if let Some(absent) = absent(builder, site) {
        return absent;
    }
    let why = match builder.analysis() {
        Err(why) => why,
        Ok(analysis) => {
            let taken = analysis.taken(LOCK_SB);
            let walks = places(&taken, |t| {
                !matches!(t.purpose, Some(Purpose::Add | Purpose::Remove))
            });
            if walks.is_empty() {
                format!("no code that takes {LOCK} for a walk was found")
            } else {
                format!(
                    "the walks start after tests inside their functions and are not probed there \
                     yet: {}",
                    list(&walks)
                )
            }
        }
    };
    SitePlan::not_observable(site, why)
}

const LOCK_SB: Lock = Lock::SbInodes;

fn absent(builder: &Builder<'_>, site: Site) -> Option<SitePlan> {
    let why = builder
        .facts
        .offset("super_block.s_inode_list_lock")
        .err()?;
    Some(SitePlan::absent(site, why))
}

/// Waits are told by the lock's address and by what the task did last, whether or not the passes
/// can be counted.
fn waits_only(
    builder: &mut Builder<'_>,
    mut plan: SitePlan,
    phase: impl Fn(&mut Builder<'_>, Site) -> Result<(), String>,
) -> SitePlan {
    plan.contended = match phase(builder, plan.site) {
        Ok(()) => builder.spin_waits(plan.site),
        Err(why) => Quantity::Null(why),
    };
    plan
}

fn probe_alloc_phase(builder: &mut Builder<'_>, site: Site) -> Result<(), String> {
    probe_alloc(builder, site).map(|_| ())
}

fn places(taken: &[Taken], which: impl Fn(&Taken) -> bool) -> Vec<&Place> {
    taken
        .iter()
        .filter(|t| which(t))
        .map(|t| &t.place)
        .collect()
}
