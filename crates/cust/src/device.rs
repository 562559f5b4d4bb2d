//! The CUDA devices of the machine.

use std::{
    ffi::{CStr, c_char, c_int},
    ops::Range,
};

use crate::{
    error::CudaResult,
    sys::{CUdevice, CUuuid},
};

/// Defines the attributes, each with rust-cuda's name and cuda.h's number.
macro_rules! attributes {
    ($($name:ident = $number:literal is $text:literal;)*) => {
        /// A property of a device whose value is a number. Each variant names the attribute of
        /// cuda.h for which it stands.
        #[repr(u32)]
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum DeviceAttribute {
            $(
                #[doc = concat!("`", $text, "`.")]
                $name = $number,
            )*
        }
    };
}

attributes! {
    MaxThreadsPerBlock = 1 is "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK";
    MaxBlockDimX = 2 is "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X";
    MaxBlockDimY = 3 is "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y";
    MaxBlockDimZ = 4 is "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z";
    MaxGridDimX = 5 is "CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X";
    MaxGridDimY = 6 is "CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y";
    MaxGridDimZ = 7 is "CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z";
    MaxSharedMemoryPerBlock = 8 is "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK";
    TotalConstantMemory = 9 is "CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY";
    WarpSize = 10 is "CU_DEVICE_ATTRIBUTE_WARP_SIZE";
    MaxPitch = 11 is "CU_DEVICE_ATTRIBUTE_MAX_PITCH";
    MaxRegistersPerBlock = 12 is "CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK";
    ClockRate = 13 is "CU_DEVICE_ATTRIBUTE_CLOCK_RATE";
    TextureAlignment = 14 is "CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT";
    MultiprocessorCount = 16 is "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT";
    KernelExecTimeout = 17 is "CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT";
    Integrated = 18 is "CU_DEVICE_ATTRIBUTE_INTEGRATED";
    CanMapHostMemory = 19 is "CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY";
    ComputeMode = 20 is "CU_DEVICE_ATTRIBUTE_COMPUTE_MODE";
    MaximumTexture1DWidth = 21 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH";
    MaximumTexture2DWidth = 22 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH";
    MaximumTexture2DHeight = 23 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT";
    MaximumTexture3DWidth = 24 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH";
    MaximumTexture3DHeight = 25 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT";
    MaximumTexture3DDepth = 26 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH";
    MaximumTexture2DLayeredWidth = 27 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH";
    MaximumTexture2DLayeredHeight = 28 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT";
    MaximumTexture2DLayeredLayers = 29 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS";
    SurfaceAlignment = 30 is "CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT";
    ConcurrentKernels = 31 is "CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS";
    EccEnabled = 32 is "CU_DEVICE_ATTRIBUTE_ECC_ENABLED";
    PciBusId = 33 is "CU_DEVICE_ATTRIBUTE_PCI_BUS_ID";
    PciDeviceId = 34 is "CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID";
    TccDriver = 35 is "CU_DEVICE_ATTRIBUTE_TCC_DRIVER";
    MemoryClockRate = 36 is "CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE";
    GlobalMemoryBusWidth = 37 is "CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH";
    L2CacheSize = 38 is "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE";
    MaxThreadsPerMultiprocessor = 39 is "CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR";
    AsyncEngineCount = 40 is "CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT";
    UnifiedAddressing = 41 is "CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING";
    MaximumTexture1DLayeredWidth = 42 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH";
    MaximumTexture1DLayeredLayers = 43 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS";
    MaximumTexture2DGatherWidth = 45 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH";
    MaximumTexture2DGatherHeight = 46 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT";
    MaximumTexture3DWidthAlternate = 47 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE";
    MaximumTexture3DHeightAlternate = 48 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE";
    MaximumTexture3DDepthAlternate = 49 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE";
    PciDomainId = 50 is "CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID";
    TexturePitchAlignment = 51 is "CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT";
    MaximumTextureCubemapWidth = 52 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH";
    MaximumTextureCubemapLayeredWidth = 53 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH";
    MaximumTextureCubemapLayeredLayers = 54 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS";
    MaximumSurface1DWidth = 55 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH";
    MaximumSurface2DWidth = 56 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH";
    MaximumSurface2DHeight = 57 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT";
    MaximumSurface3DWidth = 58 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH";
    MaximumSurface3DHeight = 59 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT";
    MaximumSurface3DDepth = 60 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH";
    MaximumSurface1DLayeredWidth = 61 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH";
    MaximumSurface1DLayeredLayers = 62 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS";
    MaximumSurface2DLayeredWidth = 63 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH";
    MaximumSurface2DLayeredHeight = 64 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT";
    MaximumSurface2DLayeredLayers = 65 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS";
    MaximumSurfacecubemapWidth = 66 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH";
    MaximumSurfacecubemapLayeredWidth = 67 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH";
    MaximumSurfacecubemapLayeredLayers = 68 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS";
    MaximumTexture1DLinearWidth = 69 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH";
    MaximumTexture2DLinearWidth = 70 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH";
    MaximumTexture2DLinearHeight = 71 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT";
    MaximumTexture2DLinearPitch = 72 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH";
    MaximumTexture2DMipmappedWidth = 73 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH";
    MaximumTexture2DMipmappedHeight = 74 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT";
    ComputeCapabilityMajor = 75 is "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR";
    ComputeCapabilityMinor = 76 is "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR";
    MaximumTexture1DMipmappedWidth = 77 is "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH";
    StreamPrioritiesSupported = 78 is "CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED";
    GlobalL1CacheSupported = 79 is "CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED";
    LocalL1CacheSupported = 80 is "CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED";
    MaxSharedMemoryPerMultiprocessor = 81 is "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR";
    MaxRegistersPerMultiprocessor = 82 is "CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR";
    ManagedMemory = 83 is "CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY";
    MultiGpuBoard = 84 is "CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD";
    MultiGpuBoardGroupId = 85 is "CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID";
    HostNativeAtomicSupported = 86 is "CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED";
    SingleToDoublePrecisionPerfRatio = 87 is "CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO";
    PageableMemoryAccess = 88 is "CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS";
    ConcurrentManagedAccess = 89 is "CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS";
    ComputePreemptionSupported = 90 is "CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED";
    CanUseHostPointerForRegisteredMem = 91 is "CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM";
}

