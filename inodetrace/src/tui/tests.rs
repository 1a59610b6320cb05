use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{Terminal, backend::TestBackend};

use super::{
    action::{Action, Event},
    app::update,
    keys::{BINDINGS, Command, command},
    state::{Mode, State},
    view,
};
use crate::{
    column::{Basis, Column},
    fake::{self, Fake},
    model::Snapshot,
    plain::tests::scope,
    sampler::Sampler,
    units::Look,
};

const SECOND: Duration = Duration::from_secs(1);

/// A terminal of that size after `seconds` of the fake kernel.
struct Session<'a> {
    state: State,
    sampler: Sampler<'a>,
    seconds: i64,
}

impl<'a> Session<'a> {
    fn new(fake: &'a Fake, size: (u16, u16), look: Look) -> Self {
        let sampler = Sampler::start(fake, &scope(&[])).unwrap();
        let state = State::new(fake::host(), sampler.plan().clone(), look, SECOND);
        let mut session = Self {
            state,
            sampler,
            seconds: 0,
        };
        session.send(Event::Resize(size.0, size.1));
        session
    }

    fn send(&mut self, event: Event) -> Action {
        update(&mut self.state, event)
    }

    fn run(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.seconds += 1;
            let start: jiff::Timestamp = "2026-12-01T10:00:00Z".parse().unwrap();
            let at = start + jiff::SignedDuration::from_secs(self.seconds);
            let sample = self.sampler.sample(at).unwrap();
            self.send(Event::Sample(Box::new(sample)));
        }
    }

    fn press(&mut self, code: KeyCode) -> Action {
        self.send(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.press(KeyCode::Char(c));
        }
    }

    fn screen(&self) -> String {
        let (width, height) = self.state.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|f| view::draw(f, &self.state)).unwrap();
        if width == 0 {
            return String::new(); // which the test backend cannot print
        }
        terminal.backend().to_string()
    }

    /// Type, label and site of the rows, top first.
    fn rows(&self) -> Vec<String> {
        use crate::vocab::SiteExt as _;
        let rows = &self.state.picture().rows;
        self.state
            .order
            .iter()
            .map(|&i| format!("{} {}", rows[i].label, rows[i].site.id()))
            .collect()
    }
}

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 50);

fn at_both_sizes(name: &str, steps: impl Fn(&mut Session<'_>)) {
    for size in [SMALL, LARGE] {
        let fake = Fake::default();
        let mut session = Session::new(&fake, size, Look::default());
        session.run(12);
        steps(&mut session);
        insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), session.screen());
    }
}

#[test]
fn normal() {
    at_both_sizes("normal", |_| {});
}

#[test]
fn paused_and_filtered() {
    at_both_sizes("paused_filter", |s| {
        s.press(KeyCode::Char(' '));
        s.press(KeyCode::Char('/'));
        s.type_text("tmpfs");
        s.run(3);
    });
}

#[test]
fn help() {
    at_both_sizes("help", |s| {
        s.press(KeyCode::Char('?'));
    });
}

#[test]
fn not_observed() {
    at_both_sizes("not_observed", |s| {
        s.press(KeyCode::Char('n'));
    });
}

#[test]
fn since_the_start_with_idle_rows_and_a_cursor() {
    at_both_sizes("total_idle", |s| {
        s.press(KeyCode::Char('t'));
        s.press(KeyCode::Char('i'));
        s.press(KeyCode::Down);
        s.press(KeyCode::Down);
    });
}

#[test]
fn ascii_is_ascii() {
    let fake = Fake::default();
    let look = Look {
        ascii: true,
        color: false,
    };
    let mut session = Session::new(&fake, SMALL, look);
    session.run(5);
    session.press(KeyCode::Down);
    // The test backend quotes lines, which is ASCII too.
    assert!(session.screen().is_ascii(), "{}", session.screen());
    for key in ['?', 'n'] {
        session.press(KeyCode::Char(key));
        assert!(session.screen().is_ascii(), "{}", session.screen());
    }
}

#[test]
fn without_colour_there_is_none() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    session.run(3);
    session.press(KeyCode::Down);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|f| view::draw(f, &session.state)).unwrap();
    use ratatui::style::Color;
    for cell in terminal.backend().buffer().content() {
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
    }
}

