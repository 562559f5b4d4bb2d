//! The mark by which a workspace is kept clean between launches, even if one of several threads
//! fails.

use super::sync::{Mutex, PoisonError};

/// The mark that says whether a workspace may hold words other than zero.
///
/// A kernel leaves its workspace zeroed, but a launch that fails or is interrupted may not. The
/// next thread that launches cleans the workspace first. It holds the lock from reading the mark
/// until its launch is in the stream, because otherwise a second thread could find the mark cleared
/// and launch before the first thread has cleaned.
///
/// `tests/clean.rs` runs this file under loom, which tries every interleaving of two threads.
#[derive(Debug, Default)]
pub(super) struct CleanMark {
    is_dirty: Mutex<bool>,
}

impl CleanMark {
    /// Notes that the workspace may be dirty, although no launch has failed.
    pub(super) fn distrust(&self) {
        *self.is_dirty.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Calls `launch`, and before it `clean` if an earlier launch may have left the workspace
    /// dirty. When `clean` returns, the workspace is zero and no earlier work uses it any more.
    pub(super) fn launch<E>(
        &self,
        clean: impl FnOnce() -> Result<(), E>,
        launch: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut is_dirty = self.is_dirty.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_dirty {
            clean()?;
        }
        // The mark is set before the call, because a panic inside it must leave the mark set.
        *is_dirty = true;
        launch()?;
        *is_dirty = false;
        Ok(())
    }
}
