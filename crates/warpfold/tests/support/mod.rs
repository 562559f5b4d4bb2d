//! The devices to test on, and the production kernels by name. The tests of this crate and those of
//! the lab share this file.

// Each test binary uses only a part of this file.
#![allow(dead_code)]

use std::env;

use warpfold::{
    device::{Arg, Device, DeviceError, Graph, Kernel, LaunchShape, Stream},
    testing::kernels,
};

#[path = "../../../../tests/support/skip.rs"]
pub(crate) mod skip;

/// The environment variable that chooses the devices.
pub(crate) const DEVICE_VARIABLE: &str = "WARPFOLD_DEVICE";

/// The devices to test on: the simulator, and the GPU if there is one. If `WARPFOLD_DEVICE` is set,
/// it names the devices (`both` means simulator and GPU), and they must exist.
///
/// If `WARPFOLD_LIBCUDA` is set, it names the file of the CUDA driver. Otherwise the driver is the
/// system's.
pub(crate) fn devices() -> Vec<Device> {
    if let Some(library) = env::var_os("WARPFOLD_LIBCUDA").filter(|library| !library.is_empty()) {
        // An error of the file is reported when a GPU is opened, because a process keeps the result
        // of its first attempt.
        let _ = cuda_driver::load_from(library);
    }
    let gpu = || {
        Device::cuda(0).unwrap_or_else(|error| panic!("{DEVICE_VARIABLE} demands a GPU: {error}"))
    };
    match env::var(DEVICE_VARIABLE).as_deref() {
        Ok("cuda") => vec![gpu()],
        Ok("sim") => vec![Device::simulator()],
        Ok("both") => vec![Device::simulator(), gpu()],
        Ok(other) => panic!("{DEVICE_VARIABLE} is '{other}': it must be cuda, sim or both"),
        Err(_) => {
            let mut devices = vec![Device::simulator()];
            match Device::cuda(0) {
                Ok(gpu) => devices.push(gpu),
                Err(error) => skip::part("all on a GPU", error),
            }
            devices
        }
    }
}

/// A production kernel, loaded on a device.
pub(crate) fn production_kernel(device: &Device, name: &str) -> Kernel {
    production_entry(device, name, name)
}

/// An entry of the PTX of the production kernel `name`, loaded on a device.
pub(crate) fn production_entry(device: &Device, name: &str, entry: &str) -> Kernel {
    let kernel = kernels()
        .find(|kernel| kernel.name() == name)
        .unwrap_or_else(|| panic!("there is no kernel {name}"));
    let text = kernel.text(device.info().compute_capability).unwrap();
    device.load(name, &text).unwrap().kernel(entry).unwrap()
}

/// Safe launches, of the tests' own kernels and of single production kernels.
pub(crate) trait Launch {
    fn start(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError>;
}

impl Launch for Device {
    fn start(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        // SAFETY: tests pass addresses in live buffers that are large enough for the kernels'
        // output. Tests of bad addresses run on the simulator, which reports them.
        unsafe { self.launch(kernel, shape, args) }
    }
}

impl Launch for Stream {
    fn start(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        // SAFETY: as above.
        unsafe { self.launch(kernel, shape, args) }
    }
}

/// Captures of graphs whose work returns nothing that the test needs.
pub(crate) trait Record {
    fn record<R, E: From<DeviceError>>(
        &self,
        work: impl FnOnce(&Stream) -> Result<R, E>,
    ) -> Result<Graph, E>;
}

impl Record for Device {
    fn record<R, E: From<DeviceError>>(
        &self,
        work: impl FnOnce(&Stream) -> Result<R, E>,
    ) -> Result<Graph, E> {
        self.capture(work).map(|(graph, _)| graph)
    }
}
