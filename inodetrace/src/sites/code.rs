//! A function's machine code, decoded, and the ways through it.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{
    Code as Opcode, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory,
    Mnemonic, OpAccess, Register,
};

use crate::kernel::facts::{FunctionText, Place};

/// A function with its `.cold` part, which the compiler put elsewhere.
#[derive(Debug)]
pub struct Unit {
    /// The function's symbol.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// First address, end, symbol.
    parts: Vec<(u64, u64, String)>,
    instructions: BTreeMap<u64, Instruction>,
}

/// Where an instruction passes control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// To the next instruction only.
    Through,
    /// To an address within the unit, and to the next one if `or_through`.
    Within(u64, bool),
    /// To a function (a tail call), and to the next instruction if `or_through`.
    Outside(u64, bool),
    /// Out of the function: a return, or a jump to where a register points.
    Out,
    /// Nowhere: the kernel stops there.
    Nowhere,
}

impl Unit {
    /// Decodes a function and its cold part.
    pub fn decode(function: &FunctionText, cold: Option<&FunctionText>) -> Self {
        let mut unit = Self {
            name: function.name.clone(),
            address: function.address,
            parts: Vec::new(),
            instructions: BTreeMap::new(),
        };
        for part in std::iter::once(function).chain(cold) {
            let end = part.address.saturating_add(part.bytes.len() as u64);
            unit.parts.push((part.address, end, part.name.clone()));
            let decoder = Decoder::with_ip(64, &part.bytes, part.address, DecoderOptions::NONE);
            for instruction in decoder {
                unit.instructions.insert(instruction.ip(), instruction);
            }
        }
        unit
    }

