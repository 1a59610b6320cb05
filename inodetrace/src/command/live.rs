//! `inodetrace live`.

use std::io::{self, Write};

use jiff::Timestamp;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::signals::{Signals, runtime};
use crate::{
    backend::Backend,
    error::Error,
    options::{Display, Live},
    plain,
    sampler::Sampler,
    terminal_width,
};

/// Watches until told to stop, and returns the exit code.
pub fn live(options: &Live, backend: &dyn Backend) -> Result<u8, Error> {
    runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        let sampler = Sampler::start(backend, &options.scope)?;
        match options.display {
            Display::Tui => crate::tui::run(options, backend.host(), sampler, &mut signals).await?,
            Display::Plain | Display::JsonLines => {
                let mut out = io::stdout().lock();
                let text = match options.display {
                    Display::JsonLines => String::new(),
                    _ => plain::preamble(sampler.plan(), &backend.host()),
                };
                write(&mut out, &text)?;
                stream(options, sampler, &mut signals, &mut out).await?;
            }
        }
        Ok(0)
    })
}

/// Prints one text per interval until the end.
async fn stream(
    options: &Live,
    mut sampler: Sampler<'_>,
    signals: &mut Signals,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let begin = Instant::now();
    let mut ticks = interval_at(begin + options.interval, options.interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut printed = 0;
    loop {
        let last = tokio::select! {
            _ = ticks.tick() => false,
            // The interval that was cut short is shown as well, with its true length.
            () = sleep_until_end(begin, options) => true,
            _ = signals.next() => true,
        };
        let sample = sampler.sample(Timestamp::now())?;
        let text = match options.display {
            Display::JsonLines => plain::json_line(&sample, sampler.plan()),
            Display::Plain | Display::Tui => {
                plain::table(&sample, options.look, terminal_width::get())
            }
        };
        write(out, &text)?;
        printed += 1;
        let over = options.duration.is_some_and(|d| begin.elapsed() >= d);
        if last || over || options.count.is_some_and(|n| printed >= n) {
            return Ok(());
        }
    }
}

async fn sleep_until_end(begin: Instant, options: &Live) {
    match options.duration {
        Some(d) => tokio::time::sleep_until(begin + d).await,
        None => std::future::pending().await,
    }
}

fn write(out: &mut dyn Write, text: &str) -> Result<(), Error> {
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::stdout)
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
