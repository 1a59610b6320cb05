//! BTF, the kernel's type information: `/sys/kernel/btf/vmlinux` and `/sys/kernel/btf/<module>`.
//!
//! Format: the kernel's `Documentation/bpf/btf.rst`. This half knows the encoding; what is asked
//! of it is in [`super::btf_query`]. Every read is checked, so hostile input gives an error.

use std::sync::Arc;

use super::bytes::{u16_at, u32_at};
use super::fnv;

const MAGIC: u16 = 0xeb9f;

/// What is wrong with the BTF, or with what was asked of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// Not BTF, or of the other byte order.
    #[error("this is not BTF of a little-endian kernel")]
    NotBtf,
    /// A length or offset points outside of the data.
    #[error("the BTF is damaged: {0} lies outside of the data")]
    OutOfBounds(&'static str),
    /// A kind of type that this reader cannot even skip.
    #[error("the BTF has a type of kind {0}, which this version of inodetrace does not know")]
    UnknownKind(u32),
    /// Types refer to each other in a circle or nest absurdly deep.
    #[error("the BTF is damaged: types of `{0}` refer to each other without end")]
    TooDeep(String),
    /// The kernel has no such structure.
    #[error("this kernel's BTF has no structure `{0}`")]
    NoStruct(String),
    /// The structure has no such member.
    #[error("this kernel's `struct {structure}` has no member `{path}`")]
    NoMember {
        /// The structure.
        structure: String,
        /// The member, with dots for nested ones.
        path: String,
    },
    /// The member is a bit field, which has no byte offset.
    #[error("`{structure}.{path}` is a bit field in this kernel")]
    BitField {
        /// The structure.
        structure: String,
        /// The member.
        path: String,
    },
    /// Several types have that name and do not agree in what was asked.
    #[error("this kernel's BTF has several types named `{0}`, and they differ")]
    Ambiguous(String),
}

/// Kinds of type, as `BTF_KIND_*` in `include/uapi/linux/btf.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Ptr,
    Array,
    Struct,
    Union,
    Enum,
    Enum64,
    Func,
    FuncProto,
    /// typedef, volatile, const, restrict, type tag: stands for the type it refers to.
    Alias,
    /// Variables, sections, floats, forward declarations, tags.
    Other,
}

/// One type record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) name: u32,
    /// Number of members, values or parameters.
    pub(crate) vlen: usize,
    /// `kind_flag`: in structures, member offsets also hold a bit field's size.
    pub(crate) flag: bool,
    /// Size, or the id of the type referred to.
    pub(crate) size_or_type: u32,
    /// Where the members start in the data.
    pub(crate) body: usize,
}

/// Parsed BTF. A module's builds on the kernel's.
#[derive(Debug)]
pub struct Btf {
    data: Vec<u8>,
    base: Option<Arc<Btf>>,
    /// Offset in `data` of each type of its own; the first has the id `first_id`.
    types: Vec<u32>,
    first_id: u32,
    strings: std::ops::Range<usize>,
    /// String offsets below this one are the base's.
    first_string: u32,
    /// Structures, unions, enums and functions: hash of the name and id, sorted.
    names: Vec<(u64, u32)>,
}

impl Btf {
    /// Parses the kernel's own BTF.
    ///
    /// # Errors
    /// If the data is no BTF or is damaged.
    pub fn parse(data: Vec<u8>) -> Result<Self, BtfError> {
        Self::parse_on(None, data)
    }

    /// Parses a module's BTF, which refers to the kernel's.
    ///
    /// # Errors
    /// If the data is no BTF or is damaged.
    pub fn parse_module(base: Arc<Btf>, data: Vec<u8>) -> Result<Self, BtfError> {
        Self::parse_on(Some(base), data)
    }

    fn parse_on(base: Option<Arc<Btf>>, data: Vec<u8>) -> Result<Self, BtfError> {
        if u16_at(&data, 0) != Some(MAGIC) {
            return Err(BtfError::NotBtf);
        }
        let field = |at, what| u32_at(&data, at).ok_or(BtfError::OutOfBounds(what));
        let header = field(4, "the header")? as usize;
        let section = |start: u32, len: u32, what| {
            let start = header.checked_add(start as usize);
            let end = start.and_then(|s| s.checked_add(len as usize));
            match (start, end) {
                (Some(start), Some(end)) if end <= data.len() => Ok(start..end),
                _ => Err(BtfError::OutOfBounds(what)),
            }
        };
        let types = section(
            field(8, "the header")?,
            field(12, "the header")?,
            "the types",
        )?;
        let strings = section(
            field(16, "the header")?,
            field(20, "the header")?,
            "the strings",
        )?;
        let (first_id, first_string) = match &base {
            None => (1, 0),
            Some(base) => (base.end_id(), base.end_string()),
        };
        let mut btf = Self {
            data,
            base,
            types: Vec::new(),
            first_id,
            strings,
            first_string,
            names: Vec::new(),
        };
        btf.index(types)?;
        Ok(btf)
    }

