//! Set-up, kernels, virtual machines, tests and benchmarks of inodetrace: `cargo xtask --help`.

mod build;
mod cli;
mod debian;
mod exec;
mod kernels;
mod paths;
mod setup;
mod vm;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(cli::FAILED)
        }
    }
}
