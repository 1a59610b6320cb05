//! Being told to stop. The handlers stay from the first VM on, so that no QEMU outlives us; whoever
//! runs several VMs asks in between.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static SEEN: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// Starts to listen, if that was not done before.
pub(super) fn listen() -> anyhow::Result<()> {
    if SEEN.get().is_some() {
        return Ok(());
    }
    let seen = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let number = usize::try_from(signal)?;
        signal_hook::flag::register_usize(signal, Arc::clone(&seen), number)
            .context("signal handler")?;
    }
    let _ = SEEN.set(seen);
    Ok(())
}

/// The signal that told us to stop.
pub(crate) fn seen() -> Option<u8> {
    match SEEN.get().map_or(0, |seen| seen.load(Ordering::Relaxed)) {
        0 => None,
        number => u8::try_from(number).ok(),
    }
}
