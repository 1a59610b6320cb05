// SPDX-License-Identifier: GPL-2.0-only
//! The programs: one pair per function that is observed, each as fentry/fexit and as
//! kprobe/kretprobe, over the same handlers.
//!
//! Everything is accounted here; no event is sent to user space per call. Which programs are
//! loaded, and to what they are attached, is the plan's decision (`inodetrace::plan`).
#![no_std]
#![cfg_attr(target_arch = "bpf", feature(asm_experimental_arch))]
#![no_main]

mod account;
mod calibrate;
mod filter;
mod globals;
mod hist;
mod lifetime;
mod maps;
mod programs;
mod read;
mod sections;
mod sites;
mod task;
mod wait;

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
