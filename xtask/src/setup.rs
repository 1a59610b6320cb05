//! Installs what building and testing need, if it is missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::{exec, tools};

/// For building eBPF programs without a rustup nightly: Debian's compiler with a prebuilt core.
const TOOLCHAIN: &[&str] = &[
    "rustc-web",
    "cargo-web",
    "libstd-rust-web-dev-bpf",
    "llvm-22-dev",
    "libpolly-22-dev",
    "libzstd-dev",
];

/// For virtual machines.
const MACHINES: &[&str] = &[
    "busybox-static",
    "qemu-system-x86",
    "xfsprogs",
    "btrfs-progs",
    "e2fsprogs",
    "xz-utils",
];

/// Sets up what building and testing need.
pub(crate) fn everything() -> anyhow::Result<()> {
    set_up(MACHINES)
}

/// Sets up what building needs.
pub(crate) fn building() -> anyhow::Result<()> {
    set_up(&[])
}

fn set_up(more: &[&str]) -> anyhow::Result<()> {
    if has_rustup_toolchain() {
        return packages(more);
    }
    packages(&[TOOLCHAIN, more].concat())?;
    tools::ensure(&tools::BPF_LINKER).map(drop)
}

/// The usual way to build eBPF programs: a nightly with rust-src, and bpf-linker on PATH.
fn has_rustup_toolchain() -> bool {
    exec::find("bpf-linker").is_some()
        && exec::output(Command::new("rustc").args(["+nightly", "--print", "sysroot"])).is_ok_and(
            |sysroot| {
                Path::new(sysroot.trim())
                    .join("lib/rustlib/src/rust/library/core")
                    .is_dir()
            },
        )
}

fn packages(wanted: &[&str]) -> anyhow::Result<()> {
    let missing: Vec<&str> = match exec::find("dpkg-query") {
        Some(_) => not_installed(wanted)?,
        None => wanted.to_vec(),
    };
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if exec::find("apt-get").is_none() {
        bail!(
            "this is no Debian machine (no apt-get), so set-up cannot install what is missing. \
             Needed are: QEMU (qemu-system-x86_64), a static busybox, mkfs.ext4, mkfs.xfs, \
             mkfs.btrfs, xz; for the eBPF programs a rustup nightly with rust-src \
             (rustup toolchain install nightly --component rust-src) and bpf-linker \
             (cargo install bpf-linker). Debian's names for them: {list}"
        );
    }
    if !rustix::process::geteuid().is_root() {
        bail!(
            "packages are missing, and only root can install them: apt-get install --no-install-recommends {list}"
        );
    }
    eprintln!("xtask: installing through apt: {list}");
    if install(&missing).is_err() {
        // The machine's package lists may be missing or old.
        exec::output(apt_get().args(["-q", "update"]))?;
        install(&missing)?;
    }
    Ok(())
}

fn install(packages: &[&str]) -> anyhow::Result<()> {
    exec::output(
        apt_get()
            .args(["-q", "-y", "--no-install-recommends", "install"])
            .args(packages),
    )
    .map(|_| ())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn not_installed<'a>(wanted: &[&'a str]) -> anyhow::Result<Vec<&'a str>> {
    // It fails when it does not know one of them, and still lists the others.
    let output = Command::new("dpkg-query")
        .args(["-W", "-f", "${Package} ${db:Status-Status}\n"])
        .args(wanted)
        .output()
        .context("dpkg-query")?;
    let installed = String::from_utf8_lossy(&output.stdout);
    Ok(missing_from(&installed, wanted))
}

/// Those that dpkg-query's list does not have as installed.
fn missing_from<'a>(list: &str, wanted: &[&'a str]) -> Vec<&'a str> {
    wanted
        .iter()
        .copied()
        .filter(|name| {
            !list
                .lines()
                .any(|line| line.split_once(' ') == Some((name, "installed")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_installed_is_missing() {
        let list = "a installed\nb config-files\nc-dev installed\n";
        assert_eq!(missing_from(list, &["a", "b", "c", "c-dev"]), ["b", "c"]);
    }
}
