//! Where superblocks are mounted, also those that are gone by the time of the question.

use std::collections::HashMap;

use crate::{
    backend::Mounts,
    model::{DevNumber, SuperBlock},
};

/// Remembers mount points over a run. Device numbers are reused after an unmount, so a live
/// superblock is looked up by its device and a dead one keeps what it had when it lived.
#[derive(Debug, Default)]
pub struct MountNames {
    first: HashMap<DevNumber, Vec<String>>,
    now: Mounts,
    by_slot: HashMap<u32, Vec<String>>,
}

impl MountNames {
    /// With the mounts at the start of the window.
    pub fn new(mounts: Mounts) -> Self {
        Self {
            first: mounts.iter().map(|(k, v)| (*k, v.clone())).collect(),
            now: mounts,
            by_slot: HashMap::new(),
        }
    }

    /// Takes the current mounts.
    pub fn update(&mut self, mounts: Mounts) {
        self.now = mounts;
    }

    /// Mount points of `sb`; empty for those that never had one, such as sockfs.
    pub fn of(&mut self, sb: &SuperBlock) -> Vec<String> {
        if !sb.dead
            && let Some(names) = self.now.get(&sb.dev)
        {
            self.by_slot.insert(sb.slot, names.clone());
            return names.clone();
        }
        if let Some(names) = self.by_slot.get(&sb.slot) {
            return names.clone();
        }
        self.first.get(&sb.dev).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sb(slot: u32, dead: bool) -> SuperBlock {
        SuperBlock {
            slot,
            fstype: "tmpfs".into(),
            dev: (0, 40),
            s_id: "tmpfs".into(),
            dead,
        }
    }

    fn mounts(path: &str) -> Mounts {
        Mounts::from([((0, 40), vec![path.to_owned()])])
    }

    #[test]
    fn a_reused_device_number_does_not_rename_the_dead() {
        let mut names = MountNames::new(mounts("/old"));
        assert_eq!(names.of(&sb(1, false)), ["/old"]);
        names.update(mounts("/new"));
        assert_eq!(names.of(&sb(1, true)), ["/old"]);
        assert_eq!(names.of(&sb(2, false)), ["/new"]);
    }

    #[test]
    fn one_unmounted_before_it_was_seen_has_its_name_from_the_start() {
        let mut names = MountNames::new(mounts("/old"));
        names.update(Mounts::new());
        assert_eq!(names.of(&sb(1, true)), ["/old"]);
    }
}
