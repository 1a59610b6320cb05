//! Loads the kernel modules that the host put into the initramfs, already in order.

use inodetrace_guest::spec;

/// Loads all; gives notes on those that did not load (what needs them will be missing).
pub(crate) fn load_all() -> Vec<String> {
    let list = std::fs::read_to_string(spec::MODULES).unwrap_or_default();
    list.lines()
        .filter_map(|name| load(name).err().map(|error| format!("{name}: {error:#}")))
        .collect()
}

fn load(name: &str) -> anyhow::Result<()> {
    let image = std::fs::read(format!("/lib/modules/{name}"))?;
    match rustix::system::init_module(&image, c"") {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
