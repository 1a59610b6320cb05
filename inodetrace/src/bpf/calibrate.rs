//! What a pair of probes costs by itself.
//!
//! The kernel has functions that do nothing, for its own tests of BPF trampolines
//! (`bpf_fentry_test1`, net/bpf/test_run.c since 5.5); `BPF_PROG_TEST_RUN` on a tracing program
//! calls them. The shortest time between the two clock readings of a pair around one is what any
//! pair adds to what it measures.

use aya::{
    Btf,
    maps::Array,
    programs::{FEntry, FExit, KProbe, TestRun as _},
};

use super::load::load_bare;
use crate::plan::{Attach, Plan};

pub(super) const FUNCTION: &str = "bpf_fentry_test1";
const RUNS: u32 = 200;

/// Cost of a pair of the kind that the plan mostly uses, ns, or `None` where this kernel cannot
/// tell.
pub(super) fn bracket_ns(plan: &Plan, btf: &Btf) -> Option<u64> {
    let kprobes = plan
        .probes
        .iter()
        .filter(|p| p.exit)
        .all(|p| p.attach == Attach::Kprobe);
    let mut ebpf = load_bare(btf).ok()?;
    if kprobes {
        for name in ["calibrate_exit_k", "calibrate_entry_k"] {
            let program: &mut KProbe = ebpf.program_mut(name)?.try_into().ok()?;
            program.load().ok()?;
            program.attach(FUNCTION, 0).ok()?;
        }
    } else {
        let program: &mut FEntry = ebpf.program_mut("calibrate_entry_f")?.try_into().ok()?;
        program.load(FUNCTION, btf).ok()?;
        program.attach().ok()?;
    }
    // In both cases a tracing program is what can be run.
    let program: &mut FExit = ebpf.program_mut("calibrate_exit_f")?.try_into().ok()?;
    program.load(FUNCTION, btf).ok()?;
    if !kprobes {
        program.attach().ok()?;
    }
    for _ in 0..RUNS {
        program.test_run(()).ok()?;
    }
    let results: Array<_, u64> = Array::try_from(ebpf.map("CALIBRATION")?).ok()?;
    let count = results.get(&2, 0).ok()?;
    let not_shortest = results.get(&1, 0).ok()?;
    (count != 0).then_some(!not_shortest)
}
