//! The machine's own apt sources, and the Debian mirrors that they name.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Addresses of the archive's two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mirrors {
    /// Suites such as `trixie` and `trixie-backports`.
    pub(crate) main: String,
    /// Suites such as `bookworm-security`, if the machine uses them or the tree lies beside.
    pub(crate) security: Option<String>,
}

/// One source as apt knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    signed_by: String,
}

/// Reads `etc/apt` below `root` (the file system's root, or a copy in tests).
pub(crate) fn mirrors(root: &Path) -> anyhow::Result<Mirrors> {
    let apt = root.join("etc/apt");
    let mut files = vec![apt.join("sources.list")];
    if let Ok(dir) = fs::read_dir(apt.join("sources.list.d")) {
        let mut more: Vec<_> = dir.filter_map(Result::ok).map(|e| e.path()).collect();
        more.sort();
        files.extend(more);
    }
    let mut entries = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        match file.extension().and_then(|e| e.to_str()) {
            Some("list") => entries.extend(text.lines().filter_map(one_line)),
            Some("sources") => entries.extend(deb822(&text)),
            _ => {}
        }
    }
    choose(&entries).with_context(|| {
        format!(
            "{}: no source of Debian packages (a `deb` line with a suite such as trixie and the \
             component main) to take the mirror's address from",
            apt.display()
        )
    })
}

/// `deb [options] uri suite component…`
fn one_line(line: &str) -> Option<Entry> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?;
    let mut rest = rest.strip_prefix(|c: char| c.is_whitespace())?.trim_start();
    let mut signed_by = String::new();
    if let Some(options) = rest.strip_prefix('[') {
        let (options, after) = options.split_once(']')?;
        if let Some(key) = options
            .split_whitespace()
            .find_map(|o| o.strip_prefix("signed-by="))
        {
            signed_by = key.into();
        }
        rest = after;
    }
    let mut words = rest.split_whitespace().map(String::from);
    Some(Entry {
        uris: vec![words.next()?],
        suites: vec![words.next()?],
        components: words.collect(),
        signed_by,
    })
}

/// Stanzas of `Field: value`, continued on indented lines.
fn deb822(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            entries.extend(stanza(&std::mem::take(&mut fields)));
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((field, value)) = line.split_once(':') {
            fields.push((field.trim().to_ascii_lowercase(), value.trim().into()));
        }
    }
    entries
}

fn stanza(fields: &[(String, String)]) -> Option<Entry> {
    let get = |name: &str| {
        fields
            .iter()
            .find(|(field, _)| field == name)
            .map_or("", |(_, value)| value)
    };
    let words = |name: &str| get(name).split_whitespace().map(String::from).collect();
    let disabled = ["no", "false", "0"].contains(&get("enabled").to_ascii_lowercase().as_str());
    let binary = get("types").split_whitespace().any(|t| t == "deb");
    (binary && !disabled).then(|| Entry {
        uris: words("uris"),
        suites: words("suites"),
        components: words("components"),
        signed_by: get("signed-by").into(),
    })
}

const CODENAMES: &[&str] = &[
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "duke",
    "sid",
    "oldoldstable",
    "oldstable",
    "stable",
    "testing",
    "unstable",
];

/// The likeliest main and security tree; third-party repositories may use Debian's suite names.
fn choose(entries: &[Entry]) -> Option<Mirrors> {
    let mut main: Option<(i32, &str)> = None;
    let mut security: Option<(i32, &str)> = None;
    for entry in entries {
        let debians = entry.signed_by.contains("debian-archive");
        if !entry.components.iter().any(|c| c == "main") {
            continue;
        }
        for uri in entry.uris.iter().filter(|u| usable(u)) {
            let uri = uri.trim_end_matches('/');
            for suite in &entry.suites {
                let (codename, kind) = match suite.split_once(['-', '/']) {
                    Some((codename, kind)) => (codename, kind),
                    None => (suite.as_str(), ""),
                };
                if !CODENAMES.contains(&codename) {
                    continue;
                }
                let tree = uri.rsplit('/').next().unwrap_or_default();
                let score = 2 * i32::from(debians) + i32::from(tree.starts_with("debian"));
                let slot = match kind {
                    "security" | "updates" if kind == "security" || tree.contains("security") => {
                        &mut security
                    }
                    "" | "updates" | "backports" => &mut main,
                    _ => continue,
                };
                if slot.is_none_or(|(best, _)| score > best) {
                    *slot = Some((score, uri));
                }
            }
        }
    }
    let main = main?.1.to_string();
    let security = match security {
        Some((_, uri)) => Some(uri.to_string()),
        // Mirrors that carry both have them side by side.
        None => main
            .strip_suffix("/debian")
            .map(|parent| format!("{parent}/debian-security")),
    };
    Some(Mirrors { main, security })
}

