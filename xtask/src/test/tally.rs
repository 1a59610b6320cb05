//! Adding up test results.

/// How many tests passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Passed.
    pub(crate) passed: u64,
    /// Failed.
    pub(crate) failed: u64,
}

impl Tally {
    /// One more.
    pub(crate) fn count(&mut self, passed: bool) {
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
    }

    /// Adds another.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Something passed and nothing failed.
    pub(crate) fn is_good(self) -> bool {
        self.passed > 0 && self.failed == 0
    }

    /// What `test result:` lines of libtest say; 0 if that is not one.
    pub(crate) fn of_line(line: &str) -> Self {
        let mut tally = Self::default();
        let Some(rest) = line.trim_start().strip_prefix("test result: ") else {
            return tally;
        };
        let counts = rest.split_once(". ").map_or("", |(_, counts)| counts);
        for count in counts.split(';') {
            match count.trim().split_once(' ') {
                Some((number, "passed")) => tally.passed = number.parse().unwrap_or(0),
                Some((number, "failed")) => tally.failed = number.parse().unwrap_or(0),
                _ => {}
            }
        }
        tally
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_libtest_are_added_up() {
        let text = "running 3 tests\ntest a ... ok\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n\
            test result: what\n";
        let mut tally = Tally::default();
        for line in text.lines() {
            tally.add(Tally::of_line(line));
        }
        assert_eq!(
            tally,
            Tally {
                passed: 13,
                failed: 2
            }
        );
        assert_eq!(tally.to_string(), "13 passed, 2 failed");
    }

    #[test]
    fn nothing_is_not_good() {
        assert!(!Tally::default().is_good());
        assert!(
            Tally {
                passed: 1,
                failed: 0
            }
            .is_good()
        );
        assert!(
            !Tally {
                passed: 1,
                failed: 1
            }
            .is_good()
        );
    }
}
