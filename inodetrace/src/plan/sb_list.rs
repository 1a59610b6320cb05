//! The sites of `super_block.s_inode_list_lock` (`fs/inode.c`).

use super::builder::{Builder, NO_HOLD, Want, list};
use super::passes::probe_alloc;
use super::{Point, Quantity, Role, SitePlan, Status};
use crate::kernel::facts::Place;
use crate::sites::analysis::Taken;
use crate::sites::section::SectionPoint;
use crate::sites::tables::{Lock, Purpose, base_name};
use crate::vocab::Site;

const LOCK: &str = "s_inode_list_lock";
const ADD: &str = "inode_sb_list_add";
/// The functions of `fs/inode.c` that add.
const HOSTS: [&str; 3] = ["new_inode", "iget_locked", "inode_insert5"];

/// `sb_list_add`.
pub(super) fn add(builder: &mut Builder<'_>) -> SitePlan {
    let site = Site::SbListAdd;
    if let Some(absent) = absent(builder, site) {
        return absent;
    }
    let takes_lock = match add_is_out_of_line(builder) {
        Ok(takes_lock) => takes_lock,
        Err(why) => {
            let mut plan = match add_sections(builder) {
                Ok(points) => with_sections(SitePlan::observed(site, points)),
                // Why there is no function for it is the better reason where nothing is inlined.
                Err(None) => SitePlan::not_observable(site, why),
                Err(Some(also)) => SitePlan::not_observable(site, format!("{why}; {also}")),
            };
            if plan.status == Status::Observed && !add_always_locks(builder) {
                plan.acquisitions = Quantity::Null(format!(
                    "{ADD}() does not take the lock on every way through it"
                ));
            }
            return waits_only(builder, plan, probe_alloc_phase);
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
    let silent: Vec<&str> = HOSTS
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

/// Probes every inlined copy of the addition, and the function too if anything calls it.
///
/// # Errors
/// Why that does not cover every addition; `None` if nothing is inlined.
fn add_sections(builder: &mut Builder<'_>) -> Result<Vec<Point>, Option<String>> {
    let taken = builder.all_known(LOCK_SB, LOCK).map_err(|_| None)?;
    let inlined: Vec<Taken> = taken
        .into_iter()
        .filter(|t| t.purpose == Some(Purpose::Add) && t.inlined)
        .collect();
    if inlined.is_empty() {
        return Err(None);
    }
    let analysis = builder.analysis()?;
    let called = !analysis.callers(ADD).is_empty();
    let silent: Vec<&str> = HOSTS
        .into_iter()
        .filter(|host| {
            builder.facts.has_function(host)
                && !analysis.leads_to(host, ADD)
                && !inlined
                    .iter()
                    .any(|t| base_name(&t.place.function) == *host)
        })
        .collect();
    if !silent.is_empty() {
        return Err(Some(format!(
            "{}() neither calls {ADD}() nor has a copy of it",
            silent.join("(), ")
        )));
    }
    let found = sections(builder, &inlined)?;
    let mut points = builder.probe_sections(Site::SbListAdd, Role::SbListAddSection, &found)?;
    if called {
        let want = Want {
            exit: builder.exit_wanted(),
            entry_takes_lock: add_always_locks(builder),
            ..Want::entry(Role::SbListAdd, ADD, &[(0, "inode")])
        };
        points.push(builder.probe(Site::SbListAdd, &want)?);
    }
    Ok(points)
}

fn add_always_locks(builder: &Builder<'_>) -> bool {
    builder.analysis().is_ok_and(|analysis| {
        analysis.callers(ADD).is_empty() || analysis.always_takes(ADD, LOCK_SB)
    })
}

/// Where to probe the sections.
fn sections(builder: &Builder<'_>, taken: &[Taken]) -> Result<Vec<(Place, SectionPoint)>, String> {
    let offset = i64::from(builder.facts.offset("super_block.s_inode_list_lock")?);
    let analysis = builder.analysis()?;
    taken
        .iter()
        .map(|t| {
            let point = analysis.section_of_member(&t.place, t.address, offset);
            let point = point.ok_or_else(|| format!("the code at {} is not known", t.place))?;
            Ok((t.place.clone(), point))
        })
        .collect()
}

/// What is counted at inlined sections: each pass of the probe is an acquisition.
fn with_sections(mut plan: SitePlan) -> SitePlan {
    plan.acquisitions = Quantity::Counted;
    plan.hold = Quantity::Null(NO_HOLD.to_owned());
    plan
}

/// `sb_list_del`: `static inline` in the source, so it is in `evict()` on every kernel.
pub(super) fn del(builder: &mut Builder<'_>) -> SitePlan {
    let site = Site::SbListDel;
    if let Some(absent) = absent(builder, site) {
        return absent;
    }
    let plan = match del_sections(builder) {
        Ok(points) => with_sections(SitePlan::observed(site, points)),
        Err(why) => SitePlan::not_observable(site, why),
    };
    waits_only(builder, plan, |builder, site| {
        builder.probe_evict(site).map(|_| ())
    })
}

/// Probes every copy of the removal. All must be in `evict()`, whose entries are the passes.
fn del_sections(builder: &mut Builder<'_>) -> Result<Vec<Point>, String> {
    let taken = builder.all_known(LOCK_SB, LOCK)?;
    let removals: Vec<Taken> = taken
        .into_iter()
        .filter(|t| t.purpose == Some(Purpose::Remove))
        .collect();
    if removals.is_empty() {
        return Err(format!(
            "no code that takes {LOCK} to remove an inode was found"
        ));
    }
    let elsewhere = places(&removals, |t| !t.place.is_in("evict"));
    if !elsewhere.is_empty() {
        return Err(format!("removals at {} are not probed", list(&elsewhere)));
    }
    builder.probe_evict(Site::SbListDel)?;
    let found = sections(builder, &removals)?;
    builder
        .probe_sections(Site::SbListDel, Role::SbListDelSection, &found)
        .map_err(|why| {
            let places = places(&removals, |_| true);
            format!("inlined into {}; {why}", list(&places))
        })
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
