//! The width to print to.

use std::io::{self, IsTerminal as _};

/// Columns of the terminal that standard output is; `None` when it is none, and then nothing is
/// wrapped or left out.
pub fn get() -> Option<u16> {
    if !io::stdout().is_terminal() {
        return None;
    }
    crossterm::terminal::size().ok().map(|(columns, _)| columns)
}
