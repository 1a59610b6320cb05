// SPDX-License-Identifier: GPL-2.0-only
//! The programs themselves. Their names are what the loader asks for:
//! `<role>_<entry|exit>_<f|k>`, where `f` is fentry/fexit and `k` kprobe/kretprobe.

use aya_ebpf::{
    EbpfContext as _,
    macros::{fentry, fexit, kprobe, kretprobe},
    programs::{FEntryContext, FExitContext, ProbeContext, RetProbeContext},
};
use inodetrace_common::Site;

use crate::{
    calibrate, globals, lifetime,
    read::{Helper, Typed},
    sections,
    sites::{self, role},
    wait,
};

/// Argument `n` of a trampoline program. The context is an array of the arguments, followed for
/// fexit by what the function returned.
macro_rules! word {
    ($ctx:expr, $n:literal) => {
        // SAFETY: the verifier checks the index against the function's prototype.
        unsafe { *$ctx.as_ptr().cast::<u64>().add($n) }
    };
}

/// One entry handler as fentry and as kprobe. `$arg` are the arguments it wants.
macro_rules! entry {
    ($fentry:ident, $kprobe:ident, |$reader:ident $(, $name:ident = $n:literal)*| $body:expr) => {
        #[fentry]
        fn $fentry(ctx: FEntryContext) -> i32 {
            #[allow(unused)]
            type $reader = Typed;
            let _ = &ctx;
            $(let $name = word!(ctx, $n);)*
            // SAFETY: arguments of the traced function, with the types that the plan has checked.
            #[allow(unused_unsafe)]
            unsafe { $body };
            0
        }

        #[kprobe]
        fn $kprobe(ctx: ProbeContext) -> u32 {
            #[allow(unused)]
            type $reader = Helper;
            let _ = &ctx;
            $(let $name = ctx.arg::<u64>($n).unwrap_or(0);)*
            // SAFETY: `Helper` reads from any address.
            #[allow(unused_unsafe)]
            unsafe { $body };
            0
        }
    };
}

/// One exit handler as fexit and as kretprobe.
macro_rules! exit {
    ($fexit:ident, $kretprobe:ident, $body:expr) => {
        #[fexit]
        fn $fexit(_ctx: FExitContext) -> i32 {
            $body;
            0
        }

        #[kretprobe]
        fn $kretprobe(_ctx: RetProbeContext) -> u32 {
            $body;
            0
        }
    };
    // With what the function returned; `$n` is the number of its arguments.
    ($fexit:ident, $kretprobe:ident, args $n:literal, $handler:path) => {
        #[fexit]
        fn $fexit(ctx: FExitContext) -> i32 {
            $handler(word!(ctx, $n));
            0
        }

        #[kretprobe]
        fn $kretprobe(ctx: RetProbeContext) -> u32 {
            $handler(ctx.ret::<u64>());
            0
        }
    };
}

entry!(evict_entry_f, evict_entry_k, |R, inode = 0| sites::evict::<R>(inode));
entry!(alloc_entry_f, alloc_entry_k, |R, sb = 0| sites::alloc::<R>(sb));

entry!(sb_list_add_entry_f, sb_list_add_entry_k, |R, inode = 0| sites::sb_list_add::<R>(inode));
exit!(
    sb_list_add_exit_f,
    sb_list_add_exit_k,
    sites::leave::<{ role::SB_LIST_ADD }>(Site::SbListAdd)
);

entry!(insert_hash_entry_f, insert_hash_entry_k, |R, inode = 0| sites::insert_hash::<R>(inode));
exit!(
    insert_hash_exit_f,
    insert_hash_exit_k,
    sites::leave::<{ role::INSERT_HASH }>(Site::HashInsert)
);

entry!(insert_locked_entry_f, insert_locked_entry_k, |R, inode = 0| {
    sites::insert_locked_entry::<R>(inode)
});
#[fexit]
fn insert_locked_exit_f(ctx: FExitContext) -> i32 {
    // SAFETY: the argument of the traced function, with the type that the plan has checked.
    unsafe { sites::insert_locked_exit_with::<Typed>(word!(ctx, 0), word!(ctx, 1)) };
    0
}

#[kretprobe]
fn insert_locked_exit_k(ctx: RetProbeContext) -> u32 {
    sites::insert_locked_exit(ctx.ret::<u64>());
    0
}

entry!(insert5_entry_f, insert5_entry_k, |R, inode = 0| sites::insert5_entry::<R>(inode));
exit!(insert5_exit_f, insert5_exit_k, args 5, sites::insert5_exit);

entry!(iget_locked_entry_f, iget_locked_entry_k, |R, sb = 0| sites::iget_locked_entry::<R>(sb));
exit!(iget_locked_exit_f, iget_locked_exit_k, args 2, sites::iget_locked_exit);

