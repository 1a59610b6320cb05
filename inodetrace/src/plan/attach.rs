//! Whether and how a probe can be put on a function.

use super::{Attach, AttachChoice, Features, PlanOptions};
use crate::kernel::facts::Facts;
use crate::kernel::kallsyms::Symbol;
use crate::sites::tables::base_name;

/// A function that a probe can be put on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) function: String,
    pub(super) address: u64,
    pub(super) attach: Attach,
}

/// Finds the one function named `name` whose parameters are what the program expects: `expected`
/// has the structure that each pointer parameter points to, by its index.
///
/// # Errors
/// Why no probe can be put on it.
pub(super) fn target(
    facts: &Facts,
    features: Features,
    options: &PlanOptions,
    name: &str,
    expected: &[(usize, &str)],
) -> Result<Target, String> {
    let symbol = lone_symbol(facts, name)?;
    let in_module = symbol.module.is_some();
    let described = facts.functions.get(name);
    if let Some(signature) = described.and_then(|d| d.signature.as_ref()) {
        for (index, structure) in expected {
            let found = signature.params.get(*index).cloned().flatten();
            if found.as_deref() != Some(*structure) {
                return Err(format!(
                    "parameter {} of {name}() is {} in this kernel, not a `struct {structure} *`",
                    index + 1,
                    found.map_or("no pointer to a structure".to_owned(), |f| format!(
                        "a `struct {f} *`"
                    )),
                ));
            }
        }
    }
    let lone_in_btf = described.is_some_and(|d| d.count == 1 && d.signature.is_some());
    // aya attaches fentry to functions of the kernel proper only.
    let fentry =
        features.fentry && options.attach == AttachChoice::Auto && lone_in_btf && !in_module;
    let attach = match (fentry, features.kprobe) {
        (true, _) => Attach::Fentry,
        (false, true) => Attach::Kprobe,
        (false, false) => {
            let why = if features.fentry {
                ", and fentry cannot attach to it"
            } else {
                " or fentry"
            };
            return Err(format!(
                "{name}() needs kprobes, which this kernel does not offer{why}"
            ));
        }
    };
    Ok(Target {
        function: name.to_owned(),
        address: symbol.address,
        attach,
    })
}

/// The only function of that name.
///
/// # Errors
/// If there is none or several.
pub(super) fn lone_symbol<'a>(facts: &'a Facts, name: &str) -> Result<&'a Symbol, String> {
    let own: Vec<&Symbol> = facts.kernel_functions(name).collect();
    match own.as_slice() {
        [one] => Ok(one),
        [] if name.starts_with("ext4_") => lone_ext4_symbol(facts, name),
        [] => Err(missing(facts, name)),
        several => Err(format!(
            "this kernel has {} functions named {name}()",
            several.len()
        )),
    }
}

/// ext4 may be a module; a function of another module that happens to have the name is none of it.
fn lone_ext4_symbol<'a>(facts: &'a Facts, name: &str) -> Result<&'a Symbol, String> {
    let all = facts
        .symbols
        .get(name)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let ours: Vec<&Symbol> = all
        .iter()
        .filter(|s| s.is_text && s.module.as_deref() == Some("ext4"))
        .collect();
    match ours.as_slice() {
        [one] => Ok(one),
        [] => Err(missing(facts, name)),
        several => Err(format!(
            "the ext4 module has {} functions named {name}()",
            several.len()
        )),
    }
}

fn missing(facts: &Facts, name: &str) -> String {
    let variant = facts
        .symbols
        .keys()
        .find(|s| s.as_str() != name && base_name(s) == name && !s.contains(".cold"));
    match variant {
        Some(variant) => format!(
            "{name}() exists only as {variant}, whose arguments need not be those of the source"
        ),
        None => format!("this kernel has no function {name}()"),
    }
}
