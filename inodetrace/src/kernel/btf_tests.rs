//! Tests of the BTF reader on BTF made here.

use std::sync::Arc;

use proptest::prelude::*;

use super::btf::{Btf, BtfError};
use super::btf_query::Signature;

const INT: u32 = 1;
const PTR: u32 = 2;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const CONST: u32 = 10;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const ENUM64: u32 = 19;

/// Writes BTF, type by type; ids count from 1.
struct Writer {
    types: Vec<u32>,
    strings: Vec<u8>,
    /// Added to string offsets: the length of the base's strings.
    first_string: u32,
}

impl Writer {
    fn new() -> Self {
        Self {
            types: Vec::new(),
            strings: vec![0],
            first_string: 0,
        }
    }

    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.first_string + self.strings.len() as u32;
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        at
    }

    fn add(&mut self, kind: u32, flag: bool, name: &str, vlen: usize, word: u32, body: &[u32]) {
        let name = self.string(name);
        self.types
            .extend([name, u32::from(flag) << 31 | kind << 24 | vlen as u32, word]);
        self.types.extend(body);
    }

    /// Members: name, type, offset word.
    fn structure(
        &mut self,
        kind: u32,
        flag: bool,
        name: &str,
        size: u32,
        members: &[(&str, u32, u32)],
    ) {
        let body: Vec<u32> = members
            .iter()
            .flat_map(|(n, t, o)| [self.string(n), *t, *o])
            .collect();
        self.add(kind, flag, name, members.len(), size, &body);
    }

    fn finish(self) -> Vec<u8> {
        let type_bytes = self.types.len() as u32 * 4;
        let strings = self.strings.len() as u32;
        let mut out = vec![0x9f, 0xeb, 1, 0];
        for word in [24, 0, type_bytes, type_bytes, strings] {
            out.extend(u32::to_le_bytes(word));
        }
        out.extend(self.types.iter().flat_map(|w| w.to_le_bytes()));
        out.extend(self.strings);
        out
    }
}

/// A kernel in miniature.
fn sample() -> Vec<u8> {
    let mut w = Writer::new();
    w.add(INT, false, "int", 0, 4, &[32]); // 1
    w.structure(
        STRUCT,
        false,
        "super_block",
        16,
        &[("s_list", 3, 0), ("s_dev", 1, 128)],
    ); // 2
    w.structure(
        STRUCT,
        false,
        "list_head",
        16,
        &[("next", 4, 0), ("prev", 4, 64)],
    ); // 3
    w.add(PTR, false, "", 0, 3, &[]); // 4: list_head *
    w.add(CONST, false, "", 0, 2, &[]); // 5: const super_block
    w.add(PTR, false, "", 0, 5, &[]); // 6: const super_block *
    w.add(TYPEDEF, false, "sb_ptr", 0, 6, &[]); // 7
    w.structure(UNION, false, "", 16, &[("i_lru", 3, 0), ("i_wait", 3, 0)]); // 8
    let inode = [
        ("i_mode", 1, 0),
        ("i_sb", 7, 64),
        ("", 8, 128),
        ("i_list", 3, 256),
    ];
    w.structure(STRUCT, false, "inode", 48, &inode); // 9
    w.add(PTR, false, "", 0, 9, &[]); // 10: inode *
    let params = [0, 10, 0, 1, 0, 7];
    w.add(FUNC_PROTO, false, "", 3, 0, &params); // 11
    w.add(FUNC, false, "evict", 1, 11, &[]); // 12
    // Bits 8 to 11, as a bit field of 4 bits, and a plain member in the same structure.
    w.structure(
        STRUCT,
        true,
        "flags",
        8,
        &[("small", 1, 4 << 24 | 8), ("plain", 1, 32)],
    ); // 13
    w.structure(STRUCT, false, "twin", 8, &[("a", 1, 0), ("b", 1, 32)]); // 14
    w.structure(STRUCT, false, "twin", 8, &[("a", 1, 0), ("b", 1, 0)]); // 15
    let new = w.string("I_NEW");
    let bit = w.string("__I_NEW");
    w.add(ENUM, false, "state", 1, 4, &[new, 8]); // 16
    w.add(ENUM64, false, "bits", 1, 8, &[bit, 1, 2]); // 17
    w.finish()
}

#[test]
fn offsets_of_nested_and_anonymous_members() {
    let btf = Btf::parse(sample()).unwrap();
    assert_eq!(btf.member_offset("inode", "i_sb"), Ok(8));
    assert_eq!(btf.member_offset("inode", "i_lru"), Ok(16));
    assert_eq!(btf.member_offset("inode", "i_wait.prev"), Ok(24));
    assert_eq!(btf.member_offset("inode", "i_list.prev"), Ok(40));
    assert_eq!(btf.member_is_struct("inode", "i_list"), Ok(true));
    assert_eq!(btf.member_is_struct("inode", "i_mode"), Ok(false));
}

#[test]
fn what_is_not_there_is_an_error() {
    let btf = Btf::parse(sample()).unwrap();
    assert_eq!(
        btf.member_offset("dentry", "d"),
        Err(BtfError::NoStruct("dentry".into()))
    );
    // A pointer is not followed: its target is not part of the structure.
    for path in ["i_none", "i_sb.s_dev", "i_mode.x", ""] {
        let error = btf.member_offset("inode", path).unwrap_err();
        assert!(
            matches!(error, BtfError::NoMember { .. }),
            "{path}: {error}"
        );
    }
    // A function's name is no structure's.
    assert_eq!(
        btf.member_offset("evict", "a"),
        Err(BtfError::NoStruct("evict".into()))
    );
}

