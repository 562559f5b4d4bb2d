//! Which devices a command line asks for.

use std::{fmt, str::FromStr};

use anyhow::anyhow;
use warpfold::{Device, DeviceError, device::DeviceKind};
use warpfold_tools::terminal::{Failure, catch_interrupts, choose_driver, failed};

/// Which devices to open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceChoice {
    /// The first GPU, or the simulator if there is no GPU.
    Auto,
    Cuda(u32),
    /// All GPUs.
    All,
    Simulator,
}

/// The error for a text that names no device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownDevice(String);

impl fmt::Display for UnknownDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown device '{}': it is one of auto, cuda, cuda:N, all, sim", self.0)
    }
}

impl std::error::Error for UnknownDevice {}

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        let unknown = || UnknownDevice(text.to_owned());
        Ok(match text {
            "auto" => Self::Auto,
            "cuda" => Self::Cuda(0),
            "all" => Self::All,
            "sim" => Self::Simulator,
            _ => {
                let ordinal = text.strip_prefix("cuda:").ok_or_else(unknown)?;
                let is_plain = ordinal.bytes().all(|byte| byte.is_ascii_digit());
                Self::Cuda(ordinal.parse().ok().filter(|_| is_plain).ok_or_else(unknown)?)
            }
        })
    }
}

impl DeviceChoice {
    /// Opens the devices, at least one. Ctrl-C interrupts them.
    pub(crate) fn open(self) -> Result<Vec<Device>, Failure> {
        choose_driver();
        let devices = self.opened().map_err(failed)?;
        if devices.is_empty() {
            return Err(failed(anyhow!(
                "--device all: no GPU was found ('warpfold doctor' says why)"
            )));
        }
        let interrupt = catch_interrupts()?;
        for device in &devices {
            device.interrupt_by(interrupt);
        }
        Ok(devices)
    }

    fn opened(self) -> Result<Vec<Device>, DeviceError> {
        match self {
            Self::Auto => Device::auto().map(|device| vec![device]),
            Self::Cuda(ordinal) => Device::cuda(ordinal).map(|device| vec![device]),
            Self::All => Device::all(),
            Self::Simulator => Ok(vec![Device::simulator()]),
        }
    }
}

/// The device as `--device` names it.
pub(crate) fn name(device: &Device) -> String {
    match (device.info().kind, device.info().ordinal) {
        (DeviceKind::Cuda, Some(ordinal)) => format!("cuda:{ordinal}"),
        _ => "sim".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named() {
        for (text, choice) in [
            ("auto", DeviceChoice::Auto),
            ("cuda", DeviceChoice::Cuda(0)),
            ("cuda:12", DeviceChoice::Cuda(12)),
            ("all", DeviceChoice::All),
            ("sim", DeviceChoice::Simulator),
        ] {
            assert_eq!(text.parse(), Ok(choice));
        }
        for bad in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "cuda:4294967296", "sim:0"]
        {
            assert!(bad.parse::<DeviceChoice>().is_err(), "{bad}");
        }
    }
}
