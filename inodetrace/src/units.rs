//! Numbers as people read them. Nothing that is not 0 is ever printed as 0, and nothing short of
//! everything as 100 %.

/// How a table is drawn: which characters, and whether with colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Colours and bold.
    pub color: bool,
    /// ASCII only.
    pub ascii: bool,
}

impl Look {
    /// Stands for a number that was not counted.
    pub const fn null(self) -> &'static str {
        if self.ascii { "-" } else { "–" }
    }

    /// Stands for what was cut off.
    pub const fn ellipsis(self) -> &'static str {
        if self.ascii { "~" } else { "…" }
    }

    /// `text` in at most `width` columns.
    pub fn fit(self, text: &str, width: usize) -> String {
        use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
        if text.width() <= width {
            return text.to_owned();
        }
        let mut out = String::new();
        let mut used = 0;
        for c in text.chars() {
            let w = c.width().unwrap_or(0);
            if used + w + 1 > width {
                break;
            }
            out.push(c);
            used += w;
        }
        if width > 0 {
            out.push_str(self.ellipsis());
        }
        out
    }

    /// `value` through `format`, or the sign for "not counted".
    pub fn or_null<T>(self, value: Option<T>, format: impl Fn(T) -> String) -> String {
        value.map_or_else(|| self.null().to_owned(), format)
    }

    /// A time in ns, at most six columns below 1000 s: `870ns`, `1.23µs`, `12.3ms`, `2.00s`.
    pub fn time(self, ns: u64) -> String {
        let micro = if self.ascii { "us" } else { "µs" };
        if ns < 1000 {
            return format!("{ns}ns");
        }
        let mut value = ns as f64 / 1e3;
        for unit in [micro, "ms"] {
            if value < 999.5 {
                return format!("{}{unit}", three_digits(value));
            }
            value /= 1e3;
        }
        format!("{}s", three_digits(value))
    }
}

/// Events per second, at most five columns: `0`, `<0.1`, `0.3`, `12.0`, `812`, `1.23k`, `45.0M`.
pub fn rate(per_second: f64) -> String {
    if per_second <= 0.0 {
        "0".into()
    } else if per_second < 0.05 {
        "<0.1".into()
    } else if per_second < 99.95 {
        format!("{per_second:.1}")
    } else {
        scaled(per_second)
    }
}

/// A count, at most five columns: `0`, `812`, `1.23k`, `45.0M`.
pub fn count(n: u64) -> String {
    if n < 1000 {
        n.to_string()
    } else {
        scaled(n as f64)
    }
}

/// A share from 0 to 1, at most six columns: `0%`, `<0.1%`, `2.5%`, `48%`, `>99.9%`, `100%`.
pub fn percent(share: f64) -> String {
    let p = share * 100.0;
    if p <= 0.0 {
        "0%".into()
    } else if p < 0.05 {
        "<0.1%".into()
    } else if p < 9.95 {
        format!("{p:.1}%")
    } else if p < 99.5 {
        format!("{p:.0}%")
    } else if p < 99.95 {
        format!("{p:.1}%")
    } else if p < 100.0 {
        ">99.9%".into()
    } else {
        "100%".into()
    }
}

fn scaled(mut value: f64) -> String {
    for unit in ["", "k", "M", "G", "T"] {
        if value < 999.5 {
            return if unit.is_empty() {
                format!("{value:.0}")
            } else {
                format!("{}{unit}", three_digits(value))
            };
        }
        value /= 1e3;
    }
    format!("{value:.0}P")
}

fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn readable() {
        let times = [0, 870, 1234, 12_340, 999_499, 999_500, 12_345_678];
        let unicode = Look::default();
        let text: Vec<String> = times.iter().map(|&t| unicode.time(t)).collect();
        assert_eq!(
            text,
            [
                "0ns", "870ns", "1.23µs", "12.3µs", "999µs", "1.00ms", "12.3ms"
            ]
        );
        let ascii = Look {
            ascii: true,
            ..unicode
        };
        assert_eq!(ascii.time(1234), "1.23us");
        assert_eq!(unicode.time(2_000_000_000), "2.00s");
        let rates = [0.0, 0.02, 0.3, 12.0, 812.4, 999.7, 1234.0, 45e6];
        assert_eq!(
            rates.map(rate),
            ["0", "<0.1", "0.3", "12.0", "812", "1.00k", "1.23k", "45.0M"]
        );
        let shares = [0.0, 0.0001, 0.025, 0.481, 0.995, 0.99999, 1.0];
        assert_eq!(
            shares.map(percent),
            ["0%", "<0.1%", "2.5%", "48%", "99.5%", ">99.9%", "100%"]
        );
        assert_eq!([0, 999, 1000].map(count), ["0", "999", "1.00k"]);
    }

    #[test]
    fn cut_to_width() {
        let look = Look::default();
        assert_eq!(look.fit("/mnt/ext4", 9), "/mnt/ext4");
        assert_eq!(look.fit("/mnt/ext4", 5), "/mnt…");
        assert_eq!(look.fit("日本語", 4), "日…");
        assert_eq!(look.fit("abc", 0), "");
    }

    proptest! {
        #[test]
        fn only_zero_reads_as_zero(x in 1e-12f64..1e12) {
            prop_assert_ne!(rate(x), "0");
            prop_assert!(rate(x).chars().count() <= 5, "{}", rate(x));
        }

        #[test]
        fn only_everything_reads_as_everything(x in 1e-9f64..0.999_999_99) {
            prop_assert_ne!(percent(x), "0%");
            prop_assert_ne!(percent(x), "100%");
            prop_assert!(percent(x).chars().count() <= 6);
        }

        #[test]
        fn times_fit_their_column(ns in 0u64..999_000_000_000) {
            prop_assert!(Look::default().time(ns).chars().count() <= 6);
        }
    }
}
