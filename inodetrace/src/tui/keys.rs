//! The keys: one table, from which the handling, the footer and the help are made.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Quit,
    Help,
    NotObserved,
    Filter,
    Leave,
    Pause,
    SortLeft,
    SortRight,
    Reverse,
    Idle,
    Total,
    Slower,
    Faster,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
}

/// One line of the table.
pub(super) struct Binding {
    /// Key codes; letters as typed.
    pub(super) codes: &'static [KeyCode],
    /// How the keys are called.
    pub(super) name: &'static str,
    /// What they do.
    pub(super) command: Command,
    /// The same in words.
    pub(super) help: &'static str,
    /// A word for the footer; empty for those not shown there.
    pub(super) short: &'static str,
}

const fn binding(
    codes: &'static [KeyCode],
    name: &'static str,
    command: Command,
    short: &'static str,
    help: &'static str,
) -> Binding {
    Binding {
        codes,
        name,
        command,
        help,
        short,
    }
}

use KeyCode::Char;

/// All keys. The footer shows them in this order as far as it has room.
pub(super) const BINDINGS: [Binding; 19] = [
    binding(
        &[Char('q')],
        "q",
        Command::Quit,
        "quit",
        "quit (Ctrl-C as well)",
    ),
    binding(
        &[Char('?'), Char('h'), KeyCode::F(1)],
        "?",
        Command::Help,
        "help",
        "this help",
    ),
    binding(
        &[Char('n')],
        "n",
        Command::NotObserved,
        "not observed",
        "what is not observed on this kernel, and why",
    ),
    binding(
        &[Char('/')],
        "/",
        Command::Filter,
        "filter",
        "show only rows that contain these words",
    ),
    binding(
        &[Char(' '), Char('p')],
        "space",
        Command::Pause,
        "pause",
        "hold the picture still; counting goes on",
    ),
    binding(
        &[KeyCode::Left, Char('<'), Char(',')],
        "<",
        Command::SortLeft,
        "",
        "sort by the column to the left (Left as well)",
    ),
    binding(
        &[KeyCode::Right, Char('>'), Char('.')],
        ">",
        Command::SortRight,
        "sort",
        "sort by the column to the right (Right as well)",
    ),
    binding(
        &[Char('r')],
        "r",
        Command::Reverse,
        "reverse",
        "turn the order round",
    ),
    binding(
        &[Char('i')],
        "i",
        Command::Idle,
        "idle",
        "show or hide rows without a pass in the history",
    ),
    binding(
        &[Char('t')],
        "t",
        Command::Total,
        "total",
        "numbers of the last interval, or since counting began",
    ),
    binding(
        &[Char('-'), Char('_')],
        "-",
        Command::Faster,
        "",
        "shorter interval",
    ),
    binding(
        &[Char('+'), Char('=')],
        "+",
        Command::Slower,
        "interval",
        "longer interval",
    ),
    binding(
        &[KeyCode::Up, Char('k')],
        "Up",
        Command::Up,
        "",
        "one row up (k)",
    ),
    binding(
        &[KeyCode::Down, Char('j')],
        "Down",
        Command::Down,
        "",
        "one row down (j)",
    ),
    binding(
        &[KeyCode::PageUp],
        "PgUp",
        Command::PageUp,
        "",
        "one page up",
    ),
    binding(
        &[KeyCode::PageDown],
        "PgDn",
        Command::PageDown,
        "",
        "one page down",
    ),
    binding(
        &[KeyCode::Home, Char('g')],
        "Home",
        Command::Top,
        "",
        "first row (g)",
    ),
    binding(
        &[KeyCode::End, Char('G')],
        "End",
        Command::Bottom,
        "",
        "last row (G)",
    ),
    binding(
        &[KeyCode::Esc],
        "Esc",
        Command::Leave,
        "",
        "close what is open; drop the filter",
    ),
];

/// What `key` does in the table and in popups.
pub(super) fn command(key: KeyEvent) -> Option<Command> {
    if is_interrupt(key) {
        return Some(Command::Quit);
    }
    if key
        .modifiers
        .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
    {
        return None;
    }
    BINDINGS
        .iter()
        .find(|b| b.codes.contains(&key.code))
        .map(|b| b.command)
}

/// Ctrl-C, which raw mode delivers as a key.
pub(super) fn is_interrupt(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == Char('c')
}
