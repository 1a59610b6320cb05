//! What is planned on the recorded kernels.

use inodetrace::plan::{Attach, AttachChoice, Features, PlanOptions, Point, Role, Status, plan};
use inodetrace::vocab::{Site, SiteExt};

use crate::fixture::{ALL, KERNELS, facts, plan_of, site_of, text};

#[test]
fn complete_plans() {
    for kernel in KERNELS {
        insta::assert_snapshot!(format!("plan-{kernel}"), text(&plan_of(&facts(kernel))));
    }
}

/// How a site is observed: function names, those of inlined sections with a `+`.
fn points(kernel: &str, site: Site) -> Vec<String> {
    let site = site_of(&facts(kernel), site);
    let name = |p: &Point| match p.kind {
        Attach::InlinedCall => format!("{}+", p.function),
        _ => p.function.clone(),
    };
    site.how.iter().map(name).collect()
}

/// A probe on the symbol counted 0 of 10000 file creations on 6.18 and 7.2.
#[test]
fn sb_list_add_is_observed_at_the_function_only_where_it_is_called() {
    for kernel in ["5.10", "6.1", "6.12"] {
        assert_eq!(points(kernel, Site::SbListAdd), ["inode_sb_list_add"]);
    }
    for kernel in ["6.18", "7.2"] {
        assert!(facts(kernel).has_function("inode_sb_list_add"), "{kernel}");
        let mut found = points(kernel, Site::SbListAdd);
        found.sort();
        assert_eq!(found, ["iget_locked+", "inode_insert5+", "new_inode+"]);
    }
}

#[test]
fn sb_list_del_is_inlined_everywhere() {
    for kernel in KERNELS {
        assert_eq!(points(kernel, Site::SbListDel), ["evict+"], "{kernel}");
        let site = site_of(&facts(kernel), Site::SbListDel);
        assert!(site.contended.is_counted() && !site.hold.is_counted());
    }
}

/// From 7.0 on ext4 unhashes through the function, and everyone else in `evict()`.
#[test]
fn hash_remove_is_watched_in_evict_and_at_the_function() {
    assert_eq!(points("5.10", Site::HashRemove), ["__remove_inode_hash"]);
    for kernel in ["6.1", "6.12", "6.18", "7.2"] {
        let found = points(kernel, Site::HashRemove);
        assert_eq!(found, ["evict+", "__remove_inode_hash"], "{kernel}");
    }
    for kernel in KERNELS {
        assert!(
            plan_of(&facts(kernel)).globals.evict_guards_hash,
            "{kernel}"
        );
    }
}

/// Without kprobes nothing can be put inside a function, and the symbol is no substitute.
#[test]
fn inlined_sites_without_kprobes_are_not_observable_and_say_where() {
    let no_kprobes = Features {
        kprobe: false,
        ..ALL
    };
    for (kernel, site, place) in [
        ("6.18", Site::SbListAdd, "new_inode+0x3c"),
        ("7.2", Site::SbListAdd, "new_inode+0x3a"),
        ("6.18", Site::SbListDel, "evict+0x88"),
        ("6.12", Site::HashRemove, "evict+0x149"),
    ] {
        let plan = plan(&facts(kernel), no_kprobes, &PlanOptions::default()).unwrap();
        let site = plan.site(site).unwrap();
        assert_eq!(site.status, Status::NotObservable, "{kernel}");
        assert!(!site.calls.is_counted() && !site.acquisitions.is_counted());
        assert!(site.contended.is_counted(), "{kernel}");
        let reason = site.reason.clone().unwrap();
        assert!(reason.contains(place), "{kernel}: {reason}");
    }
}

/// Every probe inside a function is on an instruction that can become a jump, but where the lock
/// comes from elsewhere.
#[test]
fn sections_are_probed_before_the_call_where_that_is_cheaper() {
    for kernel in KERNELS {
        let facts = facts(kernel);
        let plan = plan_of(&facts);
        let sections = plan.probes.iter().filter_map(|p| Some((p, p.section?)));
        for (probe, section) in sections {
            let site = plan.site(probe.serves[0]).unwrap();
            let address = facts.symbols[&probe.function][0].address;
            let at_call = site
                .how
                .iter()
                .any(|p| p.function == probe.function && address + p.offset == section.address);
            assert!(!at_call, "{kernel} {} {section:?}", probe.function);
        }
    }
}

