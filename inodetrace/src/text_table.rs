//! Plain text tables.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::units::Look;

/// A column of a text table.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Heading.
    pub title: &'a str,
    /// Numbers stand at the right.
    pub right: bool,
}

impl<'a> Head<'a> {
    /// A column of text.
    pub const fn text(title: &'a str) -> Self {
        Self {
            title,
            right: false,
        }
    }

    /// A column of numbers.
    pub const fn number(title: &'a str) -> Self {
        Self { title, right: true }
    }
}

/// Draws a table without lines. With a width, long text is wrapped in its column.
pub fn render(
    heads: &[Head<'_>],
    rows: Vec<Vec<String>>,
    look: Look,
    width: Option<u16>,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    match width {
        None => table.set_content_arrangement(ContentArrangement::Disabled),
        Some(width) => table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width),
    };
    table.set_header(heads.iter().map(|h| h.title));
    table.add_rows(rows);
    for (i, head) in heads.iter().enumerate() {
        if let Some(column) = table.column_mut(i) {
            column.set_padding((0, 2));
            if head.right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    let text = table.trim_fmt();
    match text.split_once('\n') {
        Some((head, rest)) if look.color => format!("\x1b[1m{head}\x1b[0m\n{rest}\n"),
        _ => format!("{text}\n"),
    }
}
