//! From the arguments to the exit code.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
};

use clap::{CommandFactory as _, Parser as _};

use crate::{
    args::{Cli, Command, CompletionsArgs, Format, ReportArgs, SitesArgs},
    backend::{Backend, Request},
    cgroup, command,
    error::Error,
    options::{Live, Names, Record, Surroundings, look},
    report, site_list, terminal_width,
};

/// Runs the command line of this process on `backend`.
pub fn run(backend: &dyn Backend) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return usage(&e),
    };
    match dispatch(cli, backend) {
        Ok(code) => ExitCode::from(code),
        Err(e) if e.is_broken_pipe() => ExitCode::SUCCESS,
        Err(e) => {
            // With standard error gone as well there is nobody left to tell.
            let _ = io::stderr().write_all(e.message().as_bytes());
            ExitCode::from(e.exit_code())
        }
    }
}

/// Help and version go to standard output; mistakes to standard error in our form.
fn usage(e: &clap::Error) -> ExitCode {
    if !e.use_stderr() {
        let _ = e.print();
        return ExitCode::SUCCESS;
    }
    let text = e.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let _ = write!(io::stderr(), "inodetrace: {text}");
    ExitCode::from(2)
}

fn dispatch(cli: Cli, backend: &dyn Backend) -> Result<u8, Error> {
    let mounts = || backend.mounts();
    let names = Names {
        mounts: &mounts,
        cgroup: &cgroup::id,
    };
    let around = surroundings();
    match cli.command {
        None => command::live(&Live::lower(&cli.live, cli.color, around, &names)?, backend),
        Some(Command::Live(args)) => {
            command::live(&Live::lower(&args, cli.color, around, &names)?, backend)
        }
        Some(Command::Record(args)) => command::record(&Record::lower(args, &names)?, backend),
        Some(Command::Report(args)) => print(&report_text(&args, &look(cli.color, false, around))?),
        Some(Command::Sites(args)) => print(&sites_text(
            &args,
            backend,
            &look(cli.color, false, around),
        )?),
        Some(Command::Completions(args)) => print(&completions(&args)),
    }
}

fn report_text(args: &ReportArgs, look: &crate::units::Look) -> Result<String, Error> {
    let format = if args.json { Format::Json } else { args.format };
    let files = args
        .files
        .iter()
        .map(|path| Ok((path.display().to_string(), crate::runfile::read(path)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    Ok(report::render(&files, format, *look, terminal_width::get()))
}

fn sites_text(
    args: &SitesArgs,
    backend: &dyn Backend,
    look: &crate::units::Look,
) -> Result<String, Error> {
    let plan = backend.plan(&Request {
        probe: args.probe.into(),
        ..Request::all()
    })?;
    Ok(if args.json {
        site_list::json(&plan, backend.host())
    } else {
        site_list::table(&plan, &backend.host(), *look, terminal_width::get())
    })
}

fn completions(args: &CompletionsArgs) -> String {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "inodetrace", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

fn print(text: &str) -> Result<u8, Error> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::stdout)?;
    Ok(0)
}

fn surroundings() -> Surroundings {
    let set = |name| env::var(name).ok().filter(|v| !v.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    Surroundings {
        stdout_tty: io::stdout().is_terminal(),
        no_color: set("NO_COLOR").is_some() || set("TERM").as_deref() == Some("dumb"),
        ascii_locale: matches!(locale.as_deref(), Some("C" | "POSIX")),
    }
}
