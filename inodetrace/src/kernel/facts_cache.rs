//! The facts of this boot, kept for the next start.
//!
//! A running inodetrace has probes within functions, and the kernel writes a jump or a breakpoint
//! over what was there. A second one would find code that cannot be judged. So the first one keeps
//! what it has read, below /run, which only root can write to and which does not outlive the boot.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::facts::Facts;

/// What must be the same for the facts to be those of the kernel that runs now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// Version of inodetrace: what is collected may differ.
    pub version: String,
    /// /proc/sys/kernel/random/boot_id.
    pub boot_id: String,
    /// Modules and where their code is: they are searched too.
    pub modules: BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Entry<'a> {
    key: &'a Key,
    facts: &'a Facts,
}

#[derive(Deserialize)]
struct OwnedEntry {
    key: Key,
    facts: Facts,
}

impl Key {
    /// The key of this boot, with modules at `modules`. `None` where the boot has no identity.
    pub fn of_boot(root: &Path, modules: BTreeMap<String, u64>) -> Option<Self> {
        let boot_id = fs::read_to_string(root.join("proc/sys/kernel/random/boot_id")).ok()?;
        Some(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            boot_id: boot_id.trim().to_owned(),
            modules,
        })
    }
}

fn directory(root: &Path) -> PathBuf {
    root.join("run/inodetrace")
}

fn file(root: &Path) -> PathBuf {
    directory(root).join("facts.json")
}

/// Keeps `facts`. Where that is not possible nothing is lost but the comfort.
pub fn keep(root: &Path, key: &Key, facts: &Facts) {
    let dir = directory(root);
    let keep = || -> Option<()> {
        if !dir.is_dir() {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&dir)
                .ok()?;
        }
        // Created with mode 0600.
        let mut temporary = tempfile::NamedTempFile::new_in(&dir).ok()?;
        serde_json::to_writer(&mut temporary, &Entry { key, facts }).ok()?;
        temporary.flush().ok()?;
        temporary.persist(file(root)).ok()?;
        Some(())
    };
    let _ = keep();
}

/// The facts kept under `key`, if they are there and nobody but this user could have written them.
pub fn kept(root: &Path, key: &Key) -> Option<Facts> {
    let path = file(root);
    let own = |path: &Path| {
        fs::symlink_metadata(path)
            .is_ok_and(|m| m.uid() == rustix::process::geteuid().as_raw() && m.mode() & 0o022 == 0)
    };
    if !own(&directory(root)) || !own(&path) {
        return None;
    }
    let entry: OwnedEntry = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (entry.key == *key).then_some(entry.facts)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn key(boot: &str) -> Key {
        Key {
            version: "1".into(),
            boot_id: boot.into(),
            modules: BTreeMap::from([("xfs".into(), 2)]),
        }
    }

    fn facts() -> Facts {
        Facts {
            release: "6.18".into(),
            ..Facts::default()
        }
    }

    fn root() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn what_was_kept_is_found_under_its_key_only() {
        let root = root();
        assert_eq!(kept(root.path(), &key("a")), None);
        keep(root.path(), &key("a"), &facts());
        assert_eq!(kept(root.path(), &key("a")), Some(facts()));
        assert_eq!(kept(root.path(), &key("b")), None);
        let other_modules = Key {
            modules: BTreeMap::from([("xfs".into(), 3)]),
            ..key("a")
        };
        assert_eq!(kept(root.path(), &other_modules), None);
    }

    #[test]
    fn a_file_that_others_can_write_is_not_believed() {
        let root = root();
        keep(root.path(), &key("a"), &facts());
        let path = file(root.path());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(kept(root.path(), &key("a")), None);
    }

    #[test]
    fn a_damaged_file_is_no_file() {
        let root = root();
        keep(root.path(), &key("a"), &facts());
        fs::write(file(root.path()), b"{\"key\":").unwrap();
        assert_eq!(kept(root.path(), &key("a")), None);
    }
}
