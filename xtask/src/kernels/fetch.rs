//! Getting kernels from Debian's archive into the cache.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::cache::{self, Cached, Manifest};
use super::catalog::{Form, Kernel, Source};
use super::modules;
use crate::debian::archive::{Package, Suite};
use crate::paths;

/// Fetches kernels, each suite's package list at most once.
#[derive(Debug)]
pub(crate) struct Fetcher {
    refresh: bool,
    suites: HashMap<&'static str, Option<Suite>>,
}

impl Fetcher {
    /// With `refresh`, looks for newer kernels though some are cached.
    pub(crate) fn new(refresh: bool) -> Self {
        Self {
            refresh,
            suites: HashMap::new(),
        }
    }

    /// The kernel from the cache, or fetched.
    pub(crate) fn ensure(&mut self, kernel: &Kernel) -> anyhow::Result<Cached> {
        if !self.refresh
            && let Some(cached) = cache::newest(&kernel.name)?
        {
            return Ok(cached);
        }
        let _lock = paths::lock(&paths::cache_dir("kernels")?)?;
        // Another xtask may have fetched it while we waited.
        if !self.refresh
            && let Some(cached) = cache::newest(&kernel.name)?
        {
            return Ok(cached);
        }
        let Source::Debian { suites, forms } = &kernel.source;
        let mut troubles = Vec::new();
        for &name in suites {
            match self.find_in_suite(kernel, name, forms) {
                Ok(Some(cached)) => return Ok(cached),
                Ok(None) => troubles.push(format!("{name}: not there")),
                Err(error) => troubles.push(format!("{name}: {error:#}")),
            }
        }
        bail!(
            "kernel {} cannot be had from Debian's archive:\n  {}",
            kernel.name,
            troubles.join("\n  ")
        );
    }

    fn find_in_suite(
        &mut self,
        kernel: &Kernel,
        suite_name: &'static str,
        forms: &[Form],
    ) -> anyhow::Result<Option<Cached>> {
        let Some(suite) = self.suite(suite_name)? else {
            return Ok(None);
        };
        for form in forms {
            let Some(package) = suite.newest(&form.main)? else {
                continue;
            };
            let dir = cache::dir(&kernel.name, &package.name, &package.version)?;
            if let Some(cached) = cache::open(&dir) {
                return Ok(Some(cached));
            }
            eprintln!(
                "xtask: fetching kernel {}: {} {} from {suite_name}",
                kernel.name, package.name, package.version
            );
            return fetch(suite, suite_name, kernel, form, &package, &dir).map(Some);
        }
        Ok(None)
    }

    fn suite(&mut self, name: &'static str) -> anyhow::Result<Option<&Suite>> {
        if !self.suites.contains_key(name) {
            let suite = Suite::open(name)?;
            if let Some(suite) = &suite {
                eprintln!("xtask: fetching the package list of {name}");
                suite.update()?;
            }
            self.suites.insert(name, suite);
        }
        Ok(self.suites.get(name).and_then(Option::as_ref))
    }
}

fn fetch(
    suite: &Suite,
    suite_name: &str,
    kernel: &Kernel,
    form: &Form,
    package: &Package,
    dir: &Path,
) -> anyhow::Result<Cached> {
    let parent = dir.parent().context("cache directory")?;
    paths::make_dir(parent)?;
    let unpacked = tempfile::tempdir_in(parent).context("temporary directory")?;
    suite.unpack(package, unpacked.path())?;
    for companion in form.companions {
        let rest = package.name.strip_prefix(form.stem).unwrap_or_default();
        let name = format!("{companion}{rest}");
        match suite.package(&name)? {
            Some(found) if found.version == package.version => {
                suite.unpack(&found, unpacked.path())?;
            }
            // Superseded releases lose their modules first. What is built in still boots.
            Some(_) | None => eprintln!("xtask: {name} {}: not there", package.version),
        }
    }

    let made = tempfile::tempdir_in(parent).context("temporary directory")?;
    let (release, module_dir) = module_dir(unpacked.path())?;
    let image = first_file(&[
        unpacked
            .path()
            .join("boot")
            .join(format!("vmlinuz-{release}")),
        module_dir.join("vmlinuz"),
    ])
    .with_context(|| format!("{}: no kernel image in it", package.name))?;
    copy(&image, &made.path().join("vmlinuz"))?;
    if let Some(config) = first_file(&[
        unpacked
            .path()
            .join("boot")
            .join(format!("config-{release}")),
        module_dir.join("config"),
    ]) {
        copy(&config, &made.path().join("config"))?;
    }

    let files = if module_dir.is_dir() {
        modules::find(&module_dir)?
    } else {
        modules::Files::new()
    };
    let ordered = modules::resolve(|name| {
        files
            .get(name)
            .map(|file| modules::content(file))
            .transpose()
    })?;
    paths::make_dir(&made.path().join("modules"))?;
    let mut names = Vec::new();
    for (name, content) in ordered {
        let name = format!("{name}.ko");
        let path = made.path().join("modules").join(&name);
        fs::write(&path, content).with_context(|| path.display().to_string())?;
        names.push(name);
    }
    cache::write_manifest(
        made.path(),
        &Manifest::new(&kernel.name, package, suite_name, release, names),
    )?;
    // An unfinished or torn one of that name is of no use.
    let _ = fs::remove_dir_all(dir);
    let made = made.keep();
    fs::rename(&made, dir).with_context(|| dir.display().to_string())?;
    cache::open(dir).with_context(|| format!("{}: not whole after fetching", dir.display()))
}

/// The kernel's release and its module directory, which is not there in packages of the image
/// alone.
fn module_dir(unpacked: &Path) -> anyhow::Result<(String, PathBuf)> {
    for (parent, prefix) in [
        ("usr/lib/modules", ""),
        ("lib/modules", ""),
        ("boot", "vmlinuz-"),
    ] {
        let Ok(entries) = fs::read_dir(unpacked.join(parent)) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            if let Some(release) = name.to_string_lossy().strip_prefix(prefix) {
                let dir = match prefix {
                    "" => unpacked.join(parent),
                    _ => unpacked.join("usr/lib/modules"),
                };
                return Ok((release.into(), dir.join(release)));
            }
        }
    }
    bail!("no kernel in the packages");
}

fn first_file(candidates: &[PathBuf]) -> Option<PathBuf> {
    candidates.iter().find(|p| p.is_file()).cloned()
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::copy(from, to)
        .map(|_| ())
        .with_context(|| format!("{} to {}", from.display(), to.display()))
}
