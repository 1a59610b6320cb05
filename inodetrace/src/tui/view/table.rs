//! The table.

use ratatui::{
    Frame,
    layout::{Alignment, Rect},
    style::Style,
    text::{Line, Span},
    widgets::Paragraph,
};
use unicode_width::UnicodeWidthStr as _;

use super::{
    super::state::{Picture, State},
    layout::{Placed, columns},
    spark,
    theme::Theme,
};
use crate::column::{Column, LiveRow};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let picture = state.picture();
    let room = usize::from(area.height.saturating_sub(1));
    let first = state.offset;
    let shown: Vec<&LiveRow> = state
        .order
        .iter()
        .skip(first)
        .take(room)
        .map(|&i| &picture.rows[i])
        .collect();
    // One column at the left is the cursor's.
    let columns = columns(area.width.saturating_sub(1), &shown);
    let mut lines = vec![headings(&columns, state, theme, area.width)];
    for row in &shown {
        lines.push(line(row, &columns, state, picture, theme, area.width));
    }
    frame.render_widget(Paragraph::new(lines), area);
    if shown.is_empty() {
        let below = Rect {
            y: area.y + (area.height / 2).max(1).min(area.height.saturating_sub(1)),
            height: 1,
            ..area
        };
        frame.render_widget(
            Paragraph::new(nothing(state)).alignment(Alignment::Center),
            below,
        );
    }
}

fn nothing(state: &State) -> String {
    if state.picture().at.is_none() {
        "counting; the first interval has not ended yet".into()
    } else if !state.filter.is_empty() && state.hidden_idle == 0 {
        format!("no row contains \"{}\"; Esc drops the filter", state.filter)
    } else if state.hidden_idle > 0 {
        format!("{} rows, all idle; i shows them", state.hidden_idle)
    } else {
        "no pass at any observed site yet; n tells what is not observed".into()
    }
}

fn headings(columns: &[Placed], state: &State, theme: Theme, width: u16) -> Line<'static> {
    let mut text = " ".to_owned();
    for placed in columns {
        let mark = if placed.column == state.sort {
            theme.sort_mark(state.reverse)
        } else {
            " "
        };
        if placed.column.is_text() {
            // Next to the word, not at the end of a wide column.
            let title = format!("{}{mark}", placed.column.title());
            text.push_str(&pad(&title, placed.width + 1, true));
        } else {
            text.push_str(&pad(placed.column.title(), placed.width, false));
            text.push_str(mark);
        }
    }
    Line::styled(pad(&text, width, true), theme.heading())
}

fn line(
    row: &LiveRow,
    columns: &[Placed],
    state: &State,
    picture: &Picture,
    theme: Theme,
    width: u16,
) -> Line<'static> {
    let look = state.look;
    let selected = state.selected == Some(row.key());
    let mut spans = vec![Span::raw(if selected { theme.cursor_mark() } else { " " })];
    for placed in columns {
        let Placed { column, width } = *placed;
        let (text, style) = if column == Column::Spark {
            let rates = picture.history.last(row.key(), usize::from(width));
            (
                spark::line(&rates, usize::from(width), look.ascii),
                theme.spark(),
            )
        } else {
            let cell = look.fit(&row.cell(column, state.basis, look), usize::from(width));
            let style = style(&cell, column, row, state, theme);
            (pad(&cell, width, column.is_text()), style)
        };
        spans.push(Span::styled(text, style));
        spans.push(Span::raw(" "));
    }
    let line = Line::from(spans);
    if selected {
        let fill = usize::from(width).saturating_sub(line.width());
        let mut line = line;
        line.push_span(Span::raw(" ".repeat(fill)));
        line.patch_style(theme.cursor())
    } else {
        line
    }
}

fn style(cell: &str, column: Column, row: &LiveRow, state: &State, theme: Theme) -> Style {
    let contended = row.figures(state.basis).contended.is_some_and(|c| c > 0.0);
    if cell == state.look.null() {
        theme.faint()
    } else if contended && matches!(column, Column::Contended | Column::ContendedShare) {
        theme.warning()
    } else {
        Style::new()
    }
}

/// `text` with blanks to `width` columns.
fn pad(text: &str, width: u16, left: bool) -> String {
    let blanks = " ".repeat(usize::from(width).saturating_sub(text.width()));
    if left {
        format!("{text}{blanks}")
    } else {
        format!("{blanks}{text}")
    }
}
