//! The table of kernels.

use super::Fetcher;
use super::cache;
use super::catalog::{self, Source};

/// Prints the kernels of those names (all tested ones without names), fetching them if told so.
pub(crate) fn run(names: &[String], fetch: bool, refresh: bool) -> anyhow::Result<()> {
    let names: Vec<&str> = if names.is_empty() {
        catalog::TESTED.to_vec()
    } else {
        names.iter().map(String::as_str).collect()
    };
    let mut fetcher = Fetcher::new(refresh);
    println!("{:<8} {:<8} {:<18} PACKAGE", "KERNEL", "CACHED", "SUITE");
    for name in names {
        let kernel = catalog::find(name)?;
        let cached = if fetch {
            Some(fetcher.ensure(&kernel)?)
        } else {
            cache::newest(name)?
        };
        match cached {
            Some(cached) => {
                let m = cached.manifest;
                println!(
                    "{name:<8} {:<8} {:<18} {} {}",
                    "yes", m.suite, m.package, m.version
                );
            }
            None => {
                let Source::Debian { suites, forms } = &kernel.source;
                let patterns: Vec<String> = forms.iter().map(|f| f.main.to_string()).collect();
                println!(
                    "{name:<8} {:<8} {:<18} {}",
                    "no",
                    suites[0],
                    patterns.join(" or ")
                );
            }
        }
    }
    Ok(())
}
