//! The real terminal: taken over, read, and always given back.

use std::{
    io::{self, Stdout},
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crossterm::{
    cursor, event, execute,
    terminal::{
        EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
    },
};
use ratatui::{Frame, Terminal, backend::CrosstermBackend};
use tokio::sync::mpsc;

use super::action::Event;
use crate::error::Error;

/// Keys and sizes waiting to be handled; more are dropped, which takes more than typing.
const QUEUE: usize = 1024;

/// The terminal in full-screen mode. Dropping it gives the terminal back, and so does a panic.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn open() -> Result<Self, Error> {
        restore_on_panic();
        let failed = |cause| Error::Terminal { cause };
        enable_raw_mode().map_err(failed)?;
        TAKEN.store(true, Ordering::SeqCst);
        // From here on `drop` undoes what was done.
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
        let screen = match terminal {
            Ok(terminal) => Self { terminal },
            Err(cause) => {
                restore();
                return Err(Error::Terminal { cause });
            }
        };
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide).map_err(failed)?;
        Ok(screen)
    }

    /// Width and height.
    pub(super) fn size(&self) -> Option<(u16, u16)> {
        size().ok()
    }

    /// Draws a frame; only what changed is sent.
    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> Result<(), Error> {
        self.terminal
            .draw(draw)
            .map(|_| ())
            .map_err(|cause| Error::Terminal { cause })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether the terminal is taken over.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back, once: a second time would move the cursor up, over what was said since.
/// Errors are of no use to anyone then.
fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// So that the message of a panic is seen, on a terminal that works.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}

/// Starts to read keys. The thread ends when the receiver is dropped or the terminal is gone.
pub(super) fn input() -> mpsc::Receiver<Event> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    thread::spawn(move || {
        while !sender.is_closed() {
            match event::poll(Duration::from_millis(200)) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(_) => return,
            }
            let event = match event::read() {
                Ok(event::Event::Key(key)) => Event::Key(key),
                Ok(event::Event::Resize(width, height)) => Event::Resize(width, height),
                Ok(_) => continue,
                Err(_) => return,
            };
            if let Err(mpsc::error::TrySendError::Closed(_)) = sender.try_send(event) {
                return;
            }
        }
    });
    receiver
}
