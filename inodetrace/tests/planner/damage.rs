//! Kernels whose code differs from the recorded ones' in one thing. Whatever it is, a site whose passes
//! the probes may miss must not be called observed.

use inodetrace::kernel::btf_query::Signature;
use inodetrace::kernel::facts::{BtfFunction, Facts, FunctionText, Member, Place};
use inodetrace::plan::Status;
use inodetrace::sites::analysis::Analysis;
use inodetrace::sites::tables::Lock;
use inodetrace::vocab::{Site, SiteExt};

use crate::changes::sites_at;
use crate::fixture::{KERNELS, code, facts, observes, plan_of, site_of};

const NOP5: [u8; 5] = [0x0f, 0x1f, 0x44, 0, 0];

/// Overwrites the instruction at `place`, which must be a call.
fn remove_call(facts: &mut Facts, place: &Place) {
    let function = code(facts)
        .functions
        .iter_mut()
        .find(|f| f.name == place.function)
        .unwrap();
    let at = usize::try_from(place.offset).unwrap();
    assert!(matches!(function.bytes[at], 0xe8 | 0xe9), "{place}");
    function.bytes[at..at + 5].copy_from_slice(&NOP5);
}

fn taken(facts: &Facts, lock: Lock, function: &str) -> Vec<Place> {
    let analysis = Analysis::of(facts).unwrap();
    let all = analysis.taken(lock).into_iter().map(|t| t.place);
    all.filter(|p| p.function == function).collect()
}

fn calls(facts: &Facts, function: &str, target: &str) -> Vec<Place> {
    Analysis::of(facts).unwrap().calls(function, target)
}

/// A function that was not there before, at the end of the kernel text.
fn add_function(facts: &mut Facts, name: &str, assemble: impl Fn(u64) -> Vec<u8>) {
    let last = code(facts)
        .functions
        .iter()
        .map(|f| f.address)
        .max()
        .unwrap();
    let address = last + 0x10_0000;
    code(facts).functions.push(FunctionText {
        name: name.to_owned(),
        address,
        bytes: assemble(address),
    });
}

fn call(from: u64, to: u64) -> [u8; 5] {
    let distance = to.wrapping_sub(from + 5) as u32;
    let [a, b, c, d] = distance.to_le_bytes();
    [0xe8, a, b, c, d]
}

fn spin_lock(facts: &Facts) -> u64 {
    facts
        .kernel_functions("_raw_spin_lock")
        .next()
        .unwrap()
        .address
}

/// `lea rax,[rdi+list]; lea rdi,[rdi+lock]; call _raw_spin_lock; ret`
fn add_sb_section(facts: &mut Facts, name: &str) {
    let lock = facts.offset("super_block.s_inode_list_lock").unwrap();
    let list = facts.offset("super_block.s_inodes").unwrap();
    let target = spin_lock(facts);
    add_function(facts, name, |address| {
        let mut bytes = vec![0x48, 0x8d, 0x87];
        bytes.extend(list.to_le_bytes());
        bytes.extend([0x48, 0x8d, 0xbf]);
        bytes.extend(lock.to_le_bytes());
        bytes.extend(call(address + 14, target));
        bytes.push(0xc3);
        bytes
    });
}

#[test]
fn a_lock_call_removed_from_the_function() {
    let cases = [
        (Site::SbListAdd, Lock::SbInodes, "inode_sb_list_add"),
        (Site::HashRemove, Lock::InodeHash, "__remove_inode_hash"),
        (Site::HashInsert, Lock::InodeHash, "__insert_inode_hash"),
        (Site::HashInsert, Lock::InodeHash, "insert_inode_locked"),
        (Site::HashInsert, Lock::InodeHash, "inode_insert5"),
        (Site::HashInsert, Lock::InodeHash, "iget_locked"),
        (Site::OrphanAdd, Lock::Ext4Orphan, "ext4_orphan_add"),
        (Site::OrphanDel, Lock::Ext4Orphan, "ext4_orphan_del"),
    ];
    for kernel in KERNELS {
        for (site, lock, function) in cases {
            let mut facts = facts(kernel);
            let places = taken(&facts, lock, function);
            assert!(!places.is_empty(), "{kernel} {function}");
            if sites_at(&plan_of(&facts), function).is_empty() {
                continue; // nothing calls it: the section was inlined everywhere
            }
            for place in &places {
                remove_call(&mut facts, place);
            }
            assert!(!observes(&facts, site), "{kernel} {function}");
        }
    }
}

