//! Where the program that counts an inlined section goes: on an instruction that runs exactly when
//! the section's lock is about to be taken, with the superblock or the inode in a register.
//!
//! A probe on the call itself traps (int3). An instruction before it that is at least five bytes
//! long and no call can become a jump, which costs a tenth; it serves if nothing lies between the
//! two but a straight line.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use super::analysis::Analysis;
use super::code::Unit;
use crate::kernel::facts::Place;

/// Where to probe a section, and what is found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionPoint {
    /// Address of the instruction.
    pub address: u64,
    /// Number of a register (rax rcx rdx rbx rsp rbp rsi rdi r8 …).
    pub register: usize,
    /// What to add to it to get the object's address.
    pub adjust: i64,
}

/// Shortest instruction that a jump fits into.
const JUMP: usize = 5;
const RDI: usize = 7;

impl Analysis<'_> {
    /// Where to count the lock that the call at `address` of `place` takes, `lock` bytes into an
    /// object: gives the object.
    pub fn section_of_member(
        &self,
        place: &Place,
        address: u64,
        lock: i64,
    ) -> Option<SectionPoint> {
        let (unit, flow) = self.unit_flow(&place.function)?;
        let before = flow.first_argument(address).into_iter().find_map(|value| {
            let (at, base) = flow.formed_before(address, value)?;
            let forms = unit.instructions().get(&at)?;
            let plain = forms.mnemonic() == Mnemonic::Lea
                && forms.memory_index() == Register::None
                && forms.memory_base() == base
                && base.is_gpr64();
            (plain && forms.len() >= JUMP && is_straight(unit, at, address)).then(|| SectionPoint {
                address: at,
                register: base.number(),
                adjust: (forms.memory_displacement64() as i64).wrapping_sub(lock),
            })
        });
        // What is formed may be the lock or something beside it from which it is reached; only
        // the former is taken, so that nothing need be assumed about what lies between.
        let before = before.filter(|point| point.adjust == 0);
        Some(before.unwrap_or(SectionPoint {
            address,
            register: RDI,
            adjust: -lock,
        }))
    }

    /// Where to count the global lock that the call at `address` of `place` takes: gives the
    /// function's first argument.
    pub fn section_of_argument(&self, place: &Place, address: u64) -> Option<SectionPoint> {
        let (unit, flow) = self.unit_flow(&place.function)?;
        let register = flow.register_of_argument(address, 0)?;
        let before = unit
            .instructions()
            .range(..address)
            .next_back()
            .filter(|(at, i)| {
                loads_constant(i) && i.len() >= JUMP && is_straight(unit, **at, address)
            })
            .map(|(at, _)| *at);
        Some(SectionPoint {
            address: before.unwrap_or(address),
            register,
            adjust: 0,
        })
    }
}

/// `mov rdi, imm`: it changes no register that is asked for.
fn loads_constant(i: &Instruction) -> bool {
    i.mnemonic() == Mnemonic::Mov
        && i.op0_kind() == OpKind::Register
        && i.op0_register().full_register() == Register::RDI
        && i.op1_kind() != OpKind::Register
        && i.op1_kind() != OpKind::Memory
}

/// Whether whatever runs the instruction at `from` goes on to the one at `to`, and nothing comes
/// there by another way.
fn is_straight(unit: &Unit, from: u64, to: u64) -> bool {
    let mut at = from;
    while at != to {
        let Some(instruction) = unit.instructions().get(&at) else {
            return false;
        };
        let next: Vec<u64> = unit.successors(instruction).collect();
        // A call in between could change the register's meaning no more than time does; but there
        // is no reason for one, so it is not judged.
        if next.as_slice() != [instruction.next_ip()] || unit.call_target(instruction).is_some() {
            return false;
        }
        at = instruction.next_ip();
        if at > to {
            return false;
        }
    }
    let enters_between = |i: &Instruction| {
        unit.successors(i)
            .any(|next| next > from && next <= to && next != i.next_ip())
    };
    !unit.instructions().values().any(enters_between)
}
