//! Where the text of `printf` goes.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// The sink of a device's text.
pub(super) struct Output(Mutex<Box<dyn Write + Send>>);

impl Default for Output {
    fn default() -> Output {
        Output::new(io::stdout())
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output")
    }
}

impl Output {
    pub(super) fn new(sink: impl Write + Send + 'static) -> Output {
        Output(Mutex::new(Box::new(sink)))
    }

    /// Writes a text. If the sink fails, the text is lost, as it is when a device's text reaches a
    /// closed pipe.
    pub(super) fn write(&self, text: &[u8]) {
        let mut sink = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = sink.write_all(text).and_then(|()| sink.flush());
    }
}
