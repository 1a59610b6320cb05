use super::*;
use crate::{hist::tests::of_samples, model::SuperBlock};

fn snapshot(at_ns: u64, slots: &[(u32, SiteCounts)]) -> Snapshot {
    Snapshot {
        at_ns,
        superblocks: slots
            .iter()
            .map(|(slot, counts)| SbCounts {
                superblock: SuperBlock {
                    slot: *slot,
                    fstype: "tmpfs".into(),
                    dev: (0, *slot),
                    s_id: "tmpfs".into(),
                    dead: false,
                },
                sites: std::array::from_fn(|_| counts.clone()),
            })
            .collect(),
        losses: Losses::default(),
    }
}

fn counts(calls: u64, wait: &[u64]) -> SiteCounts {
    SiteCounts {
        calls,
        wait: of_samples(wait),
        ..SiteCounts::empty()
    }
}

#[test]
fn what_was_there_before_the_window_is_not_of_it() {
    let a = snapshot(1_000, &[(1, counts(10, &[100, 200]))]);
    let b = snapshot(
        2_000_001_000,
        &[(1, counts(15, &[100, 200, 150])), (2, counts(3, &[7]))],
    );
    let d = Delta::between(&a, &b);
    assert_eq!(d.seconds(), 2.0);
    assert_eq!(d.superblocks[0].sites[0].calls, 5);
    assert_eq!(d.superblocks[1].sites[0].calls, 3);
    let wait = &d.superblocks[0].sites[0].wait;
    assert_eq!((wait.count, wait.sum_ns), (1, 150));
    // Not extremes of the run, so the bucket's bounds stand for them.
    let (low, high) = wait.extremes().unwrap();
    assert!(low <= 150 && 150 <= high && high - low <= 150 / 32);
    assert_eq!(d.went_back, 0);
}

#[test]
fn a_new_maximum_is_exact() {
    let a = snapshot(0, &[(1, counts(1, &[100]))]);
    let b = snapshot(1, &[(1, counts(2, &[100, 12_345]))]);
    let d = Delta::between(&a, &b);
    assert_eq!(d.superblocks[0].sites[0].wait.extremes().unwrap().1, 12_345);
}

#[test]
fn a_count_that_shrinks_is_told() {
    let a = snapshot(0, &[(1, counts(5, &[]))]);
    let b = snapshot(1, &[(1, counts(4, &[]))]);
    let d = Delta::between(&a, &b);
    assert_eq!(d.superblocks[0].sites[0].calls, 0);
    assert_eq!(d.went_back, SITES as u64);
}

#[test]
fn misses_are_unknown_unless_known_twice() {
    let mut a = snapshot(0, &[]);
    let mut b = snapshot(1, &[]);
    b.losses.missed_probes = Some(3);
    assert_eq!(Delta::between(&a, &b).losses.missed_probes, None);
    a.losses.missed_probes = Some(1);
    assert_eq!(Delta::between(&a, &b).losses.missed_probes, Some(2));
}
