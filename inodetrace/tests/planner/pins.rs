//! What is planned on the recorded kernels.

use inodetrace::plan::{Attach, AttachChoice, Features, PlanOptions, Role, Status, plan};
use inodetrace::vocab::{Site, SiteExt};

use crate::fixture::{ALL, KERNELS, facts, observes, plan_of, site_of, text};

#[test]
fn complete_plans() {
    for kernel in KERNELS {
        insta::assert_snapshot!(format!("plan-{kernel}"), text(&plan_of(&facts(kernel))));
    }
}

/// A probe on the symbol counted 0 of 10000 file creations on 6.18 and 7.2.
#[test]
fn sb_list_add_is_observed_only_where_the_function_is_called() {
    for (kernel, observed) in [
        ("5.10", true),
        ("6.1", true),
        ("6.12", true),
        ("6.18", false),
        ("7.2", false),
    ] {
        let facts = facts(kernel);
        assert!(facts.has_function("inode_sb_list_add"), "{kernel}");
        assert_eq!(observes(&facts, Site::SbListAdd), observed, "{kernel}");
    }
    let reason = site_of(&facts("6.18"), Site::SbListAdd).reason.unwrap();
    assert!(
        reason.contains("new_inode+0x3c") && reason.contains("nothing calls it"),
        "{reason}"
    );
}

#[test]
fn sb_list_del_is_inlined_everywhere_but_its_waits_are_seen() {
    for kernel in KERNELS {
        let site = site_of(&facts(kernel), Site::SbListDel);
        assert_eq!(site.status, Status::NotObservable, "{kernel}");
        assert!(
            site.reason.unwrap().starts_with("inlined into evict+0x"),
            "{kernel}"
        );
        assert!(site.contended.is_counted(), "{kernel}");
        assert!(
            !site.calls.is_counted() && !site.acquisitions.is_counted(),
            "{kernel}"
        );
    }
}

#[test]
fn hash_remove_is_observed_only_on_5_10() {
    for kernel in KERNELS {
        assert_eq!(
            observes(&facts(kernel), Site::HashRemove),
            kernel == "5.10",
            "{kernel}"
        );
    }
    assert!(plan_of(&facts("5.10")).globals.evict_guards_hash);
    assert!(!plan_of(&facts("6.1")).globals.evict_guards_hash);
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
                    .find(|p| p.function == point.function)
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
            forced.probes.iter().all(|p| p.attach == Attach::Kprobe),
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
