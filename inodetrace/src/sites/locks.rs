//! Which lock a call takes: the values that reach `_raw_spin_lock`, judged.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::code::Unit;
use super::flow::Flow;
use super::tables::Lock;
use super::value::{Origin, OriginId, Value};
use crate::kernel::facts::Place;

/// Structures that are parts of others: a pointer to one may well be used to reach what lies
/// around it, so that such a type says nothing about what an offset beyond its end belongs to.
const PARTS: &[&str] = &[
    "callback_head",
    "delayed_work",
    "hlist_bl_node",
    "hlist_head",
    "hlist_node",
    "kobject",
    "kref",
    "list_head",
    "llist_node",
    "rb_node",
    "rcu_head",
    "work_struct",
];

/// What the judgement needs to know about types.
pub(crate) trait Types {
    /// The structure that parameter `index` of `function` points to.
    fn parameter(&self, function: &str, index: usize) -> Option<String>;
    /// The structure that the pointer at `offset` of `structure` points to.
    fn pointee(&self, structure: &str, offset: u32) -> Option<String>;
}

/// What locks look like on the kernel at hand.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockShapes {
    /// Offset of `super_block.s_inode_list_lock`.
    pub(crate) sb_inodes: Option<i64>,
    /// Address of `inode_hash_lock`.
    pub(crate) inode_hash: Option<u64>,
    /// Offset of `ext4_sb_info.s_orphan_lock`.
    pub(crate) ext4_orphan: Option<i64>,
    /// Addresses of the functions that take spin locks.
    pub(crate) spin_locks: BTreeSet<u64>,
    /// Addresses of the functions that take mutexes.
    pub(crate) mutex_locks: BTreeSet<u64>,
    /// Displacements by which code reaches `super_block.s_inodes` or `inode.i_sb_list`.
    pub(crate) sb_list_members: BTreeSet<i64>,
}

impl LockShapes {
    /// Whether an instruction of `unit` has a number by which the address of a lock is formed: a
    /// quick test before the code is followed.
    pub(crate) fn may_be_taken_in(&self, unit: &Unit) -> bool {
        // The lock's own offset, or that of the list behind it, from which it is reached as well.
        let mut offsets: Vec<i64> = Vec::new();
        offsets.extend(self.sb_inodes.iter().flat_map(|o| [*o, *o + 8, *o + 16]));
        if unit.name.contains("ext4") {
            offsets.extend(self.ext4_orphan);
        }
        let forms = |i: &Instruction| match i.mnemonic() {
            Mnemonic::Lea => offsets.contains(&(i.memory_displacement64() as i64)),
            Mnemonic::Add | Mnemonic::Sub if has_immediate(i) => {
                offsets.contains(&(i.immediate(1) as i64).wrapping_abs())
            }
            _ => false,
        };
        let hash = self.inode_hash;
        let is_hash = |i: &Instruction| {
            i.is_ip_rel_memory_operand() && Some(i.ip_rel_memory_address()) == hash
                || has_immediate(i) && Some(i.immediate(1)) == hash
        };
        unit.instructions().values().any(|i| forms(i) || is_hash(i))
    }
}

/// How sure it is that the lock is the one named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The address of a global, or an offset into a structure known by its type.
    Certain,
    /// The right offset into something of unknown type, in a function that also reaches the list.
    Offset,
}

/// A call that takes one of the locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquisition {
    /// Which lock.
    pub lock: Lock,
    /// The call.
    pub place: Place,
    /// Its address.
    pub address: u64,
    /// How sure that is.
    pub evidence: Evidence,
    /// The instruction which formed the lock's address from the structure's: where it is, and the
    /// register that holds the structure. `None` for a global.
    pub formed: Option<(Place, Register)>,
}

