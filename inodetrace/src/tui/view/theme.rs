//! Colours and attributes. Every sign that a colour gives is given by text as well.

use ratatui::style::{Color, Modifier, Style};

use crate::units::Look;

/// How things look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Theme {
    pub(super) look: Look,
}

impl Theme {
    pub(super) const fn new(look: Look) -> Self {
        Self { look }
    }

    fn colored(self, color: Color) -> Style {
        if self.look.color {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }

    /// Headings.
    pub(super) fn heading(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Names of keys and of what is shown.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Losses, contention.
    pub(super) fn warning(self) -> Style {
        self.colored(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// What is not counted, what is secondary.
    pub(super) fn faint(self) -> Style {
        if self.look.color {
            Style::new().add_modifier(Modifier::DIM)
        } else {
            Style::new()
        }
    }

    /// Sparklines.
    pub(super) fn spark(self) -> Style {
        self.colored(Color::Cyan)
    }

    /// The row under the cursor.
    pub(super) fn cursor(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Marks the row under the cursor.
    pub(super) const fn cursor_mark(self) -> &'static str {
        if self.look.ascii { ">" } else { "▶" }
    }

    /// Marks the column sorted by.
    pub(super) const fn sort_mark(self, reverse: bool) -> &'static str {
        match (self.look.ascii, reverse) {
            (false, false) => "▼",
            (false, true) => "▲",
            (true, false) => "v",
            (true, true) => "^",
        }
    }

    /// Between parts of a line.
    pub(super) const fn dot(self) -> &'static str {
        if self.look.ascii { " | " } else { " · " }
    }
}
