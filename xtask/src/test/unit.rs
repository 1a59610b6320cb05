//! `cargo test` on this machine.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::Context;

use super::tally::Tally;
use crate::build;

/// Runs the tests of the default members, showing their output; gives what they add up to.
pub(crate) fn run(filter: Option<&str>) -> anyhow::Result<Tally> {
    let mut command = build::cargo();
    command.args(["test", "--no-fail-fast"]);
    if let Some(filter) = filter {
        command.args(["--", filter]);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo test")?;
    let mut tally = Tally::default();
    if let Some(stdout) = child.stdout.take() {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).context("cargo test")? > 0 {
            let text = String::from_utf8_lossy(&line);
            print!("{text}");
            tally.add(Tally::of_line(&text));
            line.clear();
        }
    }
    let status = child.wait().context("cargo test")?;
    if !status.success() && tally.failed == 0 {
        // It did not build, or a test binary died.
        println!("test cargo_test ... FAILED");
        tally.count(false);
    }
    Ok(tally)
}
