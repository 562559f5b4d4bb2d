//! Sums a slice of cudarc on the first GPU, without a copy:
//!
//! ```console
//! $ cargo run -p warpfold --features cudarc --example cudarc_sum
//! ```
//!
//! Where there is no GPU, it says so in one line.

use std::error::Error;

use cudarc::driver::CudaContext;
use warpfold::{Device, Sum, device::DeviceError};

fn main() -> Result<(), Box<dyn Error>> {
    let device = match Device::cuda(0) {
        Err(error @ DeviceError::NoCuda { .. }) => {
            println!("nothing was summed: {error}");
            return Ok(());
        }
        opened => opened?,
    };

    // Both share the GPU's primary context.
    let theirs = CudaContext::new(0)?.new_stream()?;
    let values: Vec<u32> = (0..1 << 20).map(|i| i % 8).collect();
    let slice = theirs.clone_htod(&values)?;

    // The reduction reads the slice where it lies, after the copy that cudarc's stream was given.
    let total: u64 = device.reduce(&slice, Sum)?;
    assert_eq!(total, 3_670_016);
    println!("{total}");

    // On cudarc's own stream, of a part that starts at an odd place.
    let stream = device.adopt_cudarc_stream(&theirs)?;
    let mut output = device.alloc::<u64>(1)?;
    let pending =
        device.reducer::<u32, _>(Sum)?.reduce_into(slice.slice(1..), &mut output, &stream)?;
    stream.synchronize()?;
    assert_eq!(pending.finish(output.copy_to_host()?[0])?, 3_670_016);
    Ok(())
}
