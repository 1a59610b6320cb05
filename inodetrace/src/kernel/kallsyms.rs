//! `/proc/kallsyms`: the kernel's symbol table, modules included.
//!
//! A line is `address type name`, for modules followed by `[module]`. Sizes are not given: a
//! function ends where the next symbol starts.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Why the symbols could not be had.
#[derive(Debug, thiserror::Error)]
pub enum KallsymsError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source} (the kernel needs CONFIG_KALLSYMS)")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// All addresses are zero.
    #[error(
        "/proc/kallsyms shows no addresses: run as root, and if you are, `sysctl -w kernel.kptr_restrict=1`"
    )]
    Hidden,
    /// The file has no symbols in it.
    #[error("/proc/kallsyms has no symbols: the kernel needs CONFIG_KALLSYMS_ALL")]
    Empty,
}

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Bytes up to the next symbol.
    pub size: u64,
    /// The module it is in; `None` for the kernel proper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Whether it is code.
    pub is_text: bool,
}

/// The parsed table, sorted by address.
#[derive(Debug)]
pub struct Kallsyms {
    text: String,
    entries: Vec<Entry>,
    modules: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    name_start: u32,
    name_len: u16,
    /// Index + 1 in `modules`; 0 for the kernel proper.
    module: u16,
    is_text: bool,
}

impl Kallsyms {
    /// Reads `<root>/proc/kallsyms`.
    ///
    /// # Errors
    /// If it cannot be read or hides its addresses.
    pub fn read(root: &Path) -> Result<Self, KallsymsError> {
        let path = root.join("proc/kallsyms");
        let bytes = std::fs::read(&path).map_err(|source| KallsymsError::Read {
            path: path.display().to_string(),
            source,
        })?;
        // A module could have any bytes as symbol names; such a symbol is none of ours.
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        Self::parse(text)
    }

