//! Loading each program for its function and attaching it.

use std::collections::BTreeSet;

use aya::{
    Btf, Ebpf,
    programs::{FEntry, FExit, KProbe, ProgramError},
};

use super::BpfError;
use crate::plan::{Attach, Plan, Probe, Role};

/// Name of a role's programs in the object, without the suffix.
pub(super) const fn program_name(role: Role) -> &'static str {
    match role {
        Role::Evict => "evict",
        Role::Alloc => "alloc",
        Role::SbListAdd => "sb_list_add",
        Role::InsertHash => "insert_hash",
        Role::InsertLocked => "insert_locked",
        Role::Insert5 => "insert5",
        Role::IgetLocked => "iget_locked",
        Role::RemoveHash => "remove_hash",
        Role::LruAdd => "lru_add",
        Role::LruDel => "lru_del",
        Role::IoListDel => "io_list_del",
        Role::OrphanAdd => "orphan_add",
        Role::OrphanDel => "orphan_del",
        Role::ShutdownSuper => "shutdown_super",
        Role::Prune => "prune",
        Role::SpinNative => "spin_native",
        Role::SpinPv => "spin_pv",
        Role::SpinPlain => "spin_plain",
        Role::MutexSlow => "mutex_slow",
        Role::SbListAddSection => "sb_list_add_section",
        Role::SbListDelSection => "sb_list_del_section",
        Role::RemoveHashSection => "remove_hash_section",
    }
}

/// Which end of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Entry,
    Exit,
}

/// Attaches everything, exits first: an exit without an entry is ignored by the programs, while
/// an entry without an exit would leave a thread marked as inside.
pub(super) fn attach(plan: &Plan, ebpf: &mut Ebpf, btf: &Btf) -> Result<(), BpfError> {
    for end in [End::Exit, End::Entry] {
        for probe in &plan.probes {
            if match end {
                End::Entry => probe.entry,
                End::Exit => probe.exit,
            } {
                attach_end(plan, probe, end, ebpf, btf)?;
            }
        }
    }
    Ok(())
}

/// The different registers (number, and what to add to it) that a role's sections read, in the
/// order of its programs.
pub(super) fn section_kinds(plan: &Plan, role: Role) -> Vec<(usize, i64)> {
    let sections = plan.probes.iter().filter(|p| p.role == role);
    let kinds: BTreeSet<(usize, i64)> = sections
        .filter_map(|p| p.section.map(|s| (s.register, s.adjust)))
        .collect();
    kinds.into_iter().collect()
}

/// The program for one end of a probe.
fn program_for(plan: &Plan, probe: &Probe, end: End) -> String {
    let role = program_name(probe.role);
    if let Some(section) = &probe.section {
        let wanted = (section.register, section.adjust);
        let kinds = section_kinds(plan, probe.role);
        let kind = kinds.iter().position(|kind| *kind == wanted).unwrap_or(0);
        return format!("{role}{kind}_k");
    }
    let end = match end {
        End::Entry => "entry",
        End::Exit => "exit",
    };
    let how = match probe.attach {
        Attach::Fentry => "f",
        Attach::Kprobe | Attach::InlinedCall => "k",
    };
    format!("{role}_{end}_{how}")
}

fn attach_end(
    plan: &Plan,
    probe: &Probe,
    end: End,
    ebpf: &mut Ebpf,
    btf: &Btf,
) -> Result<(), BpfError> {
    let name = program_for(plan, probe, end);
    let program = ebpf
        .program_mut(&name)
        .ok_or_else(|| BpfError::Missing(format!("program {name}")))?;
    let result = match (probe.attach, end) {
        (Attach::Fentry, End::Entry) => <&mut FEntry>::try_from(program).and_then(|program| {
            program.load(&probe.function, btf)?;
            program.attach().map(drop)
        }),
        (Attach::Fentry, End::Exit) => <&mut FExit>::try_from(program).and_then(|program| {
            program.load(&probe.function, btf)?;
            program.attach().map(drop)
        }),
        // By address: several symbols can have one name. One program serves all places of its kind.
        (Attach::Kprobe | Attach::InlinedCall, _) => {
            <&mut KProbe>::try_from(program).and_then(|program| {
                if program.fd().is_err() {
                    program.load()?;
                }
                program.attach("", probe.address).map(drop)
            })
        }
    };
    result.map_err(|error: ProgramError| BpfError::Attach {
        program: name,
        function: probe.function.clone(),
        error: Box::new(error),
    })
}
