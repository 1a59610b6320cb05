//! Set-up, kernels, virtual machines, tests and benchmarks of inodetrace: `cargo xtask --help`.

mod bench;
mod build;
mod cli;
mod debian;
mod demo;
mod exec;
mod guest;
mod kernels;
mod paths;
mod setup;
mod test;
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
