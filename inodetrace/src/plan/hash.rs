//! The sites of `inode_hash_lock` (`fs/inode.c`).

use super::builder::{Builder, NO_HOLD, Want, list};
use super::{Point, Quantity, Role, SitePlan};
use crate::kernel::facts::Place;
use crate::sites::analysis::{Taken, global};
use crate::sites::tables::{Lock, Purpose};
use crate::vocab::Site;

const NAME: &str = "inode_hash_lock";
const REMOVE: &str = "__remove_inode_hash";

/// Functions that insert, with the probe each needs.
const INSERTERS: &[(Role, &str, &str)] = &[
    (Role::InsertHash, "__insert_inode_hash", "inode"),
    (Role::InsertLocked, "insert_inode_locked", "inode"),
    (Role::Insert5, "inode_insert5", "inode"),
    (Role::IgetLocked, "iget_locked", "super_block"),
];

/// Those which do nothing but insert, so that the time they take is that of the section. The
/// others look for the inode first, wait for one that is going away, or call the file system.
const PLAIN_INSERTERS: &[Role] = &[Role::InsertHash, Role::InsertLocked];

/// `hash_insert`.
pub(super) fn insert(builder: &mut Builder<'_>) -> SitePlan {
    let site = Site::HashInsert;
    match insert_points(builder) {
        Err(why) => SitePlan::not_observable(site, why),
        Ok((points, sometimes)) => {
            let mut plan = SitePlan::observed(site, points);
            builder.quantities(&mut plan, Ok(()));
            if let Some(function) = sometimes.first() {
                plan.acquisitions = Quantity::Null(format!(
                    "{function}() does not take the lock on every way through it, so a pass \
                     proves nothing"
                ));
            }
            plan.contended = builder.spin_waits(site);
            plan
        }
    }
}

/// The points, and the functions that do not always take the lock.
fn insert_points(builder: &mut Builder<'_>) -> Result<(Vec<Point>, Vec<&'static str>), String> {
    let taken = known(builder)?;
    refuse_inlined(&taken)?;
    let analysis = builder.analysis()?;
    let mut present = Vec::new();
    for (role, function, first) in INSERTERS.iter().copied() {
        if !builder.facts.has_function(function) {
            continue;
        }
        if !taken.iter().any(|t| t.place.is_in(function)) {
            return Err(format!(
                "no code that takes {NAME} was found in {function}()"
            ));
        }
        present.push((
            role,
            function,
            first,
            analysis.always_takes(function, Lock::InodeHash),
        ));
    }
    let unprobed: Vec<&Place> = taken
        .iter()
        .filter(|t| t.purpose == Some(Purpose::Add))
        .map(|t| &t.place)
        .filter(|place| {
            !present
                .iter()
                .any(|(_, function, ..)| place.is_in(function))
        })
        .collect();
    if !unprobed.is_empty() {
        return Err(format!(
            "also done at {}, where no probe is",
            list(&unprobed)
        ));
    }
    // Told apart from an insertion, a lookup changes no inode's hash link.
    let link = builder.facts.offset("inode.i_hash")?;
    let lookups = taken.iter().filter(|t| t.purpose == Some(Purpose::LookUp));
    let writers: Vec<&Place> = lookups
        .map(|t| &t.place)
        .filter(|p| analysis.writes_member(&p.function, i64::from(link), 16))
        .collect();
    if !writers.is_empty() {
        return Err(format!(
            "a function that should only look up writes i_hash: {}",
            list(&writers)
        ));
    }
    if !present
        .iter()
        .any(|(role, ..)| PLAIN_INSERTERS.contains(role))
    {
        return Err("this kernel has no function that inserts into the inode hash".to_owned());
    }
    refuse_other_insert5(builder)?;
    let mut points = Vec::new();
    for (role, function, first, takes_lock) in present.iter().copied() {
        // All but the first must be seen to return, to know whether they inserted.
        let exit = role != Role::InsertHash || builder.exit_wanted();
        let expected = [(0, first)];
        let want = Want {
            exit,
            entry_takes_lock: takes_lock,
            ..Want::entry(role, function, &expected)
        };
        points.push(builder.probe(Site::HashInsert, &want)?);
    }
    let sometimes = present
        .iter()
        .filter(|(.., takes)| !takes)
        .map(|(_, f, ..)| *f)
        .collect();
    Ok((points, sometimes))
}

/// The exit program reads the inode that it is given from the arguments, whose number it knows.
fn refuse_other_insert5(builder: &Builder<'_>) -> Result<(), String> {
    const ARGUMENTS: usize = 5;
    if !builder.facts.has_function("inode_insert5") {
        return Ok(());
    }
    let described = builder.facts.functions.get("inode_insert5");
    match described
        .and_then(|d| d.signature.as_ref())
        .map(|s| s.params.len())
    {
        Some(ARGUMENTS) => Ok(()),
        Some(other) => Err(format!(
            "inode_insert5() has {other} parameters in this kernel, not 5"
        )),
        None => Err("BTF does not tell the parameters of inode_insert5()".to_owned()),
    }
}

/// `hash_remove`.
pub(super) fn remove(builder: &mut Builder<'_>) -> SitePlan {
    let site = Site::HashRemove;
    match remove_is_out_of_line(builder) {
        Err(why) => {
            let mut plan = match remove_sections(builder) {
                Ok(points) => {
                    let mut plan = SitePlan::observed(site, points);
                    plan.acquisitions = Quantity::Counted;
                    plan.hold = Quantity::Null(NO_HOLD.to_owned());
                    plan
                }
                Err(None) => SitePlan::not_observable(site, why),
                Err(Some(also)) => SitePlan::not_observable(site, format!("{why}; {also}")),
            };
            // Waits are told by the lock's address and by evict() being what the task did last.
            plan.contended = match (global(builder.facts, NAME), builder.probe_evict(site)) {
                (Ok(_), Ok(_)) => builder.spin_waits(site),
                (Err(why), _) | (_, Err(why)) => Quantity::Null(why),
            };
            plan
        }
        Ok(Removal {
            point,
            guarded,
            takes_lock,
        }) => {
            builder.globals.evict_guards_hash = guarded && builder.asked(site);
            let mut plan = SitePlan::observed(site, vec![point]);
            builder.quantities(&mut plan, takes_lock.then_some(()).ok_or(REMOVE));
            plan.contended = builder.spin_waits(site);
            plan
        }
    }
}

