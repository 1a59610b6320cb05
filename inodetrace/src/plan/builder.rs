//! Puts a plan together: the sites ask for probes, and what several ask for is attached once.

use std::collections::BTreeSet;

use super::attach::{Target, target};
use super::{
    Attach, Features, Globals, Plan, PlanError, PlanOptions, Point, Probe, Quantity, Role,
    SitePlan, Status, globals::globals,
};
use crate::kernel::facts::{Facts, Place};
use crate::sites::analysis::{Analysis, Taken};
use crate::sites::section::SectionPoint;
use crate::sites::tables::Lock;
use crate::vocab::{Site, SiteExt};

/// Programs for the sections of one site: each reads another register.
pub(crate) const SECTION_KINDS: usize = 4;

/// Why an inlined section has no hold times.
pub(super) const NO_HOLD: &str = "inlined: there is no function whose time could be taken (span), and exact points are not \
     available in this version";

/// A plan in the making.
pub(super) struct Builder<'a> {
    pub(super) facts: &'a Facts,
    pub(super) options: &'a PlanOptions,
    features: Features,
    /// What the code says, or why that is not known.
    pub(super) analysis: Result<Analysis<'a>, String>,
    pub(super) globals: Globals,
    probes: Vec<Probe>,
    sites: Vec<SitePlan>,
    /// Whether the slow path of spin locks is probed, or why not.
    pub(super) spin_waits: Result<(), String>,
}

/// What a probe is wanted for.
pub(super) struct Want<'a> {
    pub(super) role: Role,
    pub(super) function: &'a str,
    /// Structures that the parameters point to.
    pub(super) expected: &'a [(usize, &'a str)],
    pub(super) entry: bool,
    pub(super) exit: bool,
    pub(super) entry_takes_lock: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        facts: &'a Facts,
        features: Features,
        options: &'a PlanOptions,
    ) -> Result<Self, PlanError> {
        let analysis = Analysis::of(facts).and_then(|analysis| match analysis.patched() {
            None => Ok(analysis),
            Some(place) => Err(format!(
                "the kernel's code cannot be judged: it is patched at {place}, as by the kprobe of \
                 another tracer"
            )),
        });
        Ok(Self {
            facts,
            options,
            features,
            analysis,
            globals: globals(facts)?,
            probes: Vec::new(),
            sites: Vec::new(),
            spin_waits: Ok(()),
        })
    }

    /// What the code says.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn analysis(&self) -> Result<&Analysis<'a>, String> {
        self.analysis.as_ref().map_err(Clone::clone)
    }

    /// The function to probe.
    ///
    /// # Errors
    /// Why it cannot be probed.
    pub(super) fn target(&self, name: &str, expected: &[(usize, &str)]) -> Result<Target, String> {
        target(self.facts, self.features, self.options, name, expected)
    }

    /// Whether `site` is among those asked for.
    pub(super) fn asked(&self, site: Site) -> bool {
        self.options.sites.contains(&site)
    }

    /// Adds a probe for `site`, or lets one that is there serve it too.
    ///
    /// # Errors
    /// Why the function cannot be probed.
    pub(super) fn probe(&mut self, site: Site, want: &Want<'_>) -> Result<Point, String> {
        let target = self.target(want.function, want.expected)?;
        let point = Point {
            kind: target.attach,
            function: target.function.clone(),
            offset: 0,
        };
        if !self.asked(site) {
            return Ok(point);
        }
        // One trampoline program serves one function.
        let taken = self.probes.iter().any(|p| {
            p.role == want.role && p.attach == Attach::Fentry && p.address != target.address
        });
        let attach = match target.attach {
            Attach::Fentry if taken && self.features.kprobe => Attach::Kprobe,
            attach => attach,
        };
        let there = self
            .probes
            .iter_mut()
            .find(|p| p.role == want.role && p.address == target.address);
        match there {
            Some(probe) => {
                probe.entry |= want.entry;
                probe.exit |= want.exit;
                if !probe.serves.contains(&site) {
                    probe.serves.push(site);
                }
            }
            None => self.probes.push(Probe {
                role: want.role,
                function: target.function,
                address: target.address,
                attach,
                entry: want.entry,
                exit: want.exit,
                entry_takes_lock: want.entry_takes_lock,
                section: None,
                serves: vec![site],
            }),
        }
        Ok(point)
    }

    /// Adds probes for `site` on the inlined sections at `found`: the call that takes the lock,
    /// and where to probe.
    ///
    /// # Errors
    /// If this kernel offers no kprobes, or there are more kinds of them than programs.
    pub(super) fn probe_sections(
        &mut self,
        site: Site,
        role: Role,
        found: &[(Place, SectionPoint)],
    ) -> Result<Vec<Point>, String> {
        if !self.features.kprobe {
            return Err(String::from(
                "a probe inside a function needs kprobes, which this kernel does not offer",
            ));
        }
        let kinds: BTreeSet<(usize, i64)> =
            found.iter().map(|(_, s)| (s.register, s.adjust)).collect();
        if kinds.len() > SECTION_KINDS {
            return Err(format!(
                "inlined at {} places with {} different registers, and there are programs for \
                 {SECTION_KINDS}",
                found.len(),
                kinds.len()
            ));
        }
        if self.asked(site) {
            self.probes
                .extend(found.iter().map(|(place, section)| Probe {
                    role,
                    function: place.function.clone(),
                    address: section.address,
                    attach: Attach::InlinedCall,
                    entry: true,
                    exit: false,
                    entry_takes_lock: true,
                    section: Some(*section),
                    serves: vec![site],
                }));
        }
        Ok(found
            .iter()
            .map(|(place, _)| Point {
                kind: Attach::InlinedCall,
                function: place.function.clone(),
                offset: place.offset,
            })
            .collect())
    }

    /// Lets the probe on `evict()` serve `site`.
    ///
    /// # Errors
    /// Why it cannot be probed.
    pub(super) fn probe_evict(&mut self, site: Site) -> Result<Point, String> {
        self.probe(site, &Want::entry(Role::Evict, "evict", &[(0, "inode")]))
    }

    /// Lets the probes on the spin lock's slow path serve `site`.
    pub(super) fn spin_waits(&mut self, site: Site) -> Quantity {
        if let Err(why) = &self.spin_waits {
            return Quantity::Null(why.clone());
        }
        for (role, function) in super::waits::SPIN {
            // Those that this kernel lacks are not probed; that enough are was seen before.
            let _ = self.probe(site, &super::waits::want(*role, function));
        }
        Quantity::Counted
    }

    /// Fills in what follows from whether every pass of the function takes the lock; `function`
    /// is one that does not. The time in such a function says nothing about the lock.
    pub(super) fn quantities(&self, plan: &mut SitePlan, takes_lock: Result<(), &str>) {
        let proven = match takes_lock {
            Ok(()) => Quantity::Counted,
            Err(function) => Quantity::Null(format!(
                "{function}() does not take the lock on every way through it, so a pass proves \
                 nothing"
            )),
        };
        plan.hold = if self.options.hold {
            proven.clone()
        } else {
            Quantity::Null("hold times are not asked for (--hold off)".to_owned())
        };
        plan.acquisitions = proven;
    }

    /// Whether the exit of a site's function is probed. Besides hold times it is needed for
    /// waits: while a task is in the function, a wait for its lock belongs to the site.
    pub(super) fn exit_wanted(&self) -> bool {
        self.options.hold || self.spin_waits.is_ok()
    }

    /// Notes a finished site.
    pub(super) fn finish(&mut self, mut site: SitePlan) {
        if !self.asked(site.site) {
            let not_asked = || Quantity::Null("not asked for".to_owned());
            site.calls = not_asked();
            site.acquisitions = not_asked();
            site.contended = not_asked();
            site.hold = not_asked();
        }
        if site.status != Status::Observed {
            self.withdraw(site.site, site.contended.is_counted());
        }
        self.sites.push(site);
    }

    /// Takes back the probes that a site asked for before it turned out not to be observable;
    /// those that tell its waits stay if these are counted.
    fn withdraw(&mut self, site: Site, waits: bool) {
        for probe in &mut self.probes {
            let tells_waits = matches!(probe.role, Role::Evict | Role::Alloc)
                || super::waits::SPIN
                    .iter()
                    .any(|(role, _)| *role == probe.role);
            if !(waits && tells_waits) {
                probe.serves.retain(|s| *s != site);
            }
        }
        self.probes.retain(|p| !p.serves.is_empty());
    }

    /// The plan.
    pub(super) fn plan(mut self) -> Plan {
        self.sites
            .sort_by_key(|s| Site::ALL.iter().position(|site| *site == s.site));
        self.probes.sort_by_key(|p| (p.role, p.address));
        Plan {
            sites: self.sites,
            probes: self.probes,
            globals: self.globals,
        }
    }

    /// All places that take `lock`.
    ///
    /// # Errors
    /// If one of them is in a function that no table knows, or the code is not known.
    pub(super) fn all_known(&self, lock: Lock, name: &str) -> Result<Vec<Taken>, String> {
        let taken = self.analysis()?.taken(lock);
        let unknown: Vec<&Place> = taken
            .iter()
            .filter(|t| t.purpose.is_none())
            .map(|t| &t.place)
            .collect();
        if unknown.is_empty() {
            Ok(taken)
        } else {
            Err(format!(
                "{name} is also taken at {}, for a purpose that is not known",
                list(&unknown)
            ))
        }
    }
}

