//! The columns of the live tables, for the full screen and for plain text.

use std::cmp::Ordering;

use inodetrace_common::Site;

use crate::{
    model::LogHist,
    sampler::SampleRow,
    series::{Numbers, superblock_label},
    units::{Look, percent, rate},
    vocab::SiteExt as _,
};

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// Filesystem type.
    Fstype,
    /// Mount point or the kernel's name.
    Superblock,
    /// Site.
    Site,
    /// Passes per second.
    Calls,
    /// Acquisitions per second.
    Acquisitions,
    /// Share of passes without the lock.
    Skipped,
    /// Contended acquisitions per second.
    Contended,
    /// Share of acquisitions that were contended.
    ContendedShare,
    /// Median wait.
    WaitP50,
    /// 99 % quantile of the waits.
    WaitP99,
    /// Longest wait.
    WaitMax,
    /// Median hold time.
    HoldP50,
    /// 99 % quantile of the hold times.
    HoldP99,
    /// The rate over the last minute.
    Spark,
}

impl Column {
    /// All, in the order of the table.
    pub const ALL: [Self; 14] = [
        Self::Fstype,
        Self::Superblock,
        Self::Site,
        Self::Calls,
        Self::Acquisitions,
        Self::Skipped,
        Self::Contended,
        Self::ContendedShare,
        Self::WaitP50,
        Self::WaitP99,
        Self::WaitMax,
        Self::HoldP50,
        Self::HoldP99,
        Self::Spark,
    ];

    /// Which are kept when there is no room for all: the first of these.
    pub const BY_PRIORITY: [Self; 14] = [
        Self::Site,
        Self::Superblock,
        Self::Calls,
        Self::Contended,
        Self::WaitP99,
        Self::Fstype,
        Self::Acquisitions,
        Self::Skipped,
        Self::Spark,
        Self::ContendedShare,
        Self::HoldP99,
        Self::WaitMax,
        Self::WaitP50,
        Self::HoldP50,
    ];

    /// 0 for the names, which are always shown in text; the others by priority.
    pub fn rank(self) -> usize {
        match self {
            Self::Fstype | Self::Superblock | Self::Site => 0,
            _ => Self::BY_PRIORITY
                .iter()
                .position(|c| *c == self)
                .unwrap_or(usize::MAX),
        }
    }

    /// Heading.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Fstype => "TYPE",
            Self::Superblock => "SUPERBLOCK",
            Self::Site => "SITE",
            Self::Calls => "CALLS/S",
            Self::Acquisitions => "ACQ/S",
            Self::Skipped => "SKIP%",
            Self::Contended => "CONT/S",
            Self::ContendedShare => "CONT%",
            Self::WaitP50 => "WAITp50",
            Self::WaitP99 => "WAITp99",
            Self::WaitMax => "WAITmax",
            Self::HoldP50 => "HOLDp50",
            Self::HoldP99 => "HOLDp99",
            Self::Spark => "HISTORY",
        }
    }

    /// What it says, for the help.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Fstype => "filesystem type",
            Self::Superblock => "mount point, or the kernel's name where there is none",
            Self::Site => "what is done to the list",
            Self::Calls => "passes per second, lock taken or not",
            Self::Acquisitions => "passes per second that took the lock",
            Self::Skipped => "share of the passes that did not take it",
            Self::Contended => "acquisitions per second that had to wait",
            Self::ContendedShare => "their share of the acquisitions",
            Self::WaitP50 => "median of the waits",
            Self::WaitP99 => "99 % of the waits are no longer",
            Self::WaitMax => "longest wait",
            Self::HoldP50 => "median time the lock is held, an upper bound",
            Self::HoldP99 => "99 % of the hold times are no longer",
            Self::Spark => {
                "calls per second, or CONT/S where calls are not counted; newest at the right"
            }
        }
    }

    /// Whether text stands at the left; numbers stand at the right.
    pub const fn is_text(self) -> bool {
        matches!(
            self,
            Self::Fstype | Self::Superblock | Self::Site | Self::Spark
        )
    }

    /// Whether a table can be sorted by it.
    pub const fn is_sortable(self) -> bool {
        !matches!(self, Self::Spark)
    }

    /// Width it needs at least.
    pub const fn width(self) -> u16 {
        match self {
            Self::Fstype => 6,
            Self::Superblock => 10,
            Self::Site => 12,
            Self::Acquisitions => 5,
            Self::Skipped | Self::Contended | Self::ContendedShare => 6,
            Self::Calls
            | Self::WaitP50
            | Self::WaitP99
            | Self::WaitMax
            | Self::HoldP50
            | Self::HoldP99 => 7,
            Self::Spark => 8,
        }
    }
}

