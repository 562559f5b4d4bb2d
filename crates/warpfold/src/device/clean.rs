//! Keeps a workspace clean between launches, also where one of several threads fails.

use super::sync::{Mutex, PoisonError};

/// Knows whether the words of a workspace may be other than zero.
///
/// A kernel leaves its workspace zeroed, but a launch that fails or is interrupted may not. Whoever
/// launches next cleans the workspace first. The lock is held from the look at the mark until the
/// launch was given to its stream, because otherwise a second thread could find the mark taken away
/// and launch before the first thread has cleaned.
///
/// `tests/clean.rs` runs this file under loom, in every order of two threads.
#[derive(Debug, Default)]
pub(super) struct CleanMark {
    is_dirty: Mutex<bool>,
}

impl CleanMark {
    /// Gives away one launch, after `clean` if an earlier launch may have left the workspace dirty.
    /// When `clean` returns, the workspace is zero and no earlier work uses it any more.
    pub(super) fn launch<E>(
        &self,
        clean: impl FnOnce() -> Result<(), E>,
        launch: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut is_dirty = self.is_dirty.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_dirty {
            clean()?;
        }
        // Until the launch has been given away, a panic must leave the mark as well.
        *is_dirty = true;
        launch()?;
        *is_dirty = false;
        Ok(())
    }
}