#[test]
fn bit_fields_are_refused() {
    let btf = Btf::parse(sample()).unwrap();
    let error = btf.member_offset("flags", "small").unwrap_err();
    assert!(matches!(error, BtfError::BitField { .. }));
    assert_eq!(btf.member_offset("flags", "plain"), Ok(4));
}

#[test]
fn twins_are_refused_where_they_differ() {
    let btf = Btf::parse(sample()).unwrap();
    assert_eq!(btf.member_offset("twin", "a"), Ok(0));
    assert_eq!(
        btf.member_offset("twin", "b"),
        Err(BtfError::Ambiguous("twin".into()))
    );
}

#[test]
fn functions_pointers_and_enumerators() {
    let btf = Btf::parse(sample()).unwrap();
    let params = vec![
        Some("inode".to_owned()),
        None,
        Some("super_block".to_owned()),
    ];
    assert_eq!(btf.functions("evict"), [Signature { params }]);
    assert_eq!(
        (btf.count_functions("evict"), btf.count_functions("inode")),
        (1, 0)
    );
    assert_eq!(btf.pointee_at("inode", 8), Some("super_block".to_owned()));
    assert_eq!(btf.pointee_at("inode", 40), Some("list_head".to_owned()));
    assert_eq!(btf.pointee_at("inode", 24), Some("list_head".to_owned()));
    assert_eq!(btf.pointee_at("inode", 9), None);
    assert_eq!(btf.pointee_at("inode", 0), None);
    assert_eq!(
        btf.enumerators(["I_NEW", "__I_NEW", "I_NONE"]),
        [Some(8), Some(2 << 32 | 1), None]
    );
}

#[test]
fn a_module_builds_on_the_kernel() {
    let base = Arc::new(Btf::parse(sample()).unwrap());
    let mut w = Writer::new();
    // What a module's BTF does not define itself has lower numbers than the base has entries.
    w.strings.clear();
    w.first_string = u32::from_le_bytes(sample()[20..24].try_into().unwrap());
    w.structure(
        STRUCT,
        false,
        "ext4_sb_info",
        32,
        &[("s_sb", 6, 0), ("s_orphan", 3, 128)],
    ); // 18
    w.structure(STRUCT, false, "outer", 32, &[("inner", 18, 64)]); // 19
    let module = Btf::parse_module(base, w.finish()).unwrap();
    assert_eq!(module.member_offset("outer", "inner.s_orphan.prev"), Ok(32));
    assert_eq!(
        module.pointee_at("ext4_sb_info", 0),
        Some("super_block".to_owned())
    );
    assert_eq!(module.member_offset("inode", "i_sb"), Ok(8));
}

#[test]
fn types_that_refer_to_themselves_end() {
    let mut w = Writer::new();
    w.add(TYPEDEF, false, "loop", 0, 1, &[]); // 1
    let many: Vec<(&str, u32, u32)> = vec![("", 2, 0); 1000];
    w.structure(STRUCT, false, "nest", 8, &many); // 2
    w.structure(STRUCT, false, "uses", 8, &[("x", 1, 0)]); // 3
    let btf = Btf::parse(w.finish()).unwrap();
    assert!(matches!(
        btf.member_offset("nest", "x"),
        Err(BtfError::TooDeep(_))
    ));
    assert_eq!(btf.pointee_at("nest", 0), None);
    assert!(btf.member_offset("uses", "x.y").is_err());
}

#[test]
fn unknown_kinds_and_other_formats_are_errors() {
    let mut w = Writer::new();
    w.add(31, false, "future", 0, 0, &[]);
    assert_eq!(
        Btf::parse(w.finish()).unwrap_err(),
        BtfError::UnknownKind(31)
    );
    assert_eq!(Btf::parse(Vec::new()).unwrap_err(), BtfError::NotBtf);
    assert_eq!(
        Btf::parse(vec![0xeb, 0x9f, 1, 0]).unwrap_err(),
        BtfError::NotBtf
    );
    for len in 2..sample().len() {
        assert!(Btf::parse(sample()[..len].to_vec()).is_err(), "{len}");
    }
}

fn ask_everything(btf: &Btf) {
    for structure in ["inode", "super_block", "flags", "twin", "evict", ""] {
        for path in ["i_sb", "i_lru.next", "small", "b", "s_list.prev", ""] {
            let _ = btf.member_offset(structure, path);
        }
        let _ = btf.member_is_struct(structure, "i_list");
        let _ = btf.pointee_at(structure, 8);
        let _ = btf.functions(structure);
    }
    let _ = btf.enumerators(["I_NEW", "__I_NEW"]);
}

proptest! {
    #[test]
    fn damaged_btf_never_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut data = sample();
        for (at, byte) in damage {
            let at = at.index(data.len());
            data[at] = byte;
        }
        if let Ok(btf) = Btf::parse(data.clone()) {
            ask_everything(&btf);
            if let Ok(module) = Btf::parse_module(Arc::new(btf), data) {
                ask_everything(&module);
            }
        }
    }

    #[test]
    fn random_bytes_never_panic(mut data in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = Btf::parse(data.clone());
        if let [a, b, ..] = data.as_mut_slice() {
            (*a, *b) = (0x9f, 0xeb);
        }
        if let Ok(btf) = Btf::parse(data) {
            ask_everything(&btf);
        }
    }
}