#[test]
fn a_caller_that_no_longer_calls() {
    let cases = [
        (Site::SbListAdd, "new_inode", "inode_sb_list_add"),
        (Site::SbListAdd, "iget_locked", "inode_sb_list_add"),
        (Site::SbListAdd, "inode_insert5", "inode_sb_list_add"),
        (Site::HashRemove, "evict", "__remove_inode_hash"),
        (Site::WbListDel, "evict", "inode_io_list_del"),
        (Site::LruDel, "iput", "list_lru_del_obj"),
        (Site::LruDel, "iput.part.0", "list_lru_del"),
        (Site::LruAdd, "iput", "list_lru_add_obj"),
        (Site::LruAdd, "inode_add_lru", "list_lru_add"),
    ];
    let mut done = 0;
    for kernel in KERNELS {
        for (site, caller, function) in cases {
            let mut facts = facts(kernel);
            let places = calls(&facts, caller, function);
            if places.is_empty() || !observes(&facts, site) {
                continue;
            }
            for place in &places {
                remove_call(&mut facts, place);
            }
            assert!(!observes(&facts, site), "{kernel} {caller} {function}");
            done += 1;
        }
    }
    assert!(done >= 20, "{done}");
}

/// The lock of an inlined section is the only thing that gives it away.
#[test]
fn an_inlined_section_that_cannot_be_found_observes_nothing() {
    for kernel in ["6.18", "7.2"] {
        let mut facts = facts(kernel);
        for host in ["new_inode", "iget_locked", "inode_insert5"] {
            for place in taken(&facts, Lock::SbInodes, host) {
                remove_call(&mut facts, &place);
            }
        }
        assert!(!observes(&facts, Site::SbListAdd), "{kernel}");
    }
    for kernel in ["6.1", "6.12", "6.18", "7.2"] {
        let mut facts = facts(kernel);
        for place in taken(&facts, Lock::InodeHash, "evict") {
            remove_call(&mut facts, &place);
        }
        assert!(!observes(&facts, Site::HashRemove), "{kernel}");
    }
}

#[test]
fn an_unknown_place_takes_the_superblock_list_lock() {
    for kernel in KERNELS {
        let mut facts = facts(kernel);
        add_sb_section(&mut facts, "mystery");
        let site = site_of(&facts, Site::SbListAdd);
        assert_eq!(site.status, Status::NotObservable, "{kernel}");
        let reason = site.reason.unwrap();
        assert!(reason.contains("mystery+0xe"), "{kernel}: {reason}");
    }
}

#[test]
fn the_same_offset_in_another_structure_is_no_such_place() {
    let mut facts = facts("6.12");
    add_sb_section(&mut facts, "mystery");
    let signature = |structure: &str| BtfFunction {
        count: 1,
        signature: Some(Signature {
            params: vec![Some(structure.to_owned())],
        }),
    };
    let mut with = |structure: &str| {
        facts
            .functions
            .insert("mystery".to_owned(), signature(structure));
        observes(&facts, Site::SbListAdd)
    };
    assert!(with("packet_sock"));
    assert!(!with("super_block"));
    // A list head may be the member of a superblock.
    assert!(!with("list_head"));
}

#[test]
fn an_unknown_place_takes_the_hash_lock() {
    for kernel in KERNELS {
        let mut facts = facts(kernel);
        let target = spin_lock(&facts);
        let lock = facts.symbols["inode_hash_lock"][0].address as u32;
        // mov rdi,lock ; call _raw_spin_lock ; ret
        add_function(&mut facts, "mystery", |address| {
            let mut bytes = vec![0x48, 0xc7, 0xc7];
            bytes.extend(lock.to_le_bytes());
            bytes.extend(call(address + 7, target));
            bytes.push(0xc3);
            bytes
        });
        for site in [Site::HashInsert, Site::HashRemove] {
            assert!(!observes(&facts, site), "{kernel} {}", site.id());
        }
        let reason = site_of(&facts, Site::HashInsert).reason.unwrap();
        assert!(reason.contains("mystery+0x7"), "{kernel}: {reason}");
    }
}

