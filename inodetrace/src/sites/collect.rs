//! From the kernel's own files to [`Facts`]: looks up what the planner asks for and searches the
//! whole kernel text for the functions it must see.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use super::analysis::shapes;
use super::code::Unit;
use super::locks::Types;
use super::search::{Search, Stretch};
use super::tables::{self, base_name};
use crate::kernel::Sources;
use crate::kernel::btf::Btf;
use crate::kernel::facts::{BtfFunction, Code, Facts, Member, Text};
use crate::kernel::fnv::BuildFnv;
use crate::kernel::kallsyms::Kallsyms;
use crate::kernel::kcore::{Kcore, KcoreError};

/// `I_NEW` before it became an enumerator (6.18): `1 << __I_NEW`, and `__I_NEW` was the macro 3
/// before it became one (6.12). `include/linux/fs.h`.
const I_NEW_BIT: u32 = 3;

/// Gathers the facts. What could not be had is recorded as such, with the reason.
pub fn collect(sources: &Sources) -> Facts {
    let names: HashSet<&str, BuildFnv> = symbol_names().collect();
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
        Ok(kcore) => match code(sources, kcore, &mut facts) {
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
        tables::FTRACE,
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

/// Reads the whole kernel text and keeps what matters.
fn code(sources: &Sources, kcore: &Kcore, facts: &mut Facts) -> Result<Code, KcoreError> {
    let range = kernel_range(&sources.kallsyms)?;
    let stretches = read_text(&sources.kallsyms, range, kcore)?;
    let mut search = Search::new(&sources.kallsyms, stretches, range, shapes(facts), facts);
    let hits = search.find_calls(facts);
    search.keep_named(facts);
    let types = RecordingTypes {
        sources,
        facts: RefCell::new(facts),
    };
    search.keep_takers(hits.takers, &types);
    let code = Code {
        range,
        functions: search.into_functions(),
        callers: hits.callers,
    };
    name_call_targets(&sources.kallsyms, &code, facts);
    Ok(code)
}

/// Where the code of the kernel proper is.
fn kernel_range(kallsyms: &Kallsyms) -> Result<(u64, u64), KcoreError> {
    let bounds = kallsyms.find(|name| matches!(name, "_stext" | "_etext"));
    let one = |name: &str| match bounds.get(name).map(Vec::as_slice) {
        Some([symbol]) => Ok(symbol.address),
        _ => Err(KcoreError::NoBounds),
    };
    Ok((one("_stext")?, one("_etext")?))
}

/// The whole kernel text and that of the modules.
fn read_text(
    kallsyms: &Kallsyms,
    kernel: (u64, u64),
    kcore: &Kcore,
) -> Result<Vec<Stretch>, KcoreError> {
    let mut ranges = vec![kernel];
    ranges.extend(kallsyms.module_text());
    let read = |(start, end): (u64, u64)| {
        let len = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        Ok(Stretch {
            address: start,
            bytes: kcore.read(start, len)?,
        })
    };
    ranges.into_iter().map(read).collect()
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
