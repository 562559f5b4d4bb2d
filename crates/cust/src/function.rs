//! Kernels, and the macro that launches them.

use std::{
    ffi::{c_int, c_void},
    marker::PhantomData,
    ptr,
};

use crate::{
    context::{CacheConfig, SharedMemoryConfig},
    error::{CudaError, CudaResult},
    memory::DeviceCopy,
    module::Module,
    sys::CUfunction,
};

/// Defines a type of sizes along three axes.
macro_rules! size {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            /// The size along x.
            pub x: u32,
            /// The size along y.
            pub y: u32,
            /// The size along z.
            pub z: u32,
        }

        impl $name {
            /// Makes the size with this length along x, and 1 along y and z.
            #[inline]
            pub fn x(x: u32) -> $name {
                $name { x, y: 1, z: 1 }
            }

            /// Makes the size with these lengths along x and y, and 1 along z.
            #[inline]
            pub fn xy(x: u32, y: u32) -> $name {
                $name { x, y, z: 1 }
            }

            /// Makes the size with these lengths along the three axes.
            #[inline]
            pub fn xyz(x: u32, y: u32, z: u32) -> $name {
                $name { x, y, z }
            }

            /// The product of the three lengths. [`CudaError::InvalidValue`] if it does not fit
            /// into the driver's type `int`.
            fn count(self) -> CudaResult<c_int> {
                let count = u64::from(self.x).checked_mul(u64::from(self.y) * u64::from(self.z));
                count.and_then(|count| count.try_into().ok()).ok_or(CudaError::InvalidValue)
            }
        }

        impl From<u32> for $name {
            fn from(x: u32) -> $name {
                $name::x(x)
            }
        }

        impl From<(u32, u32)> for $name {
            fn from((x, y): (u32, u32)) -> $name {
                $name::xy(x, y)
            }
        }

        impl From<(u32, u32, u32)> for $name {
            fn from((x, y, z): (u32, u32, u32)) -> $name {
                $name::xyz(x, y, z)
            }
        }

        impl From<&$name> for $name {
            fn from(other: &$name) -> $name {
                *other
            }
        }
    };
}

size! {
    /// The number of blocks of a grid, along three axes.
    ///
    /// ```
    /// use cust::function::GridSize;
    ///
    /// assert_eq!(GridSize::from((5, 4)), GridSize { x: 5, y: 4, z: 1 });
    /// ```
    GridSize
}

size! {
    /// The number of threads of a block, along three axes.
    ///
    /// ```
    /// use cust::function::BlockSize;
    ///
    /// assert_eq!(BlockSize::from(256), BlockSize::xyz(256, 1, 1));
    /// ```
    BlockSize
}

/// A property of a kernel whose value is a number.
#[repr(u32)]
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionAttribute {
    /// The most threads that a block of this kernel may have, on the device for which the kernel is
    /// loaded.
    MaxThreadsPerBlock = 0,
    /// The static shared memory of a block, in bytes.
    SharedMemorySizeBytes = 1,
    /// The constant memory that the kernel uses, in bytes.
    ConstSizeBytes = 2,
    /// The local memory of a thread, in bytes.
    LocalSizeBytes = 3,
    /// The number of registers of a thread.
    NumRegisters = 4,
    /// The version of PTX from which the kernel was compiled: 10 × major + minor.
    PtxVersion = 5,
    /// The architecture for which the kernel was compiled: 10 × major + minor.
    BinaryVersion = 6,
    /// Whether the kernel was compiled to cache loads from global memory in L1.
    CacheModeCa = 7,
}

/// A kernel of a [`Module`].
///
/// ```no_run
/// use cust::{function::FunctionAttribute, prelude::*};
///
/// let _context = cust::quick_init()?;
/// let module = Module::from_file("kernels.ptx")?;
/// let sum = module.get_function("sum")?;
/// println!("{} registers", sum.get_attribute(FunctionAttribute::NumRegisters)?);
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct Function<'a> {
    inner: CUfunction,
    module: PhantomData<&'a Module>,
}

// SAFETY: any thread with the module's context may use a function, and several may do so at once.
unsafe impl Send for Function<'_> {}
// SAFETY: as above.
unsafe impl Sync for Function<'_> {}

