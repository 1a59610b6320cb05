//! What is asked of the BTF: member offsets, function signatures, enumerators.

use super::btf::{Btf, BtfError, Kind, Type};

/// Longest chain of typedefs and qualifiers, and deepest nesting of anonymous members, that is
/// followed. Real ones have fewer than ten.
const MAX_DEPTH: usize = 32;
/// Members looked at for one question; the largest real structure has a few hundred.
const MAX_MEMBERS: u32 = 100_000;

/// A function's parameters.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Signature {
    /// For each parameter the structure it points to, if it is a pointer to one.
    pub params: Vec<Option<String>>,
}

/// A member that was found: byte offset within the outermost structure, and its type.
struct Member {
    offset: u32,
    type_id: u32,
}

impl Btf {
    /// Byte offset of `path` (`i_hash.pprev`) within `structure`. Members of anonymous structures
    /// and unions are found by their own name.
    ///
    /// # Errors
    /// If there is no such structure or member, if the member is a bit field, or if several
    /// structures of that name differ in it.
    pub fn member_offset(&self, structure: &str, path: &str) -> Result<u32, BtfError> {
        self.agreed(structure, |id| {
            self.walk_path(structure, id, path).map(|m| m.offset)
        })
    }

    /// Whether the member at the end of `path` is itself a structure or union.
    ///
    /// # Errors
    /// As [`Btf::member_offset`].
    pub fn member_is_struct(&self, structure: &str, path: &str) -> Result<bool, BtfError> {
        self.agreed(structure, |id| {
            let member = self.walk_path(structure, id, path)?;
            let t = self.resolve(member.type_id, structure)?;
            Ok(t.is_some_and(|(_, t)| matches!(t.kind, Kind::Struct | Kind::Union)))
        })
    }

    /// The structure that the pointer at byte `offset` of `structure` points to, if there is one
    /// and all structures of that name agree.
    pub fn pointee_at(&self, structure: &str, offset: u32) -> Option<String> {
        self.agreed(structure, |id| {
            Ok(self.pointer_at(id, u64::from(offset), 0, &mut { MAX_MEMBERS }))
        })
        .ok()
        .flatten()
    }

    /// The signatures of the functions of that name, equal ones once.
    pub fn functions(&self, name: &str) -> Vec<Signature> {
        let mut found: Vec<Signature> = Vec::new();
        for id in self.named(name) {
            let Some(signature) = self.signature(id) else {
                continue;
            };
            if !found.contains(&signature) {
                found.push(signature);
            }
        }
        found
    }

    /// How many functions of that name the BTF has.
    pub fn count_functions(&self, name: &str) -> usize {
        let is_func = |id: &u32| self.get(*id).is_some_and(|t| t.kind == Kind::Func);
        self.named(name).iter().filter(|id| is_func(id)).count()
    }

    /// Values of several enumerators, found in one pass over all enums; `None` where the kernel
    /// has no enumerator of that name, or several that differ.
    pub fn enumerators<const N: usize>(&self, names: [&str; N]) -> [Option<u64>; N] {
        let mut found: [Option<Option<u64>>; N] = [None; N];
        for id in self.ids() {
            let Some(t) = self.get(id) else { continue };
            let width = match t.kind {
                Kind::Enum => 2,
                Kind::Enum64 => 3,
                _ => continue,
            };
            for entry in 0..t.vlen {
                let word = |i| self.body_word(id, entry, width, i);
                let (Some(name), Some(low)) = (word(0), word(1)) else {
                    break;
                };
                let name = self.string(name);
                let Some(at) = names.iter().position(|n| n.as_bytes() == name) else {
                    continue;
                };
                let high = if width == 3 { word(2).unwrap_or(0) } else { 0 };
                let value = u64::from(high) << 32 | u64::from(low);
                if let Some(slot) = found.get_mut(at) {
                    *slot = match *slot {
                        None => Some(Some(value)),
                        Some(Some(seen)) if seen == value => Some(Some(value)),
                        Some(_) => Some(None),
                    };
                }
            }
        }
        found.map(Option::flatten)
    }

    /// Asks every structure or union of that name; they must agree, errors included.
    fn agreed<T: PartialEq>(
        &self,
        structure: &str,
        ask: impl Fn(u32) -> Result<T, BtfError>,
    ) -> Result<T, BtfError> {
        let mut answer: Option<Result<T, BtfError>> = None;
        for id in self.named(structure) {
            let is_struct = self
                .get(id)
                .is_some_and(|t| matches!(t.kind, Kind::Struct | Kind::Union));
            if !is_struct {
                continue;
            }
            let this = ask(id);
            match &answer {
                None => answer = Some(this),
                Some(first) if *first == this => {}
                Some(_) => return Err(BtfError::Ambiguous(structure.to_owned())),
            }
        }
        answer.unwrap_or_else(|| Err(BtfError::NoStruct(structure.to_owned())))
    }

