//! A writer of cpio archives in the kernel's "newc" format, for the initramfs (described in the
//! kernel's Documentation/driver-api/early-userspace/buffer-format.rst).

/// An archive being written.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inode: u32,
}

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;

impl Archive {
    /// Adds a directory; its parent must be there already.
    pub(crate) fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY | 0o755, (0, 0), &[]);
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entry(path, REGULAR | mode, (0, 0), content);
    }

    /// Adds a symbolic link.
    pub(crate) fn symlink(&mut self, path: &str, target: &str) {
        self.entry(path, SYMLINK | 0o777, (0, 0), target.as_bytes());
    }

    /// Adds a character device.
    pub(crate) fn character_device(&mut self, path: &str, major: u32, minor: u32) {
        self.entry(path, CHARACTER | 0o600, (major, minor), &[]);
    }

    /// The whole archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, (major, minor): (u32, u32), content: &[u8]) {
        let path = path.trim_start_matches('/');
        self.inode += 1;
        let links = if mode & DIRECTORY == 0 { 1 } else { 2 };
        self.bytes.extend_from_slice(b"070701");
        for field in [
            self.inode,
            mode,
            0, // uid
            0, // gid
            links,
            0, // mtime: the archive depends on nothing but its content
            u32::try_from(content.len()).unwrap_or(u32::MAX),
            0, // device of the file system
            0,
            major,
            minor,
            u32::try_from(path.len() + 1).unwrap_or(u32::MAX),
            0, // checksum, unused in this format
        ] {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn an_empty_archive_is_the_trailer() {
        let bytes = Archive::default().finish();
        let expected = "070701\
            00000001000000000000000000000000\
            00000001000000000000000000000000\
            0000000000000000000000000000000b00000000\
            TRAILER!!!\0\0\0\0";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn headers_and_contents_are_padded_to_four() {
        let mut archive = Archive::default();
        archive.directory("/etc");
        archive.file("/etc/a", 0o644, b"12345");
        archive.symlink("/b", "etc/a");
        archive.character_device("/dev/console", 5, 1);
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        for header in ["etc\0", "etc/a\0", "b\0", "dev/console\0", "TRAILER!!!\0"] {
            let at = bytes
                .windows(header.len())
                .enumerate()
                .filter(|(_, w)| *w == header.as_bytes())
                .any(|(at, _)| at >= 110 && &bytes[at - 110..at - 104] == b"070701");
            assert!(at, "{header:?}");
        }
    }

    /// Another implementation reads what we write. Busybox has one; where it is not installed yet
    /// there is nothing to compare with.
    #[test]
    fn busybox_reads_it() {
        let Some(busybox) = crate::exec::find("busybox") else {
            return;
        };
        let mut archive = Archive::default();
        archive.directory("d");
        archive.file("d/f", 0o755, b"content");
        archive.symlink("l", "d/f");
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(busybox)
            .args(["cpio", "-i"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(&archive.finish())
            .unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(std::fs::read(dir.path().join("l")).unwrap(), b"content");
    }
}
