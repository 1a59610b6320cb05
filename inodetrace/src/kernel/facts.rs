//! What the planner knows about a kernel: plain data, so that a plan can be made and tested
//! without that kernel.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::btf_query::Signature;
use super::kallsyms::Symbol;

/// Everything the planner is told about one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// `uname -r`; for messages only, nothing is decided by it.
    pub release: String,
    /// Symbols by name, those the planner may ask for.
    pub symbols: BTreeMap<String, Vec<Symbol>>,
    /// Byte offsets by `structure.member.path`.
    pub layout: BTreeMap<String, Member>,
    /// Mask of `I_NEW` in the word at `inode.i_state`.
    pub i_new: u32,
    /// Functions that BTF describes, by name; those the planner may ask for.
    pub functions: BTreeMap<String, BtfFunction>,
    /// What the pointer at `structure+offset` points to, as far as the code analysis asked.
    pub pointees: BTreeMap<String, Option<String>>,
    /// The code.
    pub text: Text,
}

/// Where a member of a structure is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Member {
    /// Bytes from the start of the structure.
    Offset(u32),
    /// It has none, for this reason.
    Missing(String),
}

/// A function as BTF describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BtfFunction {
    /// How many functions of that name there are. fentry needs exactly one.
    pub count: usize,
    /// The signature, if all agree.
    pub signature: Option<Signature>,
}

/// The kernel's code, as far as it matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Text {
    /// The whole of it was searched.
    Read(Code),
    /// It could not be read, for this reason; nothing may be concluded from the lack of anything.
    Unreadable(String),
}

impl Default for Text {
    fn default() -> Self {
        Self::Unreadable("the kernel's code was not read".to_owned())
    }
}

/// What the search of the whole kernel text kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Where the code of the kernel proper starts and ends.
    pub range: (u64, u64),
    /// Functions which take one of the locks or perform a site.
    pub functions: Vec<FunctionText>,
    /// Who calls or jumps to a function, by its name; for the functions that are watched.
    pub callers: BTreeMap<String, Vec<Place>>,
}

/// A place in the code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The function.
    pub function: String,
    /// Bytes from its start.
    pub offset: u64,
}

impl Place {
    /// Whether it is in the function of that very symbol, or in its cold part. A `.constprop` or
    /// `.part` variant is another function, which a probe on this one does not see.
    pub fn is_in(&self, symbol: &str) -> bool {
        let rest = self.function.strip_prefix(symbol);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(".cold"))
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}+{:#x}", self.function, self.offset)
    }
}

/// The bytes of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionText {
    /// Its symbol.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Its bytes, up to the next symbol.
    #[serde(with = "hex")]
    pub bytes: Vec<u8>,
}

impl Facts {
    /// Offset of `path` (`inode.i_hash.pprev`).
    ///
    /// # Errors
    /// The reason why it has none.
    pub fn offset(&self, path: &str) -> Result<u32, String> {
        match self.layout.get(path) {
            Some(Member::Offset(offset)) => Ok(*offset),
            Some(Member::Missing(why)) => Err(why.clone()),
            None => Err(format!("the offset of {path} is not known")),
        }
    }

    /// The structure that parameter `index` of `function` points to, if BTF tells.
    pub fn parameter(&self, function: &str, index: usize) -> Option<String> {
        let signature = self.functions.get(function)?.signature.as_ref()?;
        signature.params.get(index)?.clone()
    }

    /// Symbols named `name` that are code of the kernel proper.
    pub fn kernel_functions(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        let all = self
            .symbols
            .get(name)
            .map(Vec::as_slice)
            .unwrap_or_default();
        all.iter().filter(|s| s.is_text && s.module.is_none())
    }

    /// Whether there is code of that name, in the kernel proper or in a module.
    pub fn has_function(&self, name: &str) -> bool {
        self.symbols
            .get(name)
            .is_some_and(|all| all.iter().any(|s| s.is_text))
    }

    /// The code, or why there is none.
    ///
    /// # Errors
    /// The reason why it could not be read.
    pub fn code(&self) -> Result<&Code, &str> {
        match &self.text {
            Text::Read(code) => Ok(code),
            Text::Unreadable(why) => Err(why),
        }
    }
}

/// Bytes as hexadecimal digits.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        use std::fmt::Write;
        let mut text = String::with_capacity(bytes.len() * 2);
        for b in bytes {
            // Writing to a String cannot fail.
            let _ = write!(text, "{b:02x}");
        }
        s.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(d)?;
        let pairs = text.as_bytes().chunks(2);
        pairs
            .map(|pair| {
                let pair = std::str::from_utf8(pair).map_err(D::Error::custom)?;
                u8::from_str_radix(pair, 16).map_err(D::Error::custom)
            })
            .collect()
    }
}
