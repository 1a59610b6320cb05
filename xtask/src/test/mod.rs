//! `cargo xtask test`: unit tests here, and the guest tests on each kernel.

mod tally;
mod unit;

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::build::GuestBinaries;
use crate::guest::{self, Case};
use crate::kernels::{self, Fetcher, catalog};
use crate::vm::signals;
use crate::{build, setup};
use tally::Tally;

/// Which tests.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Guest tests only on these kernels (any that `cargo xtask kernels NAME` knows).
    #[arg(long = "kernel", value_name = "NAME")]
    kernels: Vec<String>,
    /// Only tests with this in their name, as in guest::6.12::exact_counts.
    #[arg(long, value_name = "SUBSTRING")]
    filter: Option<String>,
    /// No guest tests.
    #[arg(long)]
    no_guest: bool,
    /// No unit tests.
    #[arg(long)]
    no_unit: bool,
    /// Also the tests that need kernels built from source.
    #[arg(long)]
    full: bool,
    /// With --full: only those.
    #[arg(long, requires = "full")]
    only_extra: bool,
}

/// Runs them; the last line says how many passed and failed.
pub(crate) fn run(args: &TestArgs) -> anyhow::Result<ExitCode> {
    let mut tally = Tally::default();
    if args.full {
        println!("xtask: there are no tests yet that need a kernel built from source");
    }
    if args.only_extra {
        // Nothing there is to run, so nothing can have gone wrong; the closing line says so.
        println!("{tally}");
        return Ok(ExitCode::SUCCESS);
    }

    if args.no_guest {
        setup::building()?;
    } else {
        setup::everything()?;
    }
    if !args.no_unit {
        tally.add(unit::run(args.filter.as_deref())?);
    }
    if !args.no_guest {
        tally.add(guest_tests(args));
    }
    println!("{tally}");
    if let Some(signal) = signals::seen() {
        return Ok(ExitCode::from(signal.saturating_add(128)));
    }
    Ok(if tally.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn guest_tests(args: &TestArgs) -> Tally {
    let names: Vec<&str> = if args.kernels.is_empty() {
        catalog::TESTED.to_vec()
    } else {
        args.kernels.iter().map(String::as_str).collect()
    };
    let cases = guest::all();
    let mut fetcher = Fetcher::new(false);
    let mut binaries = None;
    let mut tally = Tally::default();
    let mut details = Vec::new();
    for name in names {
        let wanted: Vec<&Case> = cases
            .iter()
            .filter(|case| (case.applies)(name))
            .filter(|case| {
                let full = full_name(name, case.name);
                args.filter.as_deref().is_none_or(|f| full.contains(f))
            })
            .collect();
        if wanted.is_empty() {
            continue;
        }
        println!("\nrunning {} guest tests on {name}", wanted.len());
        let verdicts = match prepare(&mut fetcher, name, &mut binaries) {
            Ok((kernel, binaries)) => guest::run(&kernel, binaries, &wanted),
            Err(error) => wanted
                .iter()
                .map(|case| guest::Verdict {
                    case: case.name,
                    result: Err(format!("{error:#}")),
                })
                .collect(),
        };
        for verdict in verdicts {
            let full = full_name(name, verdict.case);
            tally.count(verdict.result.is_ok());
            match verdict.result {
                Ok(()) => println!("test {full} ... ok"),
                Err(error) => {
                    println!("test {full} ... FAILED");
                    details.push((full, error));
                }
            }
        }
        // Whoever reads a pipe wants to follow.
        let _ = std::io::stdout().flush();
        if signals::seen().is_some() {
            break;
        }
    }
    if !details.is_empty() {
        println!("\nfailures:");
        for (name, error) in details {
            println!("\n---- {name} ----\n{error}");
        }
        println!();
    }
    tally
}

fn full_name(kernel: &str, case: &str) -> String {
    format!("guest::{kernel}::{case}")
}

fn prepare<'a>(
    fetcher: &mut Fetcher,
    name: &str,
    binaries: &'a mut Option<GuestBinaries>,
) -> anyhow::Result<(kernels::cache::Cached, &'a GuestBinaries)> {
    let kernel = fetcher.ensure(&catalog::find(name)?)?;
    let binaries = match binaries {
        Some(binaries) => binaries,
        None => binaries.insert(build::guest()?),
    };
    Ok((kernel, binaries))
}
