// SPDX-License-Identifier: GPL-2.0-only
//! Reading kernel memory. Trampoline programs get typed pointers and load through them (one
//! instruction, faults are caught by the kernel); kprobes have plain numbers and need a helper.

use aya_ebpf::helpers::bpf_probe_read_kernel;

/// How a program reads the structures that its arguments point to.
pub(crate) trait Read {
    /// The word at `base + offset`.
    ///
    /// # Safety
    ///
    /// `base` must be what the traced function was given, or was loaded from such, and `offset`
    /// that of a member of exactly this width: the verifier refuses anything else.
    unsafe fn u64(base: u64, offset: u32) -> u64;
    /// As [`Read::u64`], for 32 bits.
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn u32(base: u64, offset: u32) -> u32;
}

/// Loads through pointers whose type the verifier knows.
pub(crate) struct Typed;

impl Read for Typed {
    #[inline(always)]
    unsafe fn u64(base: u64, offset: u32) -> u64 {
        // SAFETY: by the caller's promise; the kernel turns a fault into 0.
        unsafe { core::ptr::read_volatile((base + u64::from(offset)) as *const u64) }
    }

    #[inline(always)]
    unsafe fn u32(base: u64, offset: u32) -> u32 {
        // SAFETY: as above.
        unsafe { core::ptr::read_volatile((base + u64::from(offset)) as *const u32) }
    }
}

/// Reads from any address.
pub(crate) struct Helper;

impl Read for Helper {
    #[inline(always)]
    unsafe fn u64(base: u64, offset: u32) -> u64 {
        // SAFETY: the helper checks the address; an unreadable one gives 0, as in `Typed`.
        unsafe { bpf_probe_read_kernel((base + u64::from(offset)) as *const u64) }.unwrap_or(0)
    }

    #[inline(always)]
    unsafe fn u32(base: u64, offset: u32) -> u32 {
        // SAFETY: as above.
        unsafe { bpf_probe_read_kernel((base + u64::from(offset)) as *const u32) }.unwrap_or(0)
    }
}
