//! The passes that take no list lock: `evict()` and the construction of inodes (`fs/inode.c`).

use super::builder::{Builder, Want, list};
use super::{Point, Quantity, Role, SitePlan};
use crate::sites::tables::WRITEBACK_WAITERS;
use crate::vocab::Site;

const NO_LOCK: &str = "takes no list lock";

/// `evict`: teardown of an inode.
pub(super) fn evict(builder: &mut Builder<'_>) -> SitePlan {
    match evict_point(builder) {
        Ok(point) => without_lock(SitePlan::observed(Site::Evict, vec![point])),
        Err(why) => SitePlan::not_observable(Site::Evict, why),
    }
}

fn evict_point(builder: &mut Builder<'_>) -> Result<Point, String> {
    let analysis = builder.analysis()?;
    // Every teardown waits for writeback, through a function of another file, which therefore is
    // a call wherever evict() may have been inlined.
    let callers = analysis.callers("inode_wait_for_writeback");
    let elsewhere: Vec<_> = callers
        .iter()
        .filter(|p| !WRITEBACK_WAITERS.contains(&p.function.as_str()))
        .collect();
    if !elsewhere.is_empty() {
        return Err(format!("evict() may be inlined at {}", list(&elsewhere)));
    }
    if !callers.iter().any(|p| p.function == "evict") {
        return Err(
            "the code of evict() is not what it should be: it does not call \
                    inode_wait_for_writeback()"
                .to_owned(),
        );
    }
    builder.probe_evict(Site::Evict)
}

/// `alloc`: construction of an inode. All go through `inode_init_always()`, those of XFS, which
/// has an allocator of its own, too.
pub(super) fn alloc(builder: &mut Builder<'_>) -> SitePlan {
    match probe_alloc(builder, Site::Alloc) {
        Ok(points) => without_lock(SitePlan::observed(Site::Alloc, points)),
        Err(why) => SitePlan::not_observable(Site::Alloc, why),
    }
}

/// Probes the construction of inodes for `site`.
///
/// # Errors
/// Why it cannot be probed.
pub(super) fn probe_alloc(builder: &mut Builder<'_>, site: Site) -> Result<Vec<Point>, String> {
    let inner = ["inode_init_always_gfp", "inode_init_always"]
        .into_iter()
        .find(|name| builder.facts.has_function(name));
    let analysis = builder.analysis()?;
    let called = inner.filter(|inner| !analysis.calls("alloc_inode", inner).is_empty());
    // Where alloc_inode() has it inlined, other allocators still call it.
    let functions: Vec<&str> = match called {
        Some(inner) => vec![inner],
        None => std::iter::once("alloc_inode").chain(inner).collect(),
    };
    let probed = |function: &&str| analysis.leads_to("new_inode", function);
    if !analysis.leads_to("new_inode", "alloc_inode") && !functions.iter().any(probed) {
        return Err("new_inode() has the construction of inodes inlined".to_owned());
    }
    let expected = [(0, "super_block")];
    functions
        .into_iter()
        .map(|function| builder.probe(site, &Want::entry(Role::Alloc, function, &expected)))
        .collect()
}

fn without_lock(mut site: SitePlan) -> SitePlan {
    let null = || Quantity::Null(NO_LOCK.to_owned());
    site.acquisitions = null();
    site.contended = null();
    site.hold = null();
    site
}
