//! Cgroups by their directory.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::error::Error;

/// `f_type` of the cgroup2 filesystem (`CGROUP2_SUPER_MAGIC`).
const CGROUP2_MAGIC: u64 = 0x6367_7270;

/// Id of the cgroup at `path`, which is the inode number of its directory. A path that does not
/// start with `/` is looked for below /sys/fs/cgroup.
pub fn id(path: &Path) -> Result<u64, Error> {
    let place: PathBuf = if path.is_absolute() {
        path.into()
    } else {
        Path::new("/sys/fs/cgroup").join(path)
    };
    let bad = |why: String| Error::BadValue {
        option: "--cgroup",
        given: path.display().to_string(),
        why,
    };
    let meta = std::fs::metadata(&place).map_err(|e| bad(e.to_string()))?;
    let fs = rustix::fs::statfs(&place).map_err(|e| bad(e.to_string()))?;
    if !meta.is_dir() || fs.f_type as u64 != CGROUP2_MAGIC {
        return Err(bad(format!("{} is no cgroup2 directory", place.display())));
    }
    Ok(meta.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_directories_are_refused() {
        let e = id(Path::new("/")).unwrap_err();
        assert_eq!(e.exit_code(), 2);
        assert_eq!(e.to_string(), "--cgroup \"/\": / is no cgroup2 directory");
    }
}
