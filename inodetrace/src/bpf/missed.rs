//! How often a program did not run although its function was passed.

use std::{
    mem::MaybeUninit,
    os::fd::{AsFd as _, AsRawFd as _},
};

use aya::{Ebpf, programs::Program};

/// `BPF_OBJ_GET_INFO_BY_FD` (include/uapi/linux/bpf.h).
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
/// Offset of `recursion_misses` in `struct bpf_prog_info`, since 5.12.
const RECURSION_MISSES: usize = 208;

/// Misses of all loaded programs. `None` when kretprobes are among them: the kernel does not tell
/// how often they ran out of instances.
///
/// A kernel whose answer is too short for the counter is older than the mechanism that makes a
/// program miss (ca06f55b9002, 5.12), so there the count is a true 0.
pub(super) fn count(ebpf: &Ebpf) -> Option<u64> {
    let mut misses = 0;
    for (_, program) in ebpf.programs() {
        let Ok(fd) = program.fd() else {
            continue; // not loaded
        };
        if matches!(program, Program::KProbe(_)) {
            return None;
        }
        misses += recursion_misses(fd.as_fd().as_raw_fd())?;
    }
    Some(misses)
}

#[repr(C)]
struct Attr {
    bpf_fd: u32,
    info_len: u32,
    info: u64,
}

fn recursion_misses(fd: i32) -> Option<u64> {
    let mut info = MaybeUninit::<[u8; RECURSION_MISSES + 8]>::zeroed();
    let mut attr = Attr {
        bpf_fd: u32::try_from(fd).ok()?,
        info_len: (RECURSION_MISSES + 8) as u32,
        info: info.as_mut_ptr() as u64,
    };
    // SAFETY: `attr` and `info` live through the call and have the sizes that are passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            OBJ_GET_INFO_BY_FD,
            &raw mut attr,
            size_of::<Attr>(),
        )
    };
    if result != 0 {
        return None;
    }
    if (attr.info_len as usize) < RECURSION_MISSES + 8 {
        return Some(0);
    }
    // SAFETY: zeroed above, and any bytes are valid.
    let info = unsafe { info.assume_init() };
    let bytes = info.get(RECURSION_MISSES..)?.try_into().ok()?;
    Some(u64::from_ne_bytes(bytes))
}
