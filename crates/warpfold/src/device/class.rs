//! The class of a device, which decides the order in which it combines floats.

use super::DeviceInfo;

/// The properties of a device on which the order of a reduction depends, and with it the bits of a
/// sum of floats. The same input gives the same bits on every device of one class.
///
/// A device has the class of its hardware, and [`Device::with_class`](super::Device::with_class)
/// pins another one, so that two kinds of GPUs, or a GPU and the simulator, give the same bits.
///
/// ```
/// use warpfold::{Device, Sum, device::DeviceClass};
///
/// let values: Vec<f32> = (1..100_000).map(|i| 1.0 / i as f32).collect();
/// let simulator = Device::simulator();
/// let as_h100 = simulator.with_class(DeviceClass::H100)?;
/// // These are the bits that an H100 gives for a buffer which begins at a multiple of 128 bytes.
/// let total: f32 = as_h100.reduce(&values, Sum)?;
/// assert!((total - simulator.reduce(&values, Sum)?).abs() < 1e-4);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceClass {
    multiprocessors: u32,
    has_fast_memory: bool,
    capability: (u32, u32),
}

impl DeviceClass {
    /// An H100 with SXM5 socket: 132 multiprocessors, HBM3 at 3.35 TB/s.
    pub const H100: Self = Self::new(132, false, (9, 0));
    /// An H200: 132 multiprocessors, HBM3e at 4.8 TB/s.
    pub const H200: Self = Self::new(132, true, (9, 0));

    /// The memory bandwidth, in bytes per second, above which a large input gets blocks of several
    /// rounds. The value lies between the peaks of an H100 (3.35e12) and an H200 (4.8e12), the only
    /// devices that were measured. On an H200 the longer blocks are faster. With 4 to 8 rounds,
    /// 2^30 elements of 4 bytes take 912.5 us instead of 916 us (bench/NOTEBOOK.md, attempt 11).
    /// With two rounds, 2^26 elements of f64 take 118.9 us instead of 122.6 us, and 2^28 elements
    /// of f16 take 118.6 us instead of 121 us (attempt 24).
    const FAST_BYTES_PER_SECOND: f64 = 4e12;

    /// The class of devices that have this number of multiprocessors and this compute capability
    /// (major, minor). `has_fast_memory` says whether their memory is faster than 4 TB/s. A
    /// capability of 9.0 or later counts as 9.0, and every lower one as 7.5.
    ///
    /// # Panics
    ///
    /// If `multiprocessors` is 0.
    pub const fn new(multiprocessors: u32, has_fast_memory: bool, capability: (u32, u32)) -> Self {
        assert!(multiprocessors > 0, "a device has at least one multiprocessor");
        // The kernels exist as PTX for two generations; all devices of one generation run the same
        // PTX, so they combine in the same order.
        let capability = if capability.0 >= 9 { (9, 0) } else { (7, 5) };
        Self { multiprocessors, has_fast_memory, capability }
    }

    /// The class of a device's hardware. It is the same for the simulator on every host, because
    /// the simulator always has 16 multiprocessors.
    pub(super) fn of(info: &DeviceInfo) -> Self {
        let has_fast_memory =
            info.peak_bytes_per_second.is_some_and(|peak| peak > Self::FAST_BYTES_PER_SECOND);
        Self::new(info.multiprocessors.max(1), has_fast_memory, info.compute_capability)
    }

    /// The number of multiprocessors.
    pub const fn multiprocessors(self) -> u32 {
        self.multiprocessors
    }

    /// Whether the memory is faster than 4 TB/s.
    pub const fn has_fast_memory(self) -> bool {
        self.has_fast_memory
    }

    /// The least compute capability (major, minor) that runs the kernels of this class: 9.0 or 7.5.
    pub const fn capability(self) -> (u32, u32) {
        self.capability
    }
}
