use std::time::Duration;

use super::*;
use crate::{fake::Fake, plain::tests::scope, units::Look};

/// Takes the pipe away after some writes.
struct Pipe {
    writes: usize,
    text: Vec<u8>,
}

impl Write for Pipe {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.writes == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.writes -= 1;
        self.text.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn options() -> Live {
    Live {
        scope: scope(&[]),
        interval: Duration::from_millis(10),
        duration: None,
        count: None,
        display: Display::JsonLines,
        look: Look::default(),
    }
}

fn stream_to(options: &Live, pipe: &mut Pipe) -> Result<(), Error> {
    let fake = Fake::default();
    runtime().unwrap().block_on(async {
        let mut signals = Signals::listen().unwrap();
        let sampler = Sampler::start(&fake, &options.scope).unwrap();
        stream(options, sampler, &mut signals, pipe).await
    })
}

#[test]
fn stops_after_count_intervals() {
    let mut pipe = Pipe {
        writes: 100,
        text: vec![],
    };
    let options = Live {
        count: Some(3),
        ..options()
    };
    stream_to(&options, &mut pipe).unwrap();
    assert_eq!(pipe.text.iter().filter(|&&c| c == b'\n').count(), 3);
}

#[test]
fn stops_after_the_duration() {
    let mut pipe = Pipe {
        writes: 100,
        text: vec![],
    };
    let options = Live {
        interval: Duration::from_secs(3600),
        duration: Some(Duration::from_millis(20)),
        ..options()
    };
    stream_to(&options, &mut pipe).unwrap();
    assert_eq!(pipe.text.iter().filter(|&&c| c == b'\n').count(), 1);
}

#[test]
fn a_closed_pipe_ends_it() {
    let mut pipe = Pipe {
        writes: 2,
        text: vec![],
    };
    let e = stream_to(&options(), &mut pipe).unwrap_err();
    assert!(e.is_broken_pipe());
}
