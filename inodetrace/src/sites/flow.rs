//! What the registers hold: a forward pass over a function that follows addresses from where they
//! are formed (`lea rbp,[rax+0x540]`) to where they are used (`mov rdi,rbp; call _raw_spin_lock`).
//!
//! Values are an origin plus a constant. Where ways with different values meet, the value becomes
//! an origin of its own, which remembers what it may be.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::code::Unit;
use super::value::{
    ARGUMENTS, CALLER_SAVED, Origin, OriginId, REGISTERS, RSP, State, Value, full, full_register,
};
use crate::kernel::fnv::BuildFnv;

/// The result of the pass.
pub(crate) struct Flow {
    origins: Vec<Origin>,
    ids: HashMap<Origin, OriginId, BuildFnv>,
    /// What a [`Origin::Joined`] may be.
    joined: HashMap<OriginId, BTreeSet<Value>>,
    /// rdi before each call and tail jump.
    first_arguments: BTreeMap<u64, Value>,
    /// Registers before each of these.
    registers: BTreeMap<u64, [Value; REGISTERS]>,
    /// Values that `lea` and `add` formed: address of the instruction, base register, result.
    formed: BTreeMap<u64, (Register, Value)>,
}

impl Flow {
    /// Follows the values through `unit`.
    pub(crate) fn of(unit: &Unit) -> Self {
        let mut flow = Self {
            origins: Vec::new(),
            ids: HashMap::default(),
            joined: HashMap::new(),
            first_arguments: BTreeMap::new(),
            registers: BTreeMap::new(),
            formed: BTreeMap::new(),
        };
        let leaders = leaders(unit);
        let mut entries: BTreeMap<u64, State> = BTreeMap::new();
        let entry = flow.entry_state(unit.address);
        flow.run(unit, &leaders, &mut entries, unit.address, entry);
        // What no direct way leads to (jump tables, fault handlers) starts with nothing known.
        for &leader in &leaders {
            if !entries.contains_key(&leader) {
                let state = flow.unknown_state(leader);
                flow.run(unit, &leaders, &mut entries, leader, state);
            }
        }
        flow
    }

    /// rdi at the call or jump at `address`: everything it may be.
    pub(crate) fn first_argument(&self, address: u64) -> BTreeSet<Value> {
        let mut all = BTreeSet::new();
        if let Some(value) = self.first_arguments.get(&address) {
            self.expand(*value, &mut all, &mut BTreeSet::new());
        }
        all
    }

    /// Number of a register that a called function keeps and that holds the function's `n`-th
    /// argument at the call at `address`.
    pub(crate) fn register_of_argument(&self, address: u64, n: u8) -> Option<usize> {
        let registers = self.registers.get(&address)?;
        (0..REGISTERS).find(|r| {
            *r != RSP
                && !CALLER_SAVED.contains(r)
                && matches!(registers[*r], Value::Sum(id, 0) if self.origin(id) == Origin::Argument(n))
        })
    }

    /// The last instruction before `address` that formed `value`, with its base register.
    pub(crate) fn formed_before(&self, address: u64, value: Value) -> Option<(u64, Register)> {
        let before = self.formed.range(..address).rev();
        before
            .into_iter()
            .find(|(_, (_, v))| *v == value)
            .map(|(at, (base, _))| (*at, *base))
    }

    /// The instructions that formed an address `displacement` bytes into something.
    pub(crate) fn formed_with(&self, displacement: i64) -> impl Iterator<Item = u64> {
        let is_it = move |v: &Value| matches!(v, Value::Sum(_, d) if *d == displacement);
        let formed = self.formed.iter();
        formed
            .filter(move |(_, (_, v))| is_it(v))
            .map(|(at, _)| *at)
    }

    /// Where an unknown value comes from.
    pub(crate) fn origin(&self, id: OriginId) -> Origin {
        self.origins
            .get(id as usize)
            .copied()
            .unwrap_or(Origin::Stack)
    }

    /// What a joined origin may be.
    pub(crate) fn joined(&self, id: OriginId) -> impl Iterator<Item = Value> {
        self.joined.get(&id).into_iter().flatten().copied()
    }

    fn expand(&self, value: Value, all: &mut BTreeSet<Value>, seen: &mut BTreeSet<Value>) {
        // A loop that adds to a pointer makes ever new sums; a lock is not found that way.
        const MOST: usize = 64;
        if seen.len() > MOST || !seen.insert(value) {
            return;
        }
        match value {
            Value::Sum(id, distance) if self.joined.contains_key(&id) => {
                for part in self.joined(id).collect::<Vec<_>>() {
                    self.expand(part.plus(distance), all, seen);
                }
                all.insert(value);
            }
            _ => {
                all.insert(value);
            }
        }
    }

    fn id(&mut self, origin: Origin) -> OriginId {
        if let Some(id) = self.ids.get(&origin) {
            return *id;
        }
        let id = self.origins.len() as OriginId;
        self.origins.push(origin);
        self.ids.insert(origin, id);
        id
    }

