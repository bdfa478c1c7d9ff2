//! A real browser, driven over the DevTools protocol: its pipe, one JSON text after the other, each ended by a zero.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine;
use blksched_testkit::{Process, output};
use serde_json::{Value, json};

/// A page in a browser.
pub struct Browser {
    _process: Process,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: String,
    next: u64,
    /// Errors of the page.
    pub complaints: Vec<String>,
}

/// The browser's name, if there is one.
pub fn program() -> Option<&'static str> {
    let is_here = |name: &&str| output(Command::new(name).arg("--version")).is_ok_and(|out| out.status.success());
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_here)
}

impl Browser {
    /// Starts without a page.
    pub fn start(profile: &Path) -> Browser {
        let program = program().expect("somebody has looked");
        // The protocol's pipes have the numbers 3 and 4.
        let line = format!(
            "exec {program} --headless=new --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
             --no-first-run --remote-debugging-pipe --user-data-dir='{}' about:blank 3<&0 4>&1 >/dev/null 2>&1",
            profile.display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::spawn(&mut command);
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut browser =
            Browser { _process: process, to, from, session: String::new(), next: 0, complaints: Vec::new() };
        let made = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let target = made["targetId"].as_str().unwrap().to_owned();
        let attached = browser.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sends a command, and waits for the answer.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(&[0]).unwrap();
        self.to.flush().unwrap();
        loop {
            let answer = self.read();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has gone");
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(message["params"].to_string()),
            Some("Log.entryAdded" | "Runtime.consoleAPICalled") => self.complaints.push(message["params"].to_string()),
            Some("Network.requestWillBeSent") => {
                let url = message["params"]["request"]["url"].as_str().unwrap_or_default();
                if !["file:", "blob:", "data:", "about:"].iter().any(|own| url.starts_with(own)) {
                    self.complaints.push(format!("it asks the network for {url}"));
                }
            }
            _ => {}
        }
        message
    }

    /// Opens a file, and waits until its pictures are there.
    pub fn open(&mut self, file: &Path) {
        self.ask("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        self.wait("document.documentElement?.dataset?.ready === 'yes'");
        self.settle();
    }

    /// Waits until two frames have been drawn, and no picture is waiting.
    pub fn settle(&mut self) {
        self.run(
            "new Promise((done) => { let frames = 0; const next = () => { frames += 1;
             if (frames > 2 && !(window.blksched?.frames.waiting > 0)) done(1); else requestAnimationFrame(next); };
             next(); })",
        );
    }

    fn wait(&mut self, condition: &str) {
        for _ in 0..600 {
            if self.run(condition) == json!(true) {
                return;
            }
            self.run("new Promise((done) => setTimeout(() => done(1), 50))");
        }
        panic!("`{condition}` never held; complaints: {:?}", self.complaints);
    }

    /// The value of an expression.
    pub fn run(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.ask("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Sets the width of the window, and light or dark.
    pub fn look(&mut self, width: u32, theme: &str) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", size);
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] });
        self.ask("Emulation.setEmulatedMedia", features);
        self.settle();
    }

    /// Saves the whole page as PNG files, each this many pixels high.
    pub fn shoot(&mut self, folder: &Path, name: &str) {
        const HIGH: u64 = 1500;
        let whole = self.run("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]");
        let (width, height) = (whole[0].as_u64().unwrap(), whole[1].as_u64().unwrap());
        for (nth, y) in (0..height).step_by(HIGH as usize).enumerate() {
            let clip = json!({ "x": 0, "y": y, "width": width, "height": HIGH.min(height - y), "scale": 1 });
            let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
            let taken = self.ask("Page.captureScreenshot", parameters);
            let bytes = base64::engine::general_purpose::STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
            std::fs::write(folder.join(format!("{name}-{nth}.png")), bytes).unwrap();
        }
    }

    /// Presses a key.
    pub fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let code = if key.len() == 1 { json!(key) } else { Value::Null };
            let mut parameters = json!({ "type": kind, "key": key });
            if kind == "keyDown" && !code.is_null() {
                parameters["text"] = code;
            }
            if key == "Tab" {
                parameters["windowsVirtualKeyCode"] = json!(9);
            }
            self.ask("Input.dispatchKeyEvent", parameters);
        }
        self.settle();
    }

    /// Moves, presses or releases the mouse at a place in the window.
    pub fn mouse(&mut self, kind: &str, x: f64, y: f64, more: Value) {
        let mut parameters = json!({ "type": kind, "x": x, "y": y });
        if let (Value::Object(all), Value::Object(more)) = (&mut parameters, more) {
            all.extend(more);
        }
        self.ask("Input.dispatchMouseEvent", parameters);
        self.settle();
    }
}
