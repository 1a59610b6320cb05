//! The three lines at the top: machine and time, totals, what is missing.

use inodetrace_common::Site;
use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::Paragraph,
};

use super::{super::state::State, theme::Theme};
use crate::{
    caveat::Caveat,
    column::Basis,
    plan::Quantity,
    units::{percent, rate},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: Theme) {
    let lines = [
        machine(state, theme),
        totals(state, theme),
        missing(state, theme),
    ];
    frame.render_widget(Paragraph::new(lines.to_vec()), area);
}

fn machine(state: &State, theme: Theme) -> Line<'static> {
    let mut spans = Vec::new();
    // First, so that it is never cut off.
    if state.is_paused() {
        spans.push(Span::styled("[PAUSED] ", theme.warning()));
    }
    spans.push(Span::styled("inodetrace ", theme.strong()));
    let dot = theme.dot();
    let cpus = match state.host.cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let basis = match state.basis {
        Basis::Interval => "",
        Basis::Total => "numbers since the start",
    };
    let mut parts = vec![
        state.host.kernel.clone(),
        cpus,
        format!("every {:?}", state.interval),
        format!("{:.0} s", state.picture().total_seconds),
    ];
    if let Some(at) = state.picture().at {
        parts.push(at.strftime("%H:%M:%S UTC").to_string());
    }
    if !basis.is_empty() {
        parts.insert(0, basis.to_owned());
    }
    spans.push(Span::raw(parts.join(dot)));
    Line::from(spans)
}

fn totals(state: &State, theme: Theme) -> Line<'static> {
    let picture = state.picture();
    // A sum over superblocks is counted if its site is.
    let calls = |site: Site| -> Option<f64> {
        let counted = state.plan.site(site)?.calls.is_counted();
        let of_site = picture.rows.iter().filter(|r| r.site == site);
        counted.then(|| {
            of_site
                .filter_map(|r| r.figures(state.basis).calls)
                .sum::<f64>()
        })
    };
    let counted: Vec<f64> = picture
        .rows
        .iter()
        .filter_map(|r| r.figures(state.basis).contended)
        .collect();
    let anywhere = state.plan.sites.iter().any(|s| s.contended.is_counted());
    let contended = anywhere.then(|| counted.iter().sum::<f64>());
    let waiting = anywhere.then_some(match state.basis {
        Basis::Interval => picture.waiting,
        Basis::Total => picture.total_waiting,
    });
    let dot = theme.dot();
    let look = state.look;
    let busy = contended.is_some_and(|c| c > 0.0);
    // What hurts comes first, where it is never cut off.
    Line::from(vec![
        Span::styled(
            format!("contended {}/s", look.or_null(contended, rate)),
            if busy {
                theme.warning()
            } else {
                theme.strong()
            },
        ),
        Span::raw(format!(
            "{dot}waiting {} of one CPU{dot}evict {}/s{dot}alloc {}/s",
            look.or_null(waiting, percent_of_cpu),
            look.or_null(calls(Site::Evict), rate),
            look.or_null(calls(Site::Alloc), rate),
        )),
    ])
}

/// More than all of one CPU is possible when several wait.
fn percent_of_cpu(share: f64) -> String {
    if share > 1.0 {
        format!("{:.0}%", share * 100.0)
    } else {
        percent(share)
    }
}

fn missing(state: &State, theme: Theme) -> Line<'static> {
    let (observed, all) = state.observed();
    let losses: Vec<&Caveat> = state
        .picture()
        .caveats
        .iter()
        .filter(|c| c.is_loss())
        .collect();
    let dot = theme.dot();
    let mut spans = Vec::new();
    if !state.filter.is_empty() {
        spans.push(Span::styled(
            format!("filter: {}", state.filter),
            theme.strong(),
        ));
        spans.push(Span::raw(dot));
    }
    let text = format!("{observed} of {all} sites observed");
    if observed == all && state.plan.sites.iter().all(fully_counted) {
        spans.push(Span::raw(text));
    } else {
        spans.push(Span::styled(text, theme.strong()));
        spans.push(Span::raw(", n: why not all"));
    }
    spans.push(Span::raw(dot));
    match losses.as_slice() {
        [] => {
            let caveats = &state.picture().caveats;
            let unknown = caveats.contains(&Caveat::MissedProbesUnknown);
            spans.push(Span::raw(if unknown {
                "losses: none seen"
            } else {
                "losses: none"
            }));
        }
        [first, rest @ ..] => {
            let more = match rest.len() {
                0 => String::new(),
                n => format!(" (and {n} more: n)"),
            };
            spans.push(Span::styled(
                format!("LOST{more}: {}", first.text()),
                theme.warning(),
            ));
        }
    }
    Line::from(spans)
}

fn fully_counted(site: &crate::plan::SitePlan) -> bool {
    [&site.calls, &site.acquisitions, &site.contended]
        .into_iter()
        .all(Quantity::is_counted)
}