fn usable(uri: &str) -> bool {
    ["http://", "https://", "file:", "ftp://", "mirror+"]
        .iter()
        .any(|scheme| uri.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> anyhow::Result<Mirrors> {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etc/apt/sources.list.d")).unwrap();
        for (name, text) in files {
            fs::write(root.path().join("etc/apt").join(name), text).unwrap();
        }
        mirrors(root.path())
    }

    fn both(main: &str, security: &str) -> Mirrors {
        Mirrors {
            main: main.into(),
            security: Some(security.into()),
        }
    }

    #[test]
    fn deb822_with_strangers_beside() {
        let debian = "Types: deb\n# http://snapshot.example/archive\n\
            URIs: http://mirror.example/debian/\nSuites: bookworm bookworm-updates\n\
            Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n\
            Types: deb deb-src\nURIs: http://security.example/x\nSuites:\n bookworm-security\n\
            Components: main\n";
        let strangers = "deb https://a.example/apt cloud-sdk-bookworm main\n\
            deb https://b.example/debian bookworm main\n\
            deb https://c.example/debian bookworm stable\n";
        assert_eq!(
            of(&[
                ("sources.list.d/a.list", strangers),
                ("sources.list.d/debian.sources", debian)
            ])
            .unwrap(),
            both("http://mirror.example/debian", "http://security.example/x")
        );
    }

    #[test]
    fn one_line_lists() {
        let list = "# deb http://no.example/debian bookworm main\n\
            deb cdrom:[Debian]/ bookworm main\n\
            deb [arch=amd64 signed-by=/k.gpg] http://m.example/debian trixie main contrib\n\
            deb-src http://src.example/debian trixie main\n\
            deb http://s.example/debian-security trixie-security main # comment\n";
        assert_eq!(
            of(&[("sources.list", list)]).unwrap(),
            both(
                "http://m.example/debian",
                "http://s.example/debian-security"
            )
        );
    }

    #[test]
    fn old_names_of_the_security_suite() {
        let list = "deb http://m.example/debian stable main\n\
            deb http://m.example/debian-security stable/updates main\n";
        assert_eq!(
            of(&[("sources.list", list)]).unwrap(),
            both(
                "http://m.example/debian",
                "http://m.example/debian-security"
            )
        );
    }

    #[test]
    fn a_missing_security_tree_lies_beside() {
        assert_eq!(
            of(&[("sources.list", "deb http://m.example/debian sid main\n")]).unwrap(),
            both(
                "http://m.example/debian",
                "http://m.example/debian-security"
            )
        );
        let odd = of(&[("sources.list", "deb http://m.example/mirror sid main\n")]).unwrap();
        assert_eq!(odd.security, None);
    }

    #[test]
    fn disabled_and_foreign_sources_are_no_mirror() {
        let disabled = "Enabled: no\nTypes: deb\nURIs: http://m.example/debian\n\
            Suites: trixie\nComponents: main\n";
        let foreign = "deb http://u.example/ubuntu noble main\n";
        let error = of(&[
            ("sources.list.d/d.sources", disabled),
            ("sources.list", foreign),
        ])
        .unwrap_err();
        assert!(error.to_string().contains("no source of Debian"), "{error}");
    }
}
