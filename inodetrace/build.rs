//! Builds the eBPF programs with whichever toolchain is there and leaves the object in `OUT_DIR`.
//!
//! Two toolchains will do: a rustup nightly with rust-src (the usual one for aya), or Debian's
//! `rustc-web` with its prebuilt `core` for BPF. Both need `bpf-linker`. What is missing is said
//! in one message.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

const TARGET: &str = "bpfel-unknown-none";
const PACKAGE: &str = "inodetrace-ebpf";

fn main() {
    if let Err(message) = build() {
        for line in message.lines() {
            println!("cargo::error={line}");
        }
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let manifest_dir = PathBuf::from(var("CARGO_MANIFEST_DIR")?);
    let out_dir = PathBuf::from(var("OUT_DIR")?);
    let workspace = manifest_dir
        .parent()
        .ok_or("the inodetrace crate must lie in its workspace")?;
    for watched in [
        "inodetrace-ebpf/src",
        "inodetrace-ebpf/Cargo.toml",
        "inodetrace-common/src",
    ] {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(watched).display()
        );
    }
    println!("cargo::rerun-if-changed=build.rs");

    let linker = find_linker();
    let toolchain = find_toolchain();
    let (Some(linker), Some(toolchain)) = (&linker, &toolchain) else {
        return Err(missing(linker.is_some(), toolchain.is_some()));
    };

    // One directory for all profiles and targets of the outer build: the programs are the same.
    let target_dir = match workspace.join("target") {
        target if target.is_dir() => target.join("ebpf"),
        _ => out_dir.join("ebpf"),
    };
    let mut cargo = toolchain.cargo();
    cargo
        .current_dir(workspace)
        .args([
            "build",
            "--release",
            "--locked",
            "--package",
            PACKAGE,
            "--target",
            TARGET,
        ])
        .arg("--target-dir")
        .arg(&target_dir)
        .env("CARGO_TARGET_BPFEL_UNKNOWN_NONE_LINKER", linker)
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            "--cfg=bpf_target_arch=\"x86_64\"",
        )
        .env("RUSTC_BOOTSTRAP", "1");
    // What the outer cargo and rustup set would lead to the wrong compiler.
    for name in [
        "RUSTC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTDOC",
        "RUSTUP_TOOLCHAIN",
        "RUSTFLAGS",
        "CARGO",
        "CARGO_BUILD_TARGET",
        "CARGO_TARGET_DIR",
    ] {
        cargo.env_remove(name);
    }
    if let Toolchain::Debian = toolchain {
        cargo.env("RUSTC", "/usr/bin/rustc");
    }
    let output = cargo
        .output()
        .map_err(|e| format!("cannot run {cargo:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "building the eBPF programs failed ({toolchain}):\n{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let object = target_dir.join(TARGET).join("release").join(PACKAGE);
    let to = out_dir.join("inodetrace.bpf.o");
    std::fs::copy(&object, &to).map_err(|e| format!("cannot copy {}: {e}", object.display()))?;
    Ok(())
}

fn var(name: &str) -> Result<String, String> {
    env::var(name).map_err(|e| format!("{name}: {e}"))
}

/// Where the eBPF programs can be compiled.
enum Toolchain {
    /// /usr/bin/cargo and /usr/bin/rustc with a prebuilt `core` for BPF.
    Debian,
    /// rustup's nightly, which builds `core` from rust-src.
    Nightly,
}

impl std::fmt::Display for Toolchain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Debian => "Debian's /usr/bin/cargo",
            Self::Nightly => "cargo +nightly",
        })
    }
}

impl Toolchain {
    fn cargo(&self) -> Command {
        match self {
            Self::Debian => Command::new("/usr/bin/cargo"),
            Self::Nightly => {
                let mut cargo = Command::new("rustup");
                cargo.args(["run", "nightly", "cargo", "-Zbuild-std=core"]);
                cargo
            }
        }
    }
}

fn find_toolchain() -> Option<Toolchain> {
    if has_core(
        "/usr/bin/rustc",
        &["--target", TARGET, "--print", "target-libdir"],
    ) && Path::new("/usr/bin/cargo").exists()
    {
        return Some(Toolchain::Debian);
    }
    let sysroot = stdout("rustup", &["run", "nightly", "rustc", "--print", "sysroot"])?;
    Path::new(&sysroot)
        .join("lib/rustlib/src/rust/library/core")
        .exists()
        .then_some(Toolchain::Nightly)
}

/// Whether that compiler's library directory for the target holds a `core`.
fn has_core(rustc: &str, args: &[&str]) -> bool {
    let Some(dir) = stdout(rustc, args) else {
        return false;
    };
    std::fs::read_dir(dir).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|e| e.file_name().to_string_lossy().starts_with("libcore-"))
    })
}

fn stdout(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .env_remove("RUSTUP_TOOLCHAIN")
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// `bpf-linker` as `cargo xtask setup` leaves it, or from PATH.
fn find_linker() -> Option<PathBuf> {
    let cached =
        env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/inodetrace/tools/bin"));
    let path: OsString = env::var_os("PATH").unwrap_or_default();
    cached
        .into_iter()
        .chain(env::split_paths(&path))
        .map(|dir| dir.join("bpf-linker"))
        .find(|file| file.is_file())
}

fn missing(linker: bool, toolchain: bool) -> String {
    let mut lines = vec![String::from(
        "the eBPF programs cannot be built here; `cargo xtask setup` installs what is missing on Debian:",
    )];
    if !toolchain {
        lines.push(String::from(
            "  a compiler for BPF: apt-get install rustc-web cargo-web libstd-rust-web-dev-bpf, or rustup toolchain install nightly --component rust-src",
        ));
    }
    if !linker {
        lines.push(String::from(
            "  bpf-linker, built against that compiler's LLVM: cargo install bpf-linker (Debian: needs llvm-22-dev libpolly-22-dev, --no-default-features --features llvm-22)",
        ));
    }
    lines.join("\n")
}
