//! Kernels on disk: `~/.cache/inodetrace/kernels/NAME/KEY/`, each with a manifest.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::debian::archive::Package;
use crate::debian::version;
use crate::paths;

/// File name of the manifest; a directory without one is not a kernel.
const MANIFEST: &str = "manifest.json";

/// Goes up when what is kept of a kernel changes; others are fetched again.
const EDITION: u32 = 2;

/// What a cached kernel is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// [`EDITION`]; 0 in those that had none.
    #[serde(default)]
    edition: u32,
    /// The name by which users call it.
    pub(crate) name: String,
    /// The main package, and its version.
    pub(crate) package: String,
    /// The package's version.
    pub(crate) version: String,
    /// The suite it came from.
    pub(crate) suite: String,
    /// `uname -r`.
    pub(crate) release: String,
    /// File names below `modules/`, in the order to load them.
    pub(crate) modules: Vec<String>,
}

/// A kernel in the cache.
#[derive(Clone, Debug)]
pub(crate) struct Cached {
    /// Its directory.
    pub(crate) dir: PathBuf,
    /// What it is.
    pub(crate) manifest: Manifest,
}

impl Manifest {
    /// A manifest of now.
    pub(crate) fn new(
        name: &str,
        package: &Package,
        suite: &str,
        release: String,
        modules: Vec<String>,
    ) -> Self {
        Self {
            edition: EDITION,
            name: name.into(),
            package: package.name.clone(),
            version: package.version.clone(),
            suite: suite.into(),
            release,
            modules,
        }
    }
}

impl Cached {
    /// The image to boot.
    pub(crate) fn image(&self) -> PathBuf {
        self.dir.join("vmlinuz")
    }

    /// The build configuration, where the packages held one.
    pub(crate) fn config(&self) -> PathBuf {
        self.dir.join("config")
    }

    /// A module's file.
    pub(crate) fn module(&self, name: &str) -> PathBuf {
        self.dir.join("modules").join(name)
    }

    /// Debian's kernels have NVMe built in and virtio disks as a module; without its modules (see
    /// [`super::fetch`]) a kernel sees only the former.
    pub(crate) fn lacks_modules(&self) -> bool {
        self.manifest.modules.is_empty()
    }

    /// Major and minor number.
    pub(crate) fn number(&self) -> Option<(u32, u32)> {
        let mut parts = self.manifest.release.split(['.', '-', '+']);
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }
}

/// Directory of a kernel of that name, package and version.
pub(crate) fn dir(name: &str, package: &str, package_version: &str) -> anyhow::Result<PathBuf> {
    let key: String = format!("{package}_{package_version}")
        .chars()
        .map(|c| if c == '/' || c == ':' { '_' } else { c })
        .collect();
    Ok(paths::cache_dir("kernels")?.join(name).join(key))
}

/// Writes the manifest, which makes the directory a kernel.
pub(crate) fn write_manifest(dir: &Path, manifest: &Manifest) -> anyhow::Result<()> {
    let path = dir.join(MANIFEST);
    let text = serde_json::to_string_pretty(manifest)?;
    fs::write(&path, text + "\n").with_context(|| path.display().to_string())
}

/// Opens a kernel's directory; `None` if it is not (or no longer) a kernel.
pub(crate) fn open(dir: &Path) -> Option<Cached> {
    let text = fs::read(dir.join(MANIFEST)).ok()?;
    let manifest: Manifest = serde_json::from_slice(&text).ok()?;
    let cached = Cached {
        dir: dir.into(),
        manifest,
    };
    let modules = &cached.manifest.modules;
    if cached.manifest.edition != EDITION {
        return None;
    }
    let whole = cached.image().is_file() && modules.iter().all(|m| cached.module(m).is_file());
    whole.then_some(cached)
}

/// The newest cached kernel of that name.
pub(crate) fn newest(name: &str) -> anyhow::Result<Option<Cached>> {
    newest_in(&paths::cache()?.join("kernels").join(name))
}

fn newest_in(dir: &Path) -> anyhow::Result<Option<Cached>> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Ok(None);
    };
    Ok(entries
        .filter_map(Result::ok)
        .filter_map(|e| open(&e.path()))
        .max_by(|a, b| version::compare(&a.manifest.version, &b.manifest.version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(dir: &Path, version: &str, whole: bool) {
        let dir = dir.join(version);
        fs::create_dir_all(&dir).unwrap();
        let package = Package {
            name: "linux-image".into(),
            version: version.into(),
        };
        let release = format!("{version}-cloud-amd64");
        let manifest = Manifest::new("6.12", &package, "trixie", release, vec![]);
        write_manifest(&dir, &manifest).unwrap();
        if whole {
            fs::write(dir.join("vmlinuz"), "").unwrap();
        }
    }

    #[test]
    fn the_newest_whole_kernel_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        assert!(newest_in(dir.path()).unwrap().is_none());
        make(dir.path(), "6.12.9-1", true);
        make(dir.path(), "6.12.10-1", true);
        make(dir.path(), "6.12.11-1", false);
        fs::create_dir(dir.path().join("unfinished")).unwrap();
        let found = newest_in(dir.path()).unwrap().unwrap();
        assert_eq!(found.manifest.version, "6.12.10-1");
        assert_eq!(found.number(), Some((6, 12)));
    }
}
