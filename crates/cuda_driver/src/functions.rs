//! The driver's functions, each with its signature in cuda.h. All other code is generated from this
//! one table.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

#[allow(clippy::wildcard_imports, reason = "the table names almost all of them")]
use crate::types::*;
use crate::{DriverError, Version};

/// Passes the table of functions to a macro. Every function returns a [`CUresult`].
///
/// A driver must have all functions of the first group, or it is refused. Every driver that is not
/// [too old](crate::OLDEST) has them. A driver may lack any function of the second group, because
/// NVIDIA has replaced or deprecated it, or because a stand-in for the driver can do without it.
macro_rules! functions {
    ($callback:ident) => {
        $callback! {
            required {
                // The first calls, and errors.
                fn cuInit(flags: c_uint);
                fn cuDriverGetVersion(version: *mut c_int);
                fn cuGetErrorName(code: CUresult, text: *mut *const c_char);
                fn cuGetErrorString(code: CUresult, text: *mut *const c_char);

                // Devices and contexts.
                fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
                fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
                fn cuDeviceGetCount(count: *mut c_int);
                fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice);
                fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
                fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
                fn cuDevicePrimaryCtxRelease_v2(device: CUdevice);
                fn cuCtxGetCurrent(context: *mut CUcontext);
                fn cuCtxSetCurrent(context: CUcontext);

                // Modules and kernels.
                fn cuModuleLoadDataEx(
                    module: *mut CUmodule,
                    image: *const c_void,
                    option_count: c_uint,
                    options: *mut CUjit_option,
                    values: *mut *mut c_void,
                );
                fn cuModuleUnload(module: CUmodule);
                fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
                fn cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
                fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
                fn cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize);
                fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    blocks: *mut c_int,
                    function: CUfunction,
                    block_size: c_int,
                    dynamic_shared_bytes: usize,
                );
                fn cuLaunchKernel(
                    function: CUfunction,
                    grid_x: c_uint,
                    grid_y: c_uint,
                    grid_z: c_uint,
                    block_x: c_uint,
                    block_y: c_uint,
                    block_z: c_uint,
                    shared_bytes: c_uint,
                    stream: CUstream,
                    parameters: *mut *mut c_void,
                    extra: *mut *mut c_void,
                );

                // Memory.
                fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
                fn cuMemFree_v2(address: CUdeviceptr);
                fn cuMemAllocHost_v2(memory: *mut *mut c_void, bytes: usize);
                fn cuMemFreeHost(memory: *mut c_void);
                fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
                fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize);
                fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize);
                fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
                fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
                fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
                fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
                fn cuMemsetD8_v2(address: CUdeviceptr, value: u8, count: usize);
                fn cuMemsetD8Async(address: CUdeviceptr, value: u8, count: usize, stream: CUstream);
                fn cuPointerGetAttribute(value: *mut c_void, attribute: CUpointer_attribute, address: CUdeviceptr);

                // Streams and events.
                fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
                fn cuStreamDestroy_v2(stream: CUstream);
                fn cuStreamSynchronize(stream: CUstream);
                fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext);
                fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
                fn cuEventCreate(event: *mut CUevent, flags: c_uint);
                fn cuEventDestroy_v2(event: CUevent);
                fn cuEventRecord(event: CUevent, stream: CUstream);
                fn cuEventSynchronize(event: CUevent);
                fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
            }
            optional {
                // Devices.
                fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice);
                fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, device: CUdevice);
                fn cuDeviceGetByPCIBusId(device: *mut CUdevice, text: *const c_char);
                fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);
                fn cuDeviceGetP2PAttribute(
                    value: *mut c_int,
                    attribute: CUdevice_P2PAttribute,
                    device: CUdevice,
                    peer: CUdevice,
                );
                fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut c_uint, active: *mut c_int);
                fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint);
                fn cuDevicePrimaryCtxReset_v2(device: CUdevice);

                // Contexts.
                fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
                fn cuCtxDisablePeerAccess(peer: CUcontext);
                fn cuCtxGetApiVersion(context: CUcontext, version: *mut c_uint);
                fn cuCtxGetCacheConfig(config: *mut CUfunc_cache);
                fn cuCtxSetCacheConfig(config: CUfunc_cache);
                fn cuCtxGetDevice(device: *mut CUdevice);
                fn cuCtxGetFlags(flags: *mut c_uint);
                fn cuCtxGetLimit(value: *mut usize, limit: CUlimit);
                fn cuCtxSetLimit(limit: CUlimit, value: usize);
                fn cuCtxGetSharedMemConfig(config: *mut CUsharedconfig);
                fn cuCtxSetSharedMemConfig(config: CUsharedconfig);
                fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int);
                fn cuCtxPopCurrent_v2(context: *mut CUcontext);
                fn cuCtxPushCurrent_v2(context: CUcontext);
                fn cuCtxSynchronize();

                // Modules and kernels.
                fn cuModuleLoad(module: *mut CUmodule, path: *const c_char);
                fn cuModuleGetGlobal_v2(
                    address: *mut CUdeviceptr,
                    bytes: *mut usize,
                    module: CUmodule,
                    name: *const c_char,
                );
                fn cuFuncSetCacheConfig(function: CUfunction, config: CUfunc_cache);
                fn cuFuncSetSharedMemConfig(function: CUfunction, config: CUsharedconfig);
                fn cuOccupancyAvailableDynamicSMemPerBlock(
                    bytes: *mut usize,
                    function: CUfunction,
                    blocks: c_int,
                    block_size: c_int,
                );
                fn cuOccupancyMaxPotentialBlockSize(
                    least_grid_size: *mut c_int,
                    block_size: *mut c_int,
                    function: CUfunction,
                    dynamic_shared_bytes_of: CUoccupancyB2DSize,
                    dynamic_shared_bytes: usize,
                    block_size_limit: c_int,
                );
                fn cuOccupancyMaxActiveClusters(
                    clusters: *mut c_int,
                    function: CUfunction,
                    config: *const CUlaunchConfig,
                );
                fn cuLaunchKernelEx(
                    config: *const CUlaunchConfig,
                    function: CUfunction,
                    parameters: *mut *mut c_void,
                    extra: *mut *mut c_void,
                );
                fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, user_data: *mut c_void);

                // Memory.
                fn cuMemAllocAsync(address: *mut CUdeviceptr, bytes: usize, stream: CUstream);
                fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream);
                fn cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint);
                fn cuMemAllocPitch_v2(
                    address: *mut CUdeviceptr,
                    pitch: *mut usize,
                    width_bytes: usize,
                    height: usize,
                    element_bytes: c_uint,
                );
                fn cuMemGetAddressRange_v2(base: *mut CUdeviceptr, bytes: *mut usize, address: CUdeviceptr);
                fn cuMemHostAlloc(memory: *mut *mut c_void, bytes: usize, flags: c_uint);
                fn cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, memory: *mut c_void, flags: c_uint);
                fn cuMemHostRegister_v2(memory: *mut c_void, bytes: usize, flags: c_uint);
                fn cuMemHostUnregister(memory: *mut c_void);
                fn cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D);
                fn cuMemcpyPeer(
                    to: CUdeviceptr,
                    to_context: CUcontext,
                    from: CUdeviceptr,
                    from_context: CUcontext,
                    bytes: usize,
                );
                fn cuMemcpyPeerAsync(
                    to: CUdeviceptr,
                    to_context: CUcontext,
                    from: CUdeviceptr,
                    from_context: CUcontext,
                    bytes: usize,
                    stream: CUstream,
                );
                fn cuIpcGetMemHandle(handle: *mut CUipcMemHandle, address: CUdeviceptr);
                fn cuIpcOpenMemHandle_v2(address: *mut CUdeviceptr, handle: CUipcMemHandle, flags: c_uint);
                fn cuIpcCloseMemHandle(address: CUdeviceptr);
                fn cuMemsetD16_v2(address: CUdeviceptr, value: u16, count: usize);
                fn cuMemsetD16Async(address: CUdeviceptr, value: u16, count: usize, stream: CUstream);
                fn cuMemsetD32_v2(address: CUdeviceptr, value: c_uint, count: usize);
                fn cuMemsetD32Async(address: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);

                // Streams and events.
                fn cuStreamAddCallback(
                    stream: CUstream,
                    callback: CUstreamCallback,
                    user_data: *mut c_void,
                    flags: c_uint,
                );
                fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint);
                fn cuStreamGetPriority(stream: CUstream, priority: *mut c_int);
                fn cuStreamQuery(stream: CUstream);
                fn cuEventQuery(event: CUevent);

                // Graphs.
                fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode);
                fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph);
                fn cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode);
                fn cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus);
                fn cuStreamGetCaptureInfo_v2(
                    stream: CUstream,
                    status: *mut CUstreamCaptureStatus,
                    id: *mut u64,
                    graph: *mut CUgraph,
                    dependencies: *mut *const CUgraphNode,
                    count: *mut usize,
                );
                fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint);
                fn cuGraphDestroy(graph: CUgraph);
                fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize);
                fn cuGraphGetEdges(
                    graph: CUgraph,
                    from: *mut CUgraphNode,
                    to: *mut CUgraphNode,
                    count: *mut usize,
                );
                fn cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType);
                fn cuGraphKernelNodeGetParams(node: CUgraphNode, params: *mut CUDA_KERNEL_NODE_PARAMS_v1);
                fn cuGraphDebugDotPrint(graph: CUgraph, path: *const c_char, flags: c_uint);
                fn cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
                fn cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, info: *mut CUgraphExecUpdateResultInfo);
                fn cuGraphUpload(exec: CUgraphExec, stream: CUstream);
                fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream);
                fn cuGraphExecDestroy(exec: CUgraphExec);
            }
        }
    };
}
#[cfg(test)]
pub(crate) use functions;

