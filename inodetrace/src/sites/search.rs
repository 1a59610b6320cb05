//! The search of the whole kernel text for the functions that matter.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::code::Unit;
use super::flow::Flow;
use super::locks::{LockShapes, Types, acquisitions};
use super::scan::{Hit, find_calls, names_one};
use super::tables::{self, base_name};
use crate::kernel::facts::{Facts, FunctionText, Place};
use crate::kernel::fnv::BuildFnv;
use crate::kernel::kallsyms::{Kallsyms, Symbol};

/// A stretch of code in memory.
pub(super) struct Stretch {
    pub(super) address: u64,
    pub(super) bytes: Vec<u8>,
}

/// What the search for calls found.
pub(super) struct Calls {
    /// Who calls the watched functions, by their names.
    pub(super) callers: BTreeMap<String, Vec<Place>>,
    /// Functions that take some lock, by address.
    pub(super) takers: BTreeMap<u64, Symbol>,
}

/// Keeps functions while the text is searched.
pub(super) struct Search<'a> {
    kallsyms: &'a Kallsyms,
    text: Vec<Stretch>,
    shapes: LockShapes,
    /// Where the code of the kernel proper is.
    range: (u64, u64),
    /// What a traced function calls first, if that is in the kernel proper.
    ftrace: BTreeSet<u64>,
    /// Numbers one of which the code of a function that takes a lock contains.
    words: Vec<u32>,
    kept: BTreeMap<u64, FunctionText>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        kallsyms: &'a Kallsyms,
        text: Vec<Stretch>,
        range: (u64, u64),
        shapes: LockShapes,
        facts: &Facts,
    ) -> Self {
        let mut words: Vec<u32> = Vec::new();
        words.extend(shapes.inode_hash.map(|address| address as u32));
        words.extend(shapes.ext4_orphan.map(|offset| offset as u32));
        // The lock's address may also be formed from that of the list behind it.
        let offsets = shapes.sb_inodes.iter();
        words.extend(offsets.flat_map(|o| [*o as u32, *o as u32 + 8, *o as u32 + 16]));
        Self {
            kallsyms,
            text,
            shapes,
            range,
            ftrace: super::analysis::functions(facts, tables::FTRACE),
            words,
            kept: BTreeMap::new(),
        }
    }

    /// Who calls the watched functions, and who takes any spin lock, or in ext4 a mutex.
    pub(super) fn find_calls(&self, facts: &Facts) -> Calls {
        let watched = tables::WATCHED
            .iter()
            .filter_map(|name| facts.symbols.get(*name));
        let watched: BTreeMap<u64, &str> = watched
            .flatten()
            .filter(|s| s.is_text)
            .map(|s| (s.address, s.name.as_str()))
            .collect();
        let locks = self
            .shapes
            .spin_locks
            .iter()
            .chain(&self.shapes.mutex_locks);
        let targets: Vec<u64> = watched.keys().chain(locks).copied().collect();
        let mut calls = Calls {
            callers: BTreeMap::new(),
            takers: BTreeMap::new(),
        };
        for stretch in &self.text {
            for Hit { from, to } in find_calls(&stretch.bytes, stretch.address, &targets) {
                let Some(function) = self.kallsyms.containing(from).into_iter().next() else {
                    continue;
                };
                if let Some(name) = watched.get(&to) {
                    let place = Place {
                        offset: from.wrapping_sub(function.address),
                        function: display_name(&function),
                    };
                    calls
                        .callers
                        .entry((*name).to_owned())
                        .or_default()
                        .push(place);
                } else if self.shapes.spin_locks.contains(&to) || function.name.contains("ext4") {
                    calls.takers.insert(function.address, function);
                }
            }
        }
        calls
    }

    /// Keeps the functions that the planner always looks at, with the variants the compiler made.
    pub(super) fn keep_named(&mut self, facts: &Facts) {
        let names: BTreeSet<&str> = [tables::KEPT, tables::LRU_USERS, tables::SPIN_LOCKS]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        for symbol in facts.symbols.values().flatten() {
            let ours = symbol.module.is_none() || is_ext4(symbol);
            if ours && symbol.is_text && names.contains(base_name(&symbol.name)) {
                self.keep(symbol);
            }
        }
    }

    /// Keeps those of `takers` that take one of the locks.
    pub(super) fn keep_takers(&mut self, takers: BTreeMap<u64, Symbol>, types: &dyn Types) {
        let halves = self.other_halves(&takers);
        for symbol in takers.into_values() {
            // The lock's address may be formed in the function and used in its cold part.
            let other = halves.get(&other_half(&symbol.name)).cloned();
            let (main, cold) = match other {
                Some(main) if is_cold(&symbol.name) => (main, Some(symbol)),
                other => (symbol, other),
            };
            self.keep_if_it_takes_a_lock(&main, cold.as_ref(), types);
        }
    }

    /// The cold parts of functions, and the functions that cold parts belong to, by name; those
    /// whose names are not ambiguous.
    fn other_halves(&self, takers: &BTreeMap<u64, Symbol>) -> BTreeMap<String, Symbol> {
        let names: Vec<String> = takers.values().map(|s| other_half(&s.name)).collect();
        let names: HashSet<&str, BuildFnv> = names.iter().map(String::as_str).collect();
        let found = self.kallsyms.find(|name| names.contains(name));
        let lone = found
            .into_iter()
            .filter_map(|(name, symbols)| match symbols.as_slice() {
                [one] => Some((name, one.clone())),
                _ => None,
            });
        lone.collect()
    }

    fn keep_if_it_takes_a_lock(&mut self, main: &Symbol, cold: Option<&Symbol>, types: &dyn Types) {
        let parts = || std::iter::once(main).chain(cold);
        let names_a_lock = parts().any(|part| {
            self.bytes(part).is_some_and(|bytes| {
                names_one(bytes, part.address, &self.words, self.shapes.inode_hash)
            })
        });
        if !names_a_lock {
            return;
        }
        let cold_text = cold.and_then(|cold| self.function_text(cold));
        let Some(main_text) = self.function_text(main) else {
            return;
        };
        let unit = Unit::decode(&main_text, cold_text.as_ref());
        if self.shapes.may_be_taken_in(&unit)
            && !acquisitions(&unit, &Flow::of(&unit), &self.shapes, types).is_empty()
        {
            parts().for_each(|part| self.keep(part));
        }
    }

    fn keep(&mut self, symbol: &Symbol) {
        if let Some(text) = self.function_text(symbol) {
            self.kept.insert(symbol.address, text);
        }
    }

    fn function_text(&self, symbol: &Symbol) -> Option<FunctionText> {
        let mut bytes = self.bytes(symbol)?.to_vec();
        self.remove_trace_call(symbol.address, &mut bytes);
        Some(FunctionText {
            name: display_name(symbol),
            address: symbol.address,
            bytes,
        })
    }

    /// Puts back the nop that the compiler left at the function's entry for tracers, where one has
    /// put a call to itself (or, of a BPF trampoline, a jump). It says nothing about the function.
    fn remove_trace_call(&self, address: u64, bytes: &mut [u8]) {
        const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
        const NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x00];
        let at = if bytes.starts_with(&ENDBR64) { 4 } else { 0 };
        let Some(site) = bytes.get_mut(at..at + 5) else {
            return;
        };
        let &mut [0xe8 | 0xe9, a, b, c, d] = site else {
            return;
        };
        let from = address.wrapping_add(at as u64 + 5);
        let to = from.wrapping_add_signed(i64::from(i32::from_le_bytes([a, b, c, d])));
        let is_outside = to < self.range.0 || self.range.1 <= to;
        if is_outside || self.ftrace.contains(&to) {
            site.copy_from_slice(&NOP);
        }
    }

    fn bytes(&self, symbol: &Symbol) -> Option<&[u8]> {
        self.text.iter().find_map(|stretch| stretch.slice(symbol))
    }

    /// What was kept, by address.
    pub(super) fn into_functions(self) -> Vec<FunctionText> {
        self.kept.into_values().collect()
    }
}

impl Stretch {
    fn slice(&self, symbol: &Symbol) -> Option<&[u8]> {
        let start = usize::try_from(symbol.address.checked_sub(self.address)?).ok()?;
        let end = start.checked_add(usize::try_from(symbol.size).ok()?)?;
        self.bytes.get(start..end.min(self.bytes.len()))
    }
}

/// The name of a function; a module's carries the module's, so that it is not taken for the
/// kernel's own of the same name.
fn display_name(symbol: &Symbol) -> String {
    match &symbol.module {
        Some(module) if !is_ext4(symbol) => format!("{} [{module}]", symbol.name),
        _ => symbol.name.clone(),
    }
}

fn is_ext4(symbol: &Symbol) -> bool {
    symbol.module.as_deref() == Some("ext4")
}

fn is_cold(name: &str) -> bool {
    name.ends_with(".cold")
}

/// The name of a function's cold part, or of the function that is the cold part's.
fn other_half(name: &str) -> String {
    match name.strip_suffix(".cold") {
        Some(main) => main.to_owned(),
        None => format!("{name}.cold"),
    }
}
