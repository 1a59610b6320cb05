//! A map seen as memory: reading an entry then costs no system call.

use std::{io, marker::PhantomData, os::fd::AsFd, ptr::NonNull};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The values of a BPF array that was created with `BPF_F_MMAPABLE`.
pub(super) struct Region<T> {
    start: NonNull<u8>,
    bytes: usize,
    len: usize,
    values: PhantomData<T>,
}

impl<T: Copy> Region<T> {
    /// Maps `len` values of the array `fd`.
    pub(super) fn new(fd: impl AsFd, len: usize) -> io::Result<Self> {
        // Values of 8 bytes and more lie as in a C array (kernel/bpf/arraymap.c rounds each up to
        // 8 bytes).
        const { assert!(size_of::<T>().is_multiple_of(8)) };
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or(io::ErrorKind::InvalidInput)?
            .next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ,
                MapFlags::SHARED,
                fd,
                0,
            )?
        };
        Ok(Self {
            start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            bytes,
            len,
            values: PhantomData,
        })
    }

    /// A copy of value `index`, read while the programs write it: each word is what it was at
    /// some moment.
    pub(super) fn get(&self, index: usize) -> Option<T> {
        if index >= self.len {
            return None;
        }
        // SAFETY: within the mapping, which is aligned to a page; `T` is plain data.
        Some(unsafe { self.start.cast::<T>().add(index).read_volatile() })
    }
}

impl<T> Drop for Region<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, which nothing refers to any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
