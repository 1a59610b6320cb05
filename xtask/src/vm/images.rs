//! Disk images with the guest's file systems, made by the real mkfs tools and cached; each boot
//! writes into a snapshot of its own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use inodetrace_guest::spec::Mount;

use crate::kernels::cache::Cached;
use crate::{exec, paths};

/// A disk for the guest.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// The image.
    pub(crate) image: PathBuf,
    /// Where the guest mounts it.
    pub(crate) mount: Mount,
}

/// How to make an image. Part of its file name, so that a change makes a new one.
const EDITION: &str = "1";

/// Size of an image, sparse; mkfs.xfs takes no less than 300.
const MEBIBYTES: u64 = 320;

/// The kernel that added ext4's orphan_file feature. Older ones mount such an image without
/// complaint and without using the feature, so that a try at mounting would not tell.
const ORPHAN_FILE_SINCE: (u32, u32) = (5, 15);

/// The disks for a kernel, their images made if missing.
pub(crate) fn disks(kernel: &Cached) -> anyhow::Result<Vec<Disk>> {
    let orphan_file = kernel.number().is_some_and(|n| n >= ORPHAN_FILE_SINCE);
    let ext4 = if orphan_file {
        "ext4-orphan-file"
    } else {
        "ext4-classic"
    };
    // The second ext4 is mounted from an image of its own even where both are alike.
    [
        ("ext4", "ext4", ext4),
        ("ext4-classic", "ext4", "ext4-classic"),
        ("xfs", "xfs", "xfs"),
        ("btrfs", "btrfs", "btrfs"),
    ]
    .into_iter()
    .map(|(name, fstype, image)| {
        Ok(Disk {
            image: make(image)?,
            mount: Mount {
                serial: name.into(),
                fstype: fstype.into(),
                path: format!("/mnt/{name}"),
            },
        })
    })
    .collect()
}

fn make(kind: &str) -> anyhow::Result<PathBuf> {
    let dir = paths::cache_dir("images")?;
    let path = dir.join(format!("{kind}-{EDITION}.img"));
    if path.is_file() {
        return Ok(path);
    }
    let _lock = paths::lock(&dir)?;
    let unfinished = dir.join(format!("{kind}-{EDITION}.unfinished"));
    let mut result = Err(anyhow::anyhow!("no way to make it"));
    for mut command in recipes(kind)? {
        let file = File::create(&unfinished).with_context(|| unfinished.display().to_string())?;
        file.set_len(MEBIBYTES << 20)
            .with_context(|| unfinished.display().to_string())?;
        result = exec::output(command.arg(&unfinished));
        if result.is_ok() {
            break;
        }
    }
    result.with_context(|| format!("making the {kind} image"))?;
    fs::rename(&unfinished, &path).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// Commands that make the file system, the first that succeeds being the best.
fn recipes(kind: &str) -> anyhow::Result<Vec<Command>> {
    let tool = |name: &str| {
        let path = exec::find(name)
            .with_context(|| format!("no {name} on this machine: cargo xtask setup"))?;
        let mut command = Command::new(path);
        command.arg("-q");
        anyhow::Ok(command)
    };
    Ok(match kind {
        "xfs" => {
            let mut recipes = Vec::new();
            // Newer tools make by default what the oldest of our kernels cannot mount. Those of
            // Debian 12 do not, and choke on their own configuration file.
            let oldest = Path::new("/usr/share/xfsprogs/mkfs/lts_5.10.conf");
            if oldest.exists() {
                let mut command = tool("mkfs.xfs")?;
                command
                    .arg("-c")
                    .arg(format!("options={}", oldest.display()));
                recipes.push(command);
            }
            recipes.push(tool("mkfs.xfs")?);
            recipes
        }
        "btrfs" => vec![tool("mkfs.btrfs")?],
        _ => {
            let orphan_file = if kind == "ext4-orphan-file" {
                "orphan_file"
            } else {
                "^orphan_file"
            };
            let mut command = tool("mkfs.ext4")?;
            // All of it is initialised now: no kernel thread does it while we count.
            command
                .args(["-E", "lazy_itable_init=0,lazy_journal_init=0"])
                .args(["-O", orphan_file]);
            vec![command]
        }
    })
}
