//! Plain text tables.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use unicode_width::UnicodeWidthStr as _;

use crate::units::Look;

/// Blanks after each column.
const GAP: u16 = 2;

/// A column of a text table.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Heading.
    pub title: &'a str,
    /// Numbers stand at the right.
    pub right: bool,
    /// 0 for what is always shown; of the others, the largest is left out first.
    pub rank: usize,
}

impl<'a> Head<'a> {
    /// A column of text.
    pub const fn text(title: &'a str) -> Self {
        Self {
            title,
            right: false,
            rank: 0,
        }
    }

    /// A column of numbers.
    pub const fn number(title: &'a str, rank: usize) -> Self {
        Self {
            title,
            right: true,
            rank,
        }
    }
}

/// Draws a table without lines, each row on one line: columns that do not fit in the width are left
/// out by rank, and named below.
pub fn render_rows(
    heads: &[Head<'_>],
    rows: Vec<Vec<String>>,
    look: Look,
    width: Option<u16>,
) -> String {
    let need = |i: usize| -> usize {
        let cells = rows.iter().filter_map(|r| r.get(i)).map(|c| c.width());
        cells.max().unwrap_or(0).max(heads[i].title.width()) + usize::from(GAP)
    };
    let mut kept: Vec<usize> = (0..heads.len()).collect();
    let room = width.map_or(usize::MAX, |w| usize::from(w.saturating_add(GAP)));
    while kept.iter().map(|&i| need(i)).sum::<usize>() > room {
        let last = kept.iter().copied().max_by_key(|&i| heads[i].rank);
        match last.filter(|&i| heads[i].rank > 0) {
            Some(last) => kept.retain(|&i| i != last),
            None => break,
        }
    }
    let left_out: Vec<&str> = (0..heads.len())
        .filter(|i| !kept.contains(i))
        .map(|i| heads[i].title)
        .collect();
    let heads: Vec<Head<'_>> = kept.iter().map(|&i| heads[i]).collect();
    let rows = rows
        .into_iter()
        .map(|mut row| kept.iter().map(|&i| std::mem::take(&mut row[i])).collect())
        .collect();
    let mut text = render(&heads, rows, look, None);
    if !left_out.is_empty() {
        text.push_str(&format!("no room for {}\n", left_out.join(", ")));
    }
    text
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
            column.set_padding((0, GAP));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_go_by_rank_and_are_named() {
        let heads = [
            Head::text("NAME"),
            Head::number("A", 2),
            Head::number("B", 1),
            Head::number("C", 3),
        ];
        let rows = || vec![["x", "1", "2", "3"].map(String::from).to_vec()];
        let at = |width| render_rows(&heads, rows(), Look::default(), width);
        assert_eq!(at(None), "NAME  A  B  C\nx     1  2  3\n");
        assert_eq!(at(Some(13)), at(None));
        assert_eq!(at(Some(12)), "NAME  A  B\nx     1  2\nno room for C\n");
        assert_eq!(at(Some(7)), "NAME  B\nx     2\nno room for A, C\n");
        assert_eq!(at(Some(1)), "NAME\nx\nno room for A, B, C\n");
    }
}
