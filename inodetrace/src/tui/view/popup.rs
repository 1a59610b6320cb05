//! The help, and the list of what is not observed.

use ratatui::{
    Frame,
    layout::Rect,
    symbols::border,
    text::{Line, Span},
    widgets::{Block, Clear, Paragraph},
};
use textwrap::Options;

use super::{
    super::{
        keys::BINDINGS,
        state::{Mode, State},
    },
    theme::Theme,
};
use crate::{
    column::Column,
    plan::{SitePlan, Status},
    vocab::SiteExt as _,
};

const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let lines = lines(state, area);
    let room = usize::from(area.height.saturating_sub(2));
    let more = lines.len().saturating_sub(state.scroll + room);
    let title = match state.mode {
        Mode::NotObserved => " Not observed: no number, which is not zero ",
        _ => " Help ",
    };
    let mut block = Block::bordered().title(Span::styled(title, theme.strong()));
    if state.look.ascii {
        block = block.border_set(ASCII_BORDER);
    }
    if more > 0 {
        block = block.title_bottom(format!(" {more} more lines: Down "));
    }
    let shown: Vec<Line<'_>> = lines
        .into_iter()
        .skip(state.scroll)
        .take(room)
        .map(|line| match line.strip_prefix('\u{1}') {
            Some(title) => Line::styled(title.to_owned(), theme.strong()),
            None => Line::raw(line),
        })
        .collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(shown).block(block), area);
}

/// The text of the open popup, wrapped to `area`; titles begin with U+0001.
pub(super) fn lines(state: &State, area: Rect) -> Vec<String> {
    let width = usize::from(area.width.saturating_sub(4)).max(10);
    let mut out = Lines {
        width,
        lines: Vec::new(),
    };
    match state.mode {
        Mode::NotObserved => not_observed(state, &mut out),
        _ => help(state, &mut out),
    }
    out.lines
}

struct Lines {
    width: usize,
    lines: Vec<String>,
}

impl Lines {
    fn title(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.lines.push(String::new());
        }
        self.lines.push(format!("\u{1} {text}"));
    }

    fn entry(&mut self, name: &str, text: &str) {
        let name = format!(" {name:<13} ");
        let indent = " ".repeat(15);
        let options = Options::new(self.width)
            .initial_indent(&name)
            .subsequent_indent(&indent);
        let wrapped = textwrap::wrap(text, options);
        self.lines
            .extend(wrapped.into_iter().map(std::borrow::Cow::into_owned));
    }
}

fn help(state: &State, out: &mut Lines) {
    out.title("Keys");
    for binding in &BINDINGS {
        out.entry(binding.name, binding.help);
    }
    out.title("Columns");
    for column in Column::ALL {
        out.entry(column.title(), column.meaning());
    }
    out.title("Signs");
    out.entry(
        state.look.null(),
        "not counted on this kernel, which is not zero; n tells why",
    );
    out.entry("(blank)", "counted, and no sample to take it from");
    out.entry("0", "counted, and there was none");
}

fn not_observed(state: &State, out: &mut Lines) {
    let mut passes = false;
    for (status, title) in [
        (Status::NotObservable, "Sites whose passes are not counted"),
        (Status::Absent, "Sites that this kernel does not have"),
    ] {
        let sites: Vec<&SitePlan> = state
            .plan
            .sites
            .iter()
            .filter(|s| s.status == status)
            .collect();
        if sites.is_empty() {
            continue;
        }
        passes = true;
        out.title(title);
        for site in sites {
            let mut text = site
                .reason
                .clone()
                .unwrap_or_else(|| "no reason is known".into());
            if site.contended.is_counted() {
                text.push_str(" (contention and waits are counted)");
            }
            out.entry(site.site.id(), &text);
        }
    }
    let partly: Vec<(&str, String)> = state
        .plan
        .sites
        .iter()
        .filter(|s| s.status == Status::Observed)
        .filter_map(|s| Some((s.site.id(), partly_counted(s)?)))
        .collect();
    if !partly.is_empty() {
        out.title("Sites of which some numbers are not counted");
        for (site, text) in partly {
            out.entry(site, &text);
        }
    }
    if !passes && out.lines.is_empty() {
        out.title("Every site is observed");
    }
    if !state.picture().caveats.is_empty() {
        out.title("Losses, and what else to know");
        for caveat in &state.picture().caveats {
            let name = if caveat.is_loss() { "LOST" } else { "note" };
            out.entry(name, &caveat.text());
        }
    }
}

/// The quantities of an observed site that are null, those with one reason together.
fn partly_counted(site: &SitePlan) -> Option<String> {
    let mut groups: Vec<(Vec<&str>, &str)> = Vec::new();
    for (name, quantity) in [
        ("calls", &site.calls),
        ("acquisitions", &site.acquisitions),
        ("contention", &site.contended),
        ("hold", &site.hold),
    ] {
        let Some(reason) = quantity.reason() else {
            continue;
        };
        match groups.iter_mut().find(|(_, r)| *r == reason) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], reason)),
        }
    }
    let parts: Vec<String> = groups
        .into_iter()
        .map(|(names, reason)| format!("{}: {reason}", names.join(", ")))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
