//! Finding and writing the virtio-serial ports.

use std::fs::File;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use inodetrace_guest::ports::Message;

/// Opens the port of that name, waiting for it to appear.
pub(crate) fn open(name: &str) -> anyhow::Result<File> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(port) = try_open(name) {
            return port.with_context(|| format!("port {name}"));
        }
        ensure!(
            Instant::now() < deadline,
            "no virtio-serial port named {name}: the kernel lacks virtio_pci or virtio_console"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn try_open(name: &str) -> Option<std::io::Result<File>> {
    for entry in std::fs::read_dir("/sys/class/virtio-ports").ok()? {
        let entry = entry.ok()?;
        let found = std::fs::read_to_string(entry.path().join("name")).unwrap_or_default();
        if found.trim() == name {
            let device = format!("/dev/{}", entry.file_name().to_string_lossy());
            return Some(File::options().write(true).open(device));
        }
    }
    None
}

/// Sends one line.
pub(crate) fn say(control: &mut File, message: &Message) -> anyhow::Result<()> {
    let line = message.encode() + "\n";
    control.write_all(line.as_bytes()).context("control port")
}

/// Copies everything to a port; gives the number of bytes.
pub(crate) fn forward(mut from: impl Read, mut port: File) -> std::io::Result<u64> {
    // Not io::copy: splice() to a virtio port gives short counts on some kernels.
    let mut buffer = vec![0; 32 * 1024];
    let mut total = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(n) => {
                port.write_all(&buffer[..n])?;
                total += n as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
