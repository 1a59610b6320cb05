//! Exactly so many inodes of each kind, one kind after the other.

use anyhow::Context;

use crate::args::Args;
use crate::inodes;

/// Runs it; says in JSON what was done.
pub(crate) fn run(args: &mut Args) -> anyhow::Result<String> {
    let dirs = args.paths("dir");
    let files = args.number("files")?;
    let sockets = args.number("sockets")?;
    let pipes = args.number("pipes")?;
    args.end()?;
    for dir in &dirs {
        inodes::churn(dir, files, false).with_context(|| dir.display().to_string())?;
    }
    inodes::sockets(sockets)?;
    inodes::pipes(pipes)?;
    let dirs: Vec<String> = dirs
        .iter()
        .map(|d| format!("{:?}", d.display().to_string()))
        .collect();
    Ok(format!(
        "{{\"dirs\": [{}], \"files\": {files}, \"sockets\": {sockets}, \"pipes\": {pipes}}}",
        dirs.join(", ")
    ))
}