    /// Groups functions with their cold parts.
    pub fn decode_all(functions: &[FunctionText]) -> Vec<Self> {
        let cold_of = |name: &str| {
            functions.iter().find(|f| {
                f.name
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(".cold"))
            })
        };
        functions
            .iter()
            .filter(|f| !f.name.contains(".cold"))
            .map(|f| Self::decode(f, cold_of(&f.name)))
            .collect()
    }

    /// The instructions by address.
    pub(crate) fn instructions(&self) -> &BTreeMap<u64, Instruction> {
        &self.instructions
    }

    /// Whether the address belongs to it.
    pub fn contains(&self, address: u64) -> bool {
        self.parts
            .iter()
            .any(|(start, end, _)| (*start..*end).contains(&address))
    }

    /// The address as symbol and offset.
    pub fn place(&self, address: u64) -> Place {
        let part = self
            .parts
            .iter()
            .find(|(start, end, _)| (*start..*end).contains(&address));
        let (function, start) = part.map_or((&self.name, self.address), |(start, _, name)| {
            (name, *start)
        });
        Place {
            function: function.clone(),
            offset: address.wrapping_sub(start),
        }
    }

    /// Where the instruction passes control.
    pub(crate) fn next(&self, instruction: &Instruction) -> Next {
        let near = |or_through| {
            let to = instruction.near_branch_target();
            if self.contains(to) {
                Next::Within(to, or_through)
            } else {
                Next::Outside(to, or_through)
            }
        };
        match instruction.flow_control() {
            FlowControl::UnconditionalBranch => near(false),
            FlowControl::ConditionalBranch | FlowControl::XbeginXabortXend => near(true),
            FlowControl::Return | FlowControl::IndirectBranch => Next::Out,
            // ud2 is BUG(), where the kernel stops, or WARN(), after which it goes on: assume that
            // it goes on. int3 fills the gaps after jumps and between functions.
            FlowControl::Interrupt if instruction.mnemonic() == Mnemonic::Int3 => Next::Nowhere,
            _ => Next::Through,
        }
    }

    /// Addresses that `instruction` may be followed by, within the unit.
    pub(crate) fn successors(&self, instruction: &Instruction) -> impl Iterator<Item = u64> {
        let through =
            || Some(instruction.next_ip()).filter(|ip| self.instructions.contains_key(ip));
        let (a, b) = match self.next(instruction) {
            Next::Through | Next::Outside(_, true) => (through(), None),
            Next::Within(to, true) => (through(), Some(to)),
            Next::Within(to, false) => (None, Some(to)),
            Next::Outside(_, false) | Next::Out | Next::Nowhere => (None, None),
        };
        a.into_iter().chain(b)
    }

    /// Calls and tail jumps out of the unit: address of the instruction and target.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (u64, u64)> {
        self.instructions
            .values()
            .filter_map(|i| Some((i.ip(), self.call_target(i)?)))
    }

    /// The function that `instruction` calls or jumps to.
    pub(crate) fn call_target(&self, instruction: &Instruction) -> Option<u64> {
        if instruction.code() == Opcode::Call_rel32_64 {
            return Some(instruction.near_branch_target());
        }
        match self.next(instruction) {
            Next::Outside(to, _) => Some(to),
            _ => None,
        }
    }

    /// Places where it calls or jumps to `target`.
    pub(crate) fn calls_to(&self, target: u64) -> Vec<u64> {
        self.calls()
            .filter(|(_, to)| *to == target)
            .map(|(from, _)| from)
            .collect()
    }

    /// Whether every way from the entry out of the function passes one of `points`.
    ///
    /// `stops` are functions that do not return. Errs towards `false`.
    pub(crate) fn always_passes(&self, points: &BTreeSet<u64>, stops: &BTreeSet<u64>) -> bool {
        !points.is_empty() && !self.reaches_exit(self.address, points, stops)
    }

    /// Whether a way from `from` leads out of the function without passing one of `avoiding`.
    fn reaches_exit(&self, from: u64, avoiding: &BTreeSet<u64>, stops: &BTreeSet<u64>) -> bool {
        let mut seen = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(at) = todo.pop() {
            if avoiding.contains(&at) || !seen.insert(at) {
                continue;
            }
            // A way into the middle of an instruction is nothing that can be judged.
            let Some(instruction) = self.instructions.get(&at) else {
                return true;
            };
            if instruction.is_invalid() {
                return true;
            }
            let target = self.call_target(instruction);
            if target.is_some_and(|to| stops.contains(&to)) {
                continue;
            }
            match self.next(instruction) {
                Next::Out | Next::Outside(..) => return true,
                Next::Nowhere => {}
                Next::Through | Next::Within(..) => todo.extend(self.successors(instruction)),
            }
        }
        false
    }

    /// Instructions that read or write one of the `len` bytes from `offset` of something.
    pub(crate) fn accesses(&self, offset: i64, len: i64) -> impl Iterator<Item = u64> {
        let (read, written) = (OpAccess::Read, OpAccess::Write);
        self.instructions
            .values()
            .filter(move |i| {
                accesses_at(i, offset, len, read) || accesses_at(i, offset, len, written)
            })
            .map(Instruction::ip)
    }

    /// Whether an instruction reads (or writes) one of the `len` bytes from `offset` of something.
    pub(crate) fn touches(&self, offset: i64, len: i64, access: OpAccess) -> bool {
        self.instructions
            .values()
            .any(|i| accesses_at(i, offset, len, access))
    }

    /// Something that makes the decoded code untrustworthy: an instruction that cannot be decoded,
    /// a breakpoint where code should be, or a jump out of `kernel`, the range of the kernel's own
    /// code. A kprobe leaves the one, or when optimized the other, and hides what was there.
    pub fn patched(&self, kernel: (u64, u64)) -> Option<Place> {
        let is_kernels = |address: u64| kernel.0 <= address && address < kernel.1;
        if is_kernels(self.address) {
            let leaves = |i: &&Instruction| match self.next(i) {
                Next::Outside(to, _) => !is_kernels(to),
                _ => false,
            };
            if let Some(jump) = self.instructions.values().find(leaves) {
                return Some(self.place(jump.ip()));
            }
        }
        // Code may end in breakpoints as filler, but nothing jumps to filler.
        for instruction in self.instructions.values() {
            if let Next::Within(to, _) = self.next(instruction)
                && self
                    .instructions
                    .get(&to)
                    .is_some_and(|i| i.mnemonic() == Mnemonic::Int3)
            {
                return Some(self.place(to));
            }
        }
        let mut previous_ends = true;
        for instruction in self.instructions.values() {
            let is_int3 = instruction.mnemonic() == Mnemonic::Int3;
            if instruction.is_invalid() && instruction.next_ip() < self.end_of(instruction.ip()) {
                return Some(self.place(instruction.ip()));
            }
            if is_int3 && !previous_ends && !self.only_filler_from(instruction.ip()) {
                return Some(self.place(instruction.ip()));
            }
            previous_ends = match self.next(instruction) {
                Next::Through => false,
                Next::Within(_, through) | Next::Outside(_, through) => !through,
                Next::Out | Next::Nowhere => true,
            };
        }
        None
    }

    fn end_of(&self, address: u64) -> u64 {
        let part = self
            .parts
            .iter()
            .find(|(start, end, _)| (*start..*end).contains(&address));
        part.map_or(0, |(_, end, _)| *end)
    }

    fn only_filler_from(&self, address: u64) -> bool {
        self.instructions
            .range(address..self.end_of(address))
            .all(|(_, i)| matches!(i.mnemonic(), Mnemonic::Int3 | Mnemonic::Nop))
    }
}

/// Whether `i` has a memory operand within `offset..offset + len` that is accessed that way
/// (`Read` or `Write`; instructions that do both count as either).
fn accesses_at(i: &Instruction, offset: i64, len: i64, access: OpAccess) -> bool {
    let displacement = i.memory_displacement64() as i64;
    let has_base = i.memory_base() != Register::None && !i.is_ip_rel_memory_operand();
    if !has_base || displacement < offset || displacement >= offset.saturating_add(len) {
        return false;
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(i);
    info.used_memory().iter().any(|m| match m.access() {
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => true,
        OpAccess::Read | OpAccess::CondRead => access == OpAccess::Read,
        OpAccess::Write | OpAccess::CondWrite => access == OpAccess::Write,
        _ => false,
    })
}