/// Quantiles of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Samples.
    pub count: u64,
    /// Median, ns; `None` without samples, as are the others.
    pub p50: Option<u64>,
    /// 99 % quantile, ns.
    pub p99: Option<u64>,
    /// Largest, ns.
    pub max: Option<u64>,
}

impl From<&LogHist> for Digest {
    fn from(h: &LogHist) -> Self {
        if h.count == 0 {
            return Self::default();
        }
        Self {
            count: h.count,
            p50: h.quantile(0.5),
            p99: h.quantile(0.99),
            max: h.extremes().map(|e| e.1),
        }
    }
}

/// The numbers of a row as they are shown; `None` is "not counted".
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Passes per second.
    pub calls: Option<f64>,
    /// Acquisitions per second.
    pub acquisitions: Option<f64>,
    /// Share of passes without the lock.
    pub skipped: Option<f64>,
    /// Contended acquisitions per second.
    pub contended: Option<f64>,
    /// Their share.
    pub contended_share: Option<f64>,
    /// Waits.
    pub wait: Option<Digest>,
    /// Hold times.
    pub hold: Option<Digest>,
}

impl Figures {
    /// Of `numbers` counted in `seconds`.
    pub fn new(numbers: &Numbers, seconds: f64) -> Self {
        let rate = |n: Option<u64>| {
            n.map(|n| {
                if seconds > 0.0 {
                    n as f64 / seconds
                } else {
                    0.0
                }
            })
        };
        Self {
            calls: rate(numbers.calls),
            acquisitions: rate(numbers.acquisitions),
            skipped: numbers.skipped_share(),
            contended: rate(numbers.contended),
            contended_share: numbers.contended_share(),
            wait: numbers.wait.as_ref().map(Digest::from),
            hold: numbers.hold.as_ref().map(Digest::from),
        }
    }

    /// The rate that stands for the row in a sparkline.
    pub fn activity(&self) -> Option<f64> {
        self.calls.or(self.contended)
    }

    /// Whether what the column shows is counted at all.
    fn is_counted(&self, column: Column) -> bool {
        match column {
            Column::Fstype | Column::Superblock | Column::Site | Column::Spark => true,
            Column::Calls => self.calls.is_some(),
            Column::Acquisitions => self.acquisitions.is_some(),
            Column::Skipped => self.calls.is_some() && self.acquisitions.is_some(),
            Column::Contended => self.contended.is_some(),
            Column::ContendedShare => self.contended.is_some() && self.acquisitions.is_some(),
            Column::WaitP50 | Column::WaitP99 | Column::WaitMax => self.wait.is_some(),
            Column::HoldP50 | Column::HoldP99 => self.hold.is_some(),
        }
    }

