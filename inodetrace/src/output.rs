//! Output files: opened before the run, so that a bad path fails early, and in place only when
//! complete.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::error::Error;

/// Where a result will go.
#[derive(Debug)]
pub enum Output {
    /// Standard output (`-`).
    Stdout,
    /// A device, pipe or the like, written directly: nothing may be renamed over `/dev/null`.
    Special {
        /// As typed.
        path: PathBuf,
        /// Open for writing.
        file: File,
    },
    /// A file: written beside its place and renamed when complete.
    File {
        /// Its place, with symbolic links resolved.
        path: PathBuf,
        /// What becomes the file.
        temporary: NamedTempFile,
    },
}

impl Output {
    /// Opens what `path` names. Nothing at `path` has changed when this returns.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::try_open(path).map_err(|cause| error(path, cause))
    }

    fn try_open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let place = match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(meta) if !meta.is_file() => {
                return Ok(Self::Special {
                    path: path.into(),
                    file: OpenOptions::new().write(true).open(path)?,
                });
            }
            // A link stays a link: what it points to is replaced.
            Ok(_) => path.canonicalize()?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => path.into(),
            Err(e) => return Err(e),
        };
        if place.file_name().is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let dir = match place.parent() {
            Some(dir) if dir != Path::new("") => dir,
            _ => Path::new("."),
        };
        let temporary = tempfile::Builder::new()
            .prefix(".inodetrace-")
            // As any new file: the umask takes its part. (The default of temporary files would
            // make a recording by root unreadable for everyone else.)
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(dir)?;
        Ok(Self::File {
            path: place,
            temporary,
        })
    }

    /// How to name it in a message.
    pub fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".into(),
            Self::Special { path, .. } | Self::File { path, .. } => path.display().to_string(),
        }
    }

    /// Writes the result and puts it in place.
    pub fn finish(self, text: &str) -> Result<(), Error> {
        let name = self.name();
        self.try_finish(text)
            .map_err(|cause| Error::Output { path: name, cause })
    }

    fn try_finish(self, text: &str) -> io::Result<()> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(text.as_bytes())?;
                out.flush()
            }
            Self::Special { mut file, .. } => file.write_all(text.as_bytes()),
            Self::File {
                path,
                mut temporary,
            } => {
                temporary.write_all(text.as_bytes())?;
                temporary.as_file().sync_all()?;
                temporary.persist(&path).map_err(|e| e.error)?;
                Ok(())
            }
        }
    }
}

fn error(path: &Path, cause: io::Error) -> Error {
    Error::Output {
        path: path.display().to_string(),
        cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_changes_before_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        fs::write(&path, "old").unwrap();
        let output = Output::open(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        Output::open(&path).unwrap().finish("new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o400, 0o400);
    }

    #[test]
    fn devices_are_written_not_replaced() {
        let output = Output::open(Path::new("/dev/null")).unwrap();
        assert!(matches!(output, Output::Special { .. }));
        output.finish("x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("a"), dir.path().join("b"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        Output::open(&link).unwrap().finish("new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn bad_paths_fail_before_the_run() {
        let dir = tempfile::tempdir().unwrap();
        for path in [
            dir.path().to_owned(),
            dir.path().join("no/such/dir"),
            PathBuf::from(""),
        ] {
            let e = Output::open(&path).unwrap_err();
            assert_eq!(e.exit_code(), 2, "{e}");
        }
    }
}