#[test]
fn a_lookup_that_inserts() {
    for kernel in KERNELS {
        let mut facts = facts(kernel);
        let link = facts.offset("inode.i_hash").unwrap();
        let function = code(&mut facts)
            .functions
            .iter_mut()
            .find(|f| f.name == "find_inode_nowait")
            .unwrap();
        // mov [rbx+i_hash],rax, over the function's entry
        let mut store = vec![0x48, 0x89, 0x83];
        store.extend(link.to_le_bytes());
        function.bytes[..7].copy_from_slice(&store);
        let reason = site_of(&facts, Site::HashInsert).reason.unwrap();
        assert!(reason.contains("find_inode_nowait"), "{kernel}: {reason}");
    }
}

#[test]
fn the_lock_is_elsewhere_than_the_code_says() {
    for kernel in KERNELS {
        let mut facts = facts(kernel);
        let lock = facts.offset("super_block.s_inode_list_lock").unwrap();
        let moved = Member::Offset(lock + 0x40);
        facts
            .layout
            .insert("super_block.s_inode_list_lock".to_owned(), moved);
        assert!(!observes(&facts, Site::SbListAdd), "{kernel}");

        let mut facts = crate::fixture::facts(kernel);
        facts.symbols.get_mut("inode_hash_lock").unwrap()[0].address += 0x40;
        assert!(!observes(&facts, Site::HashInsert), "{kernel}");
        assert!(!observes(&facts, Site::HashRemove), "{kernel}");

        let mut facts = crate::fixture::facts(kernel);
        let lru = facts.offset("super_block.s_inode_lru").unwrap();
        let moved = Member::Offset(lru + 0x40);
        facts
            .layout
            .insert("super_block.s_inode_lru".to_owned(), moved);
        assert!(!observes(&facts, Site::LruAdd), "{kernel}");
        assert!(!observes(&facts, Site::LruDel), "{kernel}");
    }
}

/// What a kprobe on the lock call leaves there: int3, or a jump to a slot outside of the kernel.
#[test]
fn a_kprobe_on_the_lock_call_hides_it() {
    for kernel in KERNELS {
        for byte in [0xcc, 0xe9] {
            let mut facts = facts(kernel);
            let place = taken(&facts, Lock::SbInodes, "evict")[0].clone();
            let at = usize::try_from(place.offset).unwrap();
            let end = code(&mut facts).range.1;
            let functions = &mut code(&mut facts).functions;
            let evict = functions.iter_mut().find(|f| f.name == "evict").unwrap();
            let slot = call(evict.address + place.offset, end + 0x10_0000);
            evict.bytes[at..at + 5].copy_from_slice(&slot);
            evict.bytes[at] = byte;
            for site in [Site::SbListAdd, Site::HashInsert, Site::HashRemove] {
                let reason = site_of(&facts, site).reason.unwrap();
                assert!(
                    reason.contains(&format!("patched at {place}")),
                    "{kernel} {reason}"
                );
            }
        }
    }
}

/// Another kind of lock, such as PREEMPT_RT's, has another slow path.
#[test]
fn a_slow_path_that_is_not_known_means_that_waits_are_not_counted() {
    for kernel in KERNELS {
        let mut facts = facts(kernel);
        for place in calls(&facts, "_raw_spin_lock", "native_queued_spin_lock_slowpath") {
            remove_call(&mut facts, &place);
        }
        for site in plan_of(&facts).sites {
            let mutex = matches!(site.site, Site::OrphanAdd | Site::OrphanDel);
            assert_eq!(
                site.contended.is_counted(),
                mutex,
                "{kernel} {}",
                site.site.id()
            );
        }
    }
}
