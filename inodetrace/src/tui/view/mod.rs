//! Drawing. Nothing here changes the state.

mod footer;
mod header;
pub(super) mod layout;
mod popup;
mod spark;
mod table;
mod theme;

use ratatui::{Frame, layout::Rect, text::Line, widgets::Paragraph};

use self::theme::Theme;
use super::state::{Mode, State};

/// Draws the whole screen.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let area = frame.area();
    let theme = Theme::new(state.look);
    let Some(areas) = layout::areas(area) else {
        let text = layout::too_small(area);
        frame.render_widget(Paragraph::new(Line::raw(text)), area);
        return;
    };
    header::draw(frame, areas.header, state, theme);
    table::draw(frame, areas.table, state, theme);
    footer::draw(frame, areas.footer, state, theme);
    match state.mode {
        Mode::Help | Mode::NotObserved => popup::draw(frame, areas.popup, state, theme),
        Mode::Table | Mode::Filter => {}
    }
}

/// Lines that the open popup has in all.
pub(super) fn popup_lines(state: &State) -> usize {
    let (width, height) = state.size;
    layout::areas(Rect::new(0, 0, width, height))
        .map_or(0, |areas| popup::lines(state, areas.popup).len())
}