#[test]
fn every_size_draws() {
    let fake = Fake::default();
    for key in [None, Some('?'), Some('n'), Some('/')] {
        let mut session = Session::new(&fake, SMALL, Look::default());
        session.run(2);
        if let Some(key) = key {
            session.press(KeyCode::Char(key));
        }
        for width in (0..100).step_by(3).chain([1, 33, 34, 35, 300]) {
            for height in [0, 1, 2, 7, 8, 9, 24] {
                session.send(Event::Resize(width, height));
                session.press(KeyCode::Down);
                session.screen();
            }
        }
    }
}

#[test]
fn before_the_first_interval_it_says_so() {
    let fake = Fake::default();
    let session = Session::new(&fake, SMALL, Look::default());
    assert!(
        session
            .screen()
            .contains("the first interval has not ended")
    );
}

#[test]
fn nothing_counted_is_not_nothing_there() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    session.run(2);
    session.press(KeyCode::Char('/'));
    session.type_text("xfs");
    assert!(session.screen().contains("no row contains \"xfs\""));
}

#[test]
fn quit_keys() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    assert_eq!(session.press(KeyCode::Char('q')), Action::Quit);
    let ctrl_c = || Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    for mode in [Mode::Table, Mode::Filter, Mode::Help, Mode::NotObserved] {
        session.state.mode = mode;
        assert_eq!(session.send(ctrl_c()), Action::Quit);
    }
    // In the filter q is a letter, in a popup it closes the popup.
    session.state.mode = Mode::Filter;
    assert_eq!(session.press(KeyCode::Char('q')), Action::None);
    assert_eq!(session.state.filter, "q");
    session.state.mode = Mode::Help;
    assert_eq!(session.press(KeyCode::Char('q')), Action::None);
    assert_eq!(session.state.mode, Mode::Table);
}

#[test]
fn sorting_by_every_column_keeps_nulls_last() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    session.run(3);
    let mut seen = vec![];
    for _ in 0..13 {
        session.press(KeyCode::Right);
        seen.push(session.state.sort);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 13);
    while session.state.sort != Column::Calls {
        session.press(KeyCode::Char('<'));
    }
    let rows = session.rows();
    assert_eq!(rows[0], "sockfs evict");
    let uncounted = |rows: &[String]| rows[rows.len() - 2..].to_vec();
    assert_eq!(uncounted(&rows), ["/tmp sb_list_add", "/tmp sb_list_del"]);
    session.press(KeyCode::Char('r'));
    let rows = session.rows();
    assert_eq!(rows[0], "pipefs evict");
    assert_eq!(uncounted(&rows), ["/tmp sb_list_add", "/tmp sb_list_del"]);
}

#[test]
fn by_default_the_contended_come_first() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    session.run(3);
    assert_eq!(session.rows()[0], "/tmp sb_list_add");
}

#[test]
fn the_filter_is_incremental_and_can_be_dropped() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    session.run(2);
    let all = session.rows().len();
    session.press(KeyCode::Char('/'));
    session.type_text("TMP hash");
    assert_eq!(session.rows(), ["/tmp hash_insert"]);
    session.press(KeyCode::Backspace);
    session.press(KeyCode::Enter);
    assert_eq!(session.state.filter, "TMP has");
    session.press(KeyCode::Esc);
    assert_eq!(session.rows().len(), all);
    // A lock class finds its sites.
    session.press(KeyCode::Char('/'));
    session.type_text("sb-lru");
    assert_eq!(session.rows().len(), 2);
}

#[test]
fn pause_holds_the_picture_and_loses_nothing() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    session.run(2);
    session.press(KeyCode::Char(' '));
    let held = session.screen();
    assert!(held.contains("[PAUSED]"));
    session.run(3);
    assert_eq!(session.screen(), held);
    session.press(KeyCode::Char(' '));
    assert!(!session.screen().contains("[PAUSED]"));
    let key = session.state.picture().rows[0].key();
    assert_eq!(session.state.picture().history.last(key, 60).len(), 5);
    assert_eq!(session.state.picture().total_seconds, 5.0);
}

