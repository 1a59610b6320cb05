//! What the guest is to do, as a file in its initramfs: arguments never pass through a shell or
//! the kernel command line, so any byte but NUL survives.
//!
//! The file is a sequence of NUL-terminated records `key=value`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use anyhow::{Context, bail, ensure};

/// Where the file lies in the guest.
pub const PATH: &str = "/etc/inodetrace/spec";
/// Names of the kernel modules in the guest's `/lib/modules`, in the order to load them.
pub const MODULES: &str = "/etc/inodetrace/modules";

/// The directory whose files go to the host: `$OUT`.
pub const OUT: &str = "/out";

/// A disk image to mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Serial number of the virtio disk.
    pub serial: String,
    /// File system type.
    pub fstype: String,
    /// Where.
    pub path: String,
}

/// What the guest is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// The command; empty means a shell.
    pub command: Vec<OsString>,
    /// Commands to start before it and to kill after it, their output dropped.
    pub background: Vec<Vec<OsString>>,
    /// Directory to run it in; the usual one if empty.
    pub dir: String,
    /// Environment besides the usual one.
    pub env: Vec<(OsString, OsString)>,
    /// Disk images to mount.
    pub mounts: Vec<Mount>,
    /// The command gets the console as its terminal, of that many columns and rows.
    pub terminal: Option<(u16, u16)>,
}

impl Spec {
    /// The file's content.
    ///
    /// # Errors
    /// A value holds a NUL byte, or an environment name a `=`.
    pub fn encode(&self) -> anyhow::Result<Vec<u8>> {
        let mut file = Vec::new();
        let mut record = |key: &str, value: &OsStr| {
            ensure!(
                !value.as_bytes().contains(&0),
                "{value:?}: arguments cannot hold a NUL byte"
            );
            file.extend_from_slice(key.as_bytes());
            file.push(b'=');
            file.extend_from_slice(value.as_bytes());
            file.push(0);
            Ok(())
        };
        for arg in &self.command {
            record("arg", arg)?;
        }
        for command in &self.background {
            for arg in command {
                record("background-arg", arg)?;
            }
            record("background-end", OsStr::new(""))?;
        }
        if !self.dir.is_empty() {
            record("dir", OsStr::new(&self.dir))?;
        }
        for (name, value) in &self.env {
            ensure!(
                !name.is_empty() && !name.as_bytes().contains(&b'='),
                "{name:?}: not a name for an environment variable"
            );
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            record("env", &pair)?;
        }
        for mount in &self.mounts {
            let value = format!("{} {} {}", mount.serial, mount.fstype, mount.path);
            record("mount", OsStr::new(&value))?;
        }
        if let Some((columns, rows)) = self.terminal {
            record("terminal", OsStr::new(&format!("{columns}x{rows}")))?;
        }
        Ok(file)
    }

    /// Reads the file's content.
    ///
    /// # Errors
    /// It is not what [`Spec::encode`] writes.
    pub fn decode(file: &[u8]) -> anyhow::Result<Self> {
        let mut spec = Self::default();
        let mut background = Vec::new();
        let Some(file) = file.strip_suffix(&[0]) else {
            ensure!(file.is_empty(), "spec: the last record has no end");
            return Ok(spec);
        };
        for record in file.split(|&b| b == 0) {
            let at = record
                .iter()
                .position(|&b| b == b'=')
                .context("spec: a record without =")?;
            let (key, value) = (&record[..at], &record[at + 1..]);
            let os = || OsString::from_vec(value.to_vec());
            match key {
                b"arg" => spec.command.push(os()),
                b"background-arg" => background.push(os()),
                b"background-end" => spec.background.push(std::mem::take(&mut background)),
                b"dir" => spec.dir = String::from_utf8(value.to_vec()).context("spec: dir")?,
                b"env" => {
                    let at = value
                        .iter()
                        .position(|&b| b == b'=')
                        .context("spec: env without =")?;
                    spec.env.push((
                        OsString::from_vec(value[..at].to_vec()),
                        OsString::from_vec(value[at + 1..].to_vec()),
                    ));
                }
                b"mount" => {
                    let text = std::str::from_utf8(value).context("spec: mount")?;
                    let [serial, fstype, path] = text.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                        bail!("spec: mount {text}");
                    };
                    spec.mounts.push(Mount {
                        serial: serial.into(),
                        fstype: fstype.into(),
                        path: path.into(),
                    });
                }
                b"terminal" => {
                    let text = std::str::from_utf8(value).context("spec: terminal")?;
                    let (columns, rows) = text.split_once('x').context("spec: terminal")?;
                    spec.terminal = Some((columns.parse()?, rows.parse()?));
                }
                _ => bail!("spec: unknown key {:?}", String::from_utf8_lossy(key)),
            }
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_argument_survives() {
        let spec = Spec {
            command: vec![
                "sh".into(),
                "-c".into(),
                "echo \"$1\" 'two  words'\n=".into(),
                "".into(),
                OsString::from_vec(vec![0xff, 0xfe, b'=', 1]),
            ],
            background: vec![vec!["a".into(), "b c".into()], vec!["d".into()]],
            dir: "/out".into(),
            env: vec![("A".into(), "x=y".into()), ("B".into(), "".into())],
            mounts: vec![Mount {
                serial: "ext4".into(),
                fstype: "ext4".into(),
                path: "/mnt/ext4".into(),
            }],
            terminal: Some((200, 50)),
        };
        let file = spec.encode().unwrap();
        assert_eq!(Spec::decode(&file).unwrap(), spec);
        assert_eq!(Spec::decode(b"").unwrap(), Spec::default());
    }

    #[test]
    fn a_nul_byte_is_refused() {
        let spec = Spec {
            command: vec![OsString::from_vec(vec![b'a', 0])],
            ..Spec::default()
        };
        assert!(spec.encode().is_err());
    }

    #[test]
    fn a_torn_file_is_refused() {
        assert!(Spec::decode(b"arg=x").is_err());
        assert!(Spec::decode(b"arg\0").is_err());
        assert!(Spec::decode(b"what=x\0").is_err());
    }
}
