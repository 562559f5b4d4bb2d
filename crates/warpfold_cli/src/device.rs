//! Which devices a command line asks for.

use std::str::FromStr;

use anyhow::anyhow;
use warpfold::{Device, DeviceError, device::DeviceKind};
use warpfold_tools::terminal::{Failure, catch_interrupts, choose_driver, failed};

/// Which devices to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeviceChoice {
    /// The first GPU, or the simulator if there is no GPU.
    Auto,
    /// All GPUs.
    AllGpus,
    /// At least one device, and no GPU twice.
    List(Vec<Named>),
}

/// A device with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Cuda(u32),
    /// A simulated device with memory of its own.
    Simulator,
}

/// The error for a text that names no devices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadDevices {
    #[error(
        "unknown device '{0}': it is auto, cuda:all, or a list of cuda, cuda:N and sim, such as cuda:0,cuda:1"
    )]
    Unknown(String),
    #[error("cuda:{0} is there twice")]
    Twice(u32),
}

impl FromStr for DeviceChoice {
    type Err = BadDevices;

    fn from_str(text: &str) -> Result<Self, BadDevices> {
        let list = match text {
            "auto" => return Ok(Self::Auto),
            "cuda:all" => return Ok(Self::AllGpus),
            list => list.split(',').map(named).collect::<Result<Vec<_>, _>>()?,
        };
        for (i, named) in list.iter().enumerate() {
            if let &Named::Cuda(ordinal) = named
                && list[..i].contains(named)
            {
                return Err(BadDevices::Twice(ordinal));
            }
        }
        Ok(Self::List(list))
    }
}

fn named(text: &str) -> Result<Named, BadDevices> {
    match text {
        "cuda" => Ok(Named::Cuda(0)),
        "sim" => Ok(Named::Simulator),
        _ => text
            .strip_prefix("cuda:")
            .filter(|ordinal| ordinal.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|ordinal| ordinal.parse().ok())
            .map(Named::Cuda)
            .ok_or_else(|| BadDevices::Unknown(text.to_owned())),
    }
}

impl DeviceChoice {
    /// Opens the devices, at least one. Ctrl-C interrupts them.
    pub(crate) fn open(&self) -> Result<Vec<Device>, Failure> {
        choose_driver();
        let devices = self.opened().map_err(failed)?;
        if devices.is_empty() {
            return Err(failed(anyhow!(
                "--device cuda:all: no GPU was found ('warpfold doctor' says why)"
            )));
        }
        let interrupt = catch_interrupts()?;
        for device in &devices {
            device.interrupt_by(interrupt);
        }
        Ok(devices)
    }

    fn opened(&self) -> Result<Vec<Device>, DeviceError> {
        let open = |named: &Named| match *named {
            Named::Cuda(ordinal) => Device::cuda(ordinal),
            Named::Simulator => Ok(Device::simulator()),
        };
        match self {
            Self::Auto => Device::auto().map(|device| vec![device]),
            Self::AllGpus => Device::all(),
            Self::List(list) => list.iter().map(open).collect(),
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
        use Named::{Cuda, Simulator};
        let list = |list: &[Named]| Ok(DeviceChoice::List(list.to_vec()));
        for (text, choice) in [
            ("auto", Ok(DeviceChoice::Auto)),
            ("cuda", list(&[Cuda(0)])),
            ("cuda:12", list(&[Cuda(12)])),
            ("cuda:all", Ok(DeviceChoice::AllGpus)),
            ("sim", list(&[Simulator])),
            ("cuda:1,cuda:0", list(&[Cuda(1), Cuda(0)])),
            ("sim,sim,cuda", list(&[Simulator, Simulator, Cuda(0)])),
            ("cuda:1,cuda:1", Err(BadDevices::Twice(1))),
            ("cuda,sim,cuda:0", Err(BadDevices::Twice(0))),
        ] {
            assert_eq!(text.parse(), choice);
        }
        for bad in [
            "",
            "gpu",
            "all",
            "cuda:",
            "cuda:-1",
            "cuda:+1",
            "cuda:x",
            "cuda:4294967296",
            "sim:0",
            ",",
            "sim,",
            "cuda:0,,cuda:1",
            "auto,sim",
            "cuda:0,cuda:all",
            "cuda:0, cuda:1",
        ] {
            let refused = bad.parse::<DeviceChoice>();
            assert!(matches!(refused, Err(BadDevices::Unknown(_))), "{bad}: {refused:?}");
        }
    }
}
