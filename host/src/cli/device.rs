//! The device that a tool runs on.

use warpfold_tools::terminal::{Failure, catch_interrupts, choose_driver, failed, note};

use crate::device::{Device, DeviceChoice};

/// Opens a device that Ctrl-C interrupts. If it is the simulator although a GPU could have been
/// chosen, a note says why. The driver's library is [the one that the environment
/// names](choose_driver).
///
/// # Errors
///
/// [`Failure::Failed`] if there is no such device.
pub fn open_device(choice: DeviceChoice) -> Result<Device, Failure> {
    choose_driver();
    let device = interruptible(choice.open().map_err(failed)?)?;
    if let Some(reason) = device.fallback_note() {
        note(reason);
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
