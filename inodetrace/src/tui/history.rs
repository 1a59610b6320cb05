//! The rates of the last intervals, for the sparklines.

use std::collections::{HashMap, VecDeque};

use inodetrace_common::Site;

use crate::column::LiveRow;

/// Intervals remembered: a minute at the default interval. Four bytes each and row.
pub(super) const SAMPLES: usize = 60;

/// Rates by row, the newest last.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    rates: HashMap<(u32, Site), VecDeque<f32>>,
}

impl History {
    /// Takes the rates of an interval.
    pub(super) fn push(&mut self, rows: &[LiveRow]) {
        for row in rows {
            // Neither calls nor contention are counted: nothing to draw.
            let Some(rate) = row.interval.activity() else {
                continue;
            };
            let rates = self.rates.entry(row.key()).or_default();
            if rates.len() == SAMPLES {
                rates.pop_front();
            }
            rates.push_back(rate as f32);
        }
    }

    /// The last rates of a row, at most `n`, the newest last.
    pub(super) fn last(&self, key: (u32, Site), n: usize) -> Vec<f32> {
        let Some(rates) = self.rates.get(&key) else {
            return Vec::new();
        };
        rates
            .iter()
            .skip(rates.len().saturating_sub(n))
            .copied()
            .collect()
    }

    /// Whether nothing happened in all that is remembered.
    pub(super) fn is_idle(&self, key: (u32, Site)) -> bool {
        self.rates
            .get(&key)
            .is_none_or(|rates| rates.iter().all(|r| *r == 0.0))
    }
}
