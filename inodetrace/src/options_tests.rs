use clap::Parser as _;

use super::*;
use crate::{
    args::{Cli, Command},
    fake,
};

const NAMES: Names<'static> = Names {
    mounts: &fake::mounts,
    cgroup: &|_| Ok(42),
};

fn live_on(args: &[&str], around: Surroundings) -> Result<Live, Error> {
    let cli = Cli::parse_from(std::iter::once("inodetrace").chain(args.iter().copied()));
    Live::lower(&cli.live, cli.color, around, &NAMES)
}

fn live(args: &[&str]) -> Result<Live, Error> {
    live_on(args, Surroundings::default())
}

#[test]
fn sites_and_locks_add_up() {
    let sites = |args: &[&str]| live(args).unwrap().scope.request.sites;
    assert_eq!(sites(&[]), Site::ALL);
    assert_eq!(
        sites(&["--site", "evict", "--lock", "inode-hash"]),
        [Site::Evict, Site::HashInsert, Site::HashRemove]
    );
    assert_eq!(
        sites(&["--site", "lru_del,lru_add", "--site", "lru_add"]),
        [Site::LruAdd, Site::LruDel]
    );
}

#[test]
fn mounts_become_devices() {
    let options = live(&["--mount", "/mnt/ext4", "--dev", "0:8", "--fstype", "ext4"]).unwrap();
    assert_eq!(options.scope.superblocks.devs, [(0, 8), (254, 16)]);
    assert_eq!(options.scope.superblocks.fstypes, ["ext4"]);
    let e = live(&["--mount", "/nowhere"]).unwrap_err();
    assert_eq!(e.exit_code(), 2);
    assert_eq!(
        e.to_string(),
        "unknown mount \"/nowhere\": valid are /, /home, /mnt/ext4, /tmp"
    );
}

#[test]
fn task_filters_reach_the_kernel_side() {
    let options = live(&["--pid", "7", "--comm", "cc1", "--cgroup", "a.slice"]).unwrap();
    assert_eq!(
        options.scope.request.tasks,
        TaskFilter {
            pid: Some(7),
            comm: Some("cc1".into()),
            cgroup: Some(42)
        }
    );
}

#[test]
fn exact_hold_times_are_refused_not_ignored() {
    let e = live(&["--hold", "exact"]).unwrap_err();
    assert_eq!(e.exit_code(), 2);
    assert_eq!(
        live(&["--hold", "off"]).unwrap().scope.request.hold,
        Hold::Off
    );
    assert_eq!(live(&[]).unwrap().scope.request.hold, Hold::Span);
}

#[test]
fn the_full_screen_needs_a_terminal() {
    let tty = Surroundings {
        stdout_tty: true,
        ..Surroundings::default()
    };
    let display = |args, around| live_on(args, around).unwrap().display;
    assert_eq!(display(&[], tty), Display::Tui);
    assert_eq!(display(&[], Surroundings::default()), Display::Plain);
    assert_eq!(display(&["--plain"], tty), Display::Plain);
    assert_eq!(display(&["--json"], tty), Display::JsonLines);
}

#[test]
fn no_color_is_respected_and_overruled() {
    let around = |no_color| Surroundings {
        stdout_tty: true,
        no_color,
        ascii_locale: false,
    };
    let color = |args, around| live_on(args, around).unwrap().look.color;
    assert!(color(&[], around(false)));
    assert!(!color(&[], around(true)));
    assert!(color(&["--color", "always"], around(true)));
    assert!(!color(&["--color", "never"], around(false)));
}

#[test]
fn record_has_the_same_filters() {
    let cli = Cli::parse_from([
        "inodetrace",
        "record",
        "--mount",
        "/tmp",
        "--probe",
        "kprobe",
    ]);
    let Some(Command::Record(args)) = cli.command else {
        panic!("{:?}", cli.command);
    };
    let record = Record::lower(args, &NAMES).unwrap();
    assert_eq!(record.scope.superblocks.devs, [(0, 23)]);
    assert_eq!(record.scope.request.probe, ProbeMode::Kprobe);
    assert!(record.command.is_empty());
}