    /// Parses the text of the file. Lines that are no symbols are skipped.
    ///
    /// # Errors
    /// If there is no symbol in it, or none has an address.
    pub fn parse(text: String) -> Result<Self, KallsymsError> {
        let mut entries = Vec::with_capacity(text.len() / 44);
        let mut modules: Vec<String> = Vec::new();
        let mut hidden = false;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let line_start = start;
            start += line.len();
            let Some(parsed) = parse_line(line) else {
                continue;
            };
            if parsed.address == 0 {
                hidden = true;
                continue;
            }
            let module = match parsed.module {
                None => 0,
                Some(name) => module_index(&mut modules, name),
            };
            let (Ok(name_start), Ok(name_len)) = (
                u32::try_from(line_start + parsed.name_at),
                u16::try_from(parsed.name_len),
            ) else {
                continue;
            };
            let is_text = matches!(parsed.kind, b't' | b'T' | b'w' | b'W' | b'i');
            entries.push(Entry {
                address: parsed.address,
                name_start,
                name_len,
                module,
                is_text,
            });
        }
        if entries.is_empty() {
            return Err(if hidden {
                KallsymsError::Hidden
            } else {
                KallsymsError::Empty
            });
        }
        entries.sort_by_key(|e| e.address);
        Ok(Self {
            text,
            entries,
            modules,
        })
    }

    /// All symbols whose name is wanted, by name.
    pub fn find(&self, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<Symbol>> {
        let mut found: BTreeMap<String, Vec<Symbol>> = BTreeMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let name = self.name(entry);
            if wanted(name) {
                found
                    .entry(name.to_owned())
                    .or_default()
                    .push(self.symbol(at));
            }
        }
        found
    }

    /// All symbols at the function that contains `address`: one, or several names of one.
    pub fn containing(&self, address: u64) -> Vec<Symbol> {
        let end = self.entries.partition_point(|e| e.address <= address);
        let Some(last) = end.checked_sub(1).and_then(|i| self.entries.get(i)) else {
            return Vec::new();
        };
        let first = self.entries.partition_point(|e| e.address < last.address);
        (first..end)
            .map(|at| self.symbol(at))
            .filter(|s| s.is_text)
            .collect()
    }

    /// Names of the loaded modules that have symbols.
    pub fn modules(&self) -> &[String] {
        &self.modules
    }

    /// Modules and the address of the first symbol of each. Code that the kernel makes at run time
    /// (BPF programs, trampolines, kprobe slots) is listed like a module's, and is none.
    pub fn modules_at(&self) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        for entry in self.entries.iter().filter(|e| e.module != 0) {
            let Some(name) = self.modules.get(usize::from(entry.module) - 1) else {
                continue;
            };
            if name != "bpf" && !name.starts_with("__builtin__") {
                let first: &mut u64 = found.entry(name.clone()).or_insert(entry.address);
                *first = entry.address.min(*first);
            }
        }
        found
    }

    /// Address ranges that hold the modules' code. Modules do not say how large their sections
    /// are, so each range ends a page after its last symbol's start, or at the next symbol.
    pub fn module_text(&self) -> Vec<(u64, u64)> {
        const PAGE: u64 = 4096;
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            if entry.module == 0 || !entry.is_text {
                continue;
            }
            let end = entry.address.saturating_add(self.size(at));
            match ranges.last_mut() {
                Some(last) if entry.address <= last.1.saturating_add(PAGE) => last.1 = end,
                _ => ranges.push((entry.address, end)),
            }
        }
        ranges
    }

    fn symbol(&self, at: usize) -> Symbol {
        let Some(entry) = self.entries.get(at) else {
            return Symbol {
                name: String::new(),
                address: 0,
                size: 0,
                module: None,
                is_text: false,
            };
        };
        let module = (entry.module as usize)
            .checked_sub(1)
            .and_then(|i| self.modules.get(i));
        Symbol {
            name: self.name(entry).to_owned(),
            address: entry.address,
            size: self.size(at),
            module: module.cloned(),
            is_text: entry.is_text,
        }
    }

    /// Bytes up to the next symbol, or where that is another module's, to the end of the page.
    fn size(&self, at: usize) -> u64 {
        const PAGE: u64 = 4096;
        let Some(entry) = self.entries.get(at) else {
            return 0;
        };
        let rest = self.entries.get(at..).unwrap_or_default();
        let page_end = PAGE - entry.address % PAGE;
        match rest.iter().find(|e| e.address != entry.address) {
            Some(next) if next.module == entry.module => next.address - entry.address,
            Some(next) => page_end.min(next.address - entry.address),
            None => page_end,
        }
    }

    fn name(&self, entry: &Entry) -> &str {
        let start = entry.name_start as usize;
        self.text
            .get(start..start + usize::from(entry.name_len))
            .unwrap_or("")
    }
}

struct Line<'a> {
    address: u64,
    kind: u8,
    name_at: usize,
    name_len: usize,
    module: Option<&'a str>,
}

/// Byte by byte: there are 200 000 lines.
fn parse_line(line: &str) -> Option<Line<'_>> {
    let bytes = line.as_bytes();
    let mut address = 0u64;
    let mut at = 0;
    while let Some(digit) = bytes.get(at).and_then(|b| char::from(*b).to_digit(16)) {
        address = address.checked_mul(16)? | u64::from(digit);
        at += 1;
    }
    let [b' ', kind, b' ', name @ ..] = bytes.get(at..)? else {
        return None;
    };
    let name_at = at + 3;
    let is_end = |b: &u8| b.is_ascii_whitespace();
    let name_len = name.iter().position(is_end).unwrap_or(name.len());
    if at == 0 || name_len == 0 {
        return None;
    }
    let tail = line.get(name_at + name_len..)?.trim();
    let module = tail.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
    Some(Line {
        address,
        kind: *kind,
        name_at,
        name_len,
        module,
    })
}

