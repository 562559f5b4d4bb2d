//! What the tests of this crate and the lab's tests share: the devices to test on, and the
//! production kernels by name.

// Each test binary uses a part of it.
#![allow(dead_code)]

use std::env;

use warpfold::{
    device::{Arg, Device, DeviceError, Graph, Kernel, LaunchShape, Stream},
    testing::kernels,
};

#[path = "../../../../tests/support/skip.rs"]
pub(crate) mod skip;

/// The variable that forces one device.
pub(crate) const DEVICE_VARIABLE: &str = "WARPFOLD_DEVICE";

/// The devices to test on: the simulator, and the GPU if there is one; or what `WARPFOLD_DEVICE`
/// names (`both` is the two of them), which must then be there.
///
/// The driver is the file that `WARPFOLD_LIBCUDA` names, or else the system's.
pub(crate) fn devices() -> Vec<Device> {
    if let Some(library) = env::var_os("WARPFOLD_LIBCUDA").filter(|library| !library.is_empty()) {
        // What is wrong with the file is said when a GPU is opened, because a process keeps its first attempt.
        let _ = cuda_driver::load_from(library);
    }
    let gpu = || Device::cuda(0).unwrap_or_else(|error| panic!("{DEVICE_VARIABLE} demands a GPU: {error}"));
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
    let kernel = kernels().find(|kernel| kernel.name() == name).unwrap_or_else(|| panic!("there is no kernel {name}"));
    let text = kernel.text(device.info().compute_capability).unwrap();
    device.load(name, &text).unwrap().kernel(name).unwrap()
}

/// Launches of the tests' own kernels and of single production kernels.
pub(crate) trait Launch {
    fn start(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError>;
}

impl Launch for Device {
    fn start(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        // SAFETY: tests give kernels addresses in live buffers, with room for what the kernels write; or
        // they show on the simulator, which reports it, what becomes of another address.
        unsafe { self.launch(kernel, shape, args) }
    }
}

impl Launch for Stream {
    fn start(&self, kernel: &Kernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
        // SAFETY: as above.
        unsafe { self.launch(kernel, shape, args) }
    }
}

/// Graphs of work that returns nothing.
pub(crate) trait Record {
    fn record<R, E: From<DeviceError>>(&self, work: impl FnOnce(&Stream) -> Result<R, E>) -> Result<Graph, E>;
}

impl Record for Device {
    fn record<R, E: From<DeviceError>>(&self, work: impl FnOnce(&Stream) -> Result<R, E>) -> Result<Graph, E> {
        self.capture(work).map(|(graph, _)| graph)
    }
}
