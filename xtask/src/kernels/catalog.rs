//! The kernels known by name.

use anyhow::bail;

use crate::debian::archive::Pattern;

/// A kernel as users name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// The name.
    pub(crate) name: String,
    /// Where it comes from. Kernels built from source will be a further kind.
    pub(crate) source: Source,
}

/// Where a kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Debian's packages: the first suite that has any of the forms.
    Debian {
        /// Suites, in the order to look in.
        suites: Vec<&'static str>,
        /// Forms, in the order to look for.
        forms: Vec<Form>,
    },
}

/// Which packages make up a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The package that decides on the version.
    pub(crate) main: Pattern,
    /// Prefixes of the packages to unpack with it; the rest of the name and the version are the
    /// same.
    pub(crate) companions: &'static [&'static str],
    /// The prefix that the companions' prefixes stand for.
    pub(crate) stem: &'static str,
}

impl Form {
    /// Everything in one image package.
    fn image(version: &str, suffix: &str) -> Self {
        Self {
            main: Pattern {
                prefix: format!("linux-image-{version}"),
                suffix: suffix.into(),
            },
            companions: &[],
            stem: "linux-image-",
        }
    }

    /// The image, the modules and the configuration in packages of their own, since 7.2.
    fn split(version: &str, suffix: &str) -> Self {
        Self {
            main: Pattern {
                prefix: format!("linux-binary-{version}"),
                suffix: suffix.into(),
            },
            companions: &["linux-modules-", "linux-base-"],
            stem: "linux-binary-",
        }
    }
}

/// The kernels that `cargo xtask test` runs on.
pub(crate) const TESTED: [&str; 5] = ["5.10", "6.1", "6.12", "6.18", "7.2"];

/// The kernel of that name: one of [`TESTED`], or any release that a newer suite may hold.
pub(crate) fn find(name: &str) -> anyhow::Result<Kernel> {
    const CLOUD: &str = "-cloud-amd64";
    const UNSIGNED: &str = "-cloud-amd64-unsigned";
    let version = format!("{name}.");
    let (suites, forms) = match name {
        "5.10" => (vec!["bullseye"], vec![Form::image("5.10.0-", UNSIGNED)]),
        "6.1" => (
            vec!["bookworm-security", "bookworm"],
            vec![Form::image("6.1.0-", UNSIGNED)],
        ),
        "6.12" => (
            vec!["bookworm-security", "trixie-security", "trixie"],
            vec![Form::image(&version, UNSIGNED)],
        ),
        "6.18" => (
            vec!["trixie-backports", "forky"],
            vec![Form::image(&version, CLOUD)],
        ),
        "7.2" => (
            vec!["forky", "sid", "trixie-backports"],
            vec![Form::split(&version, CLOUD)],
        ),
        _ if is_release(name) => (
            vec!["trixie-backports", "forky", "sid"],
            vec![
                Form::split(&version, CLOUD),
                Form::image(&version, CLOUD),
                Form::image(&version, UNSIGNED),
            ],
        ),
        _ => bail!(
            "{name}: no such kernel; known are {}, and releases such as 6.19 that Debian's newer \
             suites hold",
            TESTED.join(", ")
        ),
    };
    Ok(Kernel {
        name: name.into(),
        source: Source::Debian { suites, forms },
    })
}

/// Digits, a dot, digits.
fn is_release(name: &str) -> bool {
    let number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    name.split_once('.')
        .is_some_and(|(major, minor)| number(major) && number(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(name: &str, package: &str) -> bool {
        let Source::Debian { forms, .. } = find(name).unwrap().source;
        forms.iter().any(|f| f.main.middle(package).is_some())
    }

    #[test]
    fn names_choose_their_packages() {
        assert!(fits("5.10", "linux-image-5.10.0-32-cloud-amd64-unsigned"));
        assert!(fits("6.1", "linux-image-6.1.0-57-cloud-amd64-unsigned"));
        assert!(fits(
            "6.12",
            "linux-image-6.12.117+deb12-cloud-amd64-unsigned"
        ));
        assert!(fits("6.18", "linux-image-6.18.15+deb13-cloud-amd64"));
        assert!(fits("7.2", "linux-binary-7.2.13+deb14-cloud-amd64"));
        assert!(fits("6.19", "linux-image-6.19.14+deb13-cloud-amd64"));
        assert!(!fits(
            "6.1",
            "linux-image-6.12.117+deb12-cloud-amd64-unsigned"
        ));
        assert!(!fits(
            "7.2",
            "linux-binary-unsigned-7.2.13+deb14-cloud-amd64"
        ));
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        for name in ["", "6", "6.", "6.12-unheard-of", "six.one", "../x"] {
            assert!(find(name).is_err(), "{name}");
        }
    }
}
