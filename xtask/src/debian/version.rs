//! Comparison of Debian package versions (deb-version(7)).

use std::cmp::Ordering;

/// Compares two versions.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let (a_epoch, a_upstream, a_revision) = parts(a);
    let (b_epoch, b_upstream, b_revision) = parts(b);
    a_epoch
        .cmp(&b_epoch)
        .then_with(|| compare_part(a_upstream, b_upstream))
        .then_with(|| compare_part(a_revision, b_revision))
}

fn parts(version: &str) -> (u64, &str, &str) {
    let (epoch, rest) = match version.split_once(':') {
        Some((epoch, rest)) => (epoch.parse().unwrap_or(0), rest),
        None => (0, version),
    };
    match rest.rsplit_once('-') {
        Some((upstream, revision)) => (epoch, upstream, revision),
        None => (epoch, rest, "0"),
    }
}

/// Alternately compares a run without digits and a run of digits.
fn compare_part(mut a: &str, mut b: &str) -> Ordering {
    while !a.is_empty() || !b.is_empty() {
        let (a_text, a_rest) = split(a, |c| !c.is_ascii_digit());
        let (b_text, b_rest) = split(b, |c| !c.is_ascii_digit());
        let (a_number, a_rest) = split(a_rest, |c| c.is_ascii_digit());
        let (b_number, b_rest) = split(b_rest, |c| c.is_ascii_digit());
        let order = compare_text(a_text, b_text).then_with(|| compare_number(a_number, b_number));
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (a_rest, b_rest);
    }
    Ordering::Equal
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

/// `~` before the end, the end before letters, letters before everything else.
fn compare_text(a: &str, b: &str) -> Ordering {
    let rank = |c: Option<u8>| match c {
        Some(b'~') => -1,
        None => 0,
        Some(c) if c.is_ascii_alphabetic() => i32::from(c),
        Some(c) => i32::from(c) + 256,
    };
    let (a, b) = (a.as_bytes(), b.as_bytes());
    (0..a.len().max(b.len()))
        .map(|i| rank(a.get(i).copied()).cmp(&rank(b.get(i).copied())))
        .find(|&order| order != Ordering::Equal)
        .unwrap_or(Ordering::Equal)
}

fn compare_number(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_order() {
        let ordered = [
            "5.10.9-1",
            "5.10.226-1",
            "5.10.234-1",
            "6.12~rc1-1",
            "6.12-1",
            "6.12.9-1~bpo12+1",
            "6.12.9-1",
            "6.12.117-1~deb12u1",
            "6.12.117-1",
            "7.2.13-1",
            "1:0.1-1",
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} and {b}");
            }
        }
    }

    #[test]
    fn leading_zeros_do_not_count() {
        assert_eq!(compare("1.01-1", "1.1-1"), Ordering::Equal);
        assert_eq!(compare("1.0", "1.0-0"), Ordering::Equal);
    }
}
