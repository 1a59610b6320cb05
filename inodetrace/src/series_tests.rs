use super::*;
use crate::{
    backend::{Hold, Request},
    fake,
    selection::{HOLD_OFF, NOT_ASKED, select},
};

fn delta(n: u64) -> Delta {
    Delta::between(&fake::snapshot(0), &fake::snapshot(n))
}

fn all_rows(plan: &Plan, filter: &SuperblockFilter) -> Vec<Row> {
    rows(
        &delta(2),
        plan,
        filter,
        &mut MountNames::new(fake::mounts()),
    )
}

fn find(rows: &[Row], fstype: &str, site: Site) -> Option<Row> {
    rows.iter()
        .find(|r| r.superblock.fstype == fstype && r.site == site)
        .cloned()
}

#[test]
fn what_is_not_counted_is_none_and_not_zero() {
    let rows = all_rows(&fake::plan(), &SuperblockFilter::default());
    // Inlined on this kernel, contended all the same: a row without calls.
    let add = find(&rows, "tmpfs", Site::SbListAdd).unwrap();
    assert_eq!(add.numbers.calls, None);
    assert_eq!(add.numbers.acquisitions, None);
    assert_eq!(add.numbers.skipped_share(), None);
    assert_eq!(add.numbers.contended_share(), None);
    assert_eq!(add.numbers.contended, Some(8));
    assert_eq!(add.mounts, ["/tmp"]);
    // Not observed and nothing told: no row that could be read as "none".
    assert_eq!(find(&rows, "sockfs", Site::SbListDel), None);
    for row in &rows {
        if row.site == Site::HashRemove {
            assert_eq!(row.numbers.calls, None);
        }
    }
}

#[test]
fn a_true_zero_is_shown_where_a_pass_could_have_been() {
    let rows = all_rows(&fake::plan(), &SuperblockFilter::default());
    let sockets = find(&rows, "sockfs", Site::HashInsert).unwrap();
    assert_eq!(sockets.numbers.calls, Some(0));
    assert_eq!(sockets.numbers.contended, Some(0));
    assert!(sockets.mounts.is_empty());
    // Sockets have no orphan list.
    assert_eq!(find(&rows, "sockfs", Site::OrphanDel), None);
}

#[test]
fn skips_need_both_numbers() {
    let rows = all_rows(&fake::plan(), &SuperblockFilter::default());
    let del = find(&rows, "ext4", Site::LruDel).unwrap().numbers;
    assert_eq!((del.calls, del.acquisitions), (Some(24), Some(6)));
    assert_eq!(del.skipped(), Some(18));
    assert_eq!(del.skipped_share(), Some(0.75));
    let wb = find(&rows, "tmpfs", Site::WbListDel).unwrap().numbers;
    assert_eq!((wb.calls, wb.skipped()), (Some(2000), None));
    let wrong = Numbers {
        calls: Some(3),
        acquisitions: Some(4),
        ..del
    };
    assert_eq!(wrong.skipped(), None);
}

#[test]
fn filters_choose_superblocks() {
    let only = |filter: SuperblockFilter| {
        let mut types: Vec<String> = all_rows(&fake::plan(), &filter)
            .into_iter()
            .map(|r| r.superblock.fstype)
            .collect();
        types.dedup();
        types
    };
    let fstypes = vec!["tmpfs".to_owned(), "sockfs".to_owned()];
    assert_eq!(
        only(SuperblockFilter {
            fstypes: fstypes.clone(),
            devs: vec![]
        }),
        fstypes
    );
    assert_eq!(
        only(SuperblockFilter {
            fstypes,
            devs: vec![(0, 23), (254, 16)]
        }),
        ["tmpfs"]
    );
}

#[test]
fn an_unasked_site_says_so() {
    let request = Request {
        sites: vec![Site::HashInsert],
        hold: Hold::Off,
        ..Request::all()
    };
    let plan = select(fake::plan(), &request);
    let evict = plan.site(Site::Evict).unwrap();
    assert_eq!(evict.status, Status::NotObservable);
    assert_eq!(evict.reason.as_deref(), Some(NOT_ASKED));
    let hash = plan.site(Site::HashInsert).unwrap();
    assert_eq!(hash.hold.reason(), Some(HOLD_OFF));
    let rows = all_rows(&plan, &SuperblockFilter::default());
    assert!(rows.iter().all(|r| r.site == Site::HashInsert));
    assert!(rows.iter().all(|r| r.numbers.hold.is_none()));
    assert_eq!(rows.len(), 2); // tmpfs and ext4
}

#[test]
fn numbers_of_another_window_follow_the_rows() {
    let plan = fake::plan();
    let rows = all_rows(&plan, &SuperblockFilter::default());
    let later = Delta::between(&fake::snapshot(1), &fake::snapshot(2));
    let numbers = numbers_for(&rows, &later, &plan);
    let of = |fstype: &str, site| {
        let i = rows
            .iter()
            .position(|r| r.superblock.fstype == fstype && r.site == site)
            .unwrap();
        numbers[i].clone().unwrap()
    };
    assert_eq!(of("tmpfs", Site::Evict).calls, Some(1000));
    assert_eq!(of("pipefs", Site::Evict).calls, Some(0));
    assert!(of("pipefs", Site::Evict).is_idle());
    assert_eq!(of("tmpfs", Site::SbListAdd).calls, None);
}

#[test]
fn labels() {
    let sb = |fstype: &str, dead| SuperBlock {
        slot: 1,
        fstype: fstype.into(),
        dev: (0, 1),
        s_id: "vdb".into(),
        dead,
    };
    let mounts = |n: usize| vec!["/mnt".to_owned(); n];
    assert_eq!(superblock_label(&sb("ext4", false), &mounts(1)), "/mnt");
    assert_eq!(superblock_label(&sb("ext4", false), &mounts(3)), "/mnt +2");
    assert_eq!(
        superblock_label(&sb("ext4", true), &mounts(1)),
        "/mnt (gone)"
    );
    assert_eq!(superblock_label(&sb("ext4", false), &[]), "vdb");
    assert_eq!(
        superblock_label(&sb(OTHER, false), &[]),
        "all without a slot"
    );
}
