//! What goes into the state and what comes out.

use std::time::Duration;

use crossterm::event::KeyEvent;

use crate::sampler::Sample;

/// Something happened.
#[derive(Debug)]
pub(super) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// The terminal has this width and height now.
    Resize(u16, u16),
    /// An interval ended.
    Sample(Box<Sample>),
}

/// What the loop is to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Draw and go on.
    None,
    /// End.
    Quit,
    /// Go on with this interval.
    Interval(Duration),
}
