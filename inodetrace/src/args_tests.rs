use clap::CommandFactory as _;

use super::*;

fn parse(args: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("inodetrace").chain(args.iter().copied()))
}

fn refusal(args: &[&str]) -> String {
    let e = parse(args).unwrap_err();
    assert_eq!(e.exit_code(), 2, "{e}");
    e.to_string()
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn without_a_command_the_options_are_those_of_live() {
    let cli = parse(&["--fstype", "tmpfs,ext4", "--interval", "500ms", "--plain"]).unwrap();
    assert!(cli.command.is_none());
    assert_eq!(cli.live.filter.fstype, ["tmpfs", "ext4"]);
    assert_eq!(cli.live.interval, Duration::from_millis(500));
    assert!(cli.live.plain);
}

#[test]
fn a_command_keeps_its_own_options() {
    let cli = parse(&["record", "-d", "2m", "--", "ls", "-d", "--json"]).unwrap();
    let Some(Command::Record(args)) = cli.command else {
        panic!("{:?}", cli.command);
    };
    assert_eq!(args.duration, Some(Duration::from_mins(2)));
    assert_eq!(args.command, ["ls", "-d", "--json"]);
    assert_eq!(args.output, PathBuf::from("inodetrace.json"));
}

#[test]
fn colour_is_for_every_command() {
    for args in [
        &["--color", "never"][..],
        &["sites", "--color", "never"],
        &["report", "x", "--color", "never"],
    ] {
        assert_eq!(parse(args).unwrap().color, When::Never);
    }
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    let text = refusal(&["--site", "sb_list_ad"]);
    for site in Site::ALL {
        assert!(text.contains(site.id()), "{text}");
    }
    let text = refusal(&["record", "--lock", "inodes"]);
    for lock in Lock::ALL {
        assert!(text.contains(lock.id()), "{text}");
    }
    let text = refusal(&["report", "x", "--format", "yaml"]);
    assert!(text.contains("table, json, csv"), "{text}");
    assert!(refusal(&["--fstype", "a/b"]).contains("/proc/mounts"));
}

#[test]
fn bad_values_say_what_is_good() {
    for (args, good) in [
        (&["--interval", "1"][..], "500ms"),
        (&["--interval", "1ms"], "100ms"),
        (&["-d", "0s"], "longer than nothing"),
        (&["--duration=-5s"], "longer than nothing"),
        (&["--dev", "0.23"], "0:23"),
        (&["--dev", "4096:0"], "0:23"),
        (&["--comm", "a-name-of-sixteen"], "15 bytes"),
        (&["--pid", "0"], "1"),
        (&["--max-superblocks", "0"], "1"),
    ] {
        let args: Vec<&str> = std::iter::once("live")
            .chain(args.iter().copied())
            .collect();
        let text = refusal(&args);
        assert!(text.contains(good), "{args:?}: {text}");
    }
}

/// Every example in the help, typed.
#[test]
fn the_examples_of_the_help_parse() {
    let examples: Vec<&str> = AFTER_HELP
        .lines()
        .filter(|l| l.starts_with("  ") && l.contains("inodetrace") && !l.contains('`'))
        .collect();
    assert!(examples.len() >= 6);
    for example in examples {
        let example = example.trim().trim_start_matches("sudo ");
        let command = example.split("  ").next().unwrap();
        Cli::try_parse_from(command.split(' ')).unwrap_or_else(|e| panic!("{command}: {e}"));
    }
}

#[test]
fn help() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(true);
    settings.bind(|| {
        insta::assert_snapshot!("help_short", Cli::command().render_help().to_string());
        insta::assert_snapshot!("help_long", Cli::command().render_long_help().to_string());
        let mut command = Cli::command();
        let record = command.find_subcommand_mut("record").unwrap();
        insta::assert_snapshot!("help_record", record.render_help().to_string());
    });
}
