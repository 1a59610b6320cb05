//! A running source as a sequence of intervals.

use std::time::Duration;

use jiff::Timestamp;

use crate::{
    backend::{Backend, Mounts},
    caveat::{self, Caveat},
    delta::Delta,
    error::Error,
    model::{Snapshot, Source},
    mount_names::MountNames,
    options::Scope,
    plan::Plan,
    selection,
    series::{self, Numbers, Row},
};

/// What one interval showed.
#[derive(Clone, Debug)]
pub struct Sample {
    /// End of the interval.
    pub at: Timestamp,
    /// Length of the interval, seconds.
    pub seconds: f64,
    /// Time since counting began, seconds.
    pub total_seconds: f64,
    /// Everything seen since counting began.
    pub rows: Vec<SampleRow>,
    /// Reservations about the whole time, losses first.
    pub caveats: Vec<Caveat>,
    /// Losses of the interval, as counted.
    pub interval: Delta,
}

/// A row with the numbers of the interval and of the whole time.
#[derive(Clone, Debug)]
pub struct SampleRow {
    /// Numbers since counting began, and what they are of.
    pub total: Row,
    /// Numbers of the interval.
    pub interval: Numbers,
}

impl SampleRow {
    /// The row of the interval alone.
    pub fn interval_row(&self) -> Row {
        Row {
            numbers: self.interval.clone(),
            ..self.total.clone()
        }
    }
}

/// How long mount names are believed when no new superblock turns up.
const MOUNTS_FOR: f64 = 10.0;

/// Takes snapshots and subtracts them.
pub struct Sampler<'a> {
    backend: &'a dyn Backend,
    source: Box<dyn Source>,
    plan: Plan,
    scope: Scope,
    names: MountNames,
    named_superblocks: usize,
    named_at_ns: u64,
    first: Snapshot,
    previous: Snapshot,
}

impl<'a> Sampler<'a> {
    /// Starts counting.
    pub fn start(backend: &'a dyn Backend, scope: &Scope) -> Result<Self, Error> {
        let mut source = start(backend, scope)?;
        let plan = selection::select(source.plan().clone(), &scope.request);
        let first = take(source.as_mut())?;
        Ok(Self {
            backend,
            plan,
            scope: scope.clone(),
            names: MountNames::new(backend.mounts()),
            named_superblocks: first.superblocks.len(),
            named_at_ns: first.at_ns,
            previous: first.clone(),
            first,
            source,
        })
    }

    /// The plan as asked for.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Ends an interval, which began when the last one ended.
    pub fn sample(&mut self, at: Timestamp) -> Result<Sample, Error> {
        let now = take(self.source.as_mut())?;
        let age = Duration::from_nanos(now.at_ns.saturating_sub(self.named_at_ns)).as_secs_f64();
        if now.superblocks.len() != self.named_superblocks || age >= MOUNTS_FOR {
            let mounts: Mounts = self.backend.mounts();
            self.names.update(mounts);
            self.named_superblocks = now.superblocks.len();
            self.named_at_ns = now.at_ns;
        }
        let total = Delta::between(&self.first, &now);
        let interval = Delta::between(&self.previous, &now);
        let rows = series::rows(&total, &self.plan, &self.scope.superblocks, &mut self.names);
        let numbers = series::numbers_for(&rows, &interval, &self.plan);
        let sample = Sample {
            at,
            seconds: interval.seconds(),
            total_seconds: total.seconds(),
            rows: rows
                .into_iter()
                .zip(numbers)
                .filter_map(|(total, interval)| {
                    Some(SampleRow {
                        total,
                        interval: interval?,
                    })
                })
                .collect(),
            caveats: caveat::caveats(&total, &self.scope.request.tasks),
            interval,
        };
        self.previous = now;
        Ok(sample)
    }
}

/// Attaches; refuses when the plan as asked for would count nothing at all.
pub fn start(backend: &dyn Backend, scope: &Scope) -> Result<Box<dyn Source>, Error> {
    let source = backend.start(&scope.request)?;
    let plan = selection::select(source.plan().clone(), &scope.request);
    let anything = plan
        .sites
        .iter()
        .any(|s| s.calls.is_counted() || s.acquisitions.is_counted() || s.contended.is_counted());
    if anything {
        return Ok(source);
    }
    use crate::vocab::SiteExt as _;
    Err(Error::NothingToObserve {
        reasons: plan
            .sites
            .iter()
            .filter(|s| scope.request.sites.contains(&s.site))
            .map(|s| (s.site.id().to_owned(), s.reason.clone().unwrap_or_default()))
            .collect(),
    })
}

/// One snapshot.
pub fn take(source: &mut dyn Source) -> Result<Snapshot, Error> {
    source.snapshot().map_err(|e| Error::Snapshot {
        cause: format!("{e:#}"),
    })
}
