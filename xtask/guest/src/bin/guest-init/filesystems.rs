//! The guest's mounts and its loopback network.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use inodetrace_guest::ports::Message;
use inodetrace_guest::spec::Mount;
use rustix::mount::{MountFlags, mount};

/// Type, target, and whether a kernel may lack it.
const VIRTUAL: &[(&str, &str, bool)] = &[
    ("proc", "/proc", false),
    ("sysfs", "/sys", false),
    ("devtmpfs", "/dev", false),
    ("devpts", "/dev/pts", false),
    ("tmpfs", "/dev/shm", false),
    ("tmpfs", "/tmp", false),
    ("tmpfs", "/run", false),
    ("tmpfs", "/out", false),
    ("debugfs", "/sys/kernel/debug", true),
    ("tracefs", "/sys/kernel/tracing", true),
    ("securityfs", "/sys/kernel/security", true),
    ("bpf", "/sys/fs/bpf", true),
    ("cgroup2", "/sys/fs/cgroup", true),
];

/// Mounts the virtual file systems; gives notes on those that this kernel lacks.
pub(crate) fn mount_virtual() -> anyhow::Result<Vec<String>> {
    let mut notes = Vec::new();
    for &(fstype, target, optional) in VIRTUAL {
        // Inside sysfs the kernel makes the directories, and none can be made.
        let made = std::fs::create_dir_all(target);
        match mount(fstype, target, fstype, MountFlags::empty(), None) {
            Ok(()) => {}
            Err(error) if optional => notes.push(format!("{target}: {fstype}: {error}")),
            // The kernel may have mounted devtmpfs by itself.
            Err(rustix::io::Errno::BUSY) => {}
            Err(error) => {
                made.with_context(|| format!("mkdir {target}"))?;
                return Err(error).with_context(|| format!("mount {fstype} on {target}"));
            }
        }
    }
    rustix::system::sethostname(b"guest").context("sethostname")?;
    Ok(notes)
}

/// Mounts the disks, leaving out what this kernel has no file system for.
pub(crate) fn mount_disks(mounts: &[Mount]) -> Vec<Message> {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    mounts
        .iter()
        .filter_map(|m| {
            if !has_filesystem(&known, &m.fstype) {
                return Some(Message::Note(format!(
                    "{}: left out, this kernel has no {}",
                    m.path, m.fstype
                )));
            }
            match mount_disk(m) {
                Ok(()) => None,
                Err(error) => Some(Message::Warning(format!("{}: {error:#}", m.path))),
            }
        })
        .collect()
}

fn mount_disk(m: &Mount) -> anyhow::Result<()> {
    std::fs::create_dir_all(&m.path)?;
    let device = disk_with_serial(&m.serial)?;
    mount(&device, &m.path, &m.fstype, MountFlags::empty(), None)
        .with_context(|| format!("mount {device} as {}", m.fstype))
}

/// Device of the virtio or NVMe disk with that serial number.
fn disk_with_serial(serial: &str) -> anyhow::Result<String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        for entry in std::fs::read_dir("/sys/block").context("/sys/block")? {
            let entry = entry?;
            let found = ["serial", "device/serial"]
                .iter()
                .find_map(|file| std::fs::read_to_string(entry.path().join(file)).ok())
                .unwrap_or_default();
            if found.trim() == serial {
                let device = format!("/dev/{}", entry.file_name().to_string_lossy());
                if Path::new(&device).exists() {
                    return Ok(device);
                }
            }
        }
        ensure!(Instant::now() < deadline, "no disk with serial {serial}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Brings `lo` up.
pub(crate) fn loopback_up() -> anyhow::Result<()> {
    let status = Command::new("/bin/busybox")
        .args(["ip", "link", "set", "lo", "up"])
        .status()
        .context("busybox ip")?;
    ensure!(status.success(), "lo did not come up: {status}");
    Ok(())
}

/// Whether `/proc/filesystems` names the type.
fn has_filesystem(proc_filesystems: &str, fstype: &str) -> bool {
    proc_filesystems
        .lines()
        .any(|line| line.split('\t').next_back() == Some(fstype))
}

#[cfg(test)]
mod tests {
    use super::has_filesystem;

    #[test]
    fn types_are_matched_whole() {
        let text = "nodev\tsysfs\nnodev\tcgroup2\n\text4\n";
        assert!(has_filesystem(text, "ext4"));
        assert!(has_filesystem(text, "sysfs"));
        assert!(!has_filesystem(text, "cgroup"));
        assert!(!has_filesystem(text, "xfs"));
    }
}
