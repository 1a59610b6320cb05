//! What a workload implies for each site: derived from what the kernel does, never from what
//! inodetrace says.

use anyhow::ensure;

use super::runfile::{RunFile, SITES, Series, Superblock};

/// How a superblock treats its inodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// tmpfs: on the superblock's list; hashed only for file handles; never dirty.
    Tmpfs,
    /// ext4: on the list, hashed, and an orphan from unlink to eviction.
    Ext4 {
        /// The orphan file is in use instead of the list with its lock.
        orphan_file: bool,
    },
    /// sockfs, pipefs: made with `new_inode_pseudo()`, on no list at all.
    Pseudo,
}

/// What is known about a number beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Exactly this.
    Exactly(u64),
    /// Between these.
    Between(u64, u64),
    /// The workload does not determine it.
    Open,
}

impl Expected {
    fn allows(self, number: u64) -> bool {
        match self {
            Self::Exactly(n) => number == n,
            Self::Between(low, high) => (low..=high).contains(&number),
            Self::Open => true,
        }
    }
}

/// What `n` empty inodes, each made and torn down again while it has no name, imply for a site on
/// a superblock of that kind, on a kernel of that major and minor number: calls and acquisitions.
pub(crate) fn implied(site: &str, kind: Kind, n: u64, kernel: (u32, u32)) -> (Expected, Expected) {
    use Expected::{Between, Exactly, Open};
    let (listed, hashed) = match kind {
        Kind::Tmpfs => (true, false),
        Kind::Ext4 { .. } => (true, true),
        Kind::Pseudo => (false, false),
    };
    let is_ext4 = matches!(kind, Kind::Ext4 { .. });
    let when = |condition: bool| Exactly(if condition { n } else { 0 });
    match site {
        // Passes that take no list lock.
        "evict" | "alloc" => (Exactly(n), Open),
        // new_inode() adds always, new_inode_pseudo() never.
        "sb_list_add" => (when(listed), when(listed)),
        // evict() asks for each inode whether it is listed.
        "sb_list_del" => (Exactly(n), when(listed)),
        // ext4 through insert_inode_locked().
        "hash_insert" => (when(hashed), when(hashed)),
        // evict() asks for each inode whether it is hashed. ext4 itself does before, since 7.0, and
        // evict() then finds it unhashed: one pass takes the lock; whether the other counts is open.
        "hash_remove" if is_ext4 && kernel >= (7, 0) => (Between(n, 2 * n), Exactly(n)),
        "hash_remove" if is_ext4 => (Exactly(n), Exactly(n)),
        "hash_remove" => (Exactly(n), Exactly(0)),
        // iput_final() keeps only inodes that still have a name.
        "lru_add" => (Exactly(0), Exactly(0)),
        // None was ever on the LRU.
        "lru_del" => (Exactly(n), Exactly(0)),
        // None is on a writeback list: ext4 writes new inodes through its journal, and an empty file
        // has no pages to write. evict() asks for each. So does ext4_evict_inode() before, with a
        // test of its own until 6.18; since 6.19 the test is inside the function that both call.
        "wb_list_del" if is_ext4 && kernel >= (6, 19) => (Exactly(2 * n), Exactly(0)),
        "wb_list_del" => (Exactly(n), Exactly(0)),
        // unlink makes an orphan of it, eviction ends that. With the orphan file, neither takes
        // the lock.
        "orphan_add" | "orphan_del" => match kind {
            Kind::Ext4 { orphan_file } => (Exactly(n), when(!orphan_file)),
            Kind::Tmpfs | Kind::Pseudo => (Exactly(0), Exactly(0)),
        },
        // Nobody syncs, unmounts or drops caches meanwhile; but the kernel's own sync might.
        _ => (Open, Open),
    }
}

/// Checks every site's numbers on a superblock; says everything that is wrong at once.
pub(crate) fn check(
    file: &RunFile,
    superblock: Superblock,
    kind: Kind,
    n: u64,
    kernel: (u32, u32),
) -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    for (id, _) in SITES {
        let site = file.site(id)?;
        let series = file.series(id, superblock)?;
        let (calls, acquisitions) = implied(id, kind, n, kernel);
        type Get = fn(&Series) -> Option<u64>;
        let numbers: [(&str, Expected, Get); 2] = [
            ("calls", calls, |s| s.calls),
            ("acquisitions", acquisitions, |s| s.acquisitions),
        ];
        for (name, expected, get) in numbers {
            if site.status != "observed" || site.nulls.contains_key(name) {
                continue;
            }
            // What never happened on a superblock has no series.
            let number = series.map_or(Some(0), get);
            match number {
                Some(number) if !expected.allows(number) => {
                    wrong.push(format!("{id} {name}: {number}, expected {expected:?}"));
                }
                // The run file's reader has checked that a null has its reason.
                Some(_) | None => {}
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "{superblock}, {n} inodes:\n  {}",
        wrong.join("\n  ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::runfile::tests::{empty, parse};
    use serde_json::json;

    const SOCKFS: Superblock = Superblock {
        fstype: "sockfs",
        mount: None,
    };

    fn file(acquired: u64) -> serde_json::Value {
        let mut file = empty();
        let series: Vec<_> = [
            ("evict", None),
            ("alloc", None),
            ("sb_list_del", Some("sb-inodes")),
            ("hash_remove", Some("inode-hash")),
            ("lru_del", Some("sb-lru")),
            ("wb_list_del", Some("wb-list")),
        ]
        .into_iter()
        .map(|(site, lock)| {
            json!({"site": site, "lock": lock, "fstype": "sockfs", "mounts": [], "calls": 7,
                   "acquisitions": acquired, "contended": 0, "wait": {"count": 0, "sum_ns": 0}})
        })
        .collect();
        file["series"] = json!(series);
        file
    }

    #[test]
    fn sockets_pass_and_take_no_lock() {
        let file = parse(&file(0)).unwrap();
        check(&file, SOCKFS, Kind::Pseudo, 7, (6, 12)).unwrap();
        let error = check(&file, SOCKFS, Kind::Pseudo, 8, (6, 12))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("evict calls: 7, expected Exactly(8)"),
            "{error}"
        );
        // What is missing counts as nothing, which is wrong for a superblock that has inodes.
        let error = check(&file, SOCKFS, Kind::Tmpfs, 7, (6, 12))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("sb_list_add calls: 0, expected Exactly(7)"),
            "{error}"
        );
    }

    #[test]
    fn taken_locks_are_seen() {
        let file = parse(&file(1)).unwrap();
        let error = check(&file, SOCKFS, Kind::Pseudo, 7, (6, 12))
            .unwrap_err()
            .to_string();
        assert!(error.contains("hash_remove acquisitions: 1"), "{error}");
    }

    #[test]
    fn what_is_not_observed_is_not_compared() {
        let mut value = file(0);
        value["sites"][3]["status"] = json!("not_observable");
        value["sites"][3]["reason"] = json!("inlined into evict");
        for site in ["calls", "acquisitions"] {
            value["series"][2][site] = json!(null);
        }
        check(&parse(&value).unwrap(), SOCKFS, Kind::Pseudo, 7, (6, 12)).unwrap();
    }
}