/// The acquisitions in `unit`.
pub(crate) fn acquisitions(
    unit: &Unit,
    flow: &Flow,
    shapes: &LockShapes,
    types: &dyn Types,
) -> Vec<Acquisition> {
    let mut found = Vec::new();
    for (from, to) in unit.calls() {
        let is_spin = shapes.spin_locks.contains(&to);
        if !is_spin && !shapes.mutex_locks.contains(&to) {
            continue;
        }
        let judge = Judge {
            unit,
            flow,
            shapes,
            types,
        };
        for value in flow.first_argument(from) {
            let Some((lock, evidence)) = judge.lock(value, is_spin) else {
                continue;
            };
            let formed = flow
                .formed_before(from, value)
                .map(|(at, base)| (unit.place(at), base));
            let place = unit.place(from);
            found.push(Acquisition {
                lock,
                place,
                address: from,
                evidence,
                formed,
            });
            break;
        }
    }
    found
}

struct Judge<'a> {
    unit: &'a Unit,
    flow: &'a Flow,
    shapes: &'a LockShapes,
    types: &'a dyn Types,
}

impl Judge<'_> {
    fn lock(&self, value: Value, is_spin: bool) -> Option<(Lock, Evidence)> {
        match value {
            Value::Const(address) => (is_spin && Some(address) == self.shapes.inode_hash)
                .then_some((Lock::InodeHash, Evidence::Certain)),
            Value::Sum(origin, distance) if is_spin => {
                if Some(distance) != self.shapes.sb_inodes {
                    return None;
                }
                let evidence = self.structure_is(origin, "super_block", || {
                    reaches(self.unit, &self.shapes.sb_list_members)
                })?;
                Some((Lock::SbInodes, evidence))
            }
            Value::Sum(origin, distance) => {
                if Some(distance) != self.shapes.ext4_orphan {
                    return None;
                }
                let evidence = self.structure_is(origin, "ext4_sb_info", || {
                    self.unit.name.starts_with("ext4_")
                })?;
                Some((Lock::Ext4Orphan, evidence))
            }
        }
    }

    /// Whether `origin` points to a `wanted`; where its type is not known, `otherwise` decides.
    fn structure_is(
        &self,
        origin: OriginId,
        wanted: &str,
        otherwise: impl Fn() -> bool,
    ) -> Option<Evidence> {
        match self.type_of(origin, &mut BTreeMap::new()) {
            Some(t) if t == wanted => Some(Evidence::Certain),
            Some(t) if !PARTS.contains(&t.as_str()) => None,
            _ => otherwise().then_some(Evidence::Offset),
        }
    }

    fn type_of(
        &self,
        id: OriginId,
        seen: &mut BTreeMap<OriginId, Option<String>>,
    ) -> Option<String> {
        if let Some(known) = seen.get(&id) {
            return known.clone();
        }
        seen.insert(id, None);
        let t = match self.flow.origin(id) {
            Origin::Argument(n) => self.types.parameter(&self.unit.name, usize::from(n)),
            Origin::Load(base, offset) => {
                let base = self.type_of(base, seen)?;
                self.types.pointee(&base, u32::try_from(offset).ok()?)
            }
            Origin::Joined(..) => {
                let mut types = self.flow.joined(id).map(|value| match value {
                    Value::Sum(part, 0) => self.type_of(part, seen),
                    _ => None,
                });
                let first = types.next()?;
                if types.all(|t| t == first) {
                    first
                } else {
                    None
                }
            }
            Origin::Stack | Origin::Defined(..) => None,
        };
        seen.insert(id, t.clone());
        t
    }
}

/// Whether an instruction of `unit` has one of `displacements`.
fn reaches(unit: &Unit, displacements: &BTreeSet<i64>) -> bool {
    unit.instructions().values().any(|i| {
        let memory = (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory)
            && displacements.contains(&(i.memory_displacement64() as i64));
        let immediate = has_immediate(i)
            && (displacements.contains(&(i.immediate(1) as i64))
                || displacements.contains(&(i.immediate(1) as i64).wrapping_neg()));
        memory || immediate
    })
}

/// Whether the second operand is a number that is extended to 64 bits.
fn has_immediate(i: &Instruction) -> bool {
    let kind = OpKind::Immediate8to64;
    i.op_count() == 2 && (i.op1_kind() == kind || i.op1_kind() == OpKind::Immediate32to64)
}
