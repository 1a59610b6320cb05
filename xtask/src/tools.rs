//! Cargo's own programs that building and checking need, in pinned versions in the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::{build, exec, paths};

/// A program from crates.io.
#[derive(Debug)]
pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

/// Links eBPF programs; built against the LLVM of Debian's Rust compiler.
pub(crate) const BPF_LINKER: Tool = Tool {
    name: "bpf-linker",
    version: "0.13.0",
    arguments: &["--no-default-features", "--features", "llvm-22"],
    // Its build script looks for the libraries by the one, llvm-sys by the other.
    environment: &[
        ("LLVM_PREFIX", "/usr/lib/llvm-22"),
        ("LLVM_SYS_221_PREFIX", "/usr/lib/llvm-22"),
    ],
};

/// Checks what our dependencies may be. Without optimisation it is built in half the time, and
/// runs for a second either way.
const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    arguments: &["--no-default-features", "--debug"],
    environment: &[],
};

/// The program, built if the cache has it not in this version.
pub(crate) fn ensure(tool: &Tool) -> anyhow::Result<PathBuf> {
    let root = paths::cache_dir("tools")?;
    let program = root.join("bin").join(tool.name);
    if is_installed(&root, tool) {
        return Ok(program);
    }
    let _lock = paths::lock(&root)?;
    if is_installed(&root, tool) {
        return Ok(program);
    }
    eprintln!(
        "xtask: building {} {} through cargo, into {} (once; takes minutes)",
        tool.name,
        tool.version,
        root.display()
    );
    let mut cargo = build::cargo();
    cargo
        // Our own configuration is not meant for it.
        .current_dir(&root)
        .args(["install", tool.name, "--version", tool.version])
        .args(["--locked", "--force", "--root"])
        .arg(&root)
        .args(tool.arguments);
    for (name, value) in tool.environment {
        cargo.env(name, value);
    }
    exec::output(&mut cargo).with_context(|| format!("building {}", tool.name))?;
    Ok(program)
}

fn is_installed(root: &Path, tool: &Tool) -> bool {
    let list = fs::read_to_string(root.join(".crates.toml")).unwrap_or_default();
    list.contains(&format!("\"{} {} ", tool.name, tool.version))
        && root.join("bin").join(tool.name).is_file()
}

/// Checks licences, sources and bans of all dependencies, as `deny.toml` says.
pub(crate) fn check_dependencies() -> anyhow::Result<()> {
    let deny = ensure(&CARGO_DENY)?;
    exec::run(
        Command::new(deny)
            .current_dir(paths::root())
            .args(["check", "bans", "licenses", "sources"]),
    )
}
