//! What must be so before anything is loaded, read from /proc and /sys below a root.

use std::{fs, path::Path};

/// Bits of `include/uapi/linux/capability.h`.
const CAPABILITIES: [(&str, u32); 3] =
    [("CAP_SYS_ADMIN", 21), ("CAP_PERFMON", 38), ("CAP_BPF", 39)];

/// Effective capabilities of this process, from the `CapEff` line of /proc/self/status.
fn effective(root: &Path) -> Option<u64> {
    let status = fs::read_to_string(root.join("proc/self/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Names of the capabilities that are needed and not there. CAP_SYS_ADMIN stands for the other
/// two, which kernels before 5.8 do not have. Unknown counts as there: the kernel has the last
/// word.
pub fn missing_capabilities(root: &Path) -> Vec<String> {
    effective(root).map(missing_of).unwrap_or_default()
}

fn missing_of(effective: u64) -> Vec<String> {
    let [(_, admin), others @ ..] = CAPABILITIES;
    let has = |bit: u32| effective >> bit & 1 == 1;
    if has(admin) {
        return Vec::new();
    }
    others
        .into_iter()
        .filter(|(_, bit)| !has(*bit))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// `kernel.kptr_restrict`; 1, the common default, where it cannot be read.
pub fn kptr_restrict(root: &Path) -> u32 {
    fs::read_to_string(root.join("proc/sys/kernel/kptr_restrict"))
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(1)
}

/// A lockdown mode that is not `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lockdown(pub String);

/// The mode that /sys/kernel/security/lockdown has in brackets, unless it is `none`.
pub fn lockdown(root: &Path) -> Option<Lockdown> {
    let text = fs::read_to_string(root.join("sys/kernel/security/lockdown")).ok()?;
    let mode = text.split_once('[')?.1.split_once(']')?.0;
    (mode != "none").then(|| Lockdown(mode.to_owned()))
}

/// Whether the kernel lets kprobes be attached (CONFIG_KPROBE_EVENTS: the perf PMU is there).
pub fn has_kprobes(root: &Path) -> bool {
    root.join("sys/bus/event_source/devices/kprobe/type")
        .exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admin_stands_for_the_newer_capabilities() {
        assert_eq!(missing_of(1 << 21), Vec::<String>::new());
        assert_eq!(missing_of(1 << 38 | 1 << 39), Vec::<String>::new());
        assert_eq!(missing_of(1 << 39), ["CAP_PERFMON"]);
        assert_eq!(missing_of(0), ["CAP_PERFMON", "CAP_BPF"]);
    }

    #[test]
    fn the_mode_in_brackets_counts() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("sys/kernel/security");
        fs::create_dir_all(&dir).unwrap();
        assert_eq!(lockdown(root.path()), None);
        fs::write(dir.join("lockdown"), "[none] integrity confidentiality\n").unwrap();
        assert_eq!(lockdown(root.path()), None);
        fs::write(dir.join("lockdown"), "none [integrity] confidentiality\n").unwrap();
        assert_eq!(lockdown(root.path()), Some(Lockdown("integrity".into())));
    }

    #[test]
    fn capabilities_come_from_the_effective_set() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let status = "CapPrm:\t000001ffffffffff\nCapEff:\t0000000000000000\n";
        fs::write(root.path().join("proc/self/status"), status).unwrap();
        assert_eq!(missing_capabilities(root.path()).len(), 2);
    }
}
