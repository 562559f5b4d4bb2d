//! The devices of [`warpfold`], the simulator's instruments, and the choice of a device on a
//! command line.

use std::{fmt, str::FromStr};

pub use warpfold::{
    device::*,
    testing::{Instrument, Observation, Seen},
};

/// Which device to open. A command-line program may fall back to the simulator; a library does not.
///
/// ```
/// use warpfold_lab::device::{DeviceChoice, DeviceKind};
///
/// let device = "sim".parse::<DeviceChoice>()?.open()?;
/// let info = device.info();
/// assert_eq!((info.kind, info.max_threads_per_block), (DeviceKind::Simulator, 1024));
/// assert_eq!(DeviceChoice::default(), DeviceChoice::Auto);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first CUDA device, or the simulator if there is no driver or no device.
    #[default]
    Auto,
    /// The first CUDA device, or an error if there is none.
    Cuda,
    /// The simulator.
    Simulator,
}

impl DeviceChoice {
    /// Opens the device.
    ///
    /// # Errors
    ///
    /// The errors of [`Device::auto`] and [`Device::cuda`].
    pub fn open(self) -> Result<Device, DeviceError> {
        match self {
            Self::Auto => Device::auto(),
            Self::Cuda => Device::cuda(0),
            Self::Simulator => Ok(Device::simulator()),
        }
    }
}

/// The error for a text that is neither `auto`, nor `cuda`, nor `sim`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown device '{0}': it is one of auto, cuda, sim")]
pub struct UnknownDevice(pub String);

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        match text {
            "auto" => Ok(Self::Auto),
            "cuda" => Ok(Self::Cuda),
            "sim" => Ok(Self::Simulator),
            _ => Err(UnknownDevice(text.to_owned())),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Cuda => "cuda",
            Self::Simulator => "sim",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::DeviceChoice;

    #[test]
    fn choices_are_written_as_they_are_read() {
        for (text, choice) in [
            ("auto", DeviceChoice::Auto),
            ("cuda", DeviceChoice::Cuda),
            ("sim", DeviceChoice::Simulator),
        ] {
            assert_eq!(text.parse(), Ok(choice));
            assert_eq!(choice.to_string(), text);
        }
        let error = "gpu".parse::<DeviceChoice>().unwrap_err();
        assert_eq!(error.to_string(), "unknown device 'gpu': it is one of auto, cuda, sim");
    }
}
