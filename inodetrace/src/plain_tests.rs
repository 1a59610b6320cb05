use super::*;
use crate::{
    args::Cli,
    fake::{self, Fake},
    options::{Live, Names, Scope, Surroundings},
    sampler::Sampler,
};

pub(crate) fn scope(args: &[&str]) -> Scope {
    let cli: Cli =
        clap::Parser::parse_from(std::iter::once("inodetrace").chain(args.iter().copied()));
    let names = Names {
        mounts: &fake::mounts,
        cgroup: &|_| Ok(42),
    };
    Live::lower(&cli.live, cli.color, Surroundings::default(), &names)
        .unwrap()
        .scope
}

fn second_sample(args: &[&str]) -> (Plan, Sample) {
    let fake = Fake::default();
    let mut sampler = Sampler::start(&fake, &scope(args)).unwrap();
    let at = "2026-12-01T10:00:02Z".parse().unwrap();
    sampler.sample(at).unwrap();
    let sample = sampler.sample(at).unwrap();
    (sampler.plan().clone(), sample)
}

#[test]
fn a_table_per_interval() {
    let (plan, sample) = second_sample(&[]);
    let look = Look::default();
    insta::assert_snapshot!(preamble(&plan, &fake::host()) + &table(&sample, look, None));
}

#[test]
fn in_ascii() {
    let (_, sample) = second_sample(&["--fstype", "tmpfs"]);
    let look = Look {
        ascii: true,
        color: false,
    };
    let text = table(&sample, look, None);
    assert!(text.is_ascii(), "{text}");
}

#[test]
fn columns_that_do_not_fit_are_left_out() {
    let (_, sample) = second_sample(&[]);
    let text = table(&sample, Look::default(), Some(80));
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    assert!(text.contains("CONT/S"));
    assert!(text.contains("no room for "));
}

#[test]
fn a_line_of_json_per_interval() {
    let (plan, sample) = second_sample(&["--fstype", "tmpfs", "--pid", "7"]);
    let line = json_line(&sample, &plan);
    assert_eq!(line.matches('\n').count(), 1);
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["schema"], INTERVAL_SCHEMA);
    assert_eq!(value["time"], "2026-12-01T10:00:02.000Z");
    assert_eq!(value["seconds"], 1.0);
    let series = value["series"].as_array().unwrap();
    let add = series.iter().find(|s| s["site"] == "sb_list_add").unwrap();
    assert!(add["calls"].is_null());
    assert_eq!(add["contended"], 4);
    assert_eq!(value["not_observed"].as_array().unwrap().len(), 4);
    assert_eq!(value["caveats"][0]["id"], "task_filter");
    assert_eq!(value["losses"]["missed_probes"], 0);
}
