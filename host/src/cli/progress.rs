//! A line on stderr for work that takes longer than a second.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};

/// Shows what is going on if a second has passed and stderr is a terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Shows nothing yet.
    #[expect(clippy::new_without_default, reason = "it starts a thread")]
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        // indicatif draws on a terminal only. The thread ends with the process.
        let late = bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(1));
            if !late.is_finished() {
                late.set_draw_target(ProgressDrawTarget::stderr());
                late.enable_steady_tick(Duration::from_millis(250));
            }
        });
        Self { bar }
    }

    /// What is being done now.
    pub fn say(&self, message: impl Into<std::borrow::Cow<'static, str>>) {
        self.bar.set_message(message);
    }
}

impl Drop for Progress {
    /// Clears the line, also before an error is written.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
