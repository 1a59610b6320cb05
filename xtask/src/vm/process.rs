//! QEMU as a process: started with our end of its sockets ready, and dead when we are.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::Context;
use inodetrace_guest::ports;

use super::qemu;
use crate::exec;

/// Where bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// The serial console.
    Console,
    /// The control port.
    Control,
    /// The command's standard output.
    Stdout,
    /// The command's standard error.
    Stderr,
    /// The archive of `$OUT`.
    Out,
    /// QEMU's own messages.
    Qemu,
}

/// Bytes that QEMU passed on; none when that channel has ended.
pub(crate) type Event = (Channel, Vec<u8>);

/// A running QEMU. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Qemu {
    child: Child,
    /// What the guest sends.
    pub(crate) events: Receiver<Event>,
}

impl Qemu {
    /// Starts it; `arguments` are for sockets in `dir`.
    pub(crate) fn start(
        arguments: &[OsString],
        dir: &Path,
        interactive: bool,
    ) -> anyhow::Result<Self> {
        let program = exec::find("qemu-system-x86_64")
            .context("no qemu-system-x86_64 on this machine: cargo xtask setup")?;
        let (sender, events) = channel();
        let mut channels = vec![
            (ports::CONTROL, Channel::Control),
            (ports::STDOUT, Channel::Stdout),
            (ports::STDERR, Channel::Stderr),
            (ports::OUT, Channel::Out),
        ];
        if !interactive {
            channels.push((qemu::CONSOLE, Channel::Console));
        }
        for (name, channel) in channels {
            let path = dir.join(name);
            let listener = UnixListener::bind(&path).with_context(|| path.display().to_string())?;
            let sender = sender.clone();
            thread::spawn(move || {
                if let Ok((stream, _)) = listener.accept() {
                    forward(stream, channel, &sender);
                }
            });
        }

        let mut command = Command::new(program);
        command.args(arguments).stderr(Stdio::piped());
        if !interactive {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
        // SAFETY: prctl(PR_SET_PDEATHSIG) is async-signal-safe and touches no memory.
        unsafe {
            command.pre_exec(|| {
                // Should we be killed, QEMU ends with us; on SIGTERM it restores the terminal.
                rustix::process::set_parent_process_death_signal(Some(
                    rustix::process::Signal::TERM,
                ))?;
                Ok(())
            });
        }
        let mut child = command.spawn().context("qemu-system-x86_64")?;
        if let Some(stderr) = child.stderr.take() {
            thread::spawn(move || forward(stderr, Channel::Qemu, &sender));
        }
        Ok(Self { child, events })
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it: politely first, since an interactive one has the terminal to restore.
    pub(crate) fn end(&mut self) {
        if self.has_ended() {
            return;
        }
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            for _ in 0..100 {
                if self.has_ended() {
                    return;
                }
                thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        self.end();
    }
}

fn forward(mut from: impl Read, channel: Channel, to: &Sender<Event>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                if to.send((channel, buffer[..n].to_vec())).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    // The receiver may have gone already: it had all it wanted.
    let _ = to.send((channel, Vec::new()));
}
