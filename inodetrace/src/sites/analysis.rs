//! The lock sites of a kernel, from its [`Facts`].

use std::collections::BTreeSet;

use iced_x86::OpAccess;

use super::code::Unit;
use super::flow::Flow;
use super::locks::{Acquisition, Evidence, LockShapes, Types, acquisitions};
use super::tables::{self, Lock, Purpose};
use super::value::Value;
use crate::kernel::facts::{Code, Facts, Place};

/// What the code of a kernel was found to do with the inode-list locks.
pub struct Analysis<'a> {
    facts: &'a Facts,
    code: &'a Code,
    units: Vec<(Unit, Flow)>,
    stops: BTreeSet<u64>,
    /// All places that take one of the locks.
    pub acquisitions: Vec<Acquisition>,
}

/// A place that takes a lock, with what the tables say about its function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Address of the call that takes it.
    pub address: u64,
    /// Where.
    pub place: Place,
    /// What for; `None` if no table knows.
    pub purpose: Option<Purpose>,
    /// The section is an inlined copy of a function which has a symbol of its own.
    pub inlined: bool,
}

/// What locks look like on this kernel.
pub(crate) fn shapes(facts: &Facts) -> LockShapes {
    let offset = |path: &str| facts.offset(path).ok().map(i64::from);
    let mut sb_list_members = BTreeSet::new();
    for list in ["super_block.s_inodes", "inode.i_sb_list"] {
        // The list head's two pointers, and back from a list element to what contains it.
        sb_list_members.extend(offset(list).iter().flat_map(|o| [*o, *o + 8, -*o]));
    }
    LockShapes {
        sb_inodes: offset("super_block.s_inode_list_lock"),
        inode_hash: global(facts, "inode_hash_lock").ok(),
        ext4_orphan: offset("ext4_sb_info.s_orphan_lock"),
        spin_locks: functions(facts, tables::SPIN_LOCKS),
        mutex_locks: functions(facts, tables::MUTEX_LOCKS),
        sb_list_members,
    }
}

/// Addresses of the functions of those names.
pub(crate) fn functions(facts: &Facts, names: &[&str]) -> BTreeSet<u64> {
    let symbols = names.iter().filter_map(|name| facts.symbols.get(*name));
    let functions = symbols.flatten().filter(|s| s.is_text);
    functions.map(|s| s.address).collect()
}

/// The address of a global variable of the kernel proper.
///
/// # Errors
/// If there is none of that name, or several.
pub fn global(facts: &Facts, name: &str) -> Result<u64, String> {
    let all = facts
        .symbols
        .get(name)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut own = all.iter().filter(|s| s.module.is_none());
    match (own.next(), own.next()) {
        (Some(one), None) => Ok(one.address),
        (None, _) => Err(format!(
            "this kernel's kallsyms has no `{name}` (CONFIG_KALLSYMS_ALL)"
        )),
        (Some(_), Some(_)) => Err(format!("this kernel has several symbols named `{name}`")),
    }
}

/// Answers from what was recorded.
impl Types for Facts {
    fn parameter(&self, function: &str, index: usize) -> Option<String> {
        Facts::parameter(self, function, index)
    }

    fn pointee(&self, structure: &str, offset: u32) -> Option<String> {
        self.pointees
            .get(&format!("{structure}+{offset:#x}"))
            .cloned()
            .flatten()
    }
}

