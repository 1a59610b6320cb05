//! Stands where the kernel side will be.

use crate::{
    backend::{Backend, Host, Mounts, Request},
    error::Error,
    model::Source,
    plan::Plan,
};

/// A machine on which nothing can be observed.
#[derive(Debug)]
pub struct Placeholder;

impl Backend for Placeholder {
    fn start(&self, _: &Request) -> Result<Box<dyn Source>, Error> {
        Err(Error::NoKprobes)
    }

    fn plan(&self, _: &Request) -> Result<Plan, Error> {
        Err(Error::NoKprobes)
    }

    fn mounts(&self) -> Mounts {
        Mounts::new()
    }

    fn host(&self) -> Host {
        Host {
            kernel: String::new(),
            arch: std::env::consts::ARCH.into(),
            cpus: 1,
        }
    }
}
