//! Firefox, driven over Marionette: a local socket, each message a JSON list behind its length and a colon.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use blksched_testkit::{Process, output, status};
use serde_json::{Value, json};

/// Settings before it starts: no page, no update and no telemetry uses the network.
const SETTINGS: &str = r#"
user_pref("marionette.port", 0);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("browser.startup.homepage", "about:blank");
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.enabled", false);
user_pref("app.normandy.enabled", false);
user_pref("app.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("browser.safebrowsing.update.enabled", false);
user_pref("extensions.update.enabled", false);
user_pref("services.settings.server", "");
user_pref("layout.css.prefers-color-scheme.content-override", 1);
"#;

/// A page in Firefox.
pub struct Firefox {
    _process: Process,
    socket: TcpStream,
    next: u64,
}

/// The browser's name, if it is installed.
pub fn program() -> Option<&'static str> {
    let is_here = |name: &&str| output(Command::new(name).arg("--version")).is_ok_and(|out| out.status.success());
    ["firefox-esr", "firefox"].into_iter().find(is_here)
}

impl Firefox {
    /// Starts without a page, in a directory of its own, `profile`.
    pub fn start(profile: &Path) -> Firefox {
        std::fs::create_dir_all(profile).unwrap();
        std::fs::write(profile.join("user.js"), SETTINGS).unwrap();
        let mut command = Command::new(program().expect("somebody has looked"));
        command.args(["--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile"]);
        command.arg(profile).env("HOME", profile).env("MOZ_CRASHREPORTER_DISABLE", "1");
        let process = Process::spawn(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let socket = connected(profile);
        let mut firefox = Firefox { _process: process, socket, next: 0 };
        let hello = firefox.read();
        assert_eq!(hello["marionetteProtocol"], 3, "{hello}");
        firefox.ask("WebDriver:NewSession", json!({ "capabilities": {} }));
        firefox
    }

    fn ask(&mut self, name: &str, parameters: Value) -> Value {
        self.next += 1;
        let message = json!([0, self.next, name, parameters]).to_string();
        write!(self.socket, "{}:{message}", message.len()).unwrap();
        let answer = self.read();
        assert_eq!(answer[1], self.next, "{name}: {answer}");
        assert!(answer[2].is_null(), "{name}: {}", answer[2]);
        answer[3].clone()
    }

    fn read(&mut self) -> Value {
        let (mut length, mut byte) = (0_usize, [0_u8]);
        loop {
            self.socket.read_exact(&mut byte).expect("Firefox is there");
            match byte[0] {
                b':' => break,
                digit => length = length * 10 + usize::from(digit - b'0'),
            }
        }
        let mut text = vec![0; length];
        self.socket.read_exact(&mut text).expect("Firefox is there");
        serde_json::from_slice(&text).expect("JSON")
    }

    /// Opens a file, and waits until its pictures are there.
    pub fn open(&mut self, file: &Path) {
        self.ask("WebDriver:Navigate", json!({ "url": format!("file://{}", file.display()) }));
        for _ in 0..600 {
            if self.run("return document.documentElement.dataset.ready === 'yes'") == json!(true) {
                self.settle();
                return;
            }
            pause();
        }
        panic!("the page is not ready; complaints: {:?}", self.complaints());
    }

    /// Waits until two frames have been drawn, and no picture is waiting.
    pub fn settle(&mut self) {
        let script = "const done = arguments[arguments.length - 1];
                      const page = () => (window.wrappedJSObject ?? window).blksched;
                      let frames = 0; const next = () => { frames += 1;
                        if (frames > 2 && !page()?.frames.waiting) done(1); else requestAnimationFrame(next); };
                      next();";
        self.ask("WebDriver:ExecuteAsyncScript", json!({ "script": script, "args": [] }));
    }

    /// The value that a script returns.
    pub fn run(&mut self, script: &str) -> Value {
        let parameters = json!({ "script": script, "args": [], "sandbox": null });
        self.ask("WebDriver:ExecuteScript", parameters)["value"].clone()
    }

    /// Presses a key.
    pub fn key(&mut self, key: &str) {
        let strokes = json!([{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }]);
        let actions = json!([{ "type": "key", "id": "keys", "actions": strokes }]);
        self.ask("WebDriver:PerformActions", json!({ "actions": actions }));
        self.settle();
    }

    /// Prints the page: the bytes of a PDF in base64.
    pub fn print(&mut self) -> String {
        self.ask("WebDriver:Print", json!({}))["value"].as_str().expect("a PDF").to_owned()
    }

    /// Errors and warnings of pages from files.
    pub fn complaints(&mut self) -> Vec<String> {
        self.ask("Marionette:SetContext", json!({ "value": "chrome" }));
        let script = "return Services.console.getMessageArray().map(String).filter((m) => m.includes('file://'));";
        let found = self.ask("WebDriver:ExecuteScript", json!({ "script": script, "args": [] }))["value"].clone();
        self.ask("Marionette:SetContext", json!({ "value": "content" }));
        found.as_array().unwrap().iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// Connects to the port that it chose and wrote to a file.
fn connected(profile: &Path) -> TcpStream {
    let file = profile.join("MarionetteActivePort");
    for _ in 0..1200 {
        let port = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<u16>().ok());
        if let Some(socket) = port.and_then(|port| TcpStream::connect(("127.0.0.1", port)).ok()) {
            return socket;
        }
        pause();
    }
    panic!("Firefox does not answer");
}

/// A tenth of a second.
fn pause() {
    status(Command::new("sleep").arg("0.1")).expect("sleep is here");
}
