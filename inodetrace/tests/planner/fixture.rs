//! The recorded kernels, and plans as text.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use inodetrace::kernel::facts::{Code, Facts, Text};
use inodetrace::plan::{Features, Plan, PlanOptions, Quantity, SitePlan, Status, plan};
use inodetrace::vocab::{Site, SiteExt};

/// Names of the recorded kernels. How they were made: `examples/plan.rs`.
pub(crate) const KERNELS: [&str; 5] = ["5.10", "6.1", "6.12", "6.18", "7.2"];

/// Everything is there.
pub(crate) const ALL: Features = Features {
    fentry: true,
    kprobe: true,
};

static FACTS: LazyLock<BTreeMap<&str, Facts>> = LazyLock::new(|| {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/kernels");
    let read = |kernel| {
        let file = std::fs::read(format!("{directory}/{kernel}.json")).unwrap();
        (kernel, serde_json::from_slice(&file).unwrap())
    };
    KERNELS.into_iter().map(read).collect()
});

/// The facts of a recorded kernel.
pub(crate) fn facts(kernel: &str) -> Facts {
    FACTS[kernel].clone()
}

/// The default plan.
pub(crate) fn plan_of(facts: &Facts) -> Plan {
    plan(facts, ALL, &PlanOptions::default()).unwrap()
}

/// One site of the default plan.
pub(crate) fn site_of(facts: &Facts, site: Site) -> SitePlan {
    plan_of(facts).site(site).unwrap().clone()
}

/// Whether the default plan observes a site.
pub(crate) fn observes(facts: &Facts, site: Site) -> bool {
    site_of(facts, site).status == Status::Observed
}

/// The code among the facts.
pub(crate) fn code(facts: &mut Facts) -> &mut Code {
    match &mut facts.text {
        Text::Read(code) => code,
        Text::Unreadable(why) => panic!("no code: {why}"),
    }
}

/// The plan without addresses, which differ from boot to boot.
pub(crate) fn text(plan: &Plan) -> String {
    let mut out = String::new();
    for site in &plan.sites {
        write_site(&mut out, site).unwrap();
    }
    writeln!(out, "\nprobes").unwrap();
    for p in &plan.probes {
        let ends = match (p.entry, p.exit) {
            (true, true) => "entry+exit",
            (true, false) => "entry",
            (false, _) => "exit",
        };
        let takes = if p.entry_takes_lock {
            ", takes the lock"
        } else {
            ""
        };
        let serves: Vec<&str> = p.serves.iter().map(|s| s.id()).collect();
        let serves = serves.join(" ");
        writeln!(
            out,
            "  {:?} {} {} {ends}{takes}: {serves}",
            p.role,
            p.attach.id(),
            p.function
        )
        .unwrap();
    }
    let mut globals = plan.globals.clone();
    globals.inode_hash_lock = u64::from(globals.inode_hash_lock != 0);
    writeln!(out, "\n{globals:#?}").unwrap();
    out
}

fn write_site(out: &mut String, site: &SitePlan) -> std::fmt::Result {
    writeln!(out, "{}: {}", site.site.id(), site.status.id())?;
    for point in &site.how {
        writeln!(
            out,
            "  at {} {}+{:#x}",
            point.kind.id(),
            point.function,
            point.offset
        )?;
    }
    if let Some(reason) = &site.reason {
        writeln!(out, "  because {reason}")?;
    }
    let quantities = [
        ("calls", &site.calls),
        ("acquisitions", &site.acquisitions),
        ("contended", &site.contended),
        ("hold", &site.hold),
    ];
    for (name, quantity) in quantities {
        match quantity {
            Quantity::Counted => writeln!(out, "  {name} counted")?,
            Quantity::Null(why) if Some(why) == site.reason.as_ref() => {}
            Quantity::Null(why) => writeln!(out, "  {name} null: {why}")?,
        }
    }
    Ok(())
}
