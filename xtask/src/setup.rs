//! Installs what building and testing need, if it is missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::{exec, paths};

/// The programs in the packages of [`MACHINES`] and the toolchain's parts are tested together in
/// this version.
const BPF_LINKER: &str = "0.13.0";

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
    packages(
        &[
            MACHINES,
            if has_rustup_toolchain() {
                &[]
            } else {
                TOOLCHAIN
            },
        ]
        .concat(),
    )?;
    bpf_linker()
}

/// Sets up what building needs.
pub(crate) fn building() -> anyhow::Result<()> {
    if has_rustup_toolchain() {
        return Ok(());
    }
    packages(TOOLCHAIN)?;
    bpf_linker()
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

/// Builds bpf-linker against the LLVM of Debian's Rust compiler, into the cache.
fn bpf_linker() -> anyhow::Result<()> {
    if has_rustup_toolchain() {
        return Ok(());
    }
    let root = paths::cache_dir("tools")?;
    let installed = |root: &Path| {
        let list = std::fs::read_to_string(root.join(".crates.toml")).unwrap_or_default();
        list.contains(&format!("\"bpf-linker {BPF_LINKER} "))
            && root.join("bin/bpf-linker").is_file()
    };
    if installed(&root) {
        return Ok(());
    }
    let _lock = paths::lock(&root)?;
    if installed(&root) {
        return Ok(());
    }
    eprintln!(
        "xtask: building bpf-linker {BPF_LINKER} through cargo, into {}",
        root.display()
    );
    exec::output(
        crate::build::cargo()
            // Our own configuration and lock file are not meant for it.
            .current_dir(&root)
            .args([
                "install",
                "bpf-linker",
                "--version",
                BPF_LINKER,
                "--locked",
                "--force",
            ])
            .args(["--no-default-features", "--features", "llvm-22", "--root"])
            .arg(&root)
            .env("LLVM_SYS_221_PREFIX", "/usr/lib/llvm-22"),
    )
    .context("building bpf-linker")?;
    Ok(())
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