    fn walk_path(&self, structure: &str, id: u32, path: &str) -> Result<Member, BtfError> {
        let no_member = || BtfError::NoMember {
            structure: structure.to_owned(),
            path: path.to_owned(),
        };
        let mut at = Member {
            offset: 0,
            type_id: id,
        };
        for name in path.split('.') {
            if name.is_empty() {
                return Err(no_member());
            }
            let (id, _) = self.resolve(at.type_id, structure)?.ok_or_else(no_member)?;
            let mut budget = MAX_MEMBERS;
            let found = self.find_member(structure, id, name, 0, &mut budget)?;
            let (bits, type_id, is_bit_field) = found.ok_or_else(no_member)?;
            if is_bit_field || bits % 8 != 0 {
                return Err(BtfError::BitField {
                    structure: structure.to_owned(),
                    path: path.to_owned(),
                });
            }
            let offset = u64::from(at.offset) + bits / 8;
            at = Member {
                offset: u32::try_from(offset).map_err(|_| no_member())?,
                type_id,
            };
        }
        Ok(at)
    }

    /// Bit offset, type and whether it is a bit field, of the member `name` of the type `id`.
    fn find_member(
        &self,
        structure: &str,
        id: u32,
        name: &str,
        depth: usize,
        budget: &mut u32,
    ) -> Result<Option<(u64, u32, bool)>, BtfError> {
        if depth > MAX_DEPTH {
            return Err(BtfError::TooDeep(structure.to_owned()));
        }
        let Some(t) = self.get(id) else {
            return Ok(None);
        };
        if !matches!(t.kind, Kind::Struct | Kind::Union) {
            return Ok(None);
        }
        for entry in 0..t.vlen {
            *budget = budget
                .checked_sub(1)
                .ok_or_else(|| BtfError::TooDeep(structure.to_owned()))?;
            let Some(member) = self.member(id, &t, entry) else {
                break;
            };
            let member_name = self.string(member.name);
            if member_name == name.as_bytes() {
                return Ok(Some((member.bits, member.type_id, member.bit_field)));
            }
            if member_name.is_empty()
                && let Some((inner, _)) = self.resolve(member.type_id, structure)?
                && let Some((bits, type_id, bit_field)) =
                    self.find_member(structure, inner, name, depth + 1, budget)?
            {
                return Ok(Some((member.bits + bits, type_id, bit_field)));
            }
        }
        Ok(None)
    }

    /// The structure pointed to by the pointer at exactly that byte offset.
    fn pointer_at(&self, id: u32, offset: u64, depth: usize, budget: &mut u32) -> Option<String> {
        let t = self.get(id)?;
        if depth > MAX_DEPTH || !matches!(t.kind, Kind::Struct | Kind::Union) {
            return None;
        }
        for entry in 0..t.vlen {
            *budget = budget.checked_sub(1)?;
            let member = self.member(id, &t, entry)?;
            let start = member.bits / 8;
            if member.bit_field || start > offset {
                continue;
            }
            let Ok(Some((inner_id, inner))) = self.resolve(member.type_id, "") else {
                continue;
            };
            let found = match inner.kind {
                Kind::Ptr if start == offset => self.struct_name(inner.size_or_type),
                Kind::Struct | Kind::Union if offset - start < u64::from(inner.size_or_type) => {
                    self.pointer_at(inner_id, offset - start, depth + 1, budget)
                }
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn signature(&self, func: u32) -> Option<Signature> {
        let t = self.get(func).filter(|t| t.kind == Kind::Func)?;
        let proto = self
            .get(t.size_or_type)
            .filter(|p| p.kind == Kind::FuncProto)?;
        let params = (0..proto.vlen)
            .map(|entry| {
                let id = self.body_word(t.size_or_type, entry, 2, 1)?;
                let (_, param) = self.resolve(id, "").ok().flatten()?;
                (param.kind == Kind::Ptr).then(|| self.struct_name(param.size_or_type))?
            })
            .collect();
        Some(Signature { params })
    }

    fn struct_name(&self, id: u32) -> Option<String> {
        let (_, t) = self.resolve(id, "").ok().flatten()?;
        let is_struct = matches!(t.kind, Kind::Struct | Kind::Union);
        let name = self.string(t.name);
        (is_struct && !name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
    }

    /// Follows typedefs and qualifiers. `None` is void.
    fn resolve(&self, mut id: u32, what: &str) -> Result<Option<(u32, Type)>, BtfError> {
        for _ in 0..MAX_DEPTH {
            match self.get(id) {
                None => return Ok(None),
                Some(t) if t.kind == Kind::Alias => id = t.size_or_type,
                Some(t) => return Ok(Some((id, t))),
            }
        }
        Err(BtfError::TooDeep(what.to_owned()))
    }

    fn member(&self, id: u32, t: &Type, entry: usize) -> Option<RawMember> {
        let word = |i| self.body_word(id, entry, 3, i);
        let (name, type_id, raw) = (word(0)?, word(1)?, word(2)?);
        // With the flag set, the top byte is the size of the bit field, 0 for a plain member.
        let (bits, bit_field) = if t.flag {
            (raw & 0xff_ffff, raw >> 24 != 0)
        } else {
            (raw, false)
        };
        Some(RawMember {
            name,
            type_id,
            bits: u64::from(bits),
            bit_field,
        })
    }
}

struct RawMember {
    name: u32,
    type_id: u32,
    bits: u64,
    bit_field: bool,
}
