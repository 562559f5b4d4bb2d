//! Launches of any shape and with any arguments on the first GPU, through `cust`.

use std::ffi::{c_uint, c_void};
use std::ptr;

use anyhow::Context as _;
use bench::plan::Case;
use cuda_driver::{CUlaunchAttribute, CUlaunchConfig, Driver};
use cust::context::{Context, CurrentContext};
use cust::device::Device;
use cust::error::{CudaError, CudaResult, ToResult as _};
use cust::function::Function;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use simt::args::ArgSpec;

pub(crate) struct Gpu {
    // Declared before the context, so that the stream is destroyed first.
    stream: Stream,
    _context: Context,
    driver: &'static Driver,
}

impl Gpu {
    pub(crate) fn open() -> anyhow::Result<Gpu> {
        let driver = cuda_driver::load()?;
        let context = Context::new(Device::get_device(0)?)?;
        CurrentContext::set_current(&context)?;
        Ok(Gpu { stream: Stream::new(StreamFlags::DEFAULT, None)?, _context: context, driver })
    }

    /// Launches the case and waits for its end. The inner result is an error if the kernel faults.
    pub(crate) fn launch(&self, case: &Case, ptx: &str) -> anyhow::Result<Result<(), String>> {
        let failed = |what| move || format!("case {}: {what}", case.name);
        let module = Module::from_ptx(ptx, &[]).with_context(failed("its PTX cannot be loaded"))?;
        let function =
            module.get_function(&case.entry).with_context(failed("there is no such kernel"))?;
        let mut buffers = Vec::new();
        let mut values = Vec::new();
        for arg in &case.args {
            values.push(match arg {
                ArgSpec::Value(arg) => arg.to_bytes(),
                ArgSpec::Buffer(buffer) => {
                    // SAFETY: the bytes are written below or meant to stay uninitialized, and every
                    // byte is a valid u8.
                    let mut memory =
                        unsafe { DeviceBuffer::<u8>::uninitialized(buffer.size() as usize) }
                            .with_context(failed("no memory for a buffer"))?;
                    if let Some(bytes) = buffer.initial()? {
                        memory
                            .copy_from(&bytes)
                            .with_context(failed("a buffer cannot be written"))?;
                    }
                    let address = memory.as_device_ptr().as_raw();
                    buffers.push(memory);
                    address.to_le_bytes().to_vec()
                }
            });
        }
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
        // SAFETY: there is a pointer for each argument of the plan, and the driver reads the
        // arguments before it returns. The arguments fit the kernel, because the plan is first run
        // on the simulator, which refuses arguments that do not fit. A faulty kernel can only
        // damage this process's memory on the GPU.
        let launched = unsafe { self.start(&function, case, &mut pointers) };
        let end = launched.and_then(|()| self.stream.synchronize());
        Ok(end.map_err(|error: CudaError| cuda_driver::error_text(error.as_raw()).to_string()))
    }

    /// Starts the case's kernel.
    ///
    /// # Safety
    ///
    /// `parameters` has a pointer to a value for each parameter of the kernel.
    unsafe fn start(
        &self,
        function: &Function<'_>,
        case: &Case,
        parameters: &mut [*mut c_void],
    ) -> CudaResult<()> {
        let Case { grid, block, shared, cluster, cooperative, .. } = *case;
        let shape = |dim: simt::Dim3| (dim.x, dim.y, dim.z);
        if cluster == 1 && !cooperative {
            // SAFETY: the caller's promise.
            return unsafe {
                self.stream.launch(function, shape(grid), shape(block), shared, parameters)
            };
        }
        let mut attributes = [
            CUlaunchAttribute::cooperative(cooperative),
            if cluster > 1 {
                CUlaunchAttribute::cluster_dimension(cluster, 1, 1)
            } else {
                CUlaunchAttribute::ignored()
            },
        ];
        let config = CUlaunchConfig {
            gridDimX: grid.x,
            gridDimY: grid.y,
            gridDimZ: grid.z,
            blockDimX: block.x,
            blockDimY: block.y,
            blockDimZ: block.z,
            sharedMemBytes: shared,
            hStream: self.stream.as_inner(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as c_uint,
        };
        // SAFETY: the caller's promise; the configuration and its attributes outlive the call.
        unsafe {
            self.driver.cuLaunchKernelEx(
                &raw const config,
                function.to_raw(),
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        }
        .to_result()
    }
}
