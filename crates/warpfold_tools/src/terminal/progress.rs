//! A line on stderr for work that takes longer than a second.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that shows what is going on, if a second has passed and stderr is a terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// The progress of work of unknown length. It shows nothing yet.
    #[expect(clippy::new_without_default, reason = "it starts a thread")]
    pub fn new() -> Self {
        Self::show_late(ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()))
    }

    /// The progress of `pieces` pieces of work: a bar, the number of pieces that are done, and what
    /// is being done. It shows nothing yet.
    ///
    /// # Panics
    ///
    /// Never: the template is right.
    pub fn of(pieces: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(pieces), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}, {elapsed}: {wide_msg}");
        Self::show_late(bar.with_style(style.expect("the template is right")))
    }

    fn show_late(bar: ProgressBar) -> Self {
        // indicatif draws only on a terminal. The thread ends with the process.
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

    /// Says what is being done now.
    pub fn say(&self, message: impl Into<std::borrow::Cow<'static, str>>) {
        self.bar.set_message(message);
    }

    /// Says that one more piece is done.
    pub fn advance(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    /// Clears the line, also before an error is written.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
