//! Drives a headless Chromium over the DevTools protocol:
//! <https://chromedevtools.github.io/devtools-protocol/>.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde_json::{Value as Json, json};

/// The environment variable that makes Chromium necessary. If its value is `required`, a test fails
/// on a machine without Chromium.
const VARIABLE: &str = "WARPFOLD_CHROMIUM";

/// The longest wait for a step. No step here takes so long, so a browser that hangs does not hang
/// the tests.
const PATIENCE: Duration = Duration::from_mins(1);

/// A browser with one page.
pub(crate) struct Chromium {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Json>,
    /// The session of the page; empty before there is one.
    session: String,
    sent: u64,
    /// The events that the browser sent, each with its method and parameters.
    events: Vec<Json>,
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts a browser; reports a skip and returns `None` if there is none.
    pub(crate) fn start() -> Option<Self> {
        let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
            env::split_paths(&env::var_os("PATH").unwrap_or_default())
                .any(|folder| folder.join(name).is_file())
        });
        let Some(program) = program else {
            assert_ne!(
                env::var(VARIABLE).as_deref(),
                Ok("required"),
                "{VARIABLE}: there is no chromium on the PATH"
            );
            crate::support::skip::test("there is no chromium on the PATH");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // Chromium reads commands from descriptor 3 and answers on descriptor 4. Here these are its
        // standard input and output.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", program])
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--remote-debugging-pipe",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--hide-scrollbars",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (commands, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, messages) = mpsc::channel();
        thread::spawn(move || {
            for message in BufReader::new(answers).split(0) {
                let Ok(message) = serde_json::from_slice(&message.unwrap_or_default()) else {
                    break;
                };
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            commands,
            messages,
            session: String::new(),
            sent: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let target =
            browser.call("Target.createTarget", &json!({ "url": "about:blank" }))["targetId"]
                .clone();
        let attached =
            browser.call("Target.attachToTarget", &json!({ "targetId": target, "flatten": true }));
        attached["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// Sends a command and returns its result.
    pub(crate) fn call(&mut self, method: &str, params: &Json) -> Json {
        self.sent += 1;
        let mut command = json!({ "id": self.sent, "method": method, "params": params });
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).unwrap();
        loop {
            let message = self.receive();
            if message["id"] == self.sent {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&self) -> Json {
        self.messages
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("chromium does not answer: {error}"))
    }

    /// Opens a file and waits until it has loaded.
    pub(crate) fn open(&mut self, path: &Path) {
        self.events.clear();
        self.call("Page.navigate", &json!({ "url": format!("file://{}", path.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.receive();
            self.events.push(message);
        }
    }

    /// The parameters of the events with these methods, since the page was opened.
    pub(crate) fn told(&self, methods: &[&str]) -> Vec<&Json> {
        let is_one = |event: &&Json| methods.iter().any(|method| event["method"] == *method);
        self.events.iter().filter(is_one).map(|event| &event["params"]).collect()
    }

    /// The value of an expression of JavaScript in the page.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Json {
        let result = self.call(
            "Runtime.evaluate",
            &json!({ "expression": expression, "returnByValue": true, "awaitPromise": true }),
        );
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {}",
            result["exceptionDetails"]
        );
        result["result"]["value"].clone()
    }

    /// Sets the size of the window, and whether the reader prefers dark pages.
    pub(crate) fn look(&mut self, (width, height): (u32, u32), dark: bool) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false }),
        );
        let scheme = if dark { "dark" } else { "light" };
        self.call(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
    }

    /// Presses and releases the mouse in the middle of the first element that a selector finds.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.evaluate(&format!(
            "{{ const found = document.querySelector({selector:?}); found.scrollIntoView({{ block: 'center' }}); \
             const box = found.getBoundingClientRect(); [box.x + box.width / 2, box.y + box.height / 2] }}"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &params);
        }
    }

    /// Presses and releases a key, such as `ArrowRight`.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({ "type": kind, "key": key, "code": key }));
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Chromium is closed and not killed, because only then it also ends the processes that it
        // has started.
        self.session.clear();
        self.sent += 1;
        let command = json!({ "id": self.sent, "method": "Browser.close" });
        let _ = self.commands.write_all(format!("{command}\0").as_bytes());
        let end = loop {
            if let Err(end) = self.messages.recv_timeout(PATIENCE) {
                break end;
            }
        };
        if end == RecvTimeoutError::Timeout {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
