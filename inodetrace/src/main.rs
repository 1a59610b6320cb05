//! The `inodetrace` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    inodetrace::cli::run(&inodetrace::machine::Machine::this())
}
