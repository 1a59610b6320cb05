//! The full-screen view: events go through [`app::update`], which changes the [`state::State`];
//! [`view::draw`] shows it. Only this file and `terminal` know a real terminal.

mod action;
mod app;
mod history;
mod keys;
mod state;
mod terminal;
mod view;

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use self::{
    action::{Action, Event},
    state::State,
    terminal::Screen,
};
use crate::{
    backend::Host, command::signals::Signals, error::Error, options::Live, sampler::Sampler,
};

/// Runs it until the user, a signal or the options end it.
pub(crate) async fn run(
    options: &Live,
    host: Host,
    mut sampler: Sampler<'_>,
    signals: &mut Signals,
) -> Result<(), Error> {
    let mut state = State::new(host, sampler.plan().clone(), options.look, options.interval);
    let mut screen = Screen::open()?;
    let mut input = terminal::input();
    let end = Instant::now() + options.duration.unwrap_or(Duration::from_hours(24 * 365));
    let mut ticks = every(options.interval);
    let mut samples = 0;
    if let Some((width, height)) = screen.size() {
        app::update(&mut state, Event::Resize(width, height));
    }
    loop {
        screen.draw(|frame| view::draw(frame, &state))?;
        let event = tokio::select! {
            _ = ticks.tick() => {
                samples += 1;
                Event::Sample(Box::new(sampler.sample(Timestamp::now())?))
            }
            event = input.recv() => match event {
                Some(event) => event,
                // The terminal went away.
                None => return Ok(()),
            },
            _ = signals.next() => return Ok(()),
            () = sleep_until(end) => return Ok(()),
        };
        let mut next = Some(event);
        // What was typed while drawing is handled before the next frame, not one frame each.
        while let Some(event) = next {
            match app::update(&mut state, event) {
                Action::None => {}
                Action::Quit => return Ok(()),
                Action::Interval(interval) => ticks = every(interval),
            }
            next = input.try_recv().ok();
        }
        if options.count.is_some_and(|n| samples >= n) {
            return Ok(());
        }
    }
}

fn every(interval: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + interval, interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
