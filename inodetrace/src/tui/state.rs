//! Everything the screen shows.

use std::time::Duration;

use inodetrace_common::Site;
use jiff::Timestamp;

use super::{history::History, view::layout};
use crate::{
    backend::Host,
    caveat::Caveat,
    column::{Basis, Column, LiveRow},
    plan::{Plan, Status},
    sampler::Sample,
    series::Numbers,
    units::Look,
};

/// What the keys act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// The table.
    #[default]
    Table,
    /// The filter line; letters go into it.
    Filter,
    /// The help.
    Help,
    /// The list of what is not observed.
    NotObserved,
}

/// What was counted, as shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    /// When; `None` before the first interval ended.
    pub(super) at: Option<Timestamp>,
    /// Since counting began, seconds.
    pub(super) total_seconds: f64,
    /// All rows.
    pub(super) rows: Vec<LiveRow>,
    /// Reservations.
    pub(super) caveats: Vec<Caveat>,
    /// Rates of the last intervals.
    pub(super) history: History,
    /// Time spent waiting in the interval, as a share of it; more than 1 if several CPUs wait.
    pub(super) waiting: f64,
    /// The same since counting began.
    pub(super) total_waiting: f64,
}

/// The state of the screen.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) host: Host,
    pub(super) plan: Plan,
    pub(super) look: Look,
    pub(super) interval: Duration,
    pub(super) mode: Mode,
    /// Words that a row must contain.
    pub(super) filter: String,
    pub(super) sort: Column,
    pub(super) reverse: bool,
    pub(super) basis: Basis,
    pub(super) show_idle: bool,
    /// The newest picture.
    current: Picture,
    /// The one held still.
    frozen: Option<Picture>,
    /// Rows shown, as indices into the picture, in order.
    pub(super) order: Vec<usize>,
    /// Rows left out because they are idle.
    pub(super) hidden_idle: usize,
    /// The row the cursor is on; it stays with the row when the order changes.
    pub(super) selected: Option<(u32, Site)>,
    /// First row on the screen.
    pub(super) offset: usize,
    /// First line of the open popup.
    pub(super) scroll: usize,
    /// Width and height of the terminal.
    pub(super) size: (u16, u16),
}

impl State {
    pub(super) fn new(host: Host, plan: Plan, look: Look, interval: Duration) -> Self {
        Self {
            host,
            plan,
            look,
            interval,
            mode: Mode::default(),
            filter: String::new(),
            sort: Column::Contended,
            reverse: false,
            basis: Basis::default(),
            show_idle: false,
            current: Picture::default(),
            frozen: None,
            order: Vec::new(),
            hidden_idle: 0,
            selected: None,
            offset: 0,
            scroll: 0,
            size: (80, 24),
        }
    }

    /// What is shown: the newest picture, or the one held still.
    pub(super) fn picture(&self) -> &Picture {
        self.frozen.as_ref().unwrap_or(&self.current)
    }

    pub(super) const fn is_paused(&self) -> bool {
        self.frozen.is_some()
    }

    /// Holds the picture still, or lets it go on.
    pub(super) fn toggle_pause(&mut self) {
        self.frozen = match self.frozen.take() {
            Some(_) => None,
            None => Some(self.current.clone()),
        };
        self.arrange();
    }

    /// Takes what an interval showed.
    pub(super) fn take(&mut self, sample: &Sample) {
        let rows: Vec<LiveRow> = sample
            .rows
            .iter()
            .map(|row| LiveRow::new(row, sample.seconds, sample.total_seconds))
            .collect();
        self.current.history.push(&rows);
        self.current.at = Some(sample.at);
        self.current.total_seconds = sample.total_seconds;
        self.current.waiting = waiting(sample.rows.iter().map(|r| &r.interval), sample.seconds);
        self.current.total_waiting = waiting(
            sample.rows.iter().map(|r| &r.total.numbers),
            sample.total_seconds,
        );
        self.current.rows = rows;
        self.current.caveats.clone_from(&sample.caveats);
        if !self.is_paused() {
            self.arrange();
        }
    }

    /// Chooses and sorts the rows. To be called after every change that bears on it.
    pub(super) fn arrange(&mut self) {
        let picture = self.frozen.as_ref().unwrap_or(&self.current);
        let words: Vec<String> = self
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let mut hidden = 0;
        let mut order = Vec::new();
        for (i, row) in picture.rows.iter().enumerate() {
            if !matches(row, &words) {
                continue;
            }
            // One quiet interval does not make a row jump off the screen, a quiet history does.
            let idle = match self.basis {
                Basis::Interval => row.idle && picture.history.is_idle(row.key()),
                Basis::Total => row.never,
            };
            if idle && !self.show_idle {
                hidden += 1;
                continue;
            }
            order.push(i);
        }
        order.sort_by(|&a, &b| {
            picture.rows[a].compare(&picture.rows[b], self.sort, self.basis, self.reverse)
        });
        self.order = order;
        self.hidden_idle = hidden;
        self.keep_cursor();
    }

    /// Rows that the screen has room for.
    pub(super) fn page(&self) -> usize {
        layout::table_rows(self.size)
    }

    /// Position of the cursor among the rows shown.
    pub(super) fn cursor(&self) -> Option<usize> {
        let selected = self.selected?;
        let rows = &self.picture().rows;
        self.order.iter().position(|&i| rows[i].key() == selected)
    }

    /// Puts the cursor on the row at `position`, or the last one.
    pub(super) fn move_cursor(&mut self, position: usize) {
        let last = self.order.len().saturating_sub(1);
        let rows = &self.picture().rows;
        self.selected = self.order.get(position.min(last)).map(|&i| rows[i].key());
        self.keep_cursor();
    }

    /// Scrolls so that the cursor is seen; without one, the top is.
    fn keep_cursor(&mut self) {
        let page = self.page().max(1);
        match self.cursor() {
            Some(at) => {
                let first = (at + 1).saturating_sub(page);
                self.offset = self.offset.clamp(first, at);
            }
            None => self.offset = 0,
        }
        self.offset = self.offset.min(self.order.len().saturating_sub(page));
    }

    /// Sites whose passes are counted, and all there are.
    pub(super) fn observed(&self) -> (usize, usize) {
        let observed = |s: &&crate::plan::SitePlan| s.status == Status::Observed;
        (
            self.plan.sites.iter().filter(observed).count(),
            self.plan.sites.len(),
        )
    }
}

/// Time spent waiting as a share of `seconds`.
fn waiting<'a>(numbers: impl Iterator<Item = &'a Numbers>, seconds: f64) -> f64 {
    let ns = numbers
        .filter_map(|n| n.wait.as_ref())
        .fold(0, |sum: u64, wait| sum.saturating_add(wait.sum_ns));
    if seconds > 0.0 {
        ns as f64 / 1e9 / seconds
    } else {
        0.0
    }
}

fn matches(row: &LiveRow, words: &[String]) -> bool {
    use crate::vocab::SiteExt as _;
    let lock = row.site.lock().map_or("", |l| l.id());
    let text = format!("{} {} {} {lock}", row.fstype, row.label, row.site.id()).to_lowercase();
    words.iter().all(|w| text.contains(w))
}
