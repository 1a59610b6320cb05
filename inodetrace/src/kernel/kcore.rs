//! `/proc/kcore`: the kernel's memory as an ELF core file, from which its code is read.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::bytes::{u16_at, u32_at, u64_at};

/// Why kernel code cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum KcoreError {
    /// The file is not there.
    #[error("this kernel has no /proc/kcore (CONFIG_PROC_KCORE)")]
    Missing,
    /// Opening it is refused.
    #[error(
        "/proc/kcore is refused: run as root (CAP_SYS_RAWIO), with lockdown not set to confidentiality"
    )]
    Refused,
    /// It cannot be read.
    #[error("cannot read /proc/kcore: {0}")]
    Read(#[from] std::io::Error),
    /// It is not what it should be.
    #[error("/proc/kcore is no ELF64 core file of this machine's byte order")]
    NotElf,
    /// The symbols that say where the code is are missing.
    #[error("/proc/kallsyms does not say where the kernel's code is (_stext, _etext)")]
    NoBounds,
    /// An address it does not cover.
    #[error("/proc/kcore does not cover the kernel code at {0:#x}")]
    NotCovered(u64),
}

/// A `PT_LOAD` program header: where a range of virtual addresses is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First virtual address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Where it is in the file.
    pub offset: u64,
}

/// Number of header bytes that are read; real files have some 10 segments of 56 bytes.
const HEADER_BYTES: usize = 64 * 1024;

/// The `PT_LOAD` segments of an ELF64 file, from its first bytes.
///
/// # Errors
/// If this is no little-endian ELF64 file, or its program headers are not within `data`.
pub fn parse_segments(data: &[u8]) -> Result<Vec<Segment>, KcoreError> {
    const PT_LOAD: u32 = 1;
    let elf64_little = data.get(..6) == Some(&[0x7f, b'E', b'L', b'F', 2, 1][..]);
    if !elf64_little {
        return Err(KcoreError::NotElf);
    }
    let table = u64_at(data, 32).and_then(|at| usize::try_from(at).ok());
    let (Some(table), Some(entry_size), Some(count)) = (table, u16_at(data, 54), u16_at(data, 56))
    else {
        return Err(KcoreError::NotElf);
    };
    let mut segments = Vec::new();
    for i in 0..usize::from(count) {
        let at = table
            .checked_add(i * usize::from(entry_size))
            .ok_or(KcoreError::NotElf)?;
        let field = |o: usize| at.checked_add(o).and_then(|at| u64_at(data, at));
        let kind = u32_at(data, at).ok_or(KcoreError::NotElf)?;
        let (Some(offset), Some(address), Some(size)) = (field(8), field(16), field(32)) else {
            return Err(KcoreError::NotElf);
        };
        if kind == PT_LOAD {
            segments.push(Segment {
                address,
                size,
                offset,
            });
        }
    }
    Ok(segments)
}

/// An open `/proc/kcore`.
#[derive(Debug)]
pub struct Kcore {
    file: File,
    segments: Vec<Segment>,
}

impl Kcore {
    /// Opens `<root>/proc/kcore`.
    ///
    /// # Errors
    /// If it is missing, refused or malformed.
    pub fn open(root: &Path) -> Result<Self, KcoreError> {
        let file = File::open(root.join("proc/kcore")).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => KcoreError::Missing,
            std::io::ErrorKind::PermissionDenied => KcoreError::Refused,
            _ => KcoreError::Read(e),
        })?;
        let mut header = vec![0; HEADER_BYTES];
        let mut filled = 0;
        while let Some(rest) = header.get_mut(filled..).filter(|r| !r.is_empty()) {
            match file.read_at(rest, filled as u64)? {
                0 => break,
                n => filled += n,
            }
        }
        header.truncate(filled);
        let segments = parse_segments(&header)?;
        Ok(Self { file, segments })
    }

    /// `len` bytes from the virtual address `address`.
    ///
    /// # Errors
    /// If the file does not cover the range or cannot be read.
    pub fn read(&self, address: u64, len: usize) -> Result<Vec<u8>, KcoreError> {
        let covers = |s: &&Segment| {
            address.checked_sub(s.address).is_some_and(|into| {
                into.checked_add(len as u64)
                    .is_some_and(|end| end <= s.size)
            })
        };
        let segment = self
            .segments
            .iter()
            .find(covers)
            .ok_or(KcoreError::NotCovered(address))?;
        let at = segment
            .offset
            .checked_add(address - segment.address)
            .ok_or(KcoreError::NotCovered(address))?;
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A core file with a note and two segments, the data right behind the headers.
    fn sample() -> Vec<u8> {
        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        file.resize(64, 0);
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54..56].copy_from_slice(&56u16.to_le_bytes());
        file[56..58].copy_from_slice(&3u16.to_le_bytes());
        let segments: [(u32, u64, u64, u64); 3] = [
            (4, 0, 0, 16),
            (1, 232, 0xffff_ffff_8100_0000, 8),
            (1, 240, 0xffff_ffff_c000_0000, 4),
        ];
        for (kind, offset, address, size) in segments {
            file.extend(kind.to_le_bytes());
            file.extend(7u32.to_le_bytes());
            for word in [offset, address, 0, size, size, 4096] {
                file.extend(word.to_le_bytes());
            }
        }
        file.extend(b"KERNTEXTMODS");
        file
    }

    fn kcore(file: &[u8]) -> Result<Kcore, KcoreError> {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/kcore"), file).unwrap();
        Kcore::open(root.path())
    }

    #[test]
    fn reads_by_address() {
        let kcore = kcore(&sample()).unwrap();
        assert_eq!(kcore.read(0xffff_ffff_8100_0004, 4).unwrap(), b"TEXT");
        assert_eq!(kcore.read(0xffff_ffff_c000_0000, 4).unwrap(), b"MODS");
        assert_eq!(kcore.read(0xffff_ffff_8100_0000, 0).unwrap(), b"");
    }

    #[test]
    fn what_no_segment_covers_is_an_error() {
        let kcore = kcore(&sample()).unwrap();
        for (address, len) in [
            (0, 1),
            (0xffff_ffff_8100_0004, 5),
            (u64::MAX, 1),
            (0xffff_ffff_8100_0000, usize::MAX),
        ] {
            let read = kcore.read(address, len);
            assert!(
                matches!(read, Err(KcoreError::NotCovered(_))),
                "{address:#x}"
            );
        }
    }

    #[test]
    fn missing_short_and_other_files() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(Kcore::open(root.path()), Err(KcoreError::Missing)));
        assert!(matches!(kcore(b""), Err(KcoreError::NotElf)));
        // Up to the last word that is read of the last header.
        for len in 0..216 {
            assert!(parse_segments(&sample()[..len]).is_err(), "{len}");
        }
        let mut cut = sample();
        cut.truncate(242);
        let kcore = kcore(&cut).unwrap();
        assert!(matches!(
            kcore.read(0xffff_ffff_c000_0000, 4),
            Err(KcoreError::Read(_))
        ));
    }

    proptest! {
        #[test]
        fn damaged_headers_never_panic(
            damage in prop::collection::vec((0usize..232, any::<u8>()), 1..20),
            address: u64,
        ) {
            let mut file = sample();
            for (at, byte) in damage {
                file[at] = byte;
            }
            let _ = parse_segments(&file);
            if let Ok(kcore) = kcore(&file) {
                let _ = kcore.read(address, 16);
                let _ = kcore.read(0xffff_ffff_8100_0000, 4);
            }
        }
    }
}
