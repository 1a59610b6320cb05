//! `inodetrace report`: run files summarised. A file per format; each turns run files into text.

mod csv;
mod json;
mod table;

use crate::{
    args::Format,
    runfile::{RunFile, Series},
    units::Look,
};

/// All files, each with the name it was given by, as text.
pub fn render(
    files: &[(String, RunFile)],
    format: Format,
    look: Look,
    width: Option<u16>,
) -> String {
    match format {
        Format::Table => files
            .iter()
            .map(|(name, file)| table::render(name, file, look, width))
            .collect::<Vec<_>>()
            .join("\n"),
        Format::Json => files
            .iter()
            .map(|(name, file)| json::render(name, file))
            .collect(),
        Format::Csv => csv::render(files),
    }
}

/// Passes that did not take the lock.
fn skipped(s: &Series) -> Option<u64> {
    s.calls?.checked_sub(s.acquisitions?)
}

/// `part / whole`, 0 to 1; `None` where either is unknown or there is no whole.
fn share(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    let (part, whole) = (part?, whole?);
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
