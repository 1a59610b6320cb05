//! Packages from any of Debian's suites, by a private apt configuration that leaves the system's
//! alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::sources::{self, Mirrors};
use super::version;
use crate::{exec, paths};

const KEYRINGS: &[&str] = &[
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];

/// A package in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
}

/// Names that begin and end so, with a part between them that holds no dash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// Before the changing part.
    pub(crate) prefix: String,
    /// After it.
    pub(crate) suffix: String,
}

impl Pattern {
    /// The changing part of a name that fits.
    pub(crate) fn middle<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(self.prefix.as_str())?
            .strip_suffix(self.suffix.as_str())
            .filter(|middle| !middle.is_empty() && !middle.contains('-'))
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}*{}", self.prefix, self.suffix)
    }
}

/// One suite with its own package lists.
#[derive(Debug)]
pub(crate) struct Suite {
    name: String,
    dir: PathBuf,
    source: String,
}

impl Suite {
    /// Opens a suite; `None` if it is of the security tree and this machine knows no such tree.
    pub(crate) fn open(name: &str) -> anyhow::Result<Option<Self>> {
        if exec::find("apt-get").is_none() {
            bail!("kernels come from Debian's archive through apt, and there is no apt-get here");
        }
        let Mirrors { main, security } = sources::mirrors(Path::new("/"))?;
        let uri = if name.ends_with("-security") {
            match security {
                Some(uri) => uri,
                None => return Ok(None),
            }
        } else {
            main
        };
        let keyring = KEYRINGS
            .iter()
            .find(|k| Path::new(k).exists())
            .context("no keyring of Debian's archive: apt-get install debian-archive-keyring")?;
        let dir = paths::cache_dir("apt")?.join(name);
        for sub in ["lists/partial", "cache/archives/partial"] {
            paths::make_dir(&dir.join(sub))?;
        }
        let source = format!("deb [signed-by={keyring}] {uri} {name} main\n");
        Ok(Some(Self {
            name: name.into(),
            dir,
            source,
        }))
    }

    /// Fetches the suite's package list.
    pub(crate) fn update(&self) -> anyhow::Result<()> {
        let list = self.dir.join("sources.list");
        fs::write(&list, &self.source).with_context(|| list.display().to_string())?;
        exec::output(self.apt("apt-get").args(["-q", "update"]))
            .with_context(|| format!("package list of {}", self.name))?;
        Ok(())
    }

    /// The newest package whose name fits.
    pub(crate) fn newest(&self, pattern: &Pattern) -> anyhow::Result<Option<Package>> {
        let names = exec::output(self.apt("apt-cache").args(["pkgnames", &pattern.prefix]))?;
        let names: Vec<&str> = names
            .lines()
            .filter(|name| pattern.middle(name).is_some())
            .collect();
        if names.is_empty() {
            return Ok(None);
        }
        // Names that are only mentioned by other packages have no record, and make it fail.
        let records = self
            .apt("apt-cache")
            .args(["show", "--no-all-versions"])
            .args(&names)
            .output()
            .context("apt-cache")?;
        let packages = records_of(&String::from_utf8_lossy(&records.stdout));
        Ok(newest(packages))
    }

    /// The package of exactly that name.
    pub(crate) fn package(&self, name: &str) -> anyhow::Result<Option<Package>> {
        let records = self
            .apt("apt-cache")
            .args(["show", "--no-all-versions", name])
            .output()
            .context("apt-cache")?;
        Ok(newest(records_of(&String::from_utf8_lossy(
            &records.stdout,
        ))))
    }

    /// Downloads a package and unpacks it into `dir`.
    pub(crate) fn unpack(&self, package: &Package, dir: &Path) -> anyhow::Result<()> {
        let download = tempfile::tempdir_in(&self.dir).context("temporary directory")?;
        exec::output(
            self.apt("apt-get")
                .args(["-q", "download"])
                .arg(format!("{}={}", package.name, package.version))
                .current_dir(download.path()),
        )?;
        let file = fs::read_dir(download.path())?
            .filter_map(Result::ok)
            .map(|e| e.path())
            .find(|p| p.extension().is_some_and(|e| e == "deb"))
            .with_context(|| format!("{}: apt-get download left no file", package.name))?;
        exec::output(Command::new("dpkg-deb").arg("-x").arg(file).arg(dir))?;
        Ok(())
    }

    fn apt(&self, program: &str) -> Command {
        let dir = self.dir.display();
        let mut command = Command::new(program);
        command.env("LC_ALL", "C");
        for option in [
            format!("Dir::Etc::sourcelist={dir}/sources.list"),
            "Dir::Etc::sourceparts=/dev/null".into(),
            format!("Dir::State::lists={dir}/lists"),
            "Dir::State::status=/dev/null".into(),
            format!("Dir::Cache={dir}/cache"),
            "Acquire::Languages=none".into(),
            "Acquire::Retries=3".into(),
            // The lists lie in the user's own cache, where apt's download user cannot write.
            "APT::Sandbox::User=root".into(),
        ] {
            command.arg("-o").arg(option);
        }
        command
    }
}

/// Names and versions in apt-cache's records.
fn records_of(text: &str) -> Vec<Package> {
    text.split("\n\n")
        .filter_map(|record| {
            let field = |name: &str| {
                record
                    .lines()
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                    .map(String::from)
            };
            Some(Package {
                name: field("Package")?,
                version: field("Version")?,
            })
        })
        .collect()
}

fn newest(packages: Vec<Package>) -> Option<Package> {
    packages
        .into_iter()
        .max_by(|a, b| version::compare(&a.version, &b.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_do_not_reach_across_flavours() {
        let pattern = Pattern {
            prefix: "linux-image-6.12.".into(),
            suffix: "-cloud-amd64".into(),
        };
        let middle = |name| pattern.middle(name);
        assert_eq!(
            middle("linux-image-6.12.117+deb12-cloud-amd64"),
            Some("117+deb12")
        );
        assert_eq!(middle("linux-image-6.12.117+deb12-cloud-amd64-dbg"), None);
        assert_eq!(middle("linux-image-6.12.117+deb12-rt-cloud-amd64"), None);
        assert_eq!(middle("linux-image-6.1.0-57-cloud-amd64"), None);
    }

    #[test]
    fn the_newest_record_is_chosen() {
        let text = "Package: linux-image-6.12.99+deb12-cloud-amd64\nVersion: 6.12.99-1\n\
            Description: x\n Version: 9\n\nPackage: linux-image-6.12.117+deb12-cloud-amd64\n\
            Version: 6.12.117-1\n\nPackage: incomplete\n";
        assert_eq!(
            newest(records_of(text)),
            Some(Package {
                name: "linux-image-6.12.117+deb12-cloud-amd64".into(),
                version: "6.12.117-1".into()
            })
        );
        assert_eq!(newest(records_of("")), None);
    }
}
