//! Signals and terminals belong to a whole process, so these tests run the commands in processes of
//! their own: this test binary again, with one of the ignored tests at the end.

use std::{
    env, fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    backend::{Backend, Host, Mounts, Request},
    command,
    error::Error,
    fake::Fake,
    model::{Snapshot, Source},
    options::{Display, Live, Record},
    plain::tests::scope,
    plan::Plan,
    runfile,
    units::Look,
};

/// Longer than any of this takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        thread::sleep(Duration::from_millis(10));
    }
}

fn child_args(test: &str) -> [String; 4] {
    [
        format!("process_tests::{test}"),
        "--exact".into(),
        "--ignored".into(),
        "--nocapture".into(),
    ]
}

fn kill(id: u32, signal: Signal) {
    let pid = Pid::from_raw(id.cast_signed()).unwrap();
    kill_process(pid, signal).unwrap();
}

// record

/// Starts `record` with `script` as its command (none if empty), once it counts.
fn recorder(path: &Path, script: &str) -> Child {
    let child = Command::new(env::current_exe().unwrap())
        .args(child_args("child_record"))
        .env("RECORD_TO", path)
        .env("RECORD_SCRIPT", script)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let dir = path.parent().unwrap().to_owned();
    wait_for("the start of the recording", || {
        let ready = fs::read_dir(&dir).unwrap().count() > 0;
        ready.then_some(())
    });
    child
}

fn end(child: Child) -> (u8, Output) {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let code = text
        .lines()
        .find_map(|l| l.split_once("exit code ")?.1.parse().ok())
        .unwrap_or_else(|| panic!("{output:?}"));
    (code, output)
}

#[test]
#[ignore = "run by the tests below"]
fn child_record() {
    let script = env::var("RECORD_SCRIPT").unwrap();
    let options = Record {
        scope: scope(&[]),
        output: PathBuf::from(env::var_os("RECORD_TO").unwrap()),
        duration: None,
        command: match script.as_str() {
            "" => vec![],
            script => ["sh", "-c", script].map(Into::into).to_vec(),
        },
    };
    let code = command::record(&options, &Fake::default()).unwrap();
    println!("\nexit code {code}");
}

#[test]
fn ctrl_c_ends_a_recording_and_writes_it() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        let child = recorder(&path, "");
        kill(child.id(), signal);
        let (code, output) = end(child);
        assert_eq!(code, 0);
        assert!(!runfile::read(&path).unwrap().series.is_empty());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("inodetrace: wrote "), "{stderr}");
        // Not to be taken for the progress of a terminal.
        assert!(!stderr.contains('\r'), "{stderr}");
    }
}

/// In a terminal Ctrl-C reaches the command itself. The recorder waits for what it makes of it.
#[test]
fn ctrl_c_is_the_business_of_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let (path, go) = (dir.path().join("run.json"), dir.path().join("go"));
    let script = format!(
        "until test -e {}; do sleep 0.02; done; exit 9",
        go.display()
    );
    let child = recorder(&path, &script);
    kill(child.id(), Signal::INT);
    thread::sleep(Duration::from_millis(200));
    assert!(!path.exists(), "the recording ended before its command");
    fs::write(&go, "").unwrap();
    assert_eq!(end(child).0, 9);
    assert!(path.exists());
}

#[test]
fn sigterm_is_passed_on_to_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let (path, ready) = (dir.path().join("run.json"), dir.path().join("ready"));
    let script = format!(
        "trap 'exit 6' TERM; touch {}; while :; do sleep 0.02; done",
        ready.display()
    );
    let child = recorder(&path, &script);
    wait_for("the command", || ready.exists().then_some(()));
    kill(child.id(), Signal::TERM);
    assert_eq!(end(child).0, 6);
    assert!(path.exists());
}

// live

/// Panics at the third snapshot.
struct Panicking(Fake);

struct PanickingSource(Box<dyn Source>, u32);

impl Source for PanickingSource {
    fn plan(&self) -> &Plan {
        self.0.plan()
    }

    fn snapshot(&mut self) -> anyhow::Result<Snapshot> {
        self.1 += 1;
        assert!(self.1 < 3, "the third snapshot");
        self.0.snapshot()
    }
}

impl Backend for Panicking {
    fn start(&self, request: &Request) -> Result<Box<dyn Source>, Error> {
        Ok(Box::new(PanickingSource(self.0.start(request)?, 0)))
    }

    fn plan(&self, request: &Request) -> Result<Plan, Error> {
        self.0.plan(request)
    }

    fn mounts(&self) -> Mounts {
        self.0.mounts()
    }

    fn host(&self) -> Host {
        self.0.host()
    }
}

#[test]
#[ignore = "run by the tests below; by hand, it shows the fake kernel until q"]
fn child_live() {
    let options = Live {
        scope: scope(&[]),
        interval: Duration::from_millis(200),
        duration: None,
        count: None,
        display: Display::Tui,
        look: Look {
            color: true,
            ascii: false,
        },
    };
    let backend: &dyn Backend = match env::var("LIVE_PANICS") {
        Ok(_) => &Panicking(Fake::default()),
        Err(_) => &Fake::default(),
    };
    let code = command::live(&options, backend).unwrap();
    println!("\nexit code {code}");
}

/// `live` in a pseudo-terminal.
struct Pty {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    text: Arc<Mutex<Vec<u8>>>,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Pty {
    fn live(panics: bool) -> Self {
        let pair = native_pty_system()
            .openpty(PtySize {
                rows: 24,
                cols: 80,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
        let mut command = CommandBuilder::new(env::current_exe().unwrap());
        command.args(child_args("child_live"));
        command.env("TERM", "xterm-256color");
        if panics {
            command.env("LIVE_PANICS", "1");
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let text = Arc::new(Mutex::new(Vec::new()));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let sink = Arc::clone(&text);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                sink.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        Self {
            child,
            writer: pair.master.take_writer().unwrap(),
            text,
            _master: pair.master,
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, what: &str) {
        wait_for(what, || self.text().contains(what).then_some(()));
    }

    fn press(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Waits for the end, and that the terminal was given back.
    fn end(mut self, last_words: &str) {
        self.child.wait().unwrap();
        self.wait_for(last_words);
        let text = self.text();
        let after = |what: &str| {
            text.rfind(what)
                .unwrap_or_else(|| panic!("{what:?} missing"))
        };
        assert!(after("\x1b[?1049l") > after("\x1b[?1049h"), "{text:?}");
        assert!(after("\x1b[?25h") > after("\x1b[?25l"), "{text:?}");
        // What is said at the end is said on the ordinary screen.
        assert!(after(last_words) > after("\x1b[?1049l"), "{text:?}");
    }
}

#[test]
fn q_and_ctrl_c_give_the_terminal_back() {
    for keys in ["q", "\x03", "/tmp\x03"] {
        let mut pty = Pty::live(false);
        pty.wait_for("hash_insert");
        pty.press(keys);
        pty.end("exit code 0");
    }
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let pty = Pty::live(false);
    pty.wait_for("hash_insert");
    kill(pty.child.process_id().unwrap(), Signal::TERM);
    pty.end("exit code 0");
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_seen() {
    let pty = Pty::live(true);
    pty.end("the third snapshot");
}
