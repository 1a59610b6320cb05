//! The sites of the lock of `super_block.s_inode_lru` (`fs/inode.c`, `mm/list_lru.c`).

use super::builder::{Builder, Want, list};
use super::{Point, Role, SitePlan};
use crate::kernel::facts::Place;
use crate::vocab::Site;

/// Which of the two directions.
struct Direction {
    site: Site,
    role: Role,
    /// The function that takes the lock.
    plain: &'static str,
    /// Since 6.8 `fs/inode.c` calls this one, which finds node and cgroup and calls the plain one.
    object: &'static str,
}

const ADD: Direction = Direction {
    site: Site::LruAdd,
    role: Role::LruAdd,
    plain: "list_lru_add",
    object: "list_lru_add_obj",
};

const DEL: Direction = Direction {
    site: Site::LruDel,
    role: Role::LruDel,
    plain: "list_lru_del",
    object: "list_lru_del_obj",
};

const EXPECTED: &[(usize, &str)] = &[(0, "list_lru"), (1, "list_head")];

/// `lru_add`. Nothing is tested before the lock is taken, so its calls are its acquisitions.
pub(super) fn add(builder: &mut Builder<'_>) -> SitePlan {
    one(builder, &ADD, |_| Ok(()))
}

/// `lru_del`. `iput()` tests whether the inode is on the list, so a pass that skips the lock is an
/// `evict()` with an inode that was not; inodes that `prune_icache_sb()` evicts left the list
/// under the lock of its own walk.
pub(super) fn del(builder: &mut Builder<'_>) -> SitePlan {
    one(builder, &DEL, |builder| {
        builder.probe_evict(Site::LruDel)?;
        let prune = Want {
            exit: true,
            ..Want::entry(Role::Prune, "prune_icache_sb", &[(0, "super_block")])
        };
        if builder.analysis()?.callers("prune_icache_sb").is_empty() {
            return Err("nothing calls prune_icache_sb(): it is inlined".to_owned());
        }
        builder.probe(Site::LruDel, &prune).map(|_| ())
    })
}

fn one(
    builder: &mut Builder<'_>,
    direction: &Direction,
    also: impl Fn(&mut Builder<'_>) -> Result<(), String>,
) -> SitePlan {
    let (site, role) = (direction.site, direction.role);
    if let Err(why) = builder.facts.offset("super_block.s_inode_lru") {
        return SitePlan::absent(site, why);
    }
    let found = function(builder, direction).and_then(|found| also(builder).map(|()| found));
    let (function, takes_lock) = match found {
        Ok(found) => found,
        Err(why) => return SitePlan::not_observable(site, why),
    };
    let exit = builder.exit_wanted();
    let want = Want {
        exit,
        entry_takes_lock: takes_lock,
        ..Want::entry(role, function, EXPECTED)
    };
    let point: Point = match builder.probe(site, &want) {
        Ok(point) => point,
        Err(why) => return SitePlan::not_observable(site, why),
    };
    let mut plan = SitePlan::observed(site, vec![point]);
    builder.quantities(&mut plan, takes_lock.then_some(()).ok_or(function));
    plan.contended = builder.spin_waits(site);
    plan
}

/// The function that takes the lock for all inodes, and whether it always does.
fn function(builder: &Builder<'_>, direction: &Direction) -> Result<(&'static str, bool), String> {
    let analysis = builder.analysis()?;
    let lru = i64::from(builder.facts.offset("super_block.s_inode_lru")?);
    let strays = analysis.lru_strays(lru);
    let strays: Vec<&Place> = strays.iter().collect();
    if !strays.is_empty() {
        return Err(format!(
            "s_inode_lru is used in a way that is not known at {}",
            list(&strays)
        ));
    }
    let Direction { plain, object, .. } = direction;
    let called = if builder.facts.has_function(object) {
        object
    } else {
        plain
    };
    if analysis.lru_users_of(called, lru).is_empty() {
        return Err(format!(
            "no code was found that gives s_inode_lru to {called}()"
        ));
    }
    if called != plain && !analysis.lru_users_of(plain, lru).is_empty() {
        return Err(format!(
            "s_inode_lru is given to both {plain}() and {called}()"
        ));
    }
    // The plain one sees everything if the other one always goes through it.
    let function = if called != plain && analysis.always_calls(called, plain) {
        plain
    } else {
        called
    };
    Ok((function, analysis.always_takes_a_spin_lock(function)))
}
