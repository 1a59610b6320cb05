//! The last line: the keys, or the filter being typed.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::Paragraph,
};
use unicode_width::UnicodeWidthStr as _;

use super::{
    super::{
        keys::BINDINGS,
        state::{Mode, State},
    },
    theme::Theme,
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let line = match state.mode {
        Mode::Filter => filter(state, area, theme),
        Mode::Help | Mode::NotObserved => Line::raw("Up Down PgUp PgDn scroll  Esc close"),
        Mode::Table => keys(state, area, theme),
    };
    frame.render_widget(Paragraph::new(line), area);
}

fn filter(state: &State, area: Rect, theme: Theme) -> Line<'static> {
    let hint = "  Enter keep, Esc drop";
    let room = usize::from(area.width).saturating_sub(hint.width() + 2);
    // The end of what is typed matters.
    let skip = state.filter.chars().count().saturating_sub(room);
    let typed: String = state.filter.chars().skip(skip).collect();
    Line::from(vec![
        Span::styled("/", theme.strong()),
        Span::raw(typed),
        Span::styled("_", theme.strong()),
        Span::styled(hint, theme.faint()),
    ])
}

fn keys(state: &State, area: Rect, theme: Theme) -> Line<'static> {
    let mut spans = Vec::new();
    let mut left = usize::from(area.width);
    if state.hidden_idle > 0 {
        let text = format!("{} idle rows hidden  ", state.hidden_idle);
        left = left.saturating_sub(text.width());
        spans.push(Span::styled(text, theme.faint()));
    }
    let mut names = String::new();
    for binding in &BINDINGS {
        names.push_str(binding.name);
        // Bindings without a word of their own stand before the one they share it with.
        if binding.short.is_empty() {
            continue;
        }
        let need = names.width() + 1 + binding.short.width() + 2;
        if need > left + 2 {
            break;
        }
        left = left.saturating_sub(need);
        spans.push(Span::styled(std::mem::take(&mut names), theme.strong()));
        spans.push(Span::raw(format!(" {}  ", binding.short)));
    }
    Line::from(spans)
}
