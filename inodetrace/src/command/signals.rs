//! Signals that end a run.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Error;

/// The signals, from now on delivered here instead of killing the process.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// A request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Ctrl-C: a command in the same terminal has had it as well.
    Interrupt,
    /// SIGTERM, to this process alone.
    Terminate,
    /// SIGHUP: the terminal went away.
    Hangup,
}

impl Signals {
    /// Must be called within the tokio runtime.
    pub(crate) fn listen() -> Result<Self, Error> {
        let on = |kind| {
            signal(kind).map_err(|cause| Error::System {
                what: "cannot listen to signals",
                cause,
            })
        };
        Ok(Self {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hangup: on(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Stop {
        tokio::select! {
            _ = self.interrupt.recv() => Stop::Interrupt,
            _ = self.terminate.recv() => Stop::Terminate,
            _ = self.hangup.recv() => Stop::Hangup,
        }
    }
}

/// The single-threaded runtime that commands run on.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Error::System {
            what: "cannot start the event loop",
            cause,
        })
}
