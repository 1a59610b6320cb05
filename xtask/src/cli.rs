//! The command line.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::bench::overhead::{self, OverheadArgs};
use crate::test::TestArgs;
use crate::vm::{self, Machine, Vm};
use crate::{build, demo, kernels, setup, test, tools};

/// Exit code when xtask itself failed.
pub(crate) const FAILED: u8 = 125;

/// Set-up, kernels, virtual machines, tests and benchmarks of inodetrace.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install what building and testing need, if it is missing.
    Setup,
    /// List the kernels known, cached or not.
    Kernels(KernelsArgs),
    /// Boot a kernel with the current build and run a command in it as root.
    Vm(VmArgs),
    /// Run `inodetrace ARGS` here, or in a VM with a load where this kernel cannot be traced.
    Run(RunArgs),
    /// Check licences and sources of all dependencies (cargo-deny, deny.toml).
    Dependencies,
    /// Measure inodetrace itself.
    #[command(subcommand)]
    Bench(BenchTask),
    /// Run all tests that need no kernel built from source: unit tests here, guest tests in VMs.
    Test(TestArgs),
}

#[derive(Debug, Subcommand)]
enum BenchTask {
    /// Guest instructions per operation, without and with a recorder.
    Overhead(OverheadArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Arguments of inodetrace.
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

#[derive(Debug, Args)]
struct KernelsArgs {
    /// Only these: 5.10, 6.1, 6.12, 6.18, 7.2, or a release such as 6.19 of Debian's newer suites.
    names: Vec<String>,
    /// Fetch those that are not cached.
    #[arg(long)]
    fetch: bool,
    /// Look for newer versions of those that are cached, too.
    #[arg(long)]
    refresh: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The command's exit code is passed on. Files that it writes to $OUT come back under target/vm/out.
Exit codes of the VM itself: 124 the time was up, 125 the guest died or could not be started.")]
struct VmArgs {
    /// Which kernel; `cargo xtask kernels` lists them.
    #[arg(long, value_name = "NAME")]
    kernel: String,
    /// Number of CPUs.
    #[arg(long, value_name = "N", default_value_t = 2)]
    smp: u32,
    /// Memory.
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    mem: u32,
    /// CPU model for QEMU. The default gives real queued spinlocks, `max` test-and-set locks.
    #[arg(long, value_name = "MODEL", default_value = "max,-hypervisor")]
    cpu: String,
    /// Let guest time count instructions, on one CPU.
    #[arg(long)]
    icount: bool,
    /// Run the command (or a shell) on this terminal.
    #[arg(long)]
    interactive: bool,
    /// Time for everything, boot included.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Show the console and what the guest was set up without.
    #[arg(long)]
    verbose: bool,
    /// The command and its arguments.
    #[arg(
        last = true,
        value_name = "CMD",
        required_unless_present = "interactive"
    )]
    command: Vec<OsString>,
}

/// Does what the command line says.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    match Cli::parse().command {
        Task::Setup => setup::everything()?,
        Task::Kernels(args) => {
            kernels::list::run(&args.names, args.fetch || args.refresh, args.refresh)?;
        }
        Task::Vm(args) => return vm(args),
        Task::Dependencies => tools::check_dependencies()?,
        Task::Run(args) => return demo::run(&args.args),
        Task::Bench(BenchTask::Overhead(args)) => return overhead::run(&args),
        Task::Test(args) => return test::run(&args),
    }
    Ok(ExitCode::SUCCESS)
}

fn vm(args: VmArgs) -> anyhow::Result<ExitCode> {
    setup::everything()?;
    let kernel = kernels::ensure(&args.kernel, false)?;
    let mut vm = Vm::new(kernel, build::guest()?)
        .machine(Machine {
            smp: args.smp,
            mem: args.mem,
            cpu: args.cpu,
            icount: args.icount,
            ..Machine::default()
        })
        .command(args.command)
        .timeout(Duration::from_secs(args.timeout))
        .verbose(args.verbose)
        .pass_on();
    if args.interactive {
        vm = vm.interactive();
    }
    Ok(vm::exit_code(vm.run()))
}