/// Index + 1 of `name`. Lines of one module follow each other, so the last is looked at first.
fn module_index(modules: &mut Vec<String>, name: &str) -> u16 {
    if let Some(at) = modules.iter().rposition(|m| m == name) {
        return at as u16 + 1;
    }
    modules.push(name.to_owned());
    modules.len() as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T startup_64
ffffffff81000040 t evict
ffffffff81000200 t __pfx_iput
ffffffff81000210 T iput
ffffffff81000400 D some_data
ffffffffc0100010 t xfs_init\t[xfs]
ffffffffc0100800 T xfs_exit\t[xfs]
ffffffffc0200000 t evict\t[other]
";

    #[test]
    fn sizes_reach_to_the_next_symbol() {
        let all = Kallsyms::parse(TEXT.to_owned()).unwrap();
        let found = all.find(|name| name == "evict");
        let [own, other] = found["evict"].as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!((own.address, own.size), (0xffff_ffff_8100_0040, 0x1c0));
        assert_eq!((own.module.as_deref(), own.is_text), (None, true));
        assert_eq!(other.module.as_deref(), Some("other"));
    }

    #[test]
    fn several_names_of_one_function() {
        let all = Kallsyms::parse(TEXT.to_owned()).unwrap();
        let names = |address| -> Vec<String> {
            all.containing(address)
                .into_iter()
                .map(|s| s.name)
                .collect()
        };
        assert_eq!(names(0xffff_ffff_8100_0004), ["_stext", "startup_64"]);
        assert_eq!(names(0xffff_ffff_8100_0210), ["iput"]);
        // Data is no function, and before the first symbol is nothing.
        assert!(names(0xffff_ffff_8100_0404).is_empty());
        assert!(names(0x1000).is_empty());
    }

    #[test]
    fn module_text_is_in_one_range_per_module() {
        let all = Kallsyms::parse(TEXT.to_owned()).unwrap();
        let ranges = all.module_text();
        let starts: Vec<u64> = ranges.iter().map(|r| r.0).collect();
        assert_eq!(starts, [0xffff_ffff_c010_0010, 0xffff_ffff_c020_0000]);
        assert_eq!(ranges[0].1, 0xffff_ffff_c010_1000);
        assert_eq!(all.modules(), ["xfs", "other"]);
    }

    #[test]
    fn what_the_kernel_makes_at_run_time_is_no_module() {
        let text = format!(
            "{TEXT}ffffffffc0300000 t bpf_prog_6deef7357e7b4530_evict\t[bpf]\n\
             ffffffffc0301000 t kprobe_optinsn_page\t[__builtin__kprobes]\n"
        );
        let all = Kallsyms::parse(text).unwrap();
        let found = all.modules_at();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["other", "xfs"]);
        assert_eq!(found["xfs"], 0xffff_ffff_c010_0010);
    }

    #[test]
    fn hidden_addresses_are_told_from_no_symbols() {
        let hidden = "0000000000000000 T _stext\n0000000000000000 t evict\n";
        assert!(matches!(
            Kallsyms::parse(hidden.to_owned()),
            Err(KallsymsError::Hidden)
        ));
        for empty in ["", "\n", "nonsense\n", "12 xx name\n", "12 T \n", " T x\n"] {
            let parsed = Kallsyms::parse(empty.to_owned());
            assert!(matches!(parsed, Err(KallsymsError::Empty)), "{empty:?}");
        }
    }

    proptest! {
        #[test]
        fn damaged_text_never_panics(
            cut in 0usize..500,
            put in ".{0,12}",
            address: u64,
        ) {
            let at = (0..=cut.min(TEXT.len())).rev().find(|at| TEXT.is_char_boundary(*at));
            let (start, end) = TEXT.split_at(at.unwrap_or(0));
            if let Ok(all) = Kallsyms::parse(format!("{start}{put}{end}")) {
                let _ = all.containing(address);
                let _ = all.find(|name| name.contains('e'));
                let _ = all.module_text();
            }
        }
    }
}