    fn value(&mut self, origin: Origin) -> Value {
        Value::Sum(self.id(origin), 0)
    }

    fn unknown_state(&mut self, at: u64) -> State {
        let mut registers = [Value::Const(0); REGISTERS];
        for (i, register) in registers.iter_mut().enumerate() {
            *register = self.value(Origin::Defined(at, i as u8));
        }
        State {
            registers,
            stack: BTreeMap::new(),
        }
    }

    fn entry_state(&mut self, at: u64) -> State {
        let mut state = self.unknown_state(at);
        for (n, register) in ARGUMENTS.into_iter().enumerate() {
            let argument = self.value(Origin::Argument(n as u8));
            state.set(register, argument);
        }
        let stack = self.value(Origin::Stack);
        state.set(RSP, stack);
        state
    }

    fn run(
        &mut self,
        unit: &Unit,
        leaders: &BTreeSet<u64>,
        entries: &mut BTreeMap<u64, State>,
        start: u64,
        state: State,
    ) {
        let mut info = InstructionInfoFactory::new();
        entries.insert(start, state);
        let mut todo = vec![start];
        while let Some(block) = todo.pop() {
            let Some(mut state) = entries.get(&block).cloned() else {
                continue;
            };
            let mut at = block;
            while let Some(instruction) = unit.instructions().get(&at) {
                self.step(unit, instruction, &mut state, &mut info);
                let next: Vec<u64> = unit.successors(instruction).collect();
                let straight = next.as_slice() == [instruction.next_ip()];
                if straight && !leaders.contains(&instruction.next_ip()) {
                    at = instruction.next_ip();
                    continue;
                }
                for to in next {
                    if self.merge(entries, to, &state) {
                        todo.push(to);
                    }
                }
                break;
            }
        }
    }

    /// Lets `state` flow into the block at `to`; whether that changed anything there.
    fn merge(&mut self, entries: &mut BTreeMap<u64, State>, to: u64, state: &State) -> bool {
        let Some(there) = entries.get_mut(&to) else {
            entries.insert(to, state.clone());
            return true;
        };
        let mut changed = false;
        for (i, (old, new)) in there.registers.iter_mut().zip(&state.registers).enumerate() {
            changed |= self.join(to, i as i64, old, *new);
        }
        there.stack.retain(|slot, old| match state.stack.get(slot) {
            // Slots are below the stack pointer at entry, so they do not collide with registers.
            Some(new) => {
                changed |= self.join(to, *slot - REGISTERS as i64, old, *new);
                true
            }
            None => {
                changed = true;
                false
            }
        });
        changed
    }

    fn join(&mut self, to: u64, place: i64, old: &mut Value, new: Value) -> bool {
        let joined = self.id(Origin::Joined(to, place));
        if *old == new || new == Value::Sum(joined, 0) {
            return false;
        }
        let inputs = self.joined.entry(joined).or_default();
        if *old == Value::Sum(joined, 0) {
            inputs.insert(new);
            return false;
        }
        inputs.extend([*old, new]);
        *old = Value::Sum(joined, 0);
        true
    }

    fn step(
        &mut self,
        unit: &Unit,
        i: &Instruction,
        state: &mut State,
        info: &mut InstructionInfoFactory,
    ) {
        if unit.call_target(i).is_some() {
            self.first_arguments.insert(i.ip(), state.get(7));
            self.registers.insert(i.ip(), state.registers);
        }
        let to = (i.op_count() > 0 && i.op0_kind() == OpKind::Register)
            .then(|| full_register(i.op0_register()))
            .flatten();
        match i.mnemonic() {
            Mnemonic::Lea => {
                if let (Some(to), Some(value)) = (to, self.address(i, state)) {
                    state.set(to, value);
                    self.formed.insert(i.ip(), (i.memory_base(), value));
                    return;
                }
            }
            Mnemonic::Mov if self.step_mov(i, to, state) => return,
            Mnemonic::Add | Mnemonic::Sub => {
                if let (Some(to), true) = (to, is_immediate(i.op1_kind())) {
                    let by = i.immediate(1) as i64;
                    let by = if i.mnemonic() == Mnemonic::Sub {
                        by.wrapping_neg()
                    } else {
                        by
                    };
                    let value = state.get(to).plus(by);
                    state.set(to, value);
                    if to != RSP {
                        self.formed.insert(i.ip(), (i.op0_register(), value));
                    }
                    return;
                }
            }
            Mnemonic::Xor
                if i.op0_kind() == OpKind::Register && i.op1_kind() == OpKind::Register =>
            {
                if let (Some(to), true) =
                    (full(i.op0_register()), i.op0_register() == i.op1_register())
                {
                    state.set(to, Value::Const(0));
                    return;
                }
            }
            Mnemonic::Push => {
                let value = match to {
                    Some(from) => state.get(from),
                    None => self.value(Origin::Defined(i.ip(), 0)),
                };
                let top = state.get(RSP).plus(-8);
                state.set(RSP, top);
                self.store(state, top, value);
                return;
            }
            Mnemonic::Pop => {
                if let Some(to) = to {
                    let top = state.get(RSP);
                    let value = self.load(state, top);
                    state.set(to, value);
                    let up = top.plus(8);
                    state.set(RSP, up);
                    return;
                }
            }
            Mnemonic::Call => {
                for register in CALLER_SAVED {
                    let value = self.value(Origin::Defined(i.ip(), register as u8));
                    state.set(register, value);
                }
                return;
            }
            _ => {}
        }
        self.clobber(i, state, info);
    }

