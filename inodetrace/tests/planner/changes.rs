//! Kernels whose symbols, types or modules differ from the recorded ones in one thing.

use inodetrace::kernel::facts::{Member, Place, Text};
use inodetrace::plan::{Attach, Features, Plan, PlanOptions, Point, SitePlan, Status, plan};
use inodetrace::vocab::{Site, SiteExt};

use crate::fixture::{ALL, KERNELS, code, facts, observes, plan_of, site_of};

/// Functions that are probed as such, not for a section that was inlined into them.
fn functions_probed(plan: &Plan) -> impl Iterator<Item = &String> {
    let whole = plan.probes.iter().filter(|p| p.section.is_none());
    whole.map(|p| &p.function)
}

/// Sites that `plan` observes at `function` as such.
pub(crate) fn sites_at(plan: &Plan, function: &str) -> Vec<Site> {
    let is_it = |p: &Point| p.function == function && p.kind != Attach::InlinedCall;
    let at = |s: &&SitePlan| s.how.iter().any(is_it);
    plan.sites.iter().filter(at).map(|s| s.site).collect()
}

fn status(plan: &Plan, site: Site) -> Status {
    plan.site(site).unwrap().status
}

#[test]
fn a_function_that_is_there_twice() {
    for kernel in KERNELS {
        let original = facts(kernel);
        let plan = plan_of(&original);
        for name in functions_probed(&plan) {
            let sites = sites_at(&plan, name);
            if sites.is_empty() {
                continue;
            }
            let mut twice = original.clone();
            let mut copy = twice.symbols[name][0].clone();
            copy.address += 0x1000;
            twice.symbols.get_mut(name).unwrap().push(copy);
            let now = plan_of(&twice);
            for site in sites {
                assert_ne!(status(&now, site), Status::Observed, "{kernel} {name}");
            }
        }
    }
}

#[test]
fn a_function_that_is_missing() {
    // Where one of these is missing, its caller does all that it did.
    let stand_in = [
        "inode_init_always",
        "inode_init_always_gfp",
        "list_lru_add",
        "list_lru_del",
    ];
    for kernel in KERNELS {
        let original = facts(kernel);
        let plan = plan_of(&original);
        for name in functions_probed(&plan) {
            let sites = sites_at(&plan, name);
            if sites.is_empty() {
                continue;
            }
            let mut missing = original.clone();
            missing.symbols.remove(name);
            let now = plan_of(&missing);
            assert!(sites_at(&now, name).is_empty(), "{kernel} {name}");
            for site in sites {
                let observed = status(&now, site) == Status::Observed;
                assert!(
                    !observed || stand_in.contains(&name.as_str()),
                    "{kernel} {name}"
                );
            }
        }
    }
}

#[test]
fn a_superblock_shutdown_that_cannot_be_seen_is_an_error() {
    let mut facts = facts("6.12");
    facts.symbols.remove("generic_shutdown_super");
    assert!(plan(&facts, ALL, &PlanOptions::default()).is_err());
}

#[test]
fn a_function_that_exists_only_as_a_changed_copy() {
    let mut facts = facts("6.12");
    let mut symbol = facts.symbols.remove("inode_io_list_del").unwrap();
    for s in &mut symbol {
        s.name = "inode_io_list_del.constprop.0".to_owned();
    }
    facts
        .symbols
        .insert("inode_io_list_del.constprop.0".to_owned(), symbol);
    assert!(!observes(&facts, Site::WbListDel));
    let mut facts = crate::fixture::facts("6.12");
    let symbol = facts.symbols.remove("evict").unwrap();
    facts.symbols.insert("evict.isra.0".to_owned(), symbol);
    let reason = site_of(&facts, Site::Evict).reason.unwrap();
    assert!(reason.contains("evict.isra.0"), "{reason}");
}

#[test]
fn a_function_with_other_parameters() {
    let mut facts = facts("7.2");
    let described = facts.functions.get_mut("inode_insert5").unwrap();
    described.signature.as_mut().unwrap().params.pop();
    assert!(!observes(&facts, Site::HashInsert));
    let mut facts = crate::fixture::facts("7.2");
    let described = facts.functions.get_mut("evict").unwrap();
    described.signature.as_mut().unwrap().params[0] = Some("dentry".to_owned());
    assert!(!observes(&facts, Site::Evict));
    assert!(!observes(&facts, Site::LruDel));
}

#[test]
fn without_the_code_nothing_that_needs_it_is_assumed() {
    for kernel in KERNELS {
        let mut facts = facts(kernel);
        facts.text = Text::Unreadable("no kcore".to_owned());
        for site in plan_of(&facts).sites {
            assert_ne!(site.status, Status::Observed, "{kernel} {}", site.site.id());
            assert!(!site.contended.is_counted(), "{kernel} {}", site.site.id());
            assert!(
                site.reason.is_some_and(|r| r.contains("no kcore")),
                "{kernel}"
            );
        }
    }
}

#[test]
fn evict_inlined_into_a_caller() {
    for kernel in KERNELS {
        let mut facts = facts(kernel);
        let callers = code(&mut facts)
            .callers
            .get_mut("inode_wait_for_writeback")
            .unwrap();
        callers.push(Place {
            function: "dispose_list".to_owned(),
            offset: 0x42,
        });
        let reason = site_of(&facts, Site::Evict).reason.unwrap();
        assert!(reason.contains("dispose_list+0x42"), "{kernel}: {reason}");
    }
}

#[test]
fn ext4_that_is_not_loaded_is_absent() {
    let mut facts = facts("6.12");
    facts.symbols.retain(|name, _| !name.starts_with("ext4_"));
    assert_eq!(site_of(&facts, Site::OrphanAdd).status, Status::Absent);
    assert_eq!(site_of(&facts, Site::OrphanDel).status, Status::Absent);
}

#[test]
fn ext4_in_a_module_needs_kprobes() {
    let mut facts = facts("6.12");
    for (_, symbols) in facts
        .symbols
        .iter_mut()
        .filter(|(name, _)| name.starts_with("ext4_"))
    {
        for symbol in symbols {
            symbol.module = Some("ext4".to_owned());
        }
    }
    let site = site_of(&facts, Site::OrphanAdd);
    assert_eq!(site.status, Status::Observed);
    assert_eq!(site.how[0].kind.id(), "kprobe");
    let only_fentry = Features {
        kprobe: false,
        ..ALL
    };
    let plan = plan(&facts, only_fentry, &PlanOptions::default()).unwrap();
    assert_eq!(
        plan.site(Site::OrphanAdd).unwrap().status,
        Status::NotObservable
    );
}

#[test]
fn a_kernel_without_the_lock_has_no_such_site() {
    let mut facts = facts("7.2");
    let gone = Member::Missing("no such member".to_owned());
    facts
        .layout
        .insert("super_block.s_inode_list_lock".to_owned(), gone);
    for site in [Site::SbListAdd, Site::SbListDel, Site::SbListWalk] {
        assert_eq!(
            site_of(&facts, site).status,
            Status::Absent,
            "{}",
            site.id()
        );
    }
    assert!(observes(&facts, Site::Evict));
}
