//! Which kernel modules the guest needs, and in which order they load.
//!
//! Debian makes `modules.dep` when a kernel is installed, so the packages lack it; the modules'
//! own `.modinfo` says the same.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// What the guest uses, if the kernel has it as modules and not built in.
const WANTED: &[&str] = &[
    "virtio_pci",
    "virtio_blk",
    "virtio_console",
    "ext4",
    "xfs",
    "btrfs",
];

/// Modules by name (dashes as underscores, as modules refer to each other).
pub(crate) type Files = HashMap<String, PathBuf>;

/// All modules below a directory.
pub(crate) fn find(dir: &Path) -> anyhow::Result<Files> {
    let mut files = Files::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                todo.push(entry.path());
            } else if let Some((name, _)) = entry.file_name().to_string_lossy().split_once(".ko") {
                files.insert(canonical(name), entry.path());
            }
        }
    }
    Ok(files)
}

/// A module's content, decompressed.
pub(crate) fn content(file: &Path) -> anyhow::Result<Vec<u8>> {
    let decompressor = match file.extension().and_then(|e| e.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => "gzip",
        _ => return fs::read(file).with_context(|| file.display().to_string()),
    };
    let output = Command::new(decompressor)
        .arg("-dc")
        .arg(file)
        .output()
        .with_context(|| format!("{decompressor}, to decompress {}", file.display()))?;
    anyhow::ensure!(
        output.status.success(),
        "{decompressor} {}: {}",
        file.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

/// The wanted modules and all they need, each after what it needs, with their contents.
///
/// `content` reads a module by name: `None` if it is built in, or not there.
pub(crate) fn resolve(
    mut content: impl FnMut(&str) -> anyhow::Result<Option<Vec<u8>>>,
) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut resolver = Resolver {
        content: &mut content,
        seen: Vec::new(),
        ordered: Vec::new(),
    };
    for name in WANTED {
        resolver.visit(name)?;
    }
    Ok(resolver.ordered)
}

type Content<'a> = &'a mut dyn FnMut(&str) -> anyhow::Result<Option<Vec<u8>>>;

struct Resolver<'a> {
    content: Content<'a>,
    seen: Vec<String>,
    ordered: Vec<(String, Vec<u8>)>,
}

impl Resolver<'_> {
    fn visit(&mut self, name: &str) -> anyhow::Result<()> {
        let name = canonical(name);
        if self.seen.contains(&name) {
            return Ok(());
        }
        self.seen.push(name.clone());
        let Some(content) = (self.content)(&name)? else {
            return Ok(());
        };
        for needed in needs(&content) {
            self.visit(&needed)?;
        }
        self.ordered.push((name, content));
        Ok(())
    }
}

/// What a module's `.modinfo` says must, or had better, be loaded before it.
fn needs(content: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    for entry in content.split(|&b| b == 0) {
        let Ok(entry) = std::str::from_utf8(entry) else {
            continue;
        };
        if let Some(list) = entry.strip_prefix("depends=") {
            names.extend(list.split(',').filter(|n| !n.is_empty()).map(canonical));
        } else if let Some(list) = entry.strip_prefix("softdep=pre:") {
            // Algorithms are named by an alias, as in "crypto-crc32c", and aliases are resolved
            // by a file that is made when a kernel is installed. These are the names that modules
            // for them have.
            for name in list.split_whitespace().take_while(|w| !w.ends_with(':')) {
                let name = canonical(name.strip_prefix("crypto-").unwrap_or(name));
                names.push(format!("{name}_generic"));
                names.push(format!("{name}_cryptoapi"));
                names.push(name);
            }
        }
    }
    names
}

fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(depends: &str, more: &str) -> Vec<u8> {
        let mut content = b"\x7fELF\xff\xfe\0license=GPL\0".to_vec();
        content.extend_from_slice(format!("depends={depends}\0{more}\0name=x\0").as_bytes());
        content
    }

    fn order(modules: &[(&str, Vec<u8>)]) -> Vec<String> {
        resolve(|name| {
            Ok(modules
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, c)| c.clone()))
        })
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect()
    }

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let modules = [
            ("virtio_pci", module("virtio-ring,virtio", "")),
            ("virtio_ring", module("virtio", "")),
            ("virtio", module("", "")),
            (
                "btrfs",
                module("xor,built_in", "softdep=pre: crypto-crc32c sha256 post: z"),
            ),
            ("xor", module("", "")),
            ("crc32c_generic", module("", "")),
            ("z", module("", "")),
            ("not_wanted", module("", "")),
        ];
        assert_eq!(
            order(&modules),
            [
                "virtio",
                "virtio_ring",
                "virtio_pci",
                "xor",
                "crc32c_generic",
                "btrfs"
            ]
        );
    }

    #[test]
    fn everything_built_in_needs_nothing() {
        assert!(order(&[]).is_empty());
    }

    #[test]
    fn a_circle_ends() {
        let modules = [("xfs", module("ext4", "")), ("ext4", module("xfs", ""))];
        assert_eq!(order(&modules), ["xfs", "ext4"]);
    }
}
