//! Workloads whose effect on the kernel's inodes is known exactly.
//!
//! Nothing here makes an inode that the command line did not ask for: no pipes, no helper
//! processes, no temporary files.

mod args;
mod exact;
mod hammer;
mod inodes;
mod launch;
mod tight;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::bail;
use args::Args;

const USAGE: &str = "\
usage: guest-workload churn --dir D --files N [--batch]
       guest-workload sockets M
       guest-workload pipes M
       guest-workload exact [--dir D]... --files N --sockets M --pipes P
       guest-workload hammer --dir D --threads T --seconds S
       guest-workload loop socket|tmpfs N [DIR]
       guest-workload as-nobody CMD [ARG]...
       guest-workload interrupt attached|FILE CMD [ARG]...";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(command) = args.next() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&command.to_string_lossy(), args.collect()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("guest-workload: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: &str, rest: Vec<OsString>) -> anyhow::Result<ExitCode> {
    match command {
        "as-nobody" => return launch::as_nobody(&rest),
        "interrupt" => return launch::interrupt(&rest),
        _ => {}
    }
    let mut args = Args::new(rest)?;
    let result = match command {
        "churn" => {
            let (dir, files) = (args.path("dir")?, args.number("files")?);
            let batch = args.flag("batch");
            args.end()?;
            inodes::churn(&dir, files, batch)?;
            format!("{{\"files\": {files}}}")
        }
        "sockets" => {
            let count = args.positional_number()?;
            args.end()?;
            inodes::sockets(count)?;
            format!("{{\"sockets\": {count}}}")
        }
        "pipes" => {
            let count = args.positional_number()?;
            args.end()?;
            inodes::pipes(count)?;
            format!("{{\"pipes\": {count}}}")
        }
        "exact" => exact::run(&mut args)?,
        "hammer" => hammer::run(&mut args)?,
        "loop" => tight::run(&mut args)?,
        _ => bail!("{command}: no such workload\n{USAGE}"),
    };
    println!("{result}");
    Ok(ExitCode::SUCCESS)
}
