//! What this kernel lets be attached, found by trying.

use std::path::Path;

use aya::{Btf, programs::FEntry};

use super::{BpfError, calibrate::FUNCTION, load::load_bare, raise_memlock};
use crate::{plan::Features, prerequisites};

/// Tries a trampoline on a function that does nothing, and looks for the kprobe PMU.
///
/// # Errors
///
/// If not even maps and programs can be had, which no kind of probe would change.
pub fn features(root: &Path) -> Result<Features, BpfError> {
    raise_memlock();
    let btf = Btf::from_sys_fs()?;
    let mut ebpf = load_bare(&btf)?;
    let name = "calibrate_entry_f";
    let program = ebpf
        .program_mut(name)
        .ok_or_else(|| BpfError::Missing(format!("program {name}")))?;
    let attached = <&mut FEntry>::try_from(program).and_then(|program| {
        program.load(FUNCTION, &btf)?;
        program.attach()
    });
    Ok(Features {
        fentry: attached.is_ok(),
        kprobe: prerequisites::has_kprobes(root),
    })
}
