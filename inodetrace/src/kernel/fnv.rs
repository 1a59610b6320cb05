//! A fast hash for short names. The keys are the kernel's own, so nobody gains by collisions; the
//! standard one is a fifth of the time that planning takes on a slow machine.

use std::hash::{BuildHasherDefault, Hasher};

/// FNV-1a, 64 bits.
pub(crate) struct Fnv(u64);

/// For `HashMap` and `HashSet`.
pub(crate) type BuildFnv = BuildHasherDefault<Fnv>;

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        // Whole numbers leave the low bits, by which the table is indexed, too much alike.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u64(u64::from(*b));
        }
    }

    // Numbers are taken in whole, not byte by byte.

    fn write_u8(&mut self, i: u8) {
        self.write_u64(u64::from(i));
    }

    fn write_u32(&mut self, i: u32) {
        self.write_u64(u64::from(i));
    }

    fn write_u64(&mut self, i: u64) {
        self.0 = (self.0 ^ i).wrapping_mul(0x100_0000_01b3);
    }

    fn write_usize(&mut self, i: usize) {
        self.write_u64(i as u64);
    }
}

/// The hash of `bytes`.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut fnv = Fnv::default();
    fnv.write(bytes);
    fnv.finish()
}
