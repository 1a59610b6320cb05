//! What events do to the state.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::{
    action::{Action, Event},
    keys::{self, Command},
    state::{Mode, State},
    view,
};
use crate::column::{Basis, Column};

/// Intervals that the keys step through, ms.
const STEPS_MS: [u64; 9] = [100, 250, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/// The one way the state changes.
pub(super) fn update(state: &mut State, event: Event) -> Action {
    match event {
        Event::Sample(sample) => state.take(&sample),
        Event::Resize(width, height) => {
            state.size = (width, height);
            state.arrange();
        }
        Event::Key(key) if key.kind == KeyEventKind::Release => {}
        Event::Key(key) => return on_key(state, key),
    }
    Action::None
}

fn on_key(state: &mut State, key: KeyEvent) -> Action {
    if keys::is_interrupt(key) {
        return Action::Quit;
    }
    if state.mode == Mode::Filter {
        edit_filter(state, key);
        return Action::None;
    }
    let Some(command) = keys::command(key) else {
        return Action::None;
    };
    match state.mode {
        Mode::Help | Mode::NotObserved => in_popup(state, command),
        Mode::Table | Mode::Filter => in_table(state, command),
    }
}

fn edit_filter(state: &mut State, key: KeyEvent) {
    match key.code {
        KeyCode::Enter => state.mode = Mode::Table,
        KeyCode::Esc => {
            state.filter.clear();
            state.mode = Mode::Table;
        }
        KeyCode::Backspace => {
            state.filter.pop();
        }
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => state.filter.clear(),
        KeyCode::Char(c)
            if !key
                .modifiers
                .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) =>
        {
            state.filter.push(c);
        }
        _ => {}
    }
    state.arrange();
}

fn in_popup(state: &mut State, command: Command) -> Action {
    let page = usize::from(state.size.1.saturating_sub(6)).max(1);
    let last = view::popup_lines(state).saturating_sub(page);
    let at = state.scroll;
    match command {
        // The key that opened it closes it as well.
        Command::Quit | Command::Leave => state.mode = Mode::Table,
        Command::Help if state.mode == Mode::Help => state.mode = Mode::Table,
        Command::NotObserved if state.mode == Mode::NotObserved => state.mode = Mode::Table,
        Command::Help => open(state, Mode::Help),
        Command::NotObserved => open(state, Mode::NotObserved),
        Command::Up => state.scroll = at.saturating_sub(1),
        Command::Down => state.scroll = (at + 1).min(last),
        Command::PageUp => state.scroll = at.saturating_sub(page),
        Command::PageDown => state.scroll = (at + page).min(last),
        Command::Top => state.scroll = 0,
        Command::Bottom => state.scroll = last,
        _ => {}
    }
    Action::None
}

fn open(state: &mut State, mode: Mode) {
    state.mode = mode;
    state.scroll = 0;
}

fn in_table(state: &mut State, command: Command) -> Action {
    let page = state.page().max(1);
    // The first step down puts the cursor on the first row.
    let at = state.cursor();
    let up = |by: usize| at.unwrap_or(0).saturating_sub(by);
    let down = |by: usize| at.map_or(by - 1, |at| at + by);
    match command {
        Command::Quit => return Action::Quit,
        Command::Help => open(state, Mode::Help),
        Command::NotObserved => open(state, Mode::NotObserved),
        Command::Filter => state.mode = Mode::Filter,
        Command::Leave => {
            if state.filter.is_empty() {
                state.selected = None;
            }
            state.filter.clear();
            state.arrange();
        }
        Command::Pause => state.toggle_pause(),
        Command::SortLeft => sort_by_neighbour(state, -1),
        Command::SortRight => sort_by_neighbour(state, 1),
        Command::Reverse => {
            state.reverse = !state.reverse;
            state.arrange();
        }
        Command::Idle => {
            state.show_idle = !state.show_idle;
            state.arrange();
        }
        Command::Total => {
            state.basis = match state.basis {
                Basis::Interval => Basis::Total,
                Basis::Total => Basis::Interval,
            };
            state.arrange();
        }
        Command::Slower => return step(state, 1),
        Command::Faster => return step(state, -1),
        Command::Up => state.move_cursor(up(1)),
        Command::Down => state.move_cursor(down(1)),
        Command::PageUp => state.move_cursor(up(page)),
        Command::PageDown => state.move_cursor(down(page)),
        Command::Top => state.move_cursor(0),
        Command::Bottom => state.move_cursor(usize::MAX),
    }
    Action::None
}

/// Steps through all columns, shown or not, round the ends.
fn sort_by_neighbour(state: &mut State, step: isize) {
    let columns: Vec<Column> = Column::ALL
        .into_iter()
        .filter(|c| c.is_sortable())
        .collect();
    let at = columns.iter().position(|c| *c == state.sort).unwrap_or(0);
    let next = (at + columns.len()).saturating_add_signed(step) % columns.len();
    state.sort = columns[next];
    state.reverse = false;
    state.arrange();
}

fn step(state: &mut State, by: isize) -> Action {
    let now = u64::try_from(state.interval.as_millis()).unwrap_or(u64::MAX);
    let next = if by > 0 {
        STEPS_MS.into_iter().find(|&ms| ms > now)
    } else {
        STEPS_MS.into_iter().rev().find(|&ms| ms < now)
    };
    match next {
        Some(ms) => {
            state.interval = Duration::from_millis(ms);
            Action::Interval(state.interval)
        }
        None => Action::None,
    }
}
