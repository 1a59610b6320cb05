//! A kernel made of paper for tests: the plan and the counts of a Debian 6.18.

use std::cell::RefCell;

use inodetrace_common::Site;

use crate::{
    backend::{Backend, Host, Mounts, Request},
    error::Error,
    hist::tests::of_samples,
    model::{Losses, SbCounts, SiteCounts, Snapshot, Source, SuperBlock},
    plan::{Attach, Plan, Point, Quantity, SitePlan, Status},
    vocab::SiteExt as _,
};

fn observed(site: Site, function: &str, acquisitions: Result<(), &str>) -> SitePlan {
    let lock = site.lock().is_some();
    let or = |counted: bool, why: &str| {
        if counted {
            Quantity::Counted
        } else {
            Quantity::Null(why.into())
        }
    };
    SitePlan {
        site,
        status: Status::Observed,
        how: vec![Point {
            kind: Attach::Fentry,
            function: function.into(),
            offset: 0,
        }],
        reason: None,
        calls: Quantity::Counted,
        acquisitions: or(acquisitions.is_ok(), acquisitions.err().unwrap_or_default()),
        contended: or(lock, "takes no list lock"),
        hold: or(lock, "takes no list lock"),
    }
}

fn not_observable(site: Site, reason: &str) -> SitePlan {
    let null = || Quantity::Null(reason.into());
    SitePlan {
        site,
        status: Status::NotObservable,
        how: vec![],
        reason: Some(reason.into()),
        calls: null(),
        acquisitions: null(),
        contended: Quantity::Counted,
        hold: null(),
    }
}

/// As on 6.18: `inode_sb_list_add` is inlined into its callers, contention is still told.
pub(crate) fn plan() -> Plan {
    let sites = Site::ALL
        .into_iter()
        .map(|site| match site {
            Site::Evict => observed(site, "evict", Err("takes no list lock")),
            Site::Alloc => observed(site, "inode_init_always_gfp", Err("takes no list lock")),
            Site::SbListAdd => not_observable(
                site,
                "inode_sb_list_add is inlined into new_inode and iget_locked",
            ),
            Site::SbListDel => not_observable(site, "inode_sb_list_del is inlined into evict"),
            Site::HashInsert => observed(site, "__insert_inode_hash", Ok(())),
            Site::HashRemove => not_observable(site, "__remove_inode_hash is inlined into evict"),
            Site::LruAdd => observed(site, "list_lru_add_obj", Ok(())),
            Site::LruDel => observed(site, "list_lru_del_obj", Ok(())),
            Site::WbListDel => observed(
                site,
                "inode_io_list_del",
                Err("whether the lock is taken is decided inside inode_io_list_del"),
            ),
            Site::OrphanAdd => observed(site, "ext4_orphan_add", Err("tells no lock by itself")),
            Site::OrphanDel => observed(site, "ext4_orphan_del", Err("tells no lock by itself")),
            Site::SbListWalk => SitePlan {
                contended: Quantity::Null("its places are not searched for yet".into()),
                ..not_observable(site, "its places are not searched for yet")
            },
        })
        .collect();
    Plan {
        sites,
        ..Plan::default()
    }
}

pub(crate) fn host() -> Host {
    Host {
        kernel: "6.18.15+deb14-amd64".into(),
        arch: "x86_64".into(),
        cpus: 4,
    }
}

pub(crate) fn mounts() -> Mounts {
    Mounts::from([
        ((0, 23), vec!["/tmp".into()]),
        ((254, 0), vec!["/".into(), "/home".into()]),
        ((254, 16), vec!["/mnt/ext4".into()]),
    ])
}

/// A superblock with the counts of `(site, calls, acquisitions, waits, holds)`.
type Counts<'a> = (Site, u64, u64, &'a [u64], &'a [u64]);

