//! From the kernel's own files to [`Facts`]: looks up what the planner asks for and searches the
//! whole kernel text for the functions it must see.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::analysis::shapes;
use super::code::Unit;
use super::flow::Flow;
use super::locks::{LockShapes, Types, acquisitions};
use super::scan::{Hit, contains_relative, contains_word, find_calls};
use super::tables::{self, base_name};
use crate::kernel::Sources;
use crate::kernel::btf::Btf;
use crate::kernel::facts::{BtfFunction, Code, Facts, FunctionText, Member, Place, Text};
use crate::kernel::kallsyms::{Kallsyms, Symbol};
use crate::kernel::kcore::{Kcore, KcoreError};

/// `I_NEW` before it became an enumerator (6.18): `1 << __I_NEW`, and `__I_NEW` was the macro 3
/// before it became one (6.12). `include/linux/fs.h`.
const I_NEW_BIT: u32 = 3;

/// Gathers the facts. What could not be had is recorded as such, with the reason.
pub fn collect(sources: &Sources) -> Facts {
    let names: HashSet<&str> = symbol_names().collect();
    let symbols = sources
        .kallsyms
        .find(|name| names.contains(base_name(name)));
    let mut facts = Facts {
        release: sources.release.clone(),
        symbols,
        layout: layout(sources),
        i_new: i_new(&sources.btf),
        functions: functions(sources),
        ..Facts::default()
    };
    match &sources.kcore {
        Err(why) => facts.text = Text::Unreadable(why.to_string()),
        Ok(kcore) => match search(sources, kcore, &mut facts) {
            Ok(code) => facts.text = Text::Read(code),
            Err(why) => facts.text = Text::Unreadable(why.to_string()),
        },
    }
    facts
}

fn symbol_names() -> impl Iterator<Item = &'static str> {
    [
        tables::SYMBOLS,
        tables::KEPT,
        tables::WATCHED,
        tables::LRU_USERS,
        tables::LIST_LRU,
        tables::SPIN_LOCKS,
        tables::MUTEX_LOCKS,
        tables::STOPS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// ext4 may be a module with BTF of its own.
fn btf_for<'a>(sources: &'a Sources, structure: &str) -> &'a Btf {
    match &sources.ext4_btf {
        Some(ext4) if structure.starts_with("ext4") => ext4,
        _ => &sources.btf,
    }
}

fn layout(sources: &Sources) -> BTreeMap<String, Member> {
    let mut layout = BTreeMap::new();
    for (structure, members) in tables::MEMBERS {
        let btf = btf_for(sources, structure);
        for path in *members {
            // Since 6.19 the state is a structure with one word in it.
            let is_wrapped = *path == "i_state"
                && btf
                    .member_is_struct(structure, path)
                    .is_ok_and(|is_struct| is_struct);
            let asked = if is_wrapped { "i_state.__state" } else { path };
            let member = match btf.member_offset(structure, asked) {
                Ok(offset) => Member::Offset(offset),
                Err(why) => Member::Missing(why.to_string()),
            };
            layout.insert(format!("{structure}.{path}"), member);
        }
    }
    layout
}

fn i_new(btf: &Btf) -> u32 {
    let [mask, bit] = btf.enumerators(["I_NEW", "__I_NEW"]);
    let from_bit = |bit: u64| {
        u32::try_from(bit)
            .ok()
            .and_then(|bit| 1u32.checked_shl(bit))
    };
    mask.and_then(|mask| u32::try_from(mask).ok())
        .or_else(|| bit.and_then(from_bit))
        .unwrap_or(1 << I_NEW_BIT)
}

fn functions(sources: &Sources) -> BTreeMap<String, BtfFunction> {
    symbol_names()
        .filter_map(|name| Some((name.to_owned(), describe(btf_for(sources, name), name)?)))
        .collect()
}

fn describe(btf: &Btf, name: &str) -> Option<BtfFunction> {
    let count = btf.count_functions(name);
    let mut signatures = btf.functions(name);
    let signature = if signatures.len() == 1 {
        signatures.pop()
    } else {
        None
    };
    (count > 0).then_some(BtfFunction { count, signature })
}

/// A stretch of code in memory.
struct Stretch {
    address: u64,
    bytes: Vec<u8>,
}

impl Stretch {
    fn slice(&self, symbol: &Symbol) -> Option<&[u8]> {
        let start = usize::try_from(symbol.address.checked_sub(self.address)?).ok()?;
        let end = start.checked_add(usize::try_from(symbol.size).ok()?)?;
        self.bytes.get(start..end.min(self.bytes.len()))
    }
}

