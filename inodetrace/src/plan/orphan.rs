//! The sites of `ext4_sb_info.s_orphan_lock` (`fs/ext4/orphan.c`, before 5.15 `fs/ext4/namei.c`).

use super::builder::{Builder, Want};
use super::{Quantity, Role, SitePlan, waits};
use crate::sites::tables::Lock;
use crate::vocab::Site;

/// `orphan_add`.
pub(super) fn add(builder: &mut Builder<'_>) -> SitePlan {
    one(builder, Site::OrphanAdd, Role::OrphanAdd, "ext4_orphan_add")
}

/// `orphan_del`.
pub(super) fn del(builder: &mut Builder<'_>) -> SitePlan {
    one(builder, Site::OrphanDel, Role::OrphanDel, "ext4_orphan_del")
}

fn one(builder: &mut Builder<'_>, site: Site, role: Role, function: &str) -> SitePlan {
    if !builder.facts.has_function(function) {
        let why = "ext4 is not loaded, or not part of this kernel";
        return SitePlan::absent(site, why.to_owned());
    }
    if let Err(why) = is_out_of_line(builder, function) {
        return SitePlan::not_observable(site, why);
    }
    let takes_lock = builder
        .analysis()
        .is_ok_and(|a| a.always_takes(function, Lock::Ext4Orphan));
    let want = Want {
        // For the waits as well: while a task is in the function, one belongs to the site.
        exit: true,
        entry_takes_lock: takes_lock,
        ..Want::entry(role, function, &[(1, "inode")])
    };
    let point = match builder.probe(site, &want) {
        Ok(point) => point,
        Err(why) => return SitePlan::not_observable(site, why),
    };
    let mut plan = SitePlan::observed(site, vec![point]);
    builder.quantities(&mut plan, takes_lock.then_some(()).ok_or(function));
    let slow = waits::want(Role::MutexSlow, "__mutex_lock_slowpath");
    plan.contended = match builder.probe(site, &slow) {
        Ok(_) => Quantity::Counted,
        Err(why) => Quantity::Null(format!("waits are not seen: {why}")),
    };
    plan
}

/// Whether the function takes the lock itself, and nobody takes it who is not known.
fn is_out_of_line(builder: &Builder<'_>, function: &str) -> Result<(), String> {
    builder.facts.offset("ext4_sb_info.s_orphan_lock")?;
    let taken = builder.all_known(Lock::Ext4Orphan, "s_orphan_lock")?;
    if !taken.iter().any(|t| t.place.is_in(function)) {
        return Err(format!(
            "no code that takes s_orphan_lock was found in {function}()"
        ));
    }
    if builder.analysis()?.callers(function).is_empty() {
        return Err(format!("nothing calls {function}()"));
    }
    Ok(())
}
