//! Virtual machines: boot a kernel with the current build, run one command in it, and get back
//! its output, exit code and files.

mod console;
mod cpio;
mod guest;
pub(crate) mod images;
mod initramfs;
mod process;
mod qemu;
pub(crate) mod signals;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::Context;
use inodetrace_guest::spec::Spec;

use crate::build::GuestBinaries;
use crate::kernels::cache::Cached;
use crate::paths;
pub(crate) use guest::Failure;
pub(crate) use qemu::Machine;

/// What to boot and what to run in it.
#[derive(Clone, Debug)]
pub(crate) struct Vm {
    kernel: Cached,
    binaries: GuestBinaries,
    machine: Machine,
    spec: Spec,
    timeout: Duration,
    pass_on: bool,
    verbose: bool,
    out: PathBuf,
}

/// What a command in a VM left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Exit code; 128 + N for a death by signal N.
    pub(crate) status: u8,
    /// Standard output, byte for byte; empty if it was passed on.
    pub(crate) stdout: Vec<u8>,
    /// Standard error, as well.
    pub(crate) stderr: Vec<u8>,
    /// The directory with the files from `$OUT`.
    pub(crate) out_dir: PathBuf,
    /// What the kernel and init said on the console.
    pub(crate) console: String,
}

impl Vm {
    /// A VM of two CPUs in which nothing runs yet.
    pub(crate) fn new(kernel: Cached, binaries: GuestBinaries) -> Self {
        Self {
            kernel,
            binaries,
            machine: Machine::default(),
            spec: Spec::default(),
            timeout: Duration::from_secs(300),
            pass_on: false,
            verbose: false,
            out: paths::target().join("vm/out"),
        }
    }

    /// The hardware.
    pub(crate) fn machine(mut self, machine: Machine) -> Self {
        self.machine = machine;
        self
    }

    /// The command and its arguments.
    pub(crate) fn command<S: Into<OsString>>(
        mut self,
        command: impl IntoIterator<Item = S>,
    ) -> Self {
        self.spec.command = command.into_iter().map(Into::into).collect();
        self
    }

    /// A command to start before it and to kill after it.
    pub(crate) fn background<S: Into<OsString>>(
        mut self,
        command: impl IntoIterator<Item = S>,
    ) -> Self {
        self.spec
            .background
            .push(command.into_iter().map(Into::into).collect());
        self
    }

    /// The command runs in `$OUT`, so that the files it writes to its own directory come back.
    pub(crate) fn in_out(mut self) -> Self {
        self.spec.dir = inodetrace_guest::spec::OUT.into();
        self
    }

    /// An environment variable for the commands.
    pub(crate) fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.spec.env.push((name.into(), value.into()));
        self
    }

    /// The command gets our terminal.
    pub(crate) fn interactive(mut self) -> Self {
        let size = rustix::termios::tcgetwinsize(std::io::stdout());
        self.spec.terminal = Some(match size {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => (80, 24),
        });
        if let Some(term) = std::env::var_os("TERM") {
            self = self.env("TERM", term);
        }
        self
    }

    /// Time for everything, boot included. An interactive VM has no limit.
    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Output goes to our own standard output and error as it comes, instead of into the outcome.
    pub(crate) fn pass_on(mut self) -> Self {
        self.pass_on = true;
        self
    }

    /// The notes of guest-init and the console go to our standard error.
    pub(crate) fn verbose(mut self, verbose: bool) -> Self {
        self.verbose = verbose;
        self
    }

    /// Where the files of `$OUT` go; the directory's earlier content is removed.
    pub(crate) fn out(mut self, dir: impl Into<PathBuf>) -> Self {
        self.out = dir.into();
        self
    }

    /// Boots and runs. A boot that dies before user space is tried once more (a race in QEMU's
    /// emulation kills about one in 45); a command never is.
    pub(crate) fn run(mut self) -> Result<Outcome, Failure> {
        match self.attempt() {
            Err(Failure::Boot { reason, .. }) => {
                eprintln!("xtask: the guest died before user space ({reason}); booting once more");
                self.attempt()
            }
            result => result,
        }
    }

    fn attempt(&mut self) -> Result<Outcome, Failure> {
        clear(&self.out)?;
        // Unix socket paths are short: not below target.
        let dir = tempfile::Builder::new()
            .prefix("inodetrace-vm-")
            .tempdir()
            .context("temporary directory")?;
        let disks = images::disks(&self.kernel)?;
        self.spec.mounts = disks.iter().map(|d| d.mount.clone()).collect();
        self.machine.nvme = self.kernel.lacks_modules();
        let initramfs = initramfs::build(&self.kernel, &self.binaries, &self.spec)?;
        let initramfs_path = dir.path().join("initramfs");
        std::fs::write(&initramfs_path, initramfs).context("writing the initramfs")?;

        let interactive = self.spec.terminal.is_some();
        let arguments = qemu::arguments(
            &self.machine,
            &self.kernel.image(),
            &initramfs_path,
            &disks,
            dir.path(),
            interactive,
        );
        let qemu = process::Qemu::start(&arguments, dir.path(), interactive)?;
        let result = guest::Guest::new(
            qemu,
            guest::Limits {
                boot: Duration::from_secs(120),
                // An interactive guest ends when its user is done with it.
                total: (!interactive).then_some(self.timeout),
            },
            self.pass_on,
            self.verbose,
        )
        .run()?;
        unpack(&result.out, &self.out)?;
        Ok(Outcome {
            status: result.code,
            stdout: result.stdout,
            stderr: result.stderr,
            out_dir: self.out.clone(),
            console: result.console,
        })
    }
}

/// The exit code for how a VM ended whose command's output was passed on; says what went wrong.
pub(crate) fn exit_code(result: Result<Outcome, Failure>) -> ExitCode {
    match result {
        Ok(outcome) => ExitCode::from(outcome.status),
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Makes an empty directory of it: what an earlier guest left is not to be taken for this one's.
fn clear(dir: &Path) -> anyhow::Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).with_context(|| dir.display().to_string())?;
    }
    paths::make_dir(dir)
}

/// Unpacks the archive of `$OUT` (empty: no files).
fn unpack(archive: &[u8], dir: &Path) -> anyhow::Result<()> {
    if archive.is_empty() {
        return Ok(());
    }
    let mut file = tempfile::tempfile().context("temporary file")?;
    file.write_all(archive).context("temporary file")?;
    std::io::Seek::rewind(&mut file).context("temporary file")?;
    let output = Command::new("tar")
        .args(["-x", "--no-same-owner", "-f", "-", "-C"])
        .arg(dir)
        .stdin(file)
        .output()
        .context("tar")?;
    anyhow::ensure!(
        output.status.success(),
        "unpacking $OUT: tar: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
