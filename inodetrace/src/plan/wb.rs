//! The site of `bdi_writeback.list_lock` (`fs/fs-writeback.c`).

use super::builder::{Builder, Want};
use super::{Point, Role, SitePlan};
use crate::vocab::Site;

const DEL: &str = "inode_io_list_del";
/// With CONFIG_CGROUP_WRITEBACK: finds the inode's writeback structure and locks its list.
const LOCK_LIST: &str = "locked_inode_to_wb_and_lock_list";

/// `wb_list_del`.
pub(super) fn del(builder: &mut Builder<'_>) -> SitePlan {
    let site = Site::WbListDel;
    let removal = match removal(builder) {
        Ok(removal) => removal,
        Err(why) => return SitePlan::not_observable(site, why),
    };
    builder.globals.evict_guards_wb = removal.guarded && builder.asked(site);
    let mut plan = SitePlan::observed(site, vec![removal.point]);
    builder.quantities(&mut plan, removal.takes_lock.then_some(()).ok_or(DEL));
    plan.contended = builder.spin_waits(site);
    plan
}

struct Removal {
    point: Point,
    /// `evict()` tests whether the inode is on a list before the call.
    guarded: bool,
    takes_lock: bool,
}

fn removal(builder: &mut Builder<'_>) -> Result<Removal, String> {
    let io_list = i64::from(builder.facts.offset("inode.i_io_list")?);
    let analysis = builder.analysis()?;
    if analysis.calls("evict", DEL).is_empty() {
        return Err(format!("evict() does not call {DEL}(): it is inlined"));
    }
    let guarded = if analysis.always_calls("evict", DEL) {
        false
    } else if analysis.reads_member("evict", io_list) {
        true
    } else {
        return Err(format!(
            "evict() does not always call {DEL}(), and not by what i_io_list says"
        ));
    };
    let takes_lock = match builder.facts.offset("bdi_writeback.list_lock") {
        Err(_) => false,
        Ok(lock) => {
            let lock = i64::from(lock);
            analysis.always_takes_at(DEL, lock)
                || (analysis.always_calls(DEL, LOCK_LIST)
                    && analysis.always_takes_at(LOCK_LIST, lock))
        }
    };
    let exit = builder.exit_wanted();
    let want = Want {
        exit,
        entry_takes_lock: takes_lock,
        ..Want::entry(Role::IoListDel, DEL, &[(0, "inode")])
    };
    if guarded {
        builder.probe_evict(Site::WbListDel)?;
    }
    let point = builder.probe(Site::WbListDel, &want)?;
    Ok(Removal {
        point,
        guarded,
        takes_lock,
    })
}
