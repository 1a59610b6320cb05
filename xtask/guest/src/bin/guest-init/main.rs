//! The guest's init: mounts what the contract names, runs one command, and hands its output,
//! exit code and files to the host over virtio-serial ports. The host ends the VM.

mod filesystems;
mod modules;
mod ports;
mod run;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use inodetrace_guest::ports::Message;
use inodetrace_guest::spec::{self, Spec};

fn main() -> ExitCode {
    if let Err(error) = guest() {
        // The console is all that is left to say it on.
        eprintln!("guest-init: {error:#}");
    }
    // The host kills the VM when it has everything. Should it be gone, end by ourselves; a
    // return from here would be a kernel panic.
    std::thread::sleep(Duration::from_secs(60));
    let _ = rustix::system::reboot(rustix::system::RebootCommand::Restart);
    ExitCode::FAILURE
}

fn guest() -> anyhow::Result<()> {
    let mut notes = filesystems::mount_virtual()?;
    notes.extend(modules::load_all());
    let mut control = ports::open(inodetrace_guest::ports::CONTROL)?;
    let mut say = |message: &Message| ports::say(&mut control, message);
    say(&Message::Ready)?;
    for note in notes {
        say(&Message::Note(note))?;
    }

    let spec = std::fs::read(spec::PATH).context(spec::PATH)?;
    let spec = Spec::decode(&spec)?;
    for message in filesystems::mount_disks(&spec.mounts) {
        say(&message)?;
    }
    if let Err(error) = filesystems::loopback_up() {
        say(&Message::Warning(format!("{error:#}")))?;
    }
    let done = run::run(&spec)?;
    say(&done)
}
