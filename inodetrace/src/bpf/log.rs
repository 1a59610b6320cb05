//! What the programs say once per superblock, for `INODETRACE_LOG=debug`.

use std::io::Write as _;

use aya::Ebpf;
use aya_log::EbpfLogger;
use log::{Log, Metadata, Record};

/// Writes records to standard error.
struct Stderr;

impl Log for Stderr {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let _ = writeln!(std::io::stderr(), "inodetrace: {}", record.args());
    }

    fn flush(&self) {}
}

/// Messages waiting in the kernel.
pub(super) struct Messages(Option<EbpfLogger<Stderr>>);

impl Messages {
    pub(super) fn new(ebpf: &mut Ebpf, wanted: bool) -> Self {
        Self(
            wanted
                .then(|| EbpfLogger::init_with_logger(ebpf, Stderr).ok())
                .flatten(),
        )
    }

    /// Prints those that have come in.
    pub(super) fn print(&mut self) {
        if let Some(logger) = &mut self.0 {
            logger.flush();
        }
    }
}
