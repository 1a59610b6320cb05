//! Reading run files, with errors that say what is wrong with the file.

use std::{
    io::{self, Read as _},
    path::Path,
};

use serde::Deserialize;

use super::{RunFile, SCHEMA};
use crate::error::Error;

/// Reads the run file at `path`; `-` is standard input.
pub fn read(path: &Path) -> Result<RunFile, Error> {
    let name = path.display().to_string();
    let bytes = if name == "-" {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|e| Error::Input {
        path: name.clone(),
        cause: e.to_string(),
    })?;
    parse(&bytes).map_err(|cause| Error::Input { path: name, cause })
}

/// Parses a run file; the error is the reason in words.
pub fn parse(bytes: &[u8]) -> Result<RunFile, String> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    let head: Head = serde_json::from_slice(bytes).map_err(|e| {
        if e.is_eof() {
            format!(
                "it ends in the middle, in line {}: it was not written to its end",
                e.line()
            )
        } else {
            format!("it is no run file: {e}")
        }
    })?;
    match head.schema.as_deref() {
        Some(SCHEMA) => {}
        Some(other) => {
            return Err(format!(
                "its schema is {other:?}, and this version of inodetrace reads {SCHEMA:?}"
            ));
        }
        None => return Err(format!("it has no \"schema\"; a run file has {SCHEMA:?}")),
    }
    serde_json::from_slice(bytes).map_err(|e| format!("it is damaged: {e}"))
}
