//! Reading the guest's console for the ways in which a kernel dies.

/// Why the guest is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// `panic()`.
    Panic,
    /// An oops; the kernel went on, but nothing it does from there on counts.
    Oops,
    /// A CPU that did not schedule for long.
    Lockup,
}

impl std::fmt::Display for Death {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Panic => "the guest's kernel panicked",
            Self::Oops => "the guest's kernel had an oops",
            Self::Lockup => "the guest's kernel reported a lockup",
        })
    }
}

const SIGNS: &[(&str, Death)] = &[
    ("Kernel panic - not syncing", Death::Panic),
    ("Oops: ", Death::Oops),
    ("kernel BUG at ", Death::Oops),
    ("BUG: unable to handle", Death::Oops),
    ("BUG: kernel NULL pointer", Death::Oops),
    ("general protection fault", Death::Oops),
    ("int3: 0000", Death::Oops),
    ("BUG: soft lockup", Death::Lockup),
    ("Watchdog detected hard LOCKUP", Death::Lockup),
];

/// The console so far, as text.
#[derive(Debug, Default)]
pub(crate) struct Console {
    text: String,
    /// Where the next search starts.
    searched: usize,
}

impl Console {
    /// Adds output; says whether the guest just died.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Option<Death> {
        self.text.push_str(&String::from_utf8_lossy(bytes));
        let unsearched = &self.text[self.searched..];
        let death = SIGNS
            .iter()
            .filter_map(|&(sign, death)| Some((unsearched.find(sign)?, death)))
            .min_by_key(|&(at, _)| at)
            .map(|(_, death)| death);
        // A sign may be torn: search its line again when more has come.
        self.searched = self
            .text
            .rfind('\n')
            .map_or(0, |at| at + 1)
            .max(self.searched);
        death
    }

    /// Everything so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The last lines, for an error message.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let all: Vec<&str> = self.text.lines().map(str::trim_end).collect();
        all[all.len().saturating_sub(lines)..].join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_sign_is_found() {
        let mut console = Console::default();
        assert_eq!(
            console.add(b"[ 1.0] all is well\r\n[ 2.0] watchdog: BUG: so"),
            None
        );
        assert_eq!(console.add(b"ft lockup - CPU#1"), Some(Death::Lockup));
    }

    #[test]
    fn the_first_sign_counts() {
        let mut console = Console::default();
        let text = b"[ 0.1] int3: 0000 [#1] SMP\n[ 0.2] Kernel panic - not syncing: Fatal\n";
        assert_eq!(console.add(text), Some(Death::Oops));
        assert_eq!(console.tail(1), "[ 0.2] Kernel panic - not syncing: Fatal");
        assert_eq!(console.add(b"more\n"), None);
    }
}