    fn index(&mut self, section: std::ops::Range<usize>) -> Result<(), BtfError> {
        let mut at = section.start;
        while at < section.end {
            let (t, next) = read_type(&self.data, at)?;
            if next > section.end {
                return Err(BtfError::OutOfBounds("a type"));
            }
            let id = self.first_id.saturating_add(self.types.len() as u32);
            self.types.push(at as u32);
            let named = matches!(
                t.kind,
                Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Func
            );
            if named && t.name != 0 {
                self.names.push((fnv::hash(self.string(t.name)), id));
            }
            at = next;
        }
        self.names.sort_unstable();
        Ok(())
    }

    fn end_id(&self) -> u32 {
        self.first_id.saturating_add(self.types.len() as u32)
    }

    fn end_string(&self) -> u32 {
        self.first_string.saturating_add(self.strings.len() as u32)
    }

    /// The string at that offset; empty if there is none.
    pub(crate) fn string(&self, offset: u32) -> &[u8] {
        if offset < self.first_string {
            return self.base.as_deref().map_or(&[], |base| base.string(offset));
        }
        let Some(strings) = self.data.get(self.strings.clone()) else {
            return &[];
        };
        let rest = strings
            .get((offset - self.first_string) as usize..)
            .unwrap_or_default();
        rest.split(|b| *b == 0).next().unwrap_or_default()
    }

    /// The type with that id; `None` for void and for what does not exist.
    pub(crate) fn get(&self, id: u32) -> Option<Type> {
        if id < self.first_id {
            return self.base.as_deref().and_then(|base| base.get(id));
        }
        let at = *self.types.get((id - self.first_id) as usize)?;
        read_type(&self.data, at as usize).ok().map(|(t, _)| t)
    }

    /// Word `index` of entry `entry` in the body of the type `id`, whose entries are `width` words.
    pub(crate) fn body_word(
        &self,
        id: u32,
        entry: usize,
        width: usize,
        index: usize,
    ) -> Option<u32> {
        if id < self.first_id {
            return self.base.as_deref()?.body_word(id, entry, width, index);
        }
        let t = self.get(id)?;
        if entry >= t.vlen {
            return None;
        }
        u32_at(&self.data, t.body + (entry * width + index) * 4)
    }

    /// Ids of the structures, unions, enums and functions of that name, a module's own first.
    pub(crate) fn named(&self, name: &str) -> Vec<u32> {
        let hash = fnv::hash(name.as_bytes());
        let start = self.names.partition_point(|(h, _)| *h < hash);
        let same = self
            .names
            .iter()
            .skip(start)
            .take_while(|(h, _)| *h == hash);
        let is_it = |id: &u32| {
            self.get(*id)
                .is_some_and(|t| self.string(t.name) == name.as_bytes())
        };
        let mut ids: Vec<u32> = same.map(|(_, id)| *id).filter(is_it).collect();
        if let Some(base) = &self.base {
            ids.extend(base.named(name));
        }
        ids
    }

    /// Every id, the base's included.
    pub(crate) fn ids(&self) -> std::ops::Range<u32> {
        1..self.end_id()
    }
}

/// The type at `at` and where the next one starts.
fn read_type(data: &[u8], at: usize) -> Result<(Type, usize), BtfError> {
    let word = |i: usize| u32_at(data, at + i * 4).ok_or(BtfError::OutOfBounds("a type"));
    let (name, info, size_or_type) = (word(0)?, word(1)?, word(2)?);
    let vlen = (info & 0xffff) as usize;
    let (kind, words) = match info >> 24 & 0x1f {
        1 => (Kind::Int, 1),
        2 => (Kind::Ptr, 0),
        3 => (Kind::Array, 3),
        4 => (Kind::Struct, 3 * vlen),
        5 => (Kind::Union, 3 * vlen),
        6 => (Kind::Enum, 2 * vlen),
        7 | 16 => (Kind::Other, 0),
        8..=11 | 18 => (Kind::Alias, 0),
        12 => (Kind::Func, 0),
        13 => (Kind::FuncProto, 2 * vlen),
        14 | 17 => (Kind::Other, 1),
        15 => (Kind::Other, 3 * vlen),
        19 => (Kind::Enum64, 3 * vlen),
        other => return Err(BtfError::UnknownKind(other)),
    };
    let body = at + 12;
    let t = Type {
        kind,
        name,
        vlen,
        flag: info >> 31 != 0,
        size_or_type,
        body,
    };
    Ok((t, body + words * 4))
}