impl<'a> Analysis<'a> {
    /// Decodes and judges the code.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn of(facts: &'a Facts) -> Result<Self, String> {
        let code = facts.code().map_err(str::to_owned)?;
        let shapes = shapes(facts);
        if shapes.spin_locks.is_empty() {
            return Err(
                "this kernel has none of the spin-lock functions that are known".to_owned(),
            );
        }
        let units: Vec<(Unit, Flow)> = Unit::decode_all(&code.functions)
            .into_iter()
            .map(|unit| {
                let flow = Flow::of(&unit);
                (unit, flow)
            })
            .collect();
        let acquisitions = units
            .iter()
            .flat_map(|(unit, flow)| acquisitions(unit, flow, &shapes, facts))
            .collect();
        let stops = tables::STOPS
            .iter()
            .flat_map(|name| facts.kernel_functions(name))
            .map(|s| s.address)
            .collect();
        Ok(Self {
            facts,
            code,
            units,
            stops,
            acquisitions,
        })
    }

    /// Every place that takes `lock`.
    ///
    /// A module's code that reaches something of unknown type at the same offset is left out: the
    /// structures of modules are often not described (no module has BTF before 5.11), several have
    /// a lock just there (btrfs), and no module can hold a copy of what `fs/inode.c` does with the
    /// lock, since its functions are exported and none of them is in a header.
    pub fn taken(&self, lock: Lock) -> Vec<Taken> {
        let of_lock = self.acquisitions.iter().filter(|a| {
            let in_module = a.place.function.contains('[');
            a.lock == lock && !(in_module && a.evidence == Evidence::Offset)
        });
        of_lock
            .map(|a| {
                let known = tables::purpose(lock, &a.place.function);
                let inlined = tables::inlined_purpose(lock, &a.place.function);
                Taken {
                    address: a.address,
                    place: a.place.clone(),
                    purpose: known.or(inlined),
                    inlined: known.is_none() && inlined.is_some(),
                }
            })
            .collect()
    }

    /// The unit of that very name.
    pub fn unit(&self, name: &str) -> Option<&Unit> {
        self.units
            .iter()
            .map(|(unit, _)| unit)
            .find(|unit| unit.name == name)
    }

    /// The unit of that very name, with what its registers hold.
    pub(crate) fn unit_flow(&self, name: &str) -> Option<(&Unit, &Flow)> {
        self.units
            .iter()
            .find(|(unit, _)| unit.name == name)
            .map(|(unit, flow)| (unit, flow))
    }

    /// All units.
    pub(crate) fn units(&self) -> impl Iterator<Item = (&Unit, &Flow)> {
        self.units.iter().map(|(unit, flow)| (unit, flow))
    }

    /// Where `function` calls or jumps to `target`.
    pub fn calls(&self, function: &str, target: &str) -> Vec<Place> {
        self.call_addresses(function, target)
            .into_iter()
            .filter_map(|at| Some(self.unit(function)?.place(at)))
            .collect()
    }

    fn call_addresses(&self, function: &str, target: &str) -> BTreeSet<u64> {
        let Some(unit) = self.unit(function) else {
            return BTreeSet::new();
        };
        let targets = self.facts.kernel_functions(target);
        targets
            .flat_map(|symbol| unit.calls_to(symbol.address))
            .collect()
    }

    /// Who calls or jumps to `function`, in the whole kernel text and the loaded modules.
    pub fn callers(&self, function: &str) -> &[Place] {
        self.code
            .callers
            .get(function)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Whether every pass of `function` calls `target` (or jumps there).
    pub fn always_calls(&self, function: &str, target: &str) -> bool {
        let calls = self.call_addresses(function, target);
        self.unit(function)
            .is_some_and(|unit| unit.always_passes(&calls, &self.stops))
    }

    /// Whether every pass of `function` takes `lock`, in its own code.
    pub fn always_takes(&self, function: &str, lock: Lock) -> bool {
        let Some(unit) = self.unit(function) else {
            return false;
        };
        let tries = self.tries();
        let points = self
            .acquisitions
            .iter()
            .filter(|a| a.lock == lock && unit.contains(a.address))
            .map(|a| a.address)
            .filter(|at| {
                !unit
                    .calls()
                    .any(|(from, to)| from == *at && tries.contains(&to))
            })
            .collect();
        unit.always_passes(&points, &self.stops)
    }

    /// Whether every pass of `function` takes some spin lock, in its own code.
    pub fn always_takes_a_spin_lock(&self, function: &str) -> bool {
        let Some(unit) = self.unit(function) else {
            return false;
        };
        unit.always_passes(&self.spin_lock_calls(unit), &self.stops)
    }

    fn tries(&self) -> BTreeSet<u64> {
        let names = tables::TRY_LOCKS.iter();
        names
            .flat_map(|name| self.facts.kernel_functions(name))
            .map(|s| s.address)
            .collect()
    }

    /// Whether every pass of `function` takes, in its own code, a spin lock `offset` bytes into
    /// something.
    pub fn always_takes_at(&self, function: &str, offset: i64) -> bool {
        let Some((unit, flow)) = self.unit_flow(function) else {
            return false;
        };
        let is_at = |v: &Value| matches!(v, Value::Sum(_, distance) if *distance == offset);
        let points = self
            .spin_lock_calls(unit)
            .into_iter()
            .filter(|from| flow.first_argument(*from).iter().any(is_at))
            .collect();
        unit.always_passes(&points, &self.stops)
    }

    /// Whether `host` calls `target`, or something that does.
    pub fn leads_to(&self, host: &str, target: &str) -> bool {
        let callers = self.callers(target);
        let calls = |name: &str| callers.iter().any(|p| p.function == name);
        let Some(unit) = self.unit(host) else {
            return false;
        };
        !self.calls(host, target).is_empty()
            || unit.calls().any(|(_, to)| self.names_at(to).any(calls))
    }

    /// Whether `function` reads the pointer at `offset` of something.
    pub fn reads_member(&self, function: &str, offset: i64) -> bool {
        self.unit(function)
            .is_some_and(|unit| unit.touches(offset, 8, OpAccess::Read))
    }

    /// Whether `function` writes to one of the `len` bytes from `offset` of something.
    pub fn writes_member(&self, function: &str, offset: i64, len: i64) -> bool {
        self.unit(function)
            .is_some_and(|unit| unit.touches(offset, len, OpAccess::Write))
    }

    /// Functions that pass `lru` bytes into something to `target`.
    pub fn lru_users_of(&self, target: &str, lru: i64) -> Vec<Place> {
        let targets: BTreeSet<u64> = self
            .facts
            .kernel_functions(target)
            .map(|s| s.address)
            .collect();
        self.calls_with(&targets, lru)
            .map(|(unit, from)| unit.place(from))
            .collect()
    }

    /// Places in the functions that handle the inode LRU where its address is formed, or it is
    /// accessed, without being passed to a function of `mm/list_lru.c`.
    pub fn lru_strays(&self, lru: i64) -> Vec<Place> {
        let known = tables::LIST_LRU
            .iter()
            .flat_map(|name| self.facts.kernel_functions(name));
        let known: BTreeSet<u64> = known.map(|s| s.address).collect();
        let mut strays = Vec::new();
        for (unit, flow) in self.units() {
            if !tables::LRU_USERS.contains(&tables::base_name(&unit.name)) {
                continue;
            }
            let passed: BTreeSet<u64> = unit
                .calls()
                .filter(|(_, to)| known.contains(to))
                .flat_map(|(from, _)| {
                    let values = flow.first_argument(from).into_iter();
                    values.filter_map(move |value| Some(flow.formed_before(from, value)?.0))
                })
                .collect();
            let formed = flow.formed_with(lru).filter(|at| !passed.contains(at));
            strays.extend(formed.map(|at| unit.place(at)));
            strays.extend(unit.accesses(lru, 8).map(|at| unit.place(at)));
        }
        strays
    }

    fn calls_with(
        &self,
        targets: &BTreeSet<u64>,
        offset: i64,
    ) -> impl Iterator<Item = (&Unit, u64)> {
        self.units().flat_map(move |(unit, flow)| {
            let is_at = move |v: &Value| matches!(v, Value::Sum(_, d) if *d == offset);
            let calls: Vec<u64> = unit
                .calls()
                .filter(|(from, to)| {
                    targets.contains(to) && flow.first_argument(*from).iter().any(is_at)
                })
                .map(|(from, _)| from)
                .collect();
            calls.into_iter().map(move |from| (unit, from))
        })
    }

    /// Names of the functions by which the code that matters takes spin locks and may wait.
    pub fn spin_locks_used(&self) -> BTreeSet<String> {
        let is_lock = |unit: &Unit| tables::SPIN_LOCKS.contains(&unit.name.as_str());
        let calls = self
            .units()
            .filter(|(unit, _)| !is_lock(unit))
            .flat_map(|(unit, _)| {
                let taken = self.spin_lock_calls(unit);
                unit.calls().filter(move |(from, _)| taken.contains(from))
            });
        let targets: BTreeSet<u64> = calls.map(|(_, to)| to).collect();
        let known = |name: &&str| tables::SPIN_LOCKS.contains(name);
        let names = targets
            .into_iter()
            .filter_map(|to| self.names_at(to).find(known));
        names.map(str::to_owned).collect()
    }

    /// Calls that take a spin lock for certain.
    fn spin_lock_calls(&self, unit: &Unit) -> BTreeSet<u64> {
        let locks = shapes(self.facts).spin_locks;
        let tries = self.tries();
        let calls = unit
            .calls()
            .filter(|(_, to)| locks.contains(to) && !tries.contains(to));
        calls.map(|(from, _)| from).collect()
    }

    /// Names of the functions at an address.
    pub(crate) fn names_at(&self, address: u64) -> impl Iterator<Item = &str> {
        let all = self.facts.symbols.values().flatten();
        all.filter(move |s| s.address == address && s.is_text)
            .map(|s| s.name.as_str())
    }

    /// A kept function whose code cannot be trusted, see [`Unit::patched`].
    pub fn patched(&self) -> Option<Place> {
        let mut units = self.units.iter();
        units.find_map(|(unit, _)| unit.patched(self.code.range))
    }
}
