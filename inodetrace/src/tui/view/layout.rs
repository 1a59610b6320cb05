//! What goes where.

use ratatui::layout::{Constraint, Layout, Margin, Rect};

use crate::column::{Column, LiveRow};

/// Smallest size at which anything useful can be shown.
const SMALLEST: (u16, u16) = (34, 8);
/// Lines above the table: three of header and the headings.
const HEADER: u16 = 3;
const HEADINGS: u16 = 1;
const FOOTER: u16 = 1;

/// The parts of the screen.
#[derive(Debug)]
pub(in crate::tui) struct Areas {
    pub(in crate::tui) header: Rect,
    /// Headings and rows.
    pub(in crate::tui) table: Rect,
    pub(in crate::tui) footer: Rect,
    /// For a popup, should there be one.
    pub(in crate::tui) popup: Rect,
}

/// The parts of `area`; `None` if it is too small.
pub(in crate::tui) fn areas(area: Rect) -> Option<Areas> {
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return None;
    }
    let [header, table, footer] = Layout::vertical([
        Constraint::Length(HEADER),
        Constraint::Min(1),
        Constraint::Length(FOOTER),
    ])
    .areas(area);
    // Lines of more than 100 columns are hard to read.
    let side = area.width.saturating_sub(100) / 2;
    let popup = area.inner(Margin {
        horizontal: side,
        vertical: 1,
    });
    Some(Areas {
        header,
        table,
        footer,
        popup,
    })
}

/// Rows of the table that a terminal of this width and height shows.
pub(in crate::tui) fn table_rows((_, height): (u16, u16)) -> usize {
    usize::from(height.saturating_sub(HEADER + HEADINGS + FOOTER))
}

/// What to say instead, as far as it fits.
pub(in crate::tui) fn too_small(area: Rect) -> String {
    let text = format!("too small: {}x{} needed", SMALLEST.0, SMALLEST.1);
    text.chars().take(usize::from(area.width)).collect()
}

/// A column with its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tui) struct Placed {
    pub(in crate::tui) column: Column,
    pub(in crate::tui) width: u16,
}

/// Widest that text columns grow.
const FSTYPE_MOST: u16 = 14;
const LABEL_MOST: u16 = 40;
const SPARK_MOST: u16 = super::super::history::SAMPLES as u16;

/// The columns that fit in `width`, in the order of the table: by priority, and what is left over
/// goes to the text that needs it, then to the sparkline. One column of space follows each.
pub(in crate::tui) fn columns(width: u16, rows: &[&LiveRow]) -> Vec<Placed> {
    let mut chosen: Vec<Column> = Vec::new();
    let mut left = width;
    for column in Column::BY_PRIORITY {
        let need = column.width() + 1;
        if need > left {
            break;
        }
        left -= need;
        chosen.push(column);
    }
    let longest = |f: fn(&LiveRow) -> &str| {
        use unicode_width::UnicodeWidthStr as _;
        let w = rows.iter().map(|r| f(r).width()).max().unwrap_or(0);
        u16::try_from(w).unwrap_or(u16::MAX)
    };
    Column::ALL
        .into_iter()
        .filter(|c| chosen.contains(c))
        .map(|column| {
            let wanted = match column {
                Column::Fstype => longest(|r| &r.fstype).min(FSTYPE_MOST),
                Column::Superblock => longest(|r| &r.label).min(LABEL_MOST),
                Column::Spark => SPARK_MOST,
                _ => 0,
            };
            let more = wanted.saturating_sub(column.width()).min(left);
            left -= more;
            Placed {
                column,
                width: column.width() + more,
            }
        })
        .collect()
}
