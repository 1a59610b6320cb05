//! Everything that can go wrong, as the user reads it: one line `what: why`, one line with the
//! remedy, and the exit code of the contract.

use std::io;

/// What stops a command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process lacks a capability.
    #[error("not permitted to trace the kernel: {} missing", missing.join(", "))]
    NoPrivilege {
        /// Names of the missing capabilities, such as `CAP_BPF`.
        missing: Vec<String>,
    },
    /// The kernel does not describe its own types.
    #[error("no BTF: {path} cannot be read ({cause})")]
    NoBtf {
        /// Where it was looked for.
        path: String,
        /// Why it is not there.
        cause: String,
    },
    /// The kernel has nothing to attach a program to.
    #[error(
        "no way to attach a probe: this kernel has neither kprobes (CONFIG_KPROBES) nor ftrace \
         (CONFIG_FUNCTION_TRACER)"
    )]
    NoKprobes,
    /// Kernel addresses are hidden.
    #[error("kernel addresses are hidden: kernel.kptr_restrict is {value}")]
    KptrRestrict {
        /// Value of the sysctl.
        value: u32,
    },
    /// Lockdown forbids reading kernel memory.
    #[error("the kernel is locked down: lockdown is in {mode} mode")]
    Lockdown {
        /// `integrity` or `confidentiality`.
        mode: String,
    },
    /// `bpf()` or attaching was refused.
    #[error("the kernel refused {what}: {cause}")]
    BpfRefused {
        /// What was tried.
        what: String,
        /// The text of the errno, or the verifier's last line.
        cause: String,
    },
    /// Facts about the kernel that the plan needs could not be read.
    #[error("this kernel cannot be inspected: {what}: {cause}")]
    Inspect {
        /// What was read.
        what: String,
        /// Why it failed.
        cause: String,
    },
    /// None of the sites asked for can be observed.
    #[error("nothing to observe: {}", reasons_line(reasons))]
    NothingToObserve {
        /// Site and reason.
        reasons: Vec<(String, String)>,
    },
    /// The maps could not be read while running.
    #[error("the counters cannot be read: {cause}")]
    Snapshot {
        /// Why.
        cause: String,
    },
    /// A name that is none of the valid ones.
    #[error("unknown {kind} {given:?}: valid are {}", list(valid))]
    UnknownName {
        /// What kind of name.
        kind: &'static str,
        /// What was typed.
        given: String,
        /// What could have been.
        valid: Vec<String>,
    },
    /// A value of an option that does not work.
    #[error("{option} {given:?}: {why}")]
    BadValue {
        /// The option.
        option: &'static str,
        /// What was typed.
        given: String,
        /// What is wrong with it.
        why: String,
    },
    /// Part of the contract, and not of this version.
    #[error("{what}: not available in this version")]
    NotAvailable {
        /// What was asked for.
        what: &'static str,
        /// What works instead.
        instead: &'static str,
    },
    /// An output that cannot be written.
    #[error("cannot write {path}: {cause}")]
    Output {
        /// Where to.
        path: String,
        /// Why not.
        cause: io::Error,
    },
    /// An input that cannot be read or is not what it should be.
    #[error("cannot use {path}: {cause}")]
    Input {
        /// Which file.
        path: String,
        /// Why not.
        cause: String,
    },
    /// The command after `--` could not be started.
    #[error("cannot run {command}: {cause}")]
    Command {
        /// Its name.
        command: String,
        /// Why not.
        cause: io::Error,
    },
    /// The terminal failed.
    #[error("the terminal does not work: {cause}")]
    Terminal {
        /// How.
        cause: io::Error,
    },
    /// The operating system refused something that should always work.
    #[error("{what}: {cause}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        cause: io::Error,
    },
}

