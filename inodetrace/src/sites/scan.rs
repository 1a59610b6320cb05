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
    for (at, window) in text.windows(5).enumerate() {
        let &[opcode @ (0xe8 | 0xe9), a, b, c, d] = window else {
            continue;
        };
        let _ = opcode;
        let from = address.wrapping_add(at as u64);
        let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
        let to = from.wrapping_add(5).wrapping_add_signed(distance);
        if lowest <= to && to <= highest && sorted.binary_search(&to).is_ok() {
            hits.push(Hit { from, to });
        }
    }
    hits
}

/// Whether one of `words` occurs in `bytes` as a 32-bit number.
pub(crate) fn contains_word(bytes: &[u8], words: &[u32]) -> bool {
    bytes.windows(4).any(|w| {
        let &[a, b, c, d] = w else { return false };
        words.contains(&u32::from_le_bytes([a, b, c, d]))
    })
}

/// Whether `bytes`, which start at `address`, hold a distance that leads from its end to `target`:
/// the operand of `lea rdi,[rip+distance]`.
pub(crate) fn contains_relative(bytes: &[u8], address: u64, target: u64) -> bool {
    bytes.windows(4).enumerate().any(|(at, w)| {
        let &[a, b, c, d] = w else { return false };
        let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
        let end = address.wrapping_add(at as u64 + 4);
        end.wrapping_add_signed(distance) == target
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
}