#[test]
fn idle_rows_go_and_come() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    session.run(2);
    let pipes = |s: &Session<'_>| s.rows().iter().filter(|r| r.starts_with("pipefs")).count();
    // The pipes of the first second are still in the history, zeros of theirs are not shown.
    assert_eq!(pipes(&session), 2);
    session.run(60);
    assert_eq!(pipes(&session), 0);
    assert!(session.state.hidden_idle > 0);
    session.press(KeyCode::Char('t'));
    assert_eq!(session.state.basis, Basis::Total);
    assert_eq!(pipes(&session), 2);
    session.press(KeyCode::Char('i'));
    assert_eq!(session.state.hidden_idle, 0);
    assert!(pipes(&session) > 2);
}

#[test]
fn the_interval_goes_by_steps() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    let slower = Action::Interval(Duration::from_secs(2));
    assert_eq!(session.press(KeyCode::Char('+')), slower);
    assert_eq!(session.press(KeyCode::Char('-')), Action::Interval(SECOND));
    for _ in 0..20 {
        session.press(KeyCode::Char('-'));
    }
    assert_eq!(session.state.interval, Duration::from_millis(100));
    assert_eq!(session.press(KeyCode::Char('-')), Action::None);
}

#[test]
fn the_cursor_stays_with_its_row() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, (80, 12), Look::default());
    session.run(2);
    session.press(KeyCode::Char('i'));
    session.press(KeyCode::End);
    let last = session.rows().len() - 1;
    assert_eq!(session.state.cursor(), Some(last));
    assert_eq!(session.state.offset, last + 1 - session.state.page());
    let row = session.rows()[last].clone();
    session.press(KeyCode::Char('r'));
    let at = session.state.cursor().unwrap();
    assert_eq!(session.rows()[at], row);
    assert!(session.state.offset <= at && at < session.state.offset + session.state.page());
    session.press(KeyCode::PageUp);
    session.press(KeyCode::Home);
    assert_eq!((session.state.cursor(), session.state.offset), (Some(0), 0));
}

#[test]
fn popups_scroll_to_their_end_and_no_further() {
    let fake = Fake::default();
    let mut session = Session::new(&fake, SMALL, Look::default());
    session.press(KeyCode::Char('?'));
    session.press(KeyCode::End);
    let screen = session.screen();
    assert!(screen.contains("counted, and there was none"), "{screen}");
    session.press(KeyCode::Down);
    assert_eq!(session.screen(), screen);
    session.press(KeyCode::Char('n'));
    assert_eq!(
        (session.state.mode, session.state.scroll),
        (Mode::NotObserved, 0)
    );
    session.press(KeyCode::Esc);
    assert_eq!(session.state.mode, Mode::Table);
}

#[test]
fn losses_are_told_in_words() {
    let plan = fake::plan();
    let mut after: Snapshot = fake::snapshot(1);
    after.losses.map_full = 3;
    let fake = Fake::default();
    let mut session = Session::new(&fake, LARGE, Look::default());
    session.run(1);
    assert!(session.screen().contains("losses: none"));
    let delta = crate::delta::Delta::between(&fake::snapshot(0), &after);
    let sample = crate::sampler::Sample {
        at: jiff::Timestamp::UNIX_EPOCH,
        seconds: 1.0,
        total_seconds: 1.0,
        rows: vec![],
        caveats: crate::caveat::caveats(&delta, &Default::default()),
        interval: delta,
    };
    session.send(Event::Sample(Box::new(sample)));
    let screen = session.screen();
    assert!(screen.contains("LOST: 3 passes or samples"), "{screen}");
    assert!(plan.site(inodetrace_common::Site::Evict).is_some());
}

#[test]
fn no_key_has_two_meanings() {
    let mut codes: Vec<String> = BINDINGS
        .iter()
        .flat_map(|b| b.codes)
        .map(|c| format!("{c:?}"))
        .collect();
    let all = codes.len();
    codes.sort();
    codes.dedup();
    assert_eq!(codes.len(), all);
    let alt_q = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::ALT);
    assert_eq!(command(alt_q), None);
    let f1 = KeyEvent::new(KeyCode::F(1), KeyModifiers::NONE);
    assert_eq!(command(f1), Some(Command::Help));
}