impl Error {
    /// The exit code: 2 for what the user can type differently, 3 for what this machine cannot do.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::UnknownName { .. }
            | Self::BadValue { .. }
            | Self::NotAvailable { .. }
            | Self::Output { .. }
            | Self::Input { .. }
            | Self::Command { .. } => 2,
            Self::NoPrivilege { .. }
            | Self::NoBtf { .. }
            | Self::NoKprobes
            | Self::KptrRestrict { .. }
            | Self::Lockdown { .. }
            | Self::BpfRefused { .. }
            | Self::Inspect { .. }
            | Self::NothingToObserve { .. }
            | Self::Snapshot { .. }
            | Self::Terminal { .. }
            | Self::System { .. } => 3,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoPrivilege { .. } => {
                "run it with sudo, or once: sudo setcap cap_bpf,cap_perfmon,\
                cap_syslog,cap_sys_rawio,cap_dac_read_search+ep $(command -v inodetrace)"
                    .into()
            }
            Self::NoBtf { .. } => "use a kernel built with CONFIG_DEBUG_INFO_BTF=y; the kernels \
                of Debian 11 and later, Ubuntu 20.10 and later, Fedora 31 and later are"
                .into(),
            Self::NoKprobes => "boot a kernel with CONFIG_KPROBES=y; from a source checkout, \
                `cargo xtask run` runs inodetrace in a virtual machine with one"
                .into(),
            Self::KptrRestrict { .. } => {
                "as root: sysctl kernel.kptr_restrict=1, and run with CAP_SYSLOG (sudo has it)"
                    .into()
            }
            Self::Lockdown { .. } => "boot with lockdown=none (with Secure Boot, lockdown is on \
                by default); `cat /sys/kernel/security/lockdown` shows the mode"
                .into(),
            Self::BpfRefused { .. } => "`inodetrace sites` shows what would be attached; \
                --probe kprobe avoids BPF trampolines"
                .into(),
            Self::Inspect { .. } => "run it as root on the machine itself: a container needs \
                /sys/kernel/btf, /proc/kallsyms and /proc/kcore of the host"
                .into(),
            Self::NothingToObserve { .. } => {
                "`inodetrace sites` lists what can be observed on this kernel".into()
            }
            Self::UnknownName { kind: "mount", .. } => {
                "--mount takes a mount point; --dev takes a device number such as 0:23".into()
            }
            Self::NotAvailable { instead, .. } => (*instead).into(),
            Self::Output { cause, .. } => match cause.kind() {
                io::ErrorKind::NotFound => "create the directory first".into(),
                io::ErrorKind::PermissionDenied => {
                    "-o FILE chooses another place, -o - is standard output".into()
                }
                _ => return None,
            },
            Self::Input { .. } => {
                "files made by `inodetrace record` can be used; see docs/run-file.md".into()
            }
            Self::Command { .. } => "the command follows --, as in \
                `inodetrace record -- make -j8`; a shell line needs sh -c"
                .into(),
            Self::Terminal { .. } => "--plain prints tables instead".into(),
            Self::UnknownName { .. }
            | Self::BadValue { .. }
            | Self::Snapshot { .. }
            | Self::System { .. } => return None,
        })
    }

    /// The reader of standard output went away (`inodetrace … | head`), which is no failure.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output { cause, .. } if cause.kind() == io::ErrorKind::BrokenPipe)
    }

    /// A failed write to standard output.
    pub fn stdout(cause: io::Error) -> Self {
        Self::Output {
            path: "standard output".into(),
            cause,
        }
    }

    /// The lines printed for it on standard error.
    pub fn message(&self) -> String {
        let mut text = format!("inodetrace: {self}\n");
        if let Some(hint) = self.hint() {
            text.push_str("hint: ");
            text.push_str(&hint);
            text.push('\n');
        }
        text
    }
}

fn list(valid: &[String]) -> String {
    if valid.is_empty() {
        "none here".into()
    } else {
        valid.join(", ")
    }
}

fn reasons_line(reasons: &[(String, String)]) -> String {
    let mut text = String::from("none of the sites asked for can be observed on this kernel");
    for (site, reason) in reasons {
        text.push_str("\n  ");
        text.push_str(site);
        text.push_str(": ");
        text.push_str(reason);
    }
    text
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
