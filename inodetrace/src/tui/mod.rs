//! The full-screen view.

use crate::{
    backend::Host, command::signals::Signals, error::Error, options::Live, sampler::Sampler,
};

/// Runs it until the user quits.
pub(crate) async fn run(
    _options: &Live,
    _host: Host,
    _sampler: Sampler<'_>,
    _signals: &mut Signals,
) -> Result<(), Error> {
    Err(Error::NotAvailable {
        what: "the full-screen view",
        instead: "--plain prints tables",
    })
}
