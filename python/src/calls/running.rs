//! Arrays that must stay until a GPU has read them.

use std::{
    ffi::c_void,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use cuda_driver::CUstream;

use crate::{
    array::{ArrayRef, Holder},
    device::{Locked, Target, of},
};

/// What was handed over to this package, and whether the work that reads it has ended.
static RUNNING: Mutex<Vec<(Arc<AtomicBool>, Holder)>> = Mutex::new(Vec::new());

/// Tells that the work before it in its stream has ended.
unsafe extern "system" fn ended(flag: *mut c_void) {
    // SAFETY: `keep` has made the pointer, and gives it to one call of this function.
    let flag = unsafe { Arc::from_raw(flag.cast_const().cast::<AtomicBool>()) };
    flag.store(true, Ordering::Release);
}

/// Keeps what an array was handed over with until the stream has come so far. The owner of an array
/// that was not handed over frees it in the order of the stream itself.
pub(super) fn keep(ordinal: u32, session: &Locked<'_>, arrays: impl IntoIterator<Item = ArrayRef>) {
    for array in arrays {
        if !matches!(array.holder, Holder::Managed(_)) {
            continue;
        }
        let flag = Arc::new(AtomicBool::new(false));
        let launch = cuda_driver::loaded().and_then(|driver| driver.cuLaunchHostFunc);
        let stream: CUstream = session.raw().cast();
        let is_queued = launch.is_some_and(|launch| {
            let pointer = Arc::into_raw(Arc::clone(&flag));
            // SAFETY: the stream lives, and the function takes the pointer once.
            let code = unsafe { launch(stream, Some(ended), pointer.cast_mut().cast()) };
            if code != 0 {
                // SAFETY: nobody has taken the pointer.
                drop(unsafe { Arc::from_raw(pointer) });
            }
            code == 0
        });
        if !is_queued {
            // The array is freed behind all work then. An error of that work is told by the next
            // call of the GPU.
            let _ = of(ordinal).map(Target::synchronize);
            continue;
        }
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push((flag, array.holder));
    }
}

/// Gives back what no work reads any more.
pub(super) fn sweep() {
    let ended: Vec<_> = {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_empty() {
            return;
        }
        running.extract_if(.., |entry| entry.0.load(Ordering::Acquire)).collect()
    };
    // The lock is free while the arrays' libraries run.
    drop(ended);
}