entry!(remove_hash_entry_f, remove_hash_entry_k, |R, inode = 0| sites::remove_hash::<R>(inode));
exit!(
    remove_hash_exit_f,
    remove_hash_exit_k,
    sites::leave::<{ role::REMOVE_HASH }>(Site::HashRemove)
);

entry!(lru_add_entry_f, lru_add_entry_k, |R, lru = 0, item = 1| sites::lru_add(lru, item));
exit!(
    lru_add_exit_f,
    lru_add_exit_k,
    sites::leave::<{ role::LRU_ADD }>(Site::LruAdd)
);

entry!(lru_del_entry_f, lru_del_entry_k, |R, lru = 0, item = 1| sites::lru_del(lru, item));
exit!(
    lru_del_exit_f,
    lru_del_exit_k,
    sites::leave::<{ role::LRU_DEL }>(Site::LruDel)
);

entry!(io_list_del_entry_f, io_list_del_entry_k, |R, inode = 0| sites::io_list_del::<R>(inode));
exit!(
    io_list_del_exit_f,
    io_list_del_exit_k,
    sites::leave::<{ role::IO_LIST_DEL }>(Site::WbListDel)
);

entry!(orphan_add_entry_f, orphan_add_entry_k, |R, inode = 1| sites::orphan_add::<R>(inode));
exit!(
    orphan_add_exit_f,
    orphan_add_exit_k,
    sites::leave::<{ role::ORPHAN_ADD }>(Site::OrphanAdd)
);

entry!(orphan_del_entry_f, orphan_del_entry_k, |R, inode = 1| sites::orphan_del::<R>(inode));
exit!(
    orphan_del_exit_f,
    orphan_del_exit_k,
    sites::leave::<{ role::ORPHAN_DEL }>(Site::OrphanDel)
);

entry!(shutdown_super_entry_f, shutdown_super_entry_k, |R, sb = 0| lifetime::shutdown_entry(sb));
#[fexit]
fn shutdown_super_exit_f(ctx: FExitContext) -> i32 {
    lifetime::shutdown_exit(Some(word!(ctx, 0)));
    0
}

#[kretprobe]
fn shutdown_super_exit_k(_ctx: RetProbeContext) -> u32 {
    lifetime::shutdown_exit(None);
    0
}

entry!(prune_entry_f, prune_entry_k, |R| lifetime::prune_entry());
exit!(prune_exit_f, prune_exit_k, lifetime::prune_exit());

/// A slow path: the exit of a trampoline knows the lock, a kretprobe does not.
macro_rules! slow_path {
    ($entry_f:ident, $entry_k:ident, $exit_f:ident, $exit_k:ident) => {
        entry!($entry_f, $entry_k, |R, lock = 0| wait::entry(lock));

        #[fexit]
        fn $exit_f(ctx: FExitContext) -> i32 {
            wait::exit(Some(word!(ctx, 0)));
            0
        }

        #[kretprobe]
        fn $exit_k(_ctx: RetProbeContext) -> u32 {
            wait::exit(None);
            0
        }
    };
}

slow_path!(
    spin_native_entry_f,
    spin_native_entry_k,
    spin_native_exit_f,
    spin_native_exit_k
);
slow_path!(
    spin_pv_entry_f,
    spin_pv_entry_k,
    spin_pv_exit_f,
    spin_pv_exit_k
);
slow_path!(
    spin_plain_entry_f,
    spin_plain_entry_k,
    spin_plain_exit_f,
    spin_plain_exit_k
);
slow_path!(
    mutex_slow_entry_f,
    mutex_slow_entry_k,
    mutex_slow_exit_f,
    mutex_slow_exit_k
);

entry!(calibrate_entry_f, calibrate_entry_k, |R| calibrate::entry());
exit!(calibrate_exit_f, calibrate_exit_k, calibrate::exit());

/// The programs of one site's sections, each with a register of its own.
macro_rules! sections {
    ($handler:path, $register:path, $adjust:path, $($name:ident = $kind:literal),*) => {$(
        #[kprobe]
        fn $name(ctx: ProbeContext) -> u32 {
            $handler(&ctx, $register()[$kind], $adjust()[$kind]);
            0
        }
    )*};
}

sections!(
    sections::sb_list_add,
    globals::sb_list_add_register,
    globals::sb_list_add_adjust,
    sb_list_add_section0_k = 0,
    sb_list_add_section1_k = 1,
    sb_list_add_section2_k = 2,
    sb_list_add_section3_k = 3
);
sections!(
    sections::sb_list_del,
    globals::sb_list_del_register,
    globals::sb_list_del_adjust,
    sb_list_del_section0_k = 0,
    sb_list_del_section1_k = 1,
    sb_list_del_section2_k = 2,
    sb_list_del_section3_k = 3
);
sections!(
    sections::remove_hash,
    globals::remove_hash_register,
    globals::remove_hash_adjust,
    remove_hash_section0_k = 0,
    remove_hash_section1_k = 1,
    remove_hash_section2_k = 2,
    remove_hash_section3_k = 3
);
