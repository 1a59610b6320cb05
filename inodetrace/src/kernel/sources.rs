//! The kernel's files, opened together.

use std::path::Path;
use std::sync::Arc;

use super::btf::{Btf, BtfError};
use super::kallsyms::{Kallsyms, KallsymsError};
use super::kcore::{Kcore, KcoreError};

/// Why nothing can be planned on this machine.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No symbols.
    #[error(transparent)]
    Kallsyms(#[from] KallsymsError),
    /// No type information.
    #[error("this kernel has no BTF in {path}: {source} (it needs CONFIG_DEBUG_INFO_BTF)")]
    NoBtf {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Type information that makes no sense.
    #[error("{path}: {source}")]
    Btf {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: BtfError,
    },
}

/// What the facts are made from.
#[derive(Debug)]
pub struct Sources {
    /// `uname -r`, for messages.
    pub release: String,
    /// The symbols.
    pub kallsyms: Kallsyms,
    /// The kernel's types.
    pub btf: Arc<Btf>,
    /// ext4's types, where it is a loaded module.
    pub ext4_btf: Option<Btf>,
    /// The kernel's memory; without it there still is a plan, with less in it.
    pub kcore: Result<Kcore, KcoreError>,
}

impl Sources {
    /// Opens `proc` and `sys` below `root`.
    ///
    /// # Errors
    /// If symbols or types cannot be had.
    pub fn open(root: &Path) -> Result<Self, SourceError> {
        let kallsyms = Kallsyms::read(root)?;
        let btf =
            Arc::new(Btf::parse(read_btf(root, "vmlinux")?).map_err(|e| damaged("vmlinux", e))?);
        let ext4_btf = match read_btf(root, "ext4") {
            Ok(data) => {
                let parsed = Btf::parse_module(Arc::clone(&btf), data);
                Some(parsed.map_err(|e| damaged("ext4", e))?)
            }
            Err(_) => None,
        };
        let release = std::fs::read_to_string(root.join("proc/sys/kernel/osrelease"));
        Ok(Self {
            release: release.unwrap_or_default().trim().to_owned(),
            kallsyms,
            btf,
            ext4_btf,
            kcore: Kcore::open(root),
        })
    }
}

fn read_btf(root: &Path, module: &str) -> Result<Vec<u8>, SourceError> {
    let path = root.join("sys/kernel/btf").join(module);
    std::fs::read(&path).map_err(|source| SourceError::NoBtf {
        path: path.display().to_string(),
        source,
    })
}

fn damaged(module: &str, source: BtfError) -> SourceError {
    SourceError::Btf {
        path: format!("/sys/kernel/btf/{module}"),
        source,
    }
}
