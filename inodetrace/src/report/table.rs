//! For people.

use super::{share, skipped};
use crate::{
    runfile::{RunFile, Series, Summary},
    text_table::{self, Head},
    units::{Look, count, percent},
};

const HEADS: [Head<'_>; 15] = [
    Head::text("TYPE"),
    Head::text("SUPERBLOCK"),
    Head::text("SITE"),
    Head::number("CALLS", 1),
    Head::number("ACQ", 3),
    Head::number("SKIP%", 4),
    Head::number("CONT", 2),
    Head::number("CONT%", 6),
    Head::number("WAITp50", 10),
    Head::number("WAITp99", 5),
    Head::number("WAITmax", 9),
    Head::number("WAITsum", 8),
    Head::number("HOLDp50", 11),
    Head::number("HOLDp99", 7),
    Head {
        rank: 12,
        ..Head::text("HOLD")
    },
];

pub(super) fn render(name: &str, file: &RunFile, look: Look, width: Option<u16>) -> String {
    let mut text = heading(name, file);
    if file.series.is_empty() {
        text.push_str("No passes at any observed site.\n");
    } else {
        let mut series: Vec<&Series> = file.series.iter().collect();
        // Stable: within a superblock the sites keep the order of the file.
        series.sort_by_key(|s| (s.fstype.clone(), label(s), s.dev.clone()));
        let rows = series.into_iter().map(|s| cells(s, look)).collect();
        text.push_str(&text_table::render_rows(&HEADS, rows, look, width));
    }
    for status in ["not_observable", "absent"] {
        text.push_str(&unobserved(file, status, look, width));
    }
    let losses: Vec<&str> = file.caveats.iter().map(|c| c.text.as_str()).collect();
    text.push_str(&match losses.as_slice() {
        [] => "\nNothing was lost.\n".to_owned(),
        all => format!("\nTo be considered:\n  {}\n", all.join("\n  ")),
    });
    text
}

fn heading(name: &str, file: &RunFile) -> String {
    let mut text = format!(
        "{name}: {}, {:.1} s, kernel {} ({}, {} CPUs)\n",
        file.window.start, file.window.seconds, file.host.kernel, file.host.arch, file.host.cpus
    );
    if let Some(command) = &file.window.command {
        text.push_str(&format!("command: {}\n", command.join(" ")));
    }
    let f = &file.filters;
    let mut only = Vec::new();
    if !f.fstypes.is_empty() {
        only.push(format!("types {}", f.fstypes.join(", ")));
    }
    if !f.devs.is_empty() {
        only.push(format!("devices {}", f.devs.join(", ")));
    }
    if !only.is_empty() {
        text.push_str(&format!("only {}\n", only.join("; ")));
    }
    text.push('\n');
    text
}

fn label(s: &Series) -> String {
    let gone = if s.gone { " (gone)" } else { "" };
    match s.mounts.as_slice() {
        [] => format!("{}{gone}", s.sb),
        mounts => format!("{}{gone}", mounts.join(",")),
    }
}

fn cells(s: &Series, look: Look) -> Vec<String> {
    let number = |n: Option<u64>| look.or_null(n, count);
    // Counted, and still nothing to tell (no samples, no passes): an empty cell.
    let known = |n: Option<u64>| n.map(|n| look.time(n)).unwrap_or_default();
    let share_of = |part: Option<u64>, whole: Option<u64>| match (part, whole) {
        (Some(_), Some(_)) => share(part, whole).map(percent).unwrap_or_default(),
        _ => look.null().to_owned(),
    };
    let wait = |f: fn(&Summary) -> Option<u64>| look.or_null(s.wait.as_ref(), |w| known(f(w)));
    let hold =
        |f: fn(&Summary) -> Option<u64>| look.or_null(s.hold.as_ref(), |h| known(f(&h.times)));
    vec![
        s.fstype.clone(),
        look.fit(&label(s), 40),
        s.site.clone(),
        number(s.calls),
        number(s.acquisitions),
        share_of(skipped(s), s.calls),
        number(s.contended),
        share_of(s.contended, s.acquisitions),
        wait(|w| w.p50_ns),
        wait(|w| w.p99_ns),
        wait(|w| w.max_ns),
        wait(|w| (w.count > 0).then_some(w.sum_ns)),
        hold(|h| h.p50_ns),
        hold(|h| h.p99_ns),
        s.hold
            .as_ref()
            .map_or_else(|| look.null().to_owned(), |h| h.method.clone()),
    ]
}

fn unobserved(file: &RunFile, status: &str, look: Look, width: Option<u16>) -> String {
    let rows: Vec<Vec<String>> = file
        .sites
        .iter()
        .filter(|s| s.status == status)
        .map(|s| {
            vec![
                s.id.clone(),
                s.reason.clone().unwrap_or_else(|| "no reason given".into()),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let title = if status == "absent" {
        "Absent from this kernel"
    } else {
        "Not observed (not zero)"
    };
    let heads = [Head::text("SITE"), Head::text("REASON")];
    format!(
        "\n{title}:\n{}",
        text_table::render(&heads, rows, look, width)
    )
}
