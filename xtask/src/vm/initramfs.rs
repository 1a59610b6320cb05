//! The guest's root: busybox, our binaries, the kernel's modules, and what to do.

use std::process::Command;

use anyhow::Context;
use inodetrace_guest::spec::{self, Spec};

use super::cpio::Archive;
use crate::build::GuestBinaries;
use crate::kernels::cache::Cached;
use crate::{exec, paths};

const DIRECTORIES: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/etc/inodetrace",
    "/lib",
    "/lib/modules",
    "/mnt",
    "/out",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/tmp",
    "/usr",
    "/usr/bin",
    "/usr/sbin",
    "/var",
];

/// Builds the archive. It is not compressed: reading it is quicker for an emulated CPU than
/// decompressing it.
pub(crate) fn build(
    kernel: &Cached,
    binaries: &GuestBinaries,
    spec: &Spec,
) -> anyhow::Result<Vec<u8>> {
    let busybox = exec::find("busybox").context("no busybox on this machine: cargo xtask setup")?;
    let mut archive = Archive::default();
    for dir in DIRECTORIES {
        archive.directory(dir);
    }
    archive.character_device("/dev/console", 5, 1);
    archive.file("/bin/busybox", 0o755, &paths::read(&busybox)?);
    for applet in exec::output(Command::new(&busybox).arg("--list"))?.lines() {
        if applet != "busybox" {
            archive.symlink(&format!("/bin/{applet}"), "busybox");
        }
    }
    for (path, binary) in [
        ("/init", &binaries.init),
        ("/bin/inodetrace", &binaries.inodetrace),
        ("/bin/guest-workload", &binaries.workload),
        ("/bin/guest-batch", &binaries.batch),
    ] {
        archive.file(path, 0o755, &paths::read(binary)?);
    }

    for name in &kernel.manifest.modules {
        let content = paths::read(&kernel.module(name))?;
        archive.file(&format!("/lib/modules/{name}"), 0o644, &content);
    }
    let modules: String = kernel
        .manifest
        .modules
        .iter()
        .map(|m| format!("{m}\n"))
        .collect();
    archive.file(spec::MODULES, 0o644, modules.as_bytes());
    archive.file(spec::PATH, 0o600, &spec.encode()?);
    if kernel.config().is_file() {
        let path = format!("/boot/config-{}", kernel.manifest.release);
        archive.file(&path, 0o644, &paths::read(&kernel.config())?);
    }

    archive.file(
        "/etc/passwd",
        0o644,
        b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
    );
    archive.file("/etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n");
    archive.file("/etc/hosts", 0o644, b"127.0.0.1 localhost guest\n");
    Ok(archive.finish())
}