macro_rules! define_driver {
    (
        required { $(fn $required:ident($($required_arg:ident: $required_type:ty),* $(,)?);)* }
        optional { $(fn $optional:ident($($optional_arg:ident: $optional_type:ty),* $(,)?);)* }
    ) => {
        /// A driver that is loaded and initialised, and that has a device. Its functions have their
        /// names in the library.
        ///
        /// A function that the library must have is a method. For a function that the library may
        /// lack, there is a method and also a field, which is `None` if the function is missing.
        /// The method then returns
        /// [`CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER`](crate::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER)
        /// and does nothing else.
        ///
        /// A call of a method is one indirect call. Code that calls often should keep its
        /// `&'static Driver`.
        ///
        /// ```no_run
        /// let driver = cuda_driver::load()?;
        /// let mut address = 0;
        /// // SAFETY: the pointer is to a live variable.
        /// let code = unsafe { driver.cuMemAlloc_v2(&raw mut address, 1 << 20) };
        /// if code != cuda_driver::CUDA_SUCCESS {
        ///     println!("no memory: {}", cuda_driver::error_text(code));
        /// }
        /// assert!(driver.cuLaunchKernelEx.is_some(), "drivers have it since CUDA 11.8");
        /// # Ok::<(), cuda_driver::DriverError>(())
        /// ```
        pub struct Driver {
            /// The name or path of the library, as it was given.
            pub library: String,
            /// The newest CUDA version that the driver supports.
            pub version: Version,
            /// The number of devices, at least 1.
            pub devices: u32,
            $($required: unsafe extern "system" fn($($required_type),*) -> CUresult,)*
            $(
                #[doc = concat!("`", stringify!($optional), "`, if this driver has it.")]
                pub $optional: Option<unsafe extern "system" fn($($optional_type),*) -> CUresult>,
            )*
        }

        impl Driver {
            /// Finds the functions of a library, which must stay loaded for the rest of the
            /// process. `get` looks one function up.
            ///
            /// # Safety
            ///
            /// Each function that `get` finds must have the signature of this name in cuda.h.
            pub(crate) unsafe fn new(
                library: &str,
                get: impl Fn(&std::ffi::CStr) -> Option<*mut c_void>,
            ) -> Result<Self, DriverError> {
                macro_rules! find {
                    ($name:ident) => {
                        get(const { crate::functions::as_c_str(concat!(stringify!($name), "\0")) })
                    };
                }
                let missing =
                    |symbol: &str| DriverError::SymbolMissing { library: library.to_owned(), symbol: symbol.to_owned() };
                Ok(Self {
                    library: library.to_owned(),
                    version: Version(0),
                    devices: 0,
                    $(
                        $required: {
                            let function = find!($required).ok_or_else(|| missing(stringify!($required)))?;
                            // SAFETY: the caller promises that this is a function of this
                            // signature.
                            unsafe {
                                std::mem::transmute::<
                                    *mut c_void,
                                    unsafe extern "system" fn($($required_type),*) -> CUresult,
                                >(function)
                            }
                        },
                    )*
                    $(
                        $optional: find!($optional).map(|function| {
                            // SAFETY: the caller promises that this is a function of this
                            // signature.
                            unsafe {
                                std::mem::transmute::<
                                    *mut c_void,
                                    unsafe extern "system" fn($($optional_type),*) -> CUresult,
                                >(function)
                            }
                        }),
                    )*
                })
            }

            $(
                #[doc = concat!("`", stringify!($required), "`.")]
                ///
                /// # Safety
                ///
                /// The caller must keep the rules of NVIDIA's documentation of the function.
                #[inline]
                #[allow(clippy::too_many_arguments, reason = "the signatures are cuda.h's")]
                pub unsafe fn $required(&self, $($required_arg: $required_type),*) -> CUresult {
                    // SAFETY: the caller keeps the function's rules, and the function has this
                    // signature.
                    unsafe { (self.$required)($($required_arg),*) }
                }
            )*

            $(
                #[doc = concat!("`", stringify!($optional), "`, where this driver has it.")]
                ///
                /// # Safety
                ///
                /// The caller must keep the rules of NVIDIA's documentation of the function.
                #[inline]
                pub unsafe fn $optional(&self, $($optional_arg: $optional_type),*) -> CUresult {
                    match self.$optional {
                        // SAFETY: the caller keeps the function's rules, and the function has this
                        // signature.
                        Some(function) => unsafe { function($($optional_arg),*) },
                        None => CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER,
                    }
                }
            )*
        }
    };
}
functions!(define_driver);

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { library, version, devices, .. } = self;
        f.debug_struct("Driver")
            .field("library", library)
            .field("version", version)
            .field("devices", devices)
            .finish_non_exhaustive()
    }
}

pub(crate) const fn as_c_str(name: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name with a NUL inside"),
    }
}