impl<'a> Want<'a> {
    /// A probe on the entry alone.
    pub(super) fn entry(role: Role, function: &'a str, expected: &'a [(usize, &'a str)]) -> Self {
        Self {
            role,
            function,
            expected,
            entry: true,
            exit: false,
            entry_takes_lock: false,
        }
    }
}

impl SitePlan {
    /// A site that is observed at `how`, with nothing counted yet but its calls.
    pub(super) fn observed(site: Site, how: Vec<Point>) -> Self {
        let nothing = || Quantity::Null("not planned".to_owned());
        Self {
            site,
            status: Status::Observed,
            how,
            reason: None,
            calls: Quantity::Counted,
            acquisitions: nothing(),
            contended: nothing(),
            hold: nothing(),
        }
    }

    /// A site whose passes are not counted.
    pub(super) fn not_observable(site: Site, why: String) -> Self {
        Self::without(site, Status::NotObservable, why)
    }

    /// A site that the kernel does not have.
    pub(super) fn absent(site: Site, why: String) -> Self {
        Self::without(site, Status::Absent, why)
    }

    fn without(site: Site, status: Status, why: String) -> Self {
        let null = || Quantity::Null(why.clone());
        Self {
            site,
            status,
            how: Vec::new(),
            calls: null(),
            acquisitions: null(),
            contended: null(),
            hold: null(),
            reason: Some(why),
        }
    }
}

/// Places as they are named in a message: those of one function together.
pub(super) fn list(places: &[&Place]) -> String {
    let functions: BTreeSet<&str> = places.iter().map(|p| p.function.as_str()).collect();
    let named: Vec<String> = functions
        .into_iter()
        .map(|function| {
            let offsets: Vec<String> = places
                .iter()
                .filter(|p| p.function == function)
                .map(|p| format!("+{:#x}", p.offset))
                .collect();
            format!("{function}{}", offsets.join(" and "))
        })
        .collect();
    named.join(", ")
}
