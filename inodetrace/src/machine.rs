//! The machine this runs on: where the pure parts meet /proc, /sys and bpf().

use std::path::PathBuf;

use aya::programs::ProgramError;
use rustix::system::uname;

use crate::{
    backend::{Backend, Hold, Host, Mounts, ProbeMode, Request},
    bpf::{self, BpfError, Running},
    error::Error,
    kernel::{SourceError, Sources, facts::Facts, facts_cache, kallsyms::KallsymsError, mounts},
    model::Source,
    plan::{self, AttachChoice, Plan, PlanOptions, Status},
    prerequisites::{self, Lockdown},
    sites::{analysis::Analysis, collect::collect},
    vocab::{Lock, Site, SiteExt as _},
};

/// This machine.
#[derive(Debug)]
pub struct Machine {
    root: PathBuf,
    verbose: bool,
}

impl Machine {
    /// The running kernel. `INODETRACE_LOG=debug` makes the eBPF programs say what they see first.
    pub fn this() -> Self {
        Self {
            root: PathBuf::from("/"),
            verbose: std::env::var_os("INODETRACE_LOG").is_some_and(|level| level == "debug"),
        }
    }
}

impl Backend for Machine {
    fn start(&self, request: &Request) -> Result<Box<dyn Source>, Error> {
        let plan = self.plan(request)?;
        let wanted = |s: &&plan::SitePlan| request.sites.contains(&s.site);
        let nothing = plan
            .sites
            .iter()
            .filter(wanted)
            .all(|s| s.status != Status::Observed && !s.contended.is_counted());
        if nothing {
            let reasons = plan.sites.iter().filter(wanted);
            return Err(Error::NothingToObserve {
                reasons: reasons
                    .map(|s| (s.site.id().to_owned(), s.reason.clone().unwrap_or_default()))
                    .collect(),
            });
        }
        let options = bpf::Options {
            max_superblocks: request.max_superblocks,
            hold: request.hold == Hold::Span,
            pid: request.tasks.pid,
            comm: request.tasks.comm.clone(),
            cgroup: request.tasks.cgroup,
            verbose: self.verbose,
        };
        let running = Running::start(plan, &options).map_err(|e| self.refused(&e))?;
        Ok(Box::new(running))
    }

    fn plan(&self, request: &Request) -> Result<Plan, Error> {
        let missing = prerequisites::missing_capabilities(&self.root);
        if !missing.is_empty() {
            return Err(Error::NoPrivilege { missing });
        }
        let sources = Sources::open(&self.root).map_err(|e| self.unreadable(e))?;
        let features = bpf::features(&self.root).map_err(|e| self.refused(&e))?;
        if !features.fentry && !features.kprobe {
            return Err(Error::NoKprobes);
        }
        let facts = self.facts(&sources);
        let options = PlanOptions {
            sites: with_siblings(&request.sites),
            hold: request.hold == Hold::Span,
            attach: match request.probe {
                ProbeMode::Auto => AttachChoice::Auto,
                ProbeMode::Kprobe => AttachChoice::ForceKprobe,
            },
        };
        plan::plan(&facts, features, &options).map_err(|e| Error::Inspect {
            what: String::from("its types"),
            cause: e.to_string(),
        })
    }

    fn mounts(&self) -> Mounts {
        mounts::by_device(&self.root)
    }

    fn host(&self) -> Host {
        let names = uname();
        Host {
            kernel: names.release().to_string_lossy().into_owned(),
            arch: names.machine().to_string_lossy().into_owned(),
            cpus: std::thread::available_parallelism()
                .ok()
                .and_then(|n| u32::try_from(n.get()).ok())
                .unwrap_or(1),
        }
    }
}

impl Machine {
    /// Facts about the kernel: as read now, or where another inodetrace has probes in the code, as
    /// that one read them.
    fn facts(&self, sources: &Sources) -> Facts {
        let read = collect(sources);
        let Some(key) = facts_cache::Key::of_boot(&self.root, sources.kallsyms.modules_at()) else {
            return read;
        };
        let judged = Analysis::of(&read).map(|analysis| analysis.patched().is_none());
        match judged {
            Ok(true) => facts_cache::keep(&self.root, &key, &read),
            Ok(false) => return facts_cache::kept(&self.root, &key).unwrap_or(read),
            // Code that cannot be read: nothing to keep, and nothing that would be better.
            Err(_) => {}
        }
        read
    }

    fn unreadable(&self, error: SourceError) -> Error {
        match error {
            SourceError::Kallsyms(KallsymsError::Hidden) => Error::KptrRestrict {
                value: prerequisites::kptr_restrict(&self.root),
            },
            SourceError::NoBtf { path, source } => Error::NoBtf {
                path,
                cause: source.to_string(),
            },
            other => Error::Inspect {
                what: String::from("its symbols and types"),
                cause: other.to_string(),
            },
        }
    }

    /// What stands behind a refusal, as far as it can be told.
    fn refused(&self, error: &BpfError) -> Error {
        if error.os_error() == Some(std::io::ErrorKind::PermissionDenied)
            && let Some(Lockdown(mode)) = prerequisites::lockdown(&self.root)
        {
            return Error::Lockdown { mode };
        }
        let (what, cause) = match error {
            BpfError::Attach {
                program,
                function,
                error,
            } => (format!("{program} on {function}"), brief(error)),
            other => (String::from("the eBPF programs"), other.to_string()),
        };
        Error::BpfRefused { what, cause }
    }
}

/// The sites asked for, and those that share a lock with them: to which of them a wait belongs can
/// be told only if the passes of all are seen. The passes tell where a thread is that waits in a
/// section without a function of its own.
fn with_siblings(asked: &[Site]) -> Vec<Site> {
    let locks: Vec<_> = asked.iter().filter_map(|site| site.lock()).collect();
    let by_phase = locks
        .iter()
        .any(|lock| matches!(lock, Lock::SbInodes | Lock::InodeHash));
    let wanted = |site: &Site| match site.lock() {
        _ if asked.contains(site) => true,
        Some(lock) => locks.contains(&lock),
        None => by_phase,
    };
    Site::ALL.into_iter().filter(wanted).collect()
}

/// A program's error in a line. The verifier's log has thousands; the reason is in its last ones.
fn brief(error: &ProgramError) -> String {
    let ProgramError::LoadError {
        io_error,
        verifier_log,
    } = error
    else {
        return error.to_string();
    };
    let log = verifier_log.to_string();
    let reason = log
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !is_statistics(line));
    match reason {
        Some(reason) => format!("{io_error}; the verifier says: {reason}"),
        None => io_error.to_string(),
    }
}

/// What the verifier prints after its reason.
fn is_statistics(line: &str) -> bool {
    ["processed", "verification time", "stack depth"]
        .iter()
        .any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_that_share_a_lock_are_seen_together() {
        let all = with_siblings(&[Site::SbListDel]);
        for site in [Site::SbListAdd, Site::SbListDel, Site::Evict, Site::Alloc] {
            assert!(all.contains(&site), "{}", site.id());
        }
        assert!(!all.contains(&Site::HashInsert) && !all.contains(&Site::OrphanAdd));
        assert_eq!(with_siblings(&[Site::Evict]), [Site::Evict]);
        let orphan = [Site::OrphanAdd, Site::OrphanDel];
        assert_eq!(with_siblings(&[Site::OrphanDel]), orphan);
        assert_eq!(with_siblings(&Site::ALL), Site::ALL);
    }
}
