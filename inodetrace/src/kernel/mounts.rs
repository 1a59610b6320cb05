//! Which mount points a superblock has: `/proc/<pid>/mountinfo`, by device number.
//!
//! The device there is `super_block.s_dev` (`show_mountinfo()` in `fs/proc_namespace.c`), which
//! tells superblocks apart; `stat()` may say something else (btrfs, overlayfs). A superblock may
//! be mounted at several places and in several mount namespaces.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use crate::model::DevNumber;

/// Mount points by device, each list in order of length, then alphabet, without doubles: the
/// first is the one to show.
pub type MountPoints = BTreeMap<DevNumber, Vec<String>>;

/// Mount points in this process's mount namespace and those of all processes that may be looked
/// at, one process per namespace. What cannot be read is left out: a superblock without a mount
/// point still has its file system type and device.
pub fn by_device(root: &Path) -> MountPoints {
    let proc = root.join("proc");
    let mut found: BTreeMap<DevNumber, BTreeSet<String>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let processes = std::fs::read_dir(&proc).into_iter().flatten().flatten();
    let names = processes.map(|entry| entry.file_name());
    let pids = names.filter(|name| is_pid(name.as_encoded_bytes()));
    for process in std::iter::once(OsString::from("self")).chain(pids) {
        // Processes end, and some may not be looked at.
        let process = proc.join(process);
        let Ok(namespace) = std::fs::read_link(process.join("ns/mnt")) else {
            continue;
        };
        if !seen.contains(&namespace)
            && let Ok(text) = std::fs::read(process.join("mountinfo"))
        {
            seen.insert(namespace);
            collect(&text, &mut found);
        }
    }
    found.into_iter().map(in_order).collect()
}

/// Mount points in the text of one `mountinfo`.
pub fn parse(text: &[u8]) -> MountPoints {
    let mut found = BTreeMap::new();
    collect(text, &mut found);
    found.into_iter().map(in_order).collect()
}

fn in_order((device, points): (DevNumber, BTreeSet<String>)) -> (DevNumber, Vec<String>) {
    let mut points: Vec<String> = points.into_iter().collect();
    points.sort_by_key(String::len);
    (device, points)
}

fn collect(text: &[u8], found: &mut BTreeMap<DevNumber, BTreeSet<String>>) {
    for line in text.split(|b| *b == b'\n') {
        // id parent major:minor root mount-point options … - type source options
        let mut fields = line.split(|b| *b == b' ');
        let (Some(device), Some(point)) = (fields.nth(2).and_then(parse_device), fields.nth(1))
        else {
            continue;
        };
        found.entry(device).or_default().insert(unescape(point));
    }
}

fn parse_device(field: &[u8]) -> Option<DevNumber> {
    let (major, minor) = std::str::from_utf8(field).ok()?.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn is_pid(name: &[u8]) -> bool {
    name.iter().all(u8::is_ascii_digit)
}

/// Undoes the kernel's escaping of blank, tab, newline and backslash as `\ooo`.
fn unescape(field: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (
                b'\\',
                [
                    a @ b'0'..=b'3',
                    b @ b'0'..=b'7',
                    c @ b'0'..=b'7',
                    after @ ..,
                ],
            ) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = br"22 1 0:20 / /proc rw,nosuid shared:5 - proc proc rw
31 22 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 31 0:33 / /mnt/with\040blank\134 rw - tmpfs tmpfs rw
41 31 8:1 /srv /export/srv rw shared:1 master:2 - ext4 /dev/sda1 rw
42 31 8:1 /a /a rw - ext4 /dev/sda1 rw
broken line
43 31 8:x / /no rw - ext4 x rw
";

    #[test]
    fn several_mounts_of_one_superblock_shortest_first() {
        let mounts = parse(TEXT);
        assert_eq!(mounts[&(8, 1)], ["/", "/a", "/export/srv"]);
        assert_eq!(mounts.len(), 3);
    }

    #[test]
    fn octal_escapes_are_undone() {
        assert_eq!(parse(TEXT)[&(0, 33)], ["/mnt/with blank\\"]);
        assert_eq!(unescape(br"\9\04"), r"\9\04");
    }

    #[test]
    fn other_namespaces_are_read_once_each() {
        let root = tempfile::tempdir().unwrap();
        let process = |name: &str, namespace: &str, text: &str| {
            let dir = root.path().join("proc").join(name);
            std::fs::create_dir_all(dir.join("ns")).unwrap();
            std::os::unix::fs::symlink(namespace, dir.join("ns/mnt")).unwrap();
            std::fs::write(dir.join("mountinfo"), text).unwrap();
        };
        process("self", "mnt:[1]", "1 1 0:1 / / rw - tmpfs t rw\n");
        process("10", "mnt:[1]", "1 1 0:2 / /same rw - tmpfs t rw\n");
        process("20", "mnt:[2]", "1 1 0:1 / /other rw - tmpfs t rw\n");
        process("tty", "mnt:[3]", "1 1 0:3 / /none rw - tmpfs t rw\n");
        let mounts = by_device(root.path());
        assert_eq!(mounts[&(0, 1)], ["/", "/other"]);
        assert_eq!(mounts.len(), 1);
    }

    #[test]
    fn without_proc_there_are_none() {
        let root = tempfile::tempdir().unwrap();
        assert!(by_device(root.path()).is_empty());
    }
}