/// A CUDA device of the machine.
///
/// ```no_run
/// use cust::device::{Device, DeviceAttribute};
///
/// cust::init(cust::CudaFlags::empty())?;
/// for device in Device::devices()? {
///     let device = device?;
///     let multiprocessors = device.get_attribute(DeviceAttribute::MultiprocessorCount)?;
///     println!("{}: {multiprocessors} multiprocessors", device.name()?);
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    pub(crate) device: CUdevice,
}

impl Device {
    /// The number of devices.
    ///
    /// # Errors
    ///
    /// The errors of [`init`](crate::init).
    pub fn num_devices() -> CudaResult<u32> {
        let mut count = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuDeviceGetCount(&raw mut count)) }?;
        Ok(count.unsigned_abs())
    }

    /// The device of this number. Devices are counted from 0.
    ///
    /// # Errors
    ///
    /// [`CudaError::InvalidDevice`](crate::error::CudaError::InvalidDevice) if there is no device
    /// of this number.
    pub fn get_device(ordinal: u32) -> CudaResult<Device> {
        let mut device = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuDeviceGet(&raw mut device, ordinal as c_int)) }?;
        Ok(Device { device })
    }

    /// An iterator over all devices.
    ///
    /// # Errors
    ///
    /// The errors of [`init`](crate::init).
    pub fn devices() -> CudaResult<Devices> {
        Ok(Devices { range: 0..Device::num_devices()? })
    }

    /// The size of the device's memory, in bytes.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn total_memory(self) -> CudaResult<usize> {
        let mut bytes = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuDeviceTotalMem_v2(&raw mut bytes, self.device)) }?;
        Ok(bytes)
    }

    /// The name of the device, such as `NVIDIA H100 80GB HBM3`.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn name(self) -> CudaResult<String> {
        let mut name = [0u8; 256];
        // SAFETY: the buffer is one byte longer than the length that the driver gets, so it always
        // ends with a NUL.
        unsafe {
            call!(cuDeviceGetName(
                name.as_mut_ptr().cast::<c_char>(),
                name.len() as c_int - 1,
                self.device
            ))
        }?;
        Ok(CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned())
    }

    /// The UUID of the device. It is the same in every process and after every start of the
    /// machine.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn uuid(self) -> CudaResult<[u8; 16]> {
        let mut uuid = CUuuid::default();
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuDeviceGetUuid_v2(&raw mut uuid, self.device)) }?;
        Ok(uuid.bytes.map(|byte| byte as u8))
    }

    /// The value of an attribute.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_attribute(self, attr: DeviceAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuDeviceGetAttribute(&raw mut value, attr as u32, self.device)) }?;
        Ok(value)
    }

    /// The driver's number of the device.
    pub fn as_raw(&self) -> CUdevice {
        self.device
    }
}

/// An iterator over all devices. [`Device::devices`] makes it.
#[derive(Clone, Debug)]
pub struct Devices {
    range: Range<u32>,
}

impl Iterator for Devices {
    type Item = CudaResult<Device>;

    fn next(&mut self) -> Option<CudaResult<Device>> {
        self.range.next().map(Device::get_device)
    }
}