    fn number(&self, column: Column) -> Option<f64> {
        let ns = |d: Option<Digest>, f: fn(Digest) -> Option<u64>| d.and_then(f).map(|n| n as f64);
        match column {
            Column::Fstype | Column::Superblock | Column::Site | Column::Spark => None,
            Column::Calls => self.calls,
            Column::Acquisitions => self.acquisitions,
            Column::Skipped => self.skipped,
            Column::Contended => self.contended,
            Column::ContendedShare => self.contended_share,
            Column::WaitP50 => ns(self.wait, |d| d.p50),
            Column::WaitP99 => ns(self.wait, |d| d.p99),
            Column::WaitMax => ns(self.wait, |d| d.max),
            Column::HoldP50 => ns(self.hold, |d| d.p50),
            Column::HoldP99 => ns(self.hold, |d| d.p99),
        }
    }
}

/// A row of a live table.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveRow {
    /// Number of the superblock's slot.
    pub slot: u32,
    /// Filesystem type.
    pub fstype: String,
    /// Mount point or name.
    pub label: String,
    /// Site.
    pub site: Site,
    /// In the last interval.
    pub interval: Figures,
    /// Since counting began.
    pub total: Figures,
    /// Nothing was counted in the interval.
    pub idle: bool,
    /// Nothing was counted since counting began.
    pub never: bool,
}

impl LiveRow {
    /// From a row of a sample with these lengths in seconds.
    pub fn new(row: &SampleRow, seconds: f64, total_seconds: f64) -> Self {
        let total = &row.total;
        Self {
            slot: total.superblock.slot,
            fstype: total.superblock.fstype.clone(),
            label: superblock_label(&total.superblock, &total.mounts),
            site: total.site,
            interval: Figures::new(&row.interval, seconds),
            total: Figures::new(&total.numbers, total_seconds),
            idle: row.interval.is_idle(),
            never: total.numbers.is_idle(),
        }
    }

    /// What tells it from the other rows.
    pub const fn key(&self) -> (u32, Site) {
        (self.slot, self.site)
    }

    /// The figures of one of the two times.
    pub const fn figures(&self, basis: Basis) -> &Figures {
        match basis {
            Basis::Interval => &self.interval,
            Basis::Total => &self.total,
        }
    }

    /// The text of a column: the sign for "not counted", nothing where there is nothing to tell (a
    /// quantile without samples, a share of no passes), else the number.
    pub fn cell(&self, column: Column, basis: Basis, look: Look) -> String {
        match column {
            Column::Fstype => return self.fstype.clone(),
            Column::Superblock => return self.label.clone(),
            Column::Site => return self.site.id().into(),
            Column::Spark => return String::new(),
            _ => {}
        }
        let figures = self.figures(basis);
        match figures.number(column) {
            Some(n) => match column {
                Column::Skipped | Column::ContendedShare => percent(n),
                Column::Calls | Column::Acquisitions | Column::Contended => rate(n),
                _ => look.time(n as u64),
            },
            None if figures.is_counted(column) => String::new(),
            None => look.null().into(),
        }
    }

    /// Order by a column: numbers from the largest, text from A; what is not counted comes last
    /// either way.
    pub fn compare(&self, other: &Self, column: Column, basis: Basis, reverse: bool) -> Ordering {
        let turn = |o: Ordering| if reverse { o.reverse() } else { o };
        let by_column = match column {
            Column::Fstype => turn(self.fstype.cmp(&other.fstype)),
            Column::Superblock => turn(self.label.cmp(&other.label)),
            Column::Site => turn(self.site.cmp(&other.site)),
            _ => {
                let number = |row: &Self| row.figures(basis).number(column);
                match (number(self), number(other)) {
                    (Some(a), Some(b)) => turn(b.total_cmp(&a)),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => Ordering::Equal,
                }
            }
        };
        by_column
            .then_with(|| {
                let calls = |row: &Self| row.figures(basis).calls.unwrap_or(-1.0);
                calls(other).total_cmp(&calls(self))
            })
            .then_with(|| self.fstype.cmp(&other.fstype))
            .then_with(|| self.label.cmp(&other.label))
            .then_with(|| self.key().cmp(&other.key()))
    }
}

/// Which time the numbers are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// The last interval.
    #[default]
    Interval,
    /// Since counting began.
    Total,
}
