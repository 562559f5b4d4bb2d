//! A program that uses the library without CUDA. The library then has no backend but the simulator,
//! and says so when it is asked for a GPU.

use warpfold::{Device, DeviceError, Max, Sum, device::DeviceKind};

fn main() -> Result<(), warpfold::Error> {
    assert!(matches!(Device::cuda(0), Err(DeviceError::NoCuda { .. })));
    assert!(Device::all()?.is_empty());

    let device = Device::auto()?;
    assert_eq!(device.info().kind, DeviceKind::Simulator);
    let numbers: Vec<i32> = (-500..=500).collect();
    assert_eq!((device.reduce(&numbers, Sum)?, device.reduce(&numbers, Max)?), (0, 500));
    println!("1001 numbers, on {}", device.info().name);
    Ok(())
}
