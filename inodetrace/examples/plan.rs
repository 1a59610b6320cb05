//! Prints the probe plan for the kernel at hand, or writes the facts it is made from.
//!
//! `plan [--root DIR] [--facts FILE] [--write-facts FILE]`
//!
//! The fixtures in `tests/fixtures/kernels` are made with it: build it statically
//! (`RUSTFLAGS='-C target-feature=+crt-static' cargo build --release -p inodetrace --example plan
//! --target x86_64-unknown-linux-gnu`), run `plan --write-facts FILE` as root in a guest of that
//! kernel, and bring FILE back. KASLR makes addresses differ from boot to boot; nothing else does.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use inodetrace::kernel::Sources;
use inodetrace::kernel::facts::Facts;
use inodetrace::plan::{AttachChoice, Features, Plan, PlanOptions, plan};
use inodetrace::sites::collect::collect;
use inodetrace::vocab::SiteExt;

fn main() -> anyhow::Result<()> {
    let mut root = PathBuf::from("/");
    let (mut read, mut write) = (None, None);
    let mut options = PlanOptions::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().map(PathBuf::from).context("a value is missing");
        match arg.as_str() {
            "--root" => root = value()?,
            "--facts" => read = Some(value()?),
            "--write-facts" => write = Some(value()?),
            "--kprobe" => options.attach = AttachChoice::ForceKprobe,
            other => anyhow::bail!("what is {other}?"),
        }
    }
    let start = Instant::now();
    let facts: Facts = match read {
        Some(file) => serde_json::from_slice(&std::fs::read(file)?)?,
        None => {
            let sources = Sources::open(&root)?;
            eprintln!("opened after {:?}", start.elapsed());
            collect(&sources)
        }
    };
    eprintln!("facts after {:?}", start.elapsed());
    if let Some(file) = write {
        std::fs::write(file, serde_json::to_vec(&facts)?)?;
    }
    let features = Features {
        fentry: true,
        kprobe: true,
    };
    let plan = plan(&facts, features, &options)?;
    eprintln!("planned after {:?}", start.elapsed());
    print(&facts.release, &plan);
    Ok(())
}

fn print(release: &str, plan: &Plan) {
    println!("kernel {release}");
    for site in &plan.sites {
        println!("{:14} {}", site.site.id(), site.status.id());
        for point in &site.how {
            println!(
                "    {} {}+{:#x}",
                point.kind.id(),
                point.function,
                point.offset
            );
        }
        if let Some(reason) = &site.reason {
            println!("    {reason}");
        }
        let quantities = [
            ("calls", &site.calls),
            ("acquisitions", &site.acquisitions),
            ("contended", &site.contended),
            ("hold", &site.hold),
        ];
        for (name, quantity) in quantities {
            match quantity.reason() {
                None => println!("    {name}: counted"),
                Some(why) if site.reason.as_deref() == Some(why) => {}
                Some(why) => println!("    {name}: null, {why}"),
            }
        }
    }
    for p in &plan.probes {
        let serves: Vec<&str> = p.serves.iter().map(|s| s.id()).collect();
        println!(
            "{:?} {} {} entry={} exit={} takes_lock={} for {}",
            p.role,
            p.attach.id(),
            p.function,
            p.entry,
            p.exit,
            p.entry_takes_lock,
            serves.join(" ")
        );
    }
    println!("{:#?}", plan.globals);
}