/// Since 6.19 the test whether the inode is on a list is inside `inode_io_list_del()`.
#[test]
fn the_guard_of_wb_list_del_moved_into_the_function() {
    for kernel in KERNELS {
        let plan = plan_of(&facts(kernel));
        let site = plan.site(Site::WbListDel).unwrap();
        assert_eq!(site.status, Status::Observed, "{kernel}");
        assert_eq!(plan.globals.evict_guards_wb, kernel != "7.2", "{kernel}");
        assert_eq!(site.acquisitions.is_counted(), kernel != "7.2", "{kernel}");
    }
}

/// Whoever asks for a hold time or an acquisition gets it only from functions that always lock.
#[test]
fn counted_acquisitions_are_proven_at_every_probe() {
    for kernel in KERNELS {
        let plan = plan_of(&facts(kernel));
        for site in plan.sites.iter().filter(|s| s.acquisitions.is_counted()) {
            for point in &site.how {
                let probe = plan
                    .probes
                    .iter()
                    .find(|p| p.function == point.function && p.attach == point.kind)
                    .unwrap();
                assert!(
                    probe.entry_takes_lock,
                    "{kernel} {} {}",
                    site.site.id(),
                    point.function
                );
            }
        }
    }
}

#[test]
fn every_site_has_an_entry_in_order_and_reasons_go_with_status() {
    for kernel in KERNELS {
        let plan = plan_of(&facts(kernel));
        let sites: Vec<Site> = plan.sites.iter().map(|s| s.site).collect();
        assert_eq!(sites, Site::ALL, "{kernel}");
        for site in &plan.sites {
            let observed = site.status == Status::Observed;
            assert_eq!(
                site.reason.is_none(),
                observed,
                "{kernel} {}",
                site.site.id()
            );
            assert_eq!(
                site.how.is_empty(),
                !observed,
                "{kernel} {}",
                site.site.id()
            );
            assert_eq!(
                site.calls.is_counted(),
                observed,
                "{kernel} {}",
                site.site.id()
            );
        }
    }
}

#[test]
fn without_fentry_everything_is_a_kprobe() {
    let options = PlanOptions {
        attach: AttachChoice::ForceKprobe,
        ..PlanOptions::default()
    };
    let no_fentry = Features {
        fentry: false,
        ..ALL
    };
    for kernel in KERNELS {
        let facts = facts(kernel);
        let forced = plan(&facts, ALL, &options).unwrap();
        assert!(
            forced.probes.iter().all(|p| p.attach != Attach::Fentry),
            "{kernel}"
        );
        let lacking = plan(&facts, no_fentry, &PlanOptions::default()).unwrap();
        assert_eq!(forced, lacking, "{kernel}");
    }
}

#[test]
fn without_any_probes_there_is_no_plan() {
    let none = Features {
        fentry: false,
        kprobe: false,
    };
    assert!(plan(&facts("6.12"), none, &PlanOptions::default()).is_err());
}

#[test]
fn only_what_is_asked_for_is_attached() {
    let options = PlanOptions {
        sites: vec![Site::WbListDel],
        ..PlanOptions::default()
    };
    let plan = plan(&facts("6.12"), ALL, &options).unwrap();
    let roles: Vec<Role> = plan.probes.iter().map(|p| p.role).collect();
    let expected = [
        Role::Evict,
        Role::IoListDel,
        Role::ShutdownSuper,
        Role::SpinNative,
        Role::SpinPv,
    ];
    assert_eq!(roles, expected);
    let other = plan.site(Site::Evict).unwrap();
    assert_eq!(other.status, Status::Observed);
    assert!(!other.calls.is_counted());
    assert!(!plan.globals.evict_guards_hash);
}

#[test]
fn exits_are_probed_for_waits_even_when_hold_times_are_off() {
    let options = PlanOptions {
        hold: false,
        ..PlanOptions::default()
    };
    let plan = plan(&facts("5.10"), ALL, &options).unwrap();
    let add = plan
        .probes
        .iter()
        .find(|p| p.role == Role::SbListAdd)
        .unwrap();
    assert!(add.exit);
    let site = plan.site(Site::SbListAdd).unwrap();
    assert!(site.contended.is_counted() && !site.hold.is_counted());
}
