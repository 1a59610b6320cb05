//! Building what runs in the guest: static binaries, in a target directory of their own so that
//! their flags never invalidate the ordinary build.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::{exec, paths};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The binaries that the guest gets.
#[derive(Clone, Debug)]
pub(crate) struct GuestBinaries {
    /// `inodetrace`.
    pub(crate) inodetrace: PathBuf,
    /// `guest-init`.
    pub(crate) init: PathBuf,
    /// `guest-workload`.
    pub(crate) workload: PathBuf,
    /// `guest-batch`.
    pub(crate) batch: PathBuf,
}

/// Builds them.
pub(crate) fn guest() -> anyhow::Result<GuestBinaries> {
    let target_dir = paths::target().join("guest");
    exec::run(
        cargo()
            .args(["build", "--quiet", "--release", "--bins"])
            // The initramfs lies in the guest's memory. Not through the environment, which the
            // nested build would see.
            .args(["--config", "profile.release.debug=false"])
            .args(["-p", "inodetrace", "-p", "inodetrace-guest"])
            .args(["--target", TARGET, "--target-dir"])
            .arg(&target_dir)
            // Not RUSTFLAGS: those would reach the nested build of the eBPF programs too.
            .env(
                "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
                "-C target-feature=+crt-static",
            ),
    )
    .context("building for the guest")?;
    let binary = |name: &str| {
        let path = target_dir.join(TARGET).join("release").join(name);
        ensure!(path.is_file(), "{}: not built", path.display());
        Ok(path)
    };
    Ok(GuestBinaries {
        inodetrace: binary("inodetrace")?,
        init: binary("guest-init")?,
        workload: binary("guest-workload")?,
        batch: binary("guest-batch")?,
    })
}

/// The cargo that runs us, in the checkout's root, without what it set for us alone.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(paths::root());
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PKG_") || name_text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}
