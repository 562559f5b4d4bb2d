//! Ctrl-C: the first ends the work cleanly, the second ends the process.

use std::{
    process,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use anyhow::{Context as _, anyhow};

use super::failure::Failure;

/// The exit status of a tool that Ctrl-C ended: 128 and the number of SIGINT, as shells report it.
pub const INTERRUPTED: u8 = 130;

static FLAG: AtomicBool = AtomicBool::new(false);

/// Listens for Ctrl-C from now on. Returns the flag that the first Ctrl-C sets, which is meant for
/// `Device::interrupt_by` of the library. The second Ctrl-C ends the
/// process.
///
/// # Errors
///
/// [`Failure::Failed`] if the system does not allow it.
pub fn catch_interrupts() -> Result<&'static AtomicBool, Failure> {
    static LISTENING: OnceLock<Result<(), String>> = OnceLock::new();
    let listen = || {
        let handler = || {
            if FLAG.swap(true, Relaxed) {
                process::exit(INTERRUPTED.into());
            }
        };
        ctrlc::set_handler(handler).map_err(|error| error.to_string())
    };
    match LISTENING.get_or_init(listen) {
        Ok(()) => Ok(&FLAG),
        Err(error) => {
            Err(anyhow!("{error}")).context("cannot listen for Ctrl-C").map_err(Failure::Failed)
        }
    }
}

/// Whether Ctrl-C was pressed. If it was, loops over measurements end and keep what they have.
pub fn interrupted() -> bool {
    FLAG.load(Relaxed)
}