pub(crate) fn superblock(
    slot: u32,
    fstype: &str,
    dev: (u32, u32),
    s_id: &str,
    counts: &[Counts<'_>],
) -> SbCounts {
    let mut sites = std::array::from_fn(|_| SiteCounts::empty());
    for (site, calls, acquisitions, wait, hold) in counts {
        sites[*site as usize] = SiteCounts {
            calls: *calls,
            acquisitions: *acquisitions,
            contended: wait.len() as u64,
            wait: of_samples(wait),
            hold: of_samples(hold),
        };
    }
    SbCounts {
        superblock: SuperBlock {
            slot,
            fstype: fstype.into(),
            dev,
            s_id: s_id.into(),
            dead: false,
        },
        sites,
    }
}

/// The counts after `n` rounds of one second: each makes 1000 files on /tmp, 200 on /mnt/ext4,
/// 5000 sockets, and in round 1 alone 40 pipes.
pub(crate) fn snapshot(n: u64) -> Snapshot {
    let many = |values: &[u64], times: u64| -> Vec<u64> {
        (0..times).flat_map(|_| values.iter().copied()).collect()
    };
    let wait = many(&[310, 740, 1_900, 12_400], n);
    let short = many(&[210], n);
    let hold = many(&[45, 52, 61, 88, 140], n);
    let pipes = if n > 0 { 40 } else { 0 };
    let mut superblocks = Vec::new();
    if n > 0 {
        superblocks = vec![
            superblock(
                7,
                "tmpfs",
                (0, 23),
                "tmpfs",
                &[
                    (Site::Evict, 1000 * n, 0, &[], &[]),
                    (Site::Alloc, 1000 * n, 0, &[], &[]),
                    // Not counted on this kernel: what is here must never be shown.
                    (Site::SbListAdd, 0, 0, &wait, &[]),
                    (Site::SbListDel, 0, 0, &short, &[]),
                    (Site::HashInsert, 1000 * n, 1000 * n, &[], &hold),
                    (Site::WbListDel, 1000 * n, 0, &[], &[]),
                ],
            ),
            superblock(
                9,
                "ext4",
                (254, 16),
                "vdb",
                &[
                    (Site::Evict, 200 * n, 0, &[], &[]),
                    (Site::Alloc, 200 * n, 0, &[], &[]),
                    (Site::HashInsert, 200 * n, 200 * n, &short, &hold),
                    (Site::OrphanAdd, 200 * n, 0, &[], &hold),
                    (Site::OrphanDel, 200 * n, 0, &[], &[]),
                    (Site::LruAdd, 12 * n, 12 * n, &[], &hold),
                    (Site::LruDel, 12 * n, 3 * n, &[], &[]),
                ],
            ),
            superblock(
                12,
                "sockfs",
                (0, 8),
                "sockfs",
                &[
                    (Site::Evict, 5000 * n, 0, &[], &[]),
                    (Site::Alloc, 5000 * n, 0, &[], &[]),
                ],
            ),
            superblock(
                13,
                "pipefs",
                (0, 14),
                "pipefs",
                &[
                    (Site::Evict, pipes, 0, &[], &[]),
                    (Site::Alloc, pipes, 0, &[], &[]),
                ],
            ),
        ];
    }
    Snapshot {
        at_ns: 5_000_000_000 + n * 1_000_000_000,
        superblocks,
        losses: Losses {
            missed_probes: Some(0),
            ..Losses::default()
        },
    }
}

/// Gives the snapshots of a script, the last one for ever.
pub(crate) struct Script {
    plan: Plan,
    snapshots: Vec<Snapshot>,
    next: usize,
}

impl Script {
    pub(crate) fn new(snapshots: Vec<Snapshot>) -> Self {
        Self {
            plan: plan(),
            snapshots,
            next: 0,
        }
    }
}

impl Source for Script {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn snapshot(&mut self) -> anyhow::Result<Snapshot> {
        let at = self.next.min(self.snapshots.len() - 1);
        self.next += 1;
        Ok(self.snapshots[at].clone())
    }
}

/// A backend whose source gives `snapshot(0)`, `snapshot(1)`, …
#[derive(Default)]
pub(crate) struct Fake {
    /// What was asked for, in order.
    pub(crate) requests: RefCell<Vec<Request>>,
    /// Fails with "no privilege".
    pub(crate) unprivileged: bool,
}

impl Backend for Fake {
    fn start(&self, request: &Request) -> Result<Box<dyn Source>, Error> {
        if self.unprivileged {
            return Err(Error::NoPrivilege {
                missing: vec!["CAP_BPF".into()],
            });
        }
        self.requests.borrow_mut().push(request.clone());
        Ok(Box::new(Script::new((0..120).map(snapshot).collect())))
    }

    fn plan(&self, request: &Request) -> Result<Plan, Error> {
        self.requests.borrow_mut().push(request.clone());
        Ok(plan())
    }

    fn mounts(&self) -> Mounts {
        mounts()
    }

    fn host(&self) -> Host {
        host()
    }
}
