//! `devices` and `doctor`: what this machine has, and what would run.

use std::io::{self, Write as _};

use serde::Serialize;
use warpfold::{Device, DeviceError, device::DeviceClass};
use warpfold_tools::terminal::{DRIVER_VARIABLE, Failure, choose_driver, failed, written};

use crate::device::name;

/// A device, as `devices` lists it.
#[derive(Serialize)]
struct Listed {
    device: String,
    name: String,
    compute_capability: String,
    multiprocessors: u32,
    memory_bytes: u64,
    /// Bytes per second, if the driver reports it.
    peak_bandwidth: Option<f64>,
}

impl Listed {
    fn new(device: &Device) -> Self {
        let info = device.info();
        let (major, minor) = info.compute_capability;
        Self {
            device: name(device),
            name: info.name.clone(),
            compute_capability: format!("{major}.{minor}"),
            multiprocessors: info.multiprocessors,
            memory_bytes: info.memory_bytes,
            peak_bandwidth: info.peak_bytes_per_second,
        }
    }

    fn line(&self) -> String {
        let peak =
            self.peak_bandwidth.map_or(String::new(), |peak| format!(", {:.0} GB/s", peak / 1e9));
        if self.device == "sim" {
            return format!("{:8} {}", self.device, self.name);
        }
        format!(
            "{:8} {}, compute capability {}, {} multiprocessors, {:.1} GiB{peak}",
            self.device,
            self.name,
            self.compute_capability,
            self.multiprocessors,
            self.memory_bytes as f64 / (1u64 << 30) as f64
        )
    }
}

/// Lists all GPUs and the simulator.
pub(crate) fn devices(json: bool) -> Result<(), Failure> {
    choose_driver();
    let mut found = Device::all().map_err(failed)?;
    found.push(Device::simulator());
    let listed: Vec<_> = found.iter().map(Listed::new).collect();
    let mut stdout = io::stdout().lock();
    if json {
        #[derive(Serialize)]
        struct Devices {
            devices: Vec<Listed>,
        }
        let text = serde_json::to_string_pretty(&Devices { devices: listed }).map_err(failed)?;
        return written(writeln!(stdout, "{text}"));
    }
    for device in listed {
        written(writeln!(stdout, "{}", device.line()))?;
    }
    Ok(())
}

/// Says what is found, what would run, and what to do if that is not a GPU. It fails if there is a
/// driver or a GPU that does not work.
pub(crate) fn doctor() -> Result<(), Failure> {
    choose_driver();
    let mut lines = vec![format!("warpfold     {}", env!("CARGO_PKG_VERSION"))];
    let mut say = |what: &str, text: String| lines.push(format!("{what:12} {text}"));
    if let Some(library) = std::env::var_os(DRIVER_VARIABLE).filter(|library| !library.is_empty()) {
        say("driver", format!("{DRIVER_VARIABLE} asks for {}", library.display()));
    }
    match cuda_driver::load() {
        Ok(driver) => {
            let count = driver.devices;
            say("driver", format!("found, of CUDA {}, with {count} device(s)", driver.version));
        }
        Err(error) => say("driver", format!("not usable: {error}")),
    }
    let all = Device::all();
    if let Ok(all) = &all {
        for device in all {
            say("device", Listed::new(device).line());
            say(
                "",
                format!("it takes the kernels for compute capability {}", kernels(device.class())),
            );
        }
    }
    say("device", Listed::new(&Device::simulator()).line());
    say("", "it runs everywhere, and is thousands of times slower than a GPU".into());
    let auto = Device::auto();
    let broken = match &auto {
        Ok(device) => {
            say("would run", format!("on {} (--device auto)", name(device)));
            if device.fallback_note().is_some() {
                say("", "not on a GPU, for the reason that 'driver' gives above".into());
                say(
                    "advice",
                    "a GPU of NVIDIA needs its driver, of CUDA 12.4 or later, and no toolkit"
                        .into(),
                );
            }
            None
        }
        Err(error) => {
            say("would run", format!("nothing with --device auto: {error}"));
            say("advice", "--device sim runs all the same; mend the driver for the GPU".into());
            Some(error.to_string())
        }
    };
    for line in lines {
        written(writeln!(io::stdout().lock(), "{line}"))?;
    }
    match broken.or(all.err().map(|error: DeviceError| error.to_string())) {
        None => Ok(()),
        Some(error) => Err(failed(anyhow::anyhow!("a GPU cannot be used: {error}"))),
    }
}

fn kernels(class: DeviceClass) -> String {
    let (major, minor) = class.capability();
    format!("{major}.{minor}")
}
