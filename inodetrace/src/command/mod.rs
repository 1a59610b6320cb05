//! The commands that observe.

mod live;
mod record;
pub(crate) mod signals;

pub use self::{live::live, record::record};