/// The whole kernel text and that of the modules.
fn read_text(kallsyms: &Kallsyms, kcore: &Kcore) -> Result<Vec<Stretch>, KcoreError> {
    let bounds = kallsyms.find(|name| matches!(name, "_stext" | "_etext"));
    let one = |name: &str| match bounds.get(name).map(Vec::as_slice) {
        Some([symbol]) => Ok(symbol.address),
        _ => Err(KcoreError::NotCovered(0)),
    };
    let mut ranges = vec![(one("_stext")?, one("_etext")?)];
    ranges.extend(kallsyms.module_text());
    let mut text = Vec::new();
    for (start, end) in ranges {
        let len = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        text.push(Stretch {
            address: start,
            bytes: kcore.read(start, len)?,
        });
    }
    Ok(text)
}

/// Keeps functions while the text is searched.
struct Search<'a> {
    kallsyms: &'a Kallsyms,
    text: Vec<Stretch>,
    shapes: LockShapes,
    /// Numbers one of which the code of a function that takes a lock contains.
    words: Vec<u32>,
    /// The cold parts of functions, by the functions' names.
    cold: BTreeMap<String, Vec<Symbol>>,
    /// The functions that have one, by name.
    with_cold: BTreeMap<String, Vec<Symbol>>,
    kept: BTreeMap<u64, FunctionText>,
}

fn search(sources: &Sources, kcore: &Kcore, facts: &mut Facts) -> Result<Code, KcoreError> {
    let shapes = shapes(facts);
    let mut cold: BTreeMap<String, Vec<Symbol>> = BTreeMap::new();
    for (name, symbols) in sources.kallsyms.find(|name| name.contains(".cold")) {
        let main = name.split(".cold").next().unwrap_or_default();
        cold.entry(main.to_owned()).or_default().extend(symbols);
    }
    let mut search = Search {
        kallsyms: &sources.kallsyms,
        with_cold: sources.kallsyms.find(|name| cold.contains_key(name)),
        cold,
        text: read_text(&sources.kallsyms, kcore)?,
        words: lock_words(&shapes),
        shapes,
        kept: BTreeMap::new(),
    };
    let watched = function_addresses(facts, tables::WATCHED);
    let (callers, takers) = search.find_callers(&watched);
    search.keep_named(facts);
    let types = RecordingTypes {
        sources,
        facts: RefCell::new(facts),
    };
    for address in takers {
        search.keep_if_it_takes_a_lock(address, &types);
    }
    let code = Code {
        functions: search.kept.into_values().collect(),
        callers,
    };
    name_call_targets(&sources.kallsyms, &code, facts);
    Ok(code)
}

/// Addresses of the functions of those names.
fn function_addresses(facts: &Facts, names: &[&str]) -> BTreeMap<u64, String> {
    let symbols = names
        .iter()
        .filter_map(|name| facts.symbols.get(*name))
        .flatten();
    symbols
        .filter(|s| s.is_text)
        .map(|s| (s.address, s.name.clone()))
        .collect()
}

/// Numbers one of which the code of a function that takes a lock contains.
fn lock_words(shapes: &LockShapes) -> Vec<u32> {
    let mut words: Vec<u32> = Vec::new();
    words.extend(shapes.inode_hash.map(|address| address as u32));
    // The lock's address may also be formed from that of the list behind it.
    words.extend(
        shapes
            .sb_inodes
            .iter()
            .flat_map(|o| [*o as u32, *o as u32 + 8, *o as u32 + 16]),
    );
    words.extend(shapes.ext4_orphan.map(|offset| offset as u32));
    words
}

