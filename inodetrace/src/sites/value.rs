//! What a register may hold, and the registers.

use std::collections::BTreeMap;

use iced_x86::Register;

/// Index into the origins of a [`super::flow::Flow`].
pub(crate) type OriginId = u32;

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Value {
    /// A number, say the address of a global.
    Const(u64),
    /// An unknown pointer plus a known distance.
    Sum(OriginId, i64),
}

/// Where an unknown value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// The function's n-th argument.
    Argument(u8),
    /// The stack pointer at entry.
    Stack,
    /// Eight bytes read from memory.
    Load(OriginId, i64),
    /// Written by the instruction at that address in a way that is not followed.
    Defined(u64, u8),
    /// Several values meet at that address in that register or stack slot.
    Joined(u64, i64),
}

/// Number of general registers.
pub(super) const REGISTERS: usize = 16;
/// The stack pointer's number.
pub(super) const RSP: usize = 4;
/// Registers of the first six arguments, in the kernel's numbering: rdi rsi rdx rcx r8 r9.
pub(super) const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];
/// Registers that a called function may change.
pub(super) const CALLER_SAVED: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];

/// What all registers and the stack hold.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) registers: [Value; REGISTERS],
    /// Values spilt to the stack, by distance from the stack pointer at entry.
    pub(super) stack: BTreeMap<i64, Value>,
}

impl Value {
    /// The value that far on.
    pub(super) fn plus(self, by: i64) -> Self {
        match self {
            Self::Const(v) => Self::Const(v.wrapping_add_signed(by)),
            Self::Sum(origin, distance) => Self::Sum(origin, distance.wrapping_add(by)),
        }
    }
}

impl State {
    /// What that register holds.
    pub(super) fn get(&self, register: usize) -> Value {
        self.registers
            .get(register)
            .copied()
            .unwrap_or(Value::Const(0))
    }

    /// Notes what that register holds from here on.
    pub(super) fn set(&mut self, register: usize, value: Value) {
        if let Some(slot) = self.registers.get_mut(register) {
            *slot = value;
        }
    }
}

/// Number of a 64-bit general register.
pub(super) fn full_register(register: Register) -> Option<usize> {
    register.is_gpr64().then(|| register.number())
}

/// Number of the 64-bit register that `register` is part of.
pub(super) fn full(register: Register) -> Option<usize> {
    full_register(register.full_register())
}