    /// Whether the `mov` was understood.
    fn step_mov(&mut self, i: &Instruction, to: Option<usize>, state: &mut State) -> bool {
        match (to, i.op1_kind()) {
            (Some(to), OpKind::Register) => match full_register(i.op1_register()) {
                Some(from) => state.set(to, state.get(from)),
                None => return false,
            },
            (Some(to), OpKind::Memory) if i.segment_prefix() == Register::None => {
                let Some(address) = self.address(i, state) else {
                    return false;
                };
                let value = self.load(state, address);
                state.set(to, value);
            }
            (Some(to), kind) if is_immediate(kind) => {
                state.set(to, Value::Const(i.immediate(1)));
            }
            (None, OpKind::Register) if i.op0_kind() == OpKind::Memory => {
                let Some(from) = full_register(i.op1_register()) else {
                    return false;
                };
                let Some(address) = self.address(i, state) else {
                    return false;
                };
                self.store(state, address, state.get(from));
            }
            (None, kind) if i.op0_kind() == OpKind::Register && is_immediate(kind) => {
                // A 32-bit move clears the upper half.
                match full(i.op0_register()) {
                    Some(to) if i.op0_register().is_gpr32() => {
                        state.set(to, Value::Const(i.immediate(1) & 0xffff_ffff));
                    }
                    _ => return false,
                }
            }
            _ => return false,
        }
        true
    }

    /// The address that a memory operand or `lea` forms, if it is one register plus a constant.
    fn address(&self, i: &Instruction, state: &State) -> Option<Value> {
        if i.is_ip_rel_memory_operand() {
            return Some(Value::Const(i.ip_rel_memory_address()));
        }
        if i.memory_index() != Register::None {
            return None;
        }
        if i.memory_base() == Register::None {
            return Some(Value::Const(i.memory_displacement64()));
        }
        let base = full_register(i.memory_base())?;
        Some(state.get(base).plus(i.memory_displacement64() as i64))
    }

    fn load(&mut self, state: &State, address: Value) -> Value {
        let Value::Sum(base, distance) = address else {
            // A global variable: the address stands in for the base.
            let Value::Const(address) = address else {
                return address;
            };
            return self.value(Origin::Defined(address, 0xff));
        };
        if self.origin(base) == Origin::Stack
            && let Some(value) = state.stack.get(&distance)
        {
            return *value;
        }
        self.value(Origin::Load(base, distance))
    }

    fn store(&mut self, state: &mut State, address: Value, value: Value) {
        if let Value::Sum(base, distance) = address
            && self.origin(base) == Origin::Stack
        {
            state.stack.insert(distance, value);
        }
    }

    /// Forgets everything that the instruction writes.
    fn clobber(&mut self, i: &Instruction, state: &mut State, info: &mut InstructionInfoFactory) {
        let used = info.info(i);
        for register in used.used_registers() {
            let writes = matches!(
                register.access(),
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            );
            if let (true, Some(to)) = (writes, full(register.register())) {
                let value = self.value(Origin::Defined(i.ip(), to as u8));
                state.set(to, value);
            }
        }
        let writes_memory = used.used_memory().iter().any(|m| {
            !matches!(
                m.access(),
                OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess
            )
        });
        if writes_memory
            && let Some(Value::Sum(base, distance)) = self.address(i, state)
            && self.origin(base) == Origin::Stack
        {
            // At most eight bytes at once, or a string whose extent is not known.
            let reach = if i.has_rep_prefix() {
                i64::MAX
            } else {
                distance.saturating_add(64)
            };
            state
                .stack
                .retain(|slot, _| *slot + 8 <= distance || *slot >= reach);
        }
    }
}

/// First instructions of the blocks: the entry, targets of jumps, and what follows a jump.
fn leaders(unit: &Unit) -> BTreeSet<u64> {
    let mut leaders = BTreeSet::from([unit.address]);
    for instruction in unit.instructions().values() {
        let next: Vec<u64> = unit.successors(instruction).collect();
        if next.as_slice() != [instruction.next_ip()] {
            leaders.extend(next);
            if unit.instructions().contains_key(&instruction.next_ip()) {
                leaders.insert(instruction.next_ip());
            }
        }
    }
    leaders
}

fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
            | OpKind::Immediate8to32
    )
}
