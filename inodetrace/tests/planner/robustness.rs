//! Random damage: no panic, and the traps stay traps.

use inodetrace::kernel::facts::Facts;
use inodetrace::plan::{PlanOptions, Status, plan};
use inodetrace::vocab::{Site, SiteExt};
use proptest::prelude::*;

use crate::fixture::{ALL, code, facts, plan_of};

/// Overwrites one byte of one function.
fn scratch(facts: &mut Facts, function: usize, at: usize, byte: u8) {
    let functions = &mut code(facts).functions;
    let count = functions.len();
    let bytes = &mut functions[function % count].bytes;
    if !bytes.is_empty() {
        let len = bytes.len();
        bytes[at % len] = byte;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn one_wrong_byte_never_hides_a_section(
        newer: bool,
        function: usize,
        at: usize,
        byte: u8,
    ) {
        let mut facts = facts(if newer { "7.2" } else { "6.18" });
        let intact = plan_of(&facts);
        scratch(&mut facts, function, at, byte);
        let plan = plan_of(&facts);
        for site in [Site::SbListAdd, Site::SbListDel, Site::HashRemove] {
            let now = plan.site(site).unwrap();
            if now.status == Status::Observed {
                for point in &intact.site(site).unwrap().how {
                    prop_assert!(now.how.contains(point), "{} lost {point:?}", site.id());
                }
            }
        }
    }

    #[test]
    fn many_wrong_bytes_never_panic(
        damage in prop::collection::vec((any::<usize>(), any::<usize>(), any::<u8>()), 1..400),
    ) {
        let mut facts = facts("5.10");
        for (function, at, byte) in damage {
            scratch(&mut facts, function, at, byte);
        }
        let _ = plan(&facts, ALL, &PlanOptions::default());
    }

    #[test]
    fn cut_functions_never_panic(function: usize, len: usize) {
        let mut facts = facts("6.1");
        let functions = &mut code(&mut facts).functions;
        let count = functions.len();
        let bytes = &mut functions[function % count].bytes;
        let cut = len % (bytes.len() + 1);
        bytes.truncate(cut);
        let _ = plan(&facts, ALL, &PlanOptions::default());
    }
}
