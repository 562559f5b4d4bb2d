//! The device that a tool runs on.

use warpfold_tools::terminal::{Failure, catch_interrupts, choose_driver, failed, note};

use crate::device::{Device, DeviceChoice};

/// Opens a device that Ctrl-C interrupts. If it is the simulator although a GPU could have been
/// chosen, a short note says so; another command explains the reason. The driver's library is [the
/// one that the environment names](choose_driver).
///
/// # Errors
///
/// [`Failure::Failed`] if there is no such device.
pub fn open_device(choice: DeviceChoice) -> Result<Device, Failure> {
    choose_driver();
    let device = interruptible(choice.open().map_err(failed)?)?;
    if device.fallback_note().is_some() {
        note("using the simulator, because no GPU can be used (`warpfold doctor` says why)");
    }
    Ok(device)
}

/// A device that Ctrl-C interrupts.
///
/// # Errors
///
/// The errors of [`catch_interrupts`].
pub fn interruptible(device: Device) -> Result<Device, Failure> {
    device.interrupt_by(catch_interrupts()?);
    Ok(device)
}