impl Search<'_> {
    /// Who calls the watched functions, and the functions that take any spin lock or mutex.
    fn find_callers(
        &self,
        watched: &BTreeMap<u64, String>,
    ) -> (BTreeMap<String, Vec<Place>>, BTreeSet<u64>) {
        let mut targets: Vec<u64> = watched.keys().copied().collect();
        targets.extend(
            self.shapes
                .spin_locks
                .iter()
                .chain(&self.shapes.mutex_locks),
        );
        let mut callers: BTreeMap<String, Vec<Place>> = BTreeMap::new();
        let mut takers = BTreeSet::new();
        for stretch in &self.text {
            for Hit { from, to } in find_calls(&stretch.bytes, stretch.address, &targets) {
                let Some(function) = self.kallsyms.containing(from).into_iter().next() else {
                    continue;
                };
                match watched.get(&to) {
                    Some(name) => callers.entry(name.clone()).or_default().push(Place {
                        offset: from.wrapping_sub(function.address),
                        function: display_name(&function),
                    }),
                    None => {
                        takers.insert(function.address);
                    }
                }
            }
        }
        (callers, takers)
    }

    /// Keeps the functions that the planner always looks at, with the variants the compiler made.
    fn keep_named(&mut self, facts: &Facts) {
        let names = || {
            tables::KEPT
                .iter()
                .chain(tables::LRU_USERS)
                .chain(tables::SPIN_LOCKS)
        };
        for symbol in facts.symbols.values().flatten() {
            let ours = symbol.module.is_none() || is_ext4(symbol);
            if ours && symbol.is_text && names().any(|name| *name == base_name(&symbol.name)) {
                self.keep(symbol);
            }
        }
    }

    /// Keeps the function at `address` if it takes one of the locks.
    fn keep_if_it_takes_a_lock(&mut self, address: u64, types: &dyn Types) {
        let Some(symbol) = self.kallsyms.containing(address).into_iter().next() else {
            return;
        };
        let (main, cold) = self.halves(symbol);
        let Some(main_text) = self.function_text(&main) else {
            return;
        };
        let cold_text = cold.as_ref().and_then(|cold| self.function_text(cold));
        let mut parts = std::iter::once(&main_text).chain(&cold_text);
        if !parts.any(|part| self.may_name_a_lock(part)) {
            return;
        }
        let unit = Unit::decode(&main_text, cold_text.as_ref());
        if !acquisitions(&unit, &Flow::of(&unit), &self.shapes, types).is_empty() {
            self.keep(&main);
            if let Some(cold) = cold {
                self.keep(&cold);
            }
        }
    }

    /// A function and its cold part: the lock's address may be formed in one and used in the other.
    fn halves(&self, symbol: Symbol) -> (Symbol, Option<Symbol>) {
        let lone = |found: Option<&Vec<Symbol>>| match found.map(Vec::as_slice) {
            Some([one]) => Some(one.clone()),
            _ => None,
        };
        match symbol.name.split_once(".cold") {
            None => {
                let cold = lone(self.cold.get(&symbol.name));
                (symbol, cold)
            }
            Some((main, _)) => match lone(self.with_cold.get(main)) {
                Some(main) => (main, Some(symbol)),
                None => (symbol, None),
            },
        }
    }

    fn may_name_a_lock(&self, part: &FunctionText) -> bool {
        let hash = self.shapes.inode_hash;
        contains_word(&part.bytes, &self.words)
            || hash.is_some_and(|target| contains_relative(&part.bytes, part.address, target))
    }

    fn keep(&mut self, symbol: &Symbol) {
        if let Some(text) = self.function_text(symbol) {
            self.kept.insert(symbol.address, text);
        }
    }

    fn function_text(&self, symbol: &Symbol) -> Option<FunctionText> {
        let bytes = self
            .text
            .iter()
            .find_map(|stretch| stretch.slice(symbol))?
            .to_vec();
        Some(FunctionText {
            name: display_name(symbol),
            address: symbol.address,
            bytes,
        })
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

/// Adds the symbols of what the kept functions call, so that calls have names.
fn name_call_targets(kallsyms: &Kallsyms, code: &Code, facts: &mut Facts) {
    for unit in Unit::decode_all(&code.functions) {
        for (_, to) in unit.calls() {
            for symbol in kallsyms
                .containing(to)
                .into_iter()
                .filter(|s| s.address == to)
            {
                let known = facts.symbols.entry(symbol.name.clone()).or_default();
                if !known.contains(&symbol) {
                    known.push(symbol);
                }
            }
        }
    }
}

/// Answers from BTF, and notes the answers in the facts.
struct RecordingTypes<'a> {
    sources: &'a Sources,
    facts: RefCell<&'a mut Facts>,
}

impl Types for RecordingTypes<'_> {
    fn parameter(&self, function: &str, index: usize) -> Option<String> {
        let mut facts = self.facts.borrow_mut();
        if !facts.functions.contains_key(function) {
            let described = describe(&self.sources.btf, function)?;
            facts.functions.insert(function.to_owned(), described);
        }
        facts.parameter(function, index)
    }

    fn pointee(&self, structure: &str, offset: u32) -> Option<String> {
        let answer = btf_for(self.sources, structure).pointee_at(structure, offset);
        let key = format!("{structure}+{offset:#x}");
        self.facts.borrow_mut().pointees.insert(key, answer.clone());
        answer
    }
}
