//! The kernels that tests run on: which there are, where they come from, and the cache.

pub(crate) mod cache;
pub(crate) mod catalog;
mod fetch;
pub(crate) mod list;
mod modules;

use cache::Cached;
pub(crate) use fetch::Fetcher;

/// The cached kernel of that name, fetched if there is none (or `refresh` asks for the newest).
pub(crate) fn ensure(name: &str, refresh: bool) -> anyhow::Result<Cached> {
    Fetcher::new(refresh).ensure(&catalog::find(name)?)
}
