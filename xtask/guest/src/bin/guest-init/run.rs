//! Runs the command and collects what it leaves.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use anyhow::Context;
use inodetrace_guest::ports::{self as names, Message};
use inodetrace_guest::spec::{OUT, Spec};

use crate::ports;

const CONSOLE: &str = "/dev/ttyS0";

/// Runs what the spec says; gives the verdict.
pub(crate) fn run(spec: &Spec) -> anyhow::Result<Message> {
    for command in &spec.background {
        if let [program, args @ ..] = &command[..] {
            let mut background = Command::new(program);
            background
                .args(args)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            environment(&mut background, spec)
                .spawn()
                .with_context(|| format!("{program:?}"))?;
        }
    }
    let (code, stdout, stderr) = match spec.terminal {
        Some(size) => (on_terminal(spec, size)?, 0, 0),
        None => captured(spec)?,
    };
    Ok(Message::Done {
        code,
        stdout,
        stderr,
        out: send_out()?,
    })
}

fn environment<'a>(command: &'a mut Command, spec: &Spec) -> &'a mut Command {
    command
        .env_clear()
        .env("PATH", "/bin:/sbin:/usr/bin:/usr/sbin")
        .env("HOME", "/root")
        .env("USER", "root")
        .env("SHELL", "/bin/sh")
        .env("TERM", "linux")
        .env("OUT", OUT)
        .envs(spec.env.iter().map(|(k, v)| (k, v)))
        .current_dir(match spec.dir.as_str() {
            "" => "/root",
            dir => dir,
        })
}

/// Runs the command with its output going to the ports.
fn captured(spec: &Spec) -> anyhow::Result<(u8, u64, u64)> {
    let stdout_port = ports::open(names::STDOUT)?;
    let mut stderr_port = ports::open(names::STDERR)?;
    let mut command = match &spec.command[..] {
        [program, args @ ..] => {
            let mut command = Command::new(program);
            command.args(args);
            command
        }
        [] => Command::new("/bin/sh"),
    };
    // The two pipes exist before the command does, so a recorder in it never sees them made.
    environment(&mut command, spec)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let text = format!("{}: {error}\n", command.get_program().to_string_lossy());
            io::Write::write_all(&mut stderr_port, text.as_bytes())?;
            return Ok((not_started(&error), 0, text.len() as u64));
        }
    };
    let stdout = forwarder(child.stdout.take(), stdout_port);
    let stderr = forwarder(child.stderr.take(), stderr_port);
    let status = wait_and_clear(&mut child)?;
    Ok((exit_code(status), join(stdout)?, join(stderr)?))
}

fn forwarder<R: io::Read + Send + 'static>(
    from: Option<R>,
    port: File,
) -> JoinHandle<io::Result<u64>> {
    std::thread::spawn(move || from.map_or(Ok(0), |from| ports::forward(from, port)))
}

fn join(thread: JoinHandle<io::Result<u64>>) -> anyhow::Result<u64> {
    match thread.join() {
        Ok(bytes) => bytes.context("forwarding output"),
        Err(_) => anyhow::bail!("forwarding output: the thread panicked"),
    }
}

/// Runs the command with the console as its controlling terminal.
fn on_terminal(spec: &Spec, (columns, rows): (u16, u16)) -> anyhow::Result<u8> {
    let console = File::options()
        .read(true)
        .write(true)
        .open(CONSOLE)
        .context(CONSOLE)?;
    let size = rustix::termios::Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&console, size).context("window size")?;
    let mut command = Command::new("/bin/busybox");
    command.args(["setsid", "-c"]);
    if spec.command.is_empty() {
        command.args(["sh", "-l"]);
    } else {
        command.args(&spec.command);
    }
    let mut child = environment(&mut command, spec)
        .stdin(console.try_clone()?)
        .stdout(console.try_clone()?)
        .stderr(console)
        .spawn()
        .context("busybox setsid")?;
    Ok(exit_code(wait_and_clear(&mut child)?))
}

/// Waits for the command, then kills everything it left, so that the pipes come to an end.
fn wait_and_clear(child: &mut Child) -> anyhow::Result<ExitStatus> {
    let status = child.wait().context("wait")?;
    // From process 1 this reaches every process but itself.
    // SAFETY: kill() takes plain numbers.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    Ok(status)
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// As shells have it.
fn not_started(error: &io::Error) -> u8 {
    if error.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    }
}

/// Sends the files of `$OUT` as a tar archive; gives its size, 0 without files.
fn send_out() -> anyhow::Result<u64> {
    if Path::new(OUT).read_dir().context(OUT)?.next().is_none() {
        return Ok(0);
    }
    let port = ports::open(names::OUT)?;
    let mut tar = Command::new("/bin/busybox")
        .args(["tar", "-c", "-C", OUT, "-f", "-", "."])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("busybox tar")?;
    let bytes = tar
        .stdout
        .take()
        .map_or(Ok(0), |from| ports::forward(from, port))
        .context("sending $OUT")?;
    let status = tar.wait().context("busybox tar")?;
    anyhow::ensure!(status.success(), "busybox tar: {status}");
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(exit_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(exit_code(ExitStatus::from_raw(255 << 8)), 255);
        assert_eq!(exit_code(ExitStatus::from_raw(9)), 137);
    }
}
