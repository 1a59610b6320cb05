//! Probes on the slow paths of locks.

use super::Role;
use super::builder::{Builder, Want};

/// The slow paths of spin locks, by `kernel/locking/qspinlock.c` and `arch/x86/kernel/paravirt.c`.
/// Which one a kernel uses depends on the machine it runs on.
pub(super) const SPIN: &[(Role, &str)] = &[
    (Role::SpinNative, "native_queued_spin_lock_slowpath"),
    (Role::SpinPv, "__pv_queued_spin_lock_slowpath"),
    (Role::SpinPlain, "queued_spin_lock_slowpath"),
];

/// A probe on entry and exit of a slow path.
pub(super) fn want(role: Role, function: &str) -> Want<'_> {
    let expected: &[(usize, &str)] = match role {
        Role::MutexSlow => &[(0, "mutex")],
        _ => &[(0, "qspinlock")],
    };
    Want {
        role,
        function,
        expected,
        entry: true,
        exit: true,
        entry_takes_lock: false,
    }
}

/// Whether the slow paths of all functions that take the locks can be probed.
///
/// # Errors
/// Why waits are not seen.
pub(super) fn check_spin(builder: &Builder<'_>) -> Result<(), String> {
    let analysis = builder.analysis()?;
    let used = analysis.spin_locks_used();
    if used.is_empty() {
        return Err("waits are not seen: no code that takes a lock was found".to_owned());
    }
    for lock in used {
        slow_path_of(builder, &lock).map_err(|why| format!("waits are not seen: {why}"))?;
    }
    Ok(())
}

fn slow_path_of(builder: &Builder<'_>, lock: &str) -> Result<(), String> {
    let analysis = builder.analysis()?;
    let mut why = format!("{lock}() calls none of the slow paths that are known");
    for (role, function) in SPIN {
        if analysis.calls(lock, function).is_empty() {
            continue;
        }
        match builder.target(function, want(*role, function).expected) {
            Ok(_) => return Ok(()),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}