/// Probes every inlined copy of the removal, and the function too if anything calls it: ext4
/// unhashes its inodes through the function before `evict()` comes to its copy (7.0 and later).
///
/// # Errors
/// Why that does not cover every removal; `None` if nothing is inlined.
fn remove_sections(builder: &mut Builder<'_>) -> Result<Vec<Point>, Option<String>> {
    let taken = known(builder).map_err(|_| None)?;
    let (inside, inlined): (Vec<&Taken>, Vec<&Taken>) = taken
        .iter()
        .filter(|t| t.purpose == Some(Purpose::Remove))
        .partition(|t| t.place.is_in(REMOVE));
    if inlined.is_empty() {
        return Err(None);
    }
    let analysis = builder.analysis()?;
    let called = !analysis.callers(REMOVE).is_empty();
    let always = analysis.always_takes(REMOVE, Lock::InodeHash);
    if called && (inside.is_empty() || !always) {
        return Err(Some(format!(
            "{REMOVE}() is called and does not take the lock on every way through it"
        )));
    }
    // The passes without the lock are counted where evict() tests for them.
    let pprev = i64::from(builder.facts.offset("inode.i_hash.pprev")?);
    if !inlined.iter().any(|t| t.place.is_in("evict")) || !analysis.reads_member("evict", pprev) {
        return Err(Some(String::from(
            "evict() has no copy of it that goes by what i_hash says",
        )));
    }
    let mut found = Vec::new();
    for t in &inlined {
        let point = analysis.section_of_argument(&t.place, t.address);
        let point = point
            .ok_or_else(|| format!("no register is known to hold the inode at {}", t.place))?;
        found.push((t.place.clone(), point));
    }
    let site = Site::HashRemove;
    let mut points = builder.probe_sections(site, Role::RemoveHashSection, &found)?;
    if called {
        let want = Want {
            exit: builder.exit_wanted(),
            entry_takes_lock: true,
            ..Want::entry(Role::RemoveHash, REMOVE, &[(0, "inode")])
        };
        points.push(builder.probe(site, &want)?);
    }
    builder.probe_evict(site)?;
    builder.globals.evict_guards_hash = builder.asked(site);
    Ok(points)
}

struct Removal {
    point: Point,
    /// `evict()` tests whether the inode is hashed before the call.
    guarded: bool,
    takes_lock: bool,
}

fn remove_is_out_of_line(builder: &mut Builder<'_>) -> Result<Removal, String> {
    let taken = known(builder)?;
    let analysis = builder.analysis()?;
    let callers: Vec<&Place> = analysis.callers(REMOVE).iter().collect();
    let elsewhere: Vec<&Place> = taken
        .iter()
        .filter(|t| t.purpose == Some(Purpose::Remove) && !t.place.is_in(REMOVE))
        .map(|t| &t.place)
        .collect();
    if !elsewhere.is_empty() {
        let symbol = match (builder.facts.has_function(REMOVE), callers.is_empty()) {
            (false, _) => String::new(),
            (true, true) => format!("; the symbol {REMOVE} exists but nothing calls it"),
            (true, false) => {
                format!(
                    "; the symbol {REMOVE} exists but is called only by {}",
                    list(&callers)
                )
            }
        };
        return Err(format!("inlined into {}{symbol}", list(&elsewhere)));
    }
    if !taken.iter().any(|t| t.purpose == Some(Purpose::Remove)) {
        return Err(format!(
            "no code that takes {NAME} to remove an inode was found"
        ));
    }
    if analysis.calls("evict", REMOVE).is_empty() {
        return Err(format!(
            "evict() neither calls {REMOVE}() nor has a copy of it"
        ));
    }
    let pprev = i64::from(builder.facts.offset("inode.i_hash.pprev")?);
    let guarded = if analysis.always_calls("evict", REMOVE) {
        false
    } else if analysis.reads_member("evict", pprev) {
        true
    } else {
        return Err(format!(
            "evict() does not always call {REMOVE}(), and not by what i_hash says"
        ));
    };
    let takes_lock = analysis.always_takes(REMOVE, Lock::InodeHash);
    let want = Want {
        exit: builder.exit_wanted(),
        entry_takes_lock: takes_lock,
        ..Want::entry(Role::RemoveHash, REMOVE, &[(0, "inode")])
    };
    if guarded {
        builder.probe_evict(Site::HashRemove)?;
    }
    let point = builder.probe(Site::HashRemove, &want)?;
    Ok(Removal {
        point,
        guarded,
        takes_lock,
    })
}

fn known(builder: &Builder<'_>) -> Result<Vec<Taken>, String> {
    global(builder.facts, NAME)?;
    builder.all_known(Lock::InodeHash, NAME)
}

fn refuse_inlined(taken: &[Taken]) -> Result<(), String> {
    let inlined: Vec<&Place> = taken
        .iter()
        .filter(|t| t.inlined && t.purpose == Some(Purpose::Add))
        .map(|t| &t.place)
        .collect();
    if inlined.is_empty() {
        Ok(())
    } else {
        Err(format!("inlined into {}", list(&inlined)))
    }
}
