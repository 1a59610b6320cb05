//! The search of the whole kernel text for calls to a few functions.
//!
//! A call is `E8` and a tail call `E9`, followed by the distance to the target. Looking at every
//! byte that could start one takes a fraction of a second for 20 MB, where decoding everything
//! would take many. A match that is no instruction (some 1 in 100 000 scans) is harmless: the
//! decoder, which looks at the functions found, does not see it.

/// A call or jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Its address.
    pub(crate) from: u64,
    /// Where it goes.
    pub(crate) to: u64,
}

/// All calls and jumps in `text`, which starts at `address`, to one of `targets`.
pub(crate) fn find_calls(text: &[u8], address: u64, targets: &[u64]) -> Vec<Hit> {
    let mut sorted = targets.to_vec();
    sorted.sort_unstable();
    let (Some(&lowest), Some(&highest)) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    let mut hits = Vec::new();
    for (block, eight) in text.chunks(8).enumerate() {
        if eight.first_chunk().is_some_and(|word| !holds_call(*word)) {
            continue;
        }
        for at in block * 8..block * 8 + eight.len() {
            let Some(&[0xe8 | 0xe9, a, b, c, d]) = text.get(at..at + 5) else {
                continue;
            };
            let from = address.wrapping_add(at as u64);
            let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
            let to = from.wrapping_add(5).wrapping_add_signed(distance);
            if lowest <= to && to <= highest && sorted.binary_search(&to).is_ok() {
                hits.push(Hit { from, to });
            }
        }
    }
    hits
}

/// Whether one of the eight bytes is `E8` or `E9`, found without looking at each.
fn holds_call(bytes: [u8; 8]) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    // Bytes that are E8 or E9 become 0, and only where a byte is 0 does subtracting 1 from each
    // set a top bit that was clear.
    let zeros = (u64::from_le_bytes(bytes) & !LOW) ^ (0xe8 * LOW);
    zeros.wrapping_sub(LOW) & !zeros & (LOW << 7) != 0
}

/// Whether `bytes`, which start at `address`, hold one of `words` as a 32-bit number, or a distance
/// that leads from its end to `target`, as the operand of `lea rdi,[rip+distance]` does.
pub(crate) fn names_one(bytes: &[u8], address: u64, words: &[u32], target: Option<u64>) -> bool {
    // The distance from the first byte; it shrinks by one with each.
    let first = target.map(|target| target.wrapping_sub(address).wrapping_sub(4) as u32);
    bytes.windows(4).enumerate().any(|(at, window)| {
        let &[a, b, c, d] = window else { return false };
        let word = u32::from_le_bytes([a, b, c, d]);
        words.contains(&word) || first.is_some_and(|f| f.wrapping_sub(at as u32) == word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_calls_and_tail_jumps() {
        // call +0x10 ; nop ; jmp -0xb
        let text = [0xe8, 0x10, 0, 0, 0, 0x90, 0xe9, 0xf5, 0xff, 0xff, 0xff];
        let hits = find_calls(&text, 0x1000, &[0x1015, 0x1000]);
        let expected = [
            Hit {
                from: 0x1000,
                to: 0x1015,
            },
            Hit {
                from: 0x1006,
                to: 0x1000,
            },
        ];
        assert_eq!(hits, expected);
    }

    #[test]
    fn a_call_cut_off_at_the_end_is_none() {
        assert!(find_calls(&[0xe8, 0, 0, 0], 0, &[5]).is_empty());
        assert!(find_calls(&[], 0, &[5]).is_empty());
        assert!(find_calls(&[0xe8, 0, 0, 0, 0], 0, &[]).is_empty());
    }

    #[test]
    fn every_position_in_a_block_is_looked_at() {
        for at in 0..20 {
            for opcode in [0xe8, 0xe9] {
                let mut text = vec![0xe7; at];
                text.extend([opcode, 0, 0, 0, 0, 0xea, 0x90]);
                let from = 0x1000 + at as u64;
                let hits = find_calls(&text, 0x1000, &[from + 5]);
                assert_eq!(hits, [Hit { from, to: from + 5 }]);
            }
        }
    }

    #[test]
    fn names_a_number_or_a_distance() {
        let bytes = [0x90, 0x40, 0x05, 0, 0, 0x90];
        assert!(names_one(&bytes, 0x1000, &[0x540], None));
        assert!(!names_one(&bytes, 0x1000, &[0x541], None));
        assert!(names_one(&bytes, 0x1000, &[], Some(0x1005 + 0x540)));
        assert!(!names_one(&bytes, 0x1000, &[], Some(0x1005 + 0x541)));
        assert!(!names_one(&[], 0, &[0], Some(0)));
    }
}
