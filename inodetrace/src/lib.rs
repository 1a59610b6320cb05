//! inodetrace: how often the kernel's inode-list locks are taken, skipped and contended.

pub mod args;
pub mod backend;
pub mod bpf;
pub mod caveat;
pub mod cgroup;
pub mod cli;
pub mod column;
pub mod command;
pub mod delta;
pub mod error;
#[cfg(test)]
pub(crate) mod fake;
pub mod filter;
pub mod hist;
pub mod kernel;
pub mod machine;
pub mod model;
pub mod mount_names;
pub mod options;
pub mod output;
pub mod plain;
pub mod plan;
pub mod prerequisites;
#[cfg(test)]
mod process_tests;
pub mod report;
pub mod runfile;
pub mod sampler;
pub mod selection;
pub mod series;
pub mod site_list;
pub mod sites;
pub mod terminal_width;
pub mod text_table;
pub mod tui;
pub mod units;
pub mod vocab;