impl Function<'_> {
    pub(crate) fn new(inner: CUfunction, _module: &Module) -> Function<'_> {
        Function { inner, module: PhantomData }
    }

    /// The value of an attribute.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn get_attribute(&self, attr: FunctionAttribute) -> CudaResult<i32> {
        let mut value = 0;
        // SAFETY: the kernel is loaded, and the pointer is to a live variable.
        unsafe { call!(cuFuncGetAttribute(&raw mut value, attr as u32, self.inner)) }?;
        Ok(value)
    }

    /// Sets the preferred division of on-chip memory between shared memory and L1 cache while this
    /// kernel runs.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn set_cache_config(&mut self, config: CacheConfig) -> CudaResult<()> {
        // SAFETY: the kernel is loaded.
        unsafe { call!(cuFuncSetCacheConfig(self.inner, config as u32)) }
    }

    /// Sets the width of the banks of shared memory while this kernel runs.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn set_shared_memory_config(&mut self, cfg: SharedMemoryConfig) -> CudaResult<()> {
        // SAFETY: the kernel is loaded.
        unsafe { call!(cuFuncSetSharedMemConfig(self.inner, cfg as u32)) }
    }

    /// The driver's handle, which is valid as long as the module lives.
    pub fn to_raw(&self) -> CUfunction {
        self.inner
    }

    /// The most dynamic shared memory, in bytes, that each block may have so that one
    /// multiprocessor still holds `blocks` blocks of `block_size` threads at once.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn available_dynamic_shared_memory_per_block(
        &self,
        blocks: GridSize,
        block_size: BlockSize,
    ) -> CudaResult<usize> {
        let (blocks, threads) = (blocks.count()?, block_size.count()?);
        let mut bytes = 0;
        // SAFETY: the kernel is loaded, and the pointer is to a live variable.
        unsafe {
            call!(cuOccupancyAvailableDynamicSMemPerBlock(
                &raw mut bytes,
                self.inner,
                blocks,
                threads
            ))
        }?;
        Ok(bytes)
    }

    /// The number of blocks that one multiprocessor holds at once, if each block has `block_size`
    /// threads and `dynamic_smem_size` bytes of dynamic shared memory.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn max_active_blocks_per_multiprocessor(
        &self,
        block_size: BlockSize,
        dynamic_smem_size: usize,
    ) -> CudaResult<u32> {
        let threads = block_size.count()?;
        let mut blocks = 0;
        // SAFETY: the kernel is loaded, and the pointer is to a live variable.
        unsafe {
            call!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                self.inner,
                threads,
                dynamic_smem_size
            ))
        }?;
        Ok(blocks.unsigned_abs())
    }

    /// The least number of blocks that fills the device, and the number of threads of each block. A
    /// block has at most as many threads as `block_size_limit`; the limit 0 means no limit.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn suggested_launch_configuration(
        &self,
        dynamic_smem_size: usize,
        block_size_limit: BlockSize,
    ) -> CudaResult<(u32, u32)> {
        let limit = block_size_limit.count()?;
        let (mut blocks, mut threads) = (0, 0);
        // SAFETY: the kernel is loaded, the pointers are to live variables, and there is no
        // callback.
        unsafe {
            call!(cuOccupancyMaxPotentialBlockSize(
                &raw mut blocks,
                &raw mut threads,
                self.inner,
                None,
                dynamic_smem_size,
                limit
            ))
        }?;
        Ok((blocks.unsigned_abs(), threads.unsigned_abs()))
    }
}

/// The address of an argument of a launch. Only [`launch!`](crate::launch!) uses this function.
#[doc(hidden)]
pub fn argument<T: DeviceCopy>(value: &T) -> *mut c_void {
    ptr::from_ref(value).cast_mut().cast()
}

/// Launches a kernel, in the syntax of CUDA C++:
/// `launch!(kernel<<<grid, block, shared, stream>>>(arguments…))`.
///
/// - `kernel` is a variable of type [`Function`], or `module.name`, which looks the kernel up.
/// - `grid` is a value that converts into a [`GridSize`], and `block` one that converts into a
///   [`BlockSize`].
/// - `shared` is the dynamic shared memory of a block, in bytes.
/// - `stream` is a variable of type [`Stream`](crate::stream::Stream).
/// - The arguments are values of types that are [`DeviceCopy`](trait@crate::memory::DeviceCopy).
///
/// The macro is an expression of type [`CudaResult<()>`](crate::error::CudaResult). The launch may
/// return before the kernel has run.
///
/// # Safety
///
/// The macro needs an `unsafe` block. The arguments match the kernel's parameters in number, order
/// and size. The kernel accesses only memory that stays allocated until the kernel has ended, and
/// its accesses race with no others.
///
/// # Examples
///
/// ```no_run
/// use cust::prelude::*;
///
/// # fn main() -> Result<(), cust::error::CudaError> {
/// let _context = cust::quick_init()?;
/// let module = Module::from_file("kernels.ptx")?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let numbers = [1.0f32; 1000].as_dbuf()?;
/// let scale = module.get_function("scale")?;
/// let (address, len) = (numbers.as_device_ptr(), numbers.len());
/// // SAFETY: the kernel takes an address, a length and a factor, and stays within the numbers.
/// unsafe {
///     launch!(scale<<<4, 256, 0, stream>>>(address, len, 2.5f32))?;
///     launch!(module.scale<<<(2, 2), (16, 16), 0, stream>>>(address, len, 2.5f32))?;
/// }
/// stream.synchronize()
/// # }
/// ```
#[macro_export]
macro_rules! launch {
    ($module:ident . $function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>($($arg:expr),* $(,)?)) => {
        match $module.get_function(::core::stringify!($function)) {
            ::core::result::Result::Ok(function) => {
                $crate::launch!(function<<<$grid, $block, $shared, $stream>>>($($arg),*))
            }
            ::core::result::Result::Err(error) => ::core::result::Result::Err(error),
        }
    };
    ($function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>($($arg:expr),* $(,)?)) => {
        $stream.launch(&$function, $grid, $block, $shared, &[$($crate::function::argument(&$arg)),*])
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counted_without_overflow() {
        assert_eq!(BlockSize::xyz(8, 4, 2).count(), Ok(64));
        assert_eq!(BlockSize::from(0).count(), Ok(0));
        assert_eq!(GridSize::xy(1 << 16, 1 << 15).count(), Err(CudaError::InvalidValue));
        assert_eq!(
            GridSize::xyz(u32::MAX, u32::MAX, u32::MAX).count(),
            Err(CudaError::InvalidValue)
        );
    }
}
