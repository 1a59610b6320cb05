//! QEMU's command line.

use std::ffi::OsString;
use std::path::Path;

use inodetrace_guest::ports;

use super::images::Disk;

/// What the virtual machine is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Number of CPUs.
    pub(crate) smp: u32,
    /// Memory, MiB.
    pub(crate) mem: u32,
    /// `-cpu`.
    pub(crate) cpu: String,
    /// Guest time counts instructions; one CPU.
    pub(crate) icount: bool,
    /// Disks are NVMe instead of virtio.
    pub(crate) nvme: bool,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            smp: 2,
            mem: 1024,
            // With the hypervisor bit the kernel falls back from queued to test-and-set locks.
            cpu: "max,-hypervisor".into(),
            icount: false,
            nvme: false,
        }
    }
}

/// Name of the console's socket; the ports' sockets have the ports' names.
pub(crate) const CONSOLE: &str = "console";

/// The arguments. The sockets of console and ports lie in `sockets`; without a console socket
/// (`interactive`) the console is the terminal.
pub(crate) fn arguments(
    machine: &Machine,
    kernel: &Path,
    initramfs: &Path,
    disks: &[Disk],
    sockets: &Path,
    interactive: bool,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    let mut add = |list: &[&str]| args.extend(list.iter().map(OsString::from));
    if machine.icount {
        add(&[
            "-accel",
            "tcg,thread=single",
            "-icount",
            "shift=0,sleep=off",
            "-smp",
            "1",
        ]);
    } else {
        add(&[
            "-accel",
            "tcg,thread=multi",
            "-smp",
            &machine.smp.to_string(),
        ]);
    }
    add(&["-cpu", &machine.cpu, "-m", &machine.mem.to_string()]);
    add(&[
        "-display",
        "none",
        "-monitor",
        "none",
        "-parallel",
        "none",
        "-nodefaults",
    ]);
    add(&["-no-user-config", "-no-reboot", "-nic", "none"]);

    if interactive {
        add(&["-chardev", "stdio,id=console,signal=off"]);
    } else {
        add(&["-chardev", &socket("console", sockets, CONSOLE)]);
    }
    add(&["-serial", "chardev:console"]);

    add(&["-device", "virtio-serial-pci"]);
    for (number, port) in ports::ALL.iter().enumerate() {
        let id = format!("port{number}");
        add(&["-chardev", &socket(&id, sockets, port)]);
        add(&[
            "-device",
            &format!("virtserialport,chardev={id},name={port}"),
        ]);
    }
    let disk_device = if machine.nvme {
        "nvme"
    } else {
        "virtio-blk-pci"
    };
    for (number, disk) in disks.iter().enumerate() {
        let image = disk.image.display().to_string();
        add(&[
            "-drive",
            &format!(
                "if=none,id=disk{number},format=raw,snapshot=on,cache=unsafe,file={}",
                comma(&image)
            ),
            "-device",
            &format!(
                "{disk_device},drive=disk{number},serial={}",
                disk.mount.serial
            ),
        ]);
    }
    args.push("-kernel".into());
    args.push(kernel.into());
    args.push("-initrd".into());
    args.push(initramfs.into());
    args.push("-append".into());
    args.push("console=ttyS0 quiet panic=-1".into());
    args
}

fn socket(id: &str, dir: &Path, name: &str) -> String {
    let path = dir.join(name).display().to_string();
    format!("socket,id={id},path={}", comma(&path))
}

/// QEMU's option lists have commas doubled.
fn comma(value: &str) -> String {
    value.replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(machine: &Machine, interactive: bool) -> String {
        let args = arguments(
            machine,
            Path::new("/k"),
            Path::new("/i"),
            &[],
            Path::new("/s,x"),
            interactive,
        );
        args.iter().map(|a| a.to_string_lossy() + " ").collect()
    }

    #[test]
    fn counting_instructions_takes_one_cpu() {
        let machine = Machine {
            icount: true,
            smp: 4,
            ..Machine::default()
        };
        let line = line(&machine, false);
        assert!(line.contains("-icount shift=0,sleep=off -smp 1 "), "{line}");
        assert!(!line.contains("-smp 4"), "{line}");
    }

    #[test]
    fn commas_in_paths_are_doubled() {
        let line = line(&Machine::default(), false);
        assert!(line.contains("path=/s,,x/console"), "{line}");
    }

    #[test]
    fn the_terminal_is_the_console_of_an_interactive_guest() {
        let line = line(&Machine::default(), true);
        assert!(line.contains("stdio,id=console"), "{line}");
        assert!(!line.contains("/console"), "{line}");
    }
}
