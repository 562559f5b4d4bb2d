//! The types and constants of cuda.h, with their names there.
//!
//! The enums of C are plain numbers here, because a driver may know values that this crate does not
//! know.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

/// Declares handles. Each handle points to a structure that only the driver knows.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident = $target:ident;)*) => {
        $(
            #[doc = concat!(
                "The structure that [`", stringify!($name),
                "`] points to. Only the driver knows its fields."
            )]
            #[repr(C)]
            #[derive(Debug)]
            pub struct $target {
                opaque: [u8; 0],
            }

            $(#[$doc])*
            pub type $name = *mut $target;
        )*
    };
}

handles! {
    /// A context: the state that a process has on a device.
    CUcontext = CUctx_st;
    /// A loaded module.
    CUmodule = CUmod_st;
    /// A kernel of a module.
    CUfunction = CUfunc_st;
    /// A stream; null is the legacy default stream.
    CUstream = CUstream_st;
    /// An event.
    CUevent = CUevent_st;
    /// A graph.
    CUgraph = CUgraph_st;
    /// A node of a graph.
    CUgraphNode = CUgraphNode_st;
    /// A graph that can be launched.
    CUgraphExec = CUgraphExec_st;
    /// An array in the memory of a device.
    CUarray = CUarray_st;
}

/// Declares the types of numbers that cuda.h declares as enums.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            pub type $name = c_uint;
        )*
    };
}

numbers! {
    /// The result of a call: 0, or the code of an error.
    CUresult;
    /// An attribute of a device.
    CUdevice_attribute;
    /// An ability that two devices may have for each other's memory.
    CUdevice_P2PAttribute;
    /// A preference for the division of memory between shared memory and the L1 cache.
    CUfunc_cache;
    /// An attribute of a kernel.
    CUfunction_attribute;
    /// The result of an update of a graph.
    CUgraphExecUpdateResult;
    /// The kind of a node of a graph.
    CUgraphNodeType;
    /// An option of the compilation of a module that is being loaded.
    CUjit_option;
    /// An architecture for which code is compiled.
    CUjit_target;
    /// The identifier of an attribute of a launch.
    CUlaunchAttributeID;
    /// A limit of a context.
    CUlimit;
    /// The kind of memory, such as memory of the host or of a device.
    CUmemorytype;
    /// A question about an address.
    CUpointer_attribute;
    /// The width of the banks of shared memory.
    CUsharedconfig;
    /// A mode of capture. It says which calls of other threads end the capture of a stream.
    CUstreamCaptureMode;
    /// Whether a stream captures.
    CUstreamCaptureStatus;
}

/// A device, by the number that [`cuDeviceGet`](crate::Driver::cuDeviceGet) gives.
pub type CUdevice = c_int;

/// An address in the memory of a device.
pub type CUdeviceptr = c_ulonglong;

/// A function that a stream calls when the work before it has ended. `status` is the result of that
/// work.
pub type CUstreamCallback =
    Option<unsafe extern "system" fn(stream: CUstream, status: CUresult, user_data: *mut c_void)>;

/// A function that a stream calls when the work before it has ended, unless that work failed.
pub type CUhostFn = Option<unsafe extern "system" fn(user_data: *mut c_void)>;

/// A function that returns how much dynamic shared memory, in bytes, a block of `block_size`
/// threads needs.
pub type CUoccupancyB2DSize = Option<unsafe extern "system" fn(block_size: c_int) -> usize>;

/// The identity of a device. It is the same in every process and after every start of the machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CUuuid {
    /// The 16 bytes, in the order in which they are written.
    pub bytes: [c_char; 16],
}

/// A handle by which another process opens memory of a device.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CUipcMemHandle {
    /// Bytes that only the driver understands.
    pub reserved: [c_char; 64],
}

/// How many blocks a cluster has along each axis.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CUlaunchAttributeClusterDim {
    /// The number along x.
    pub x: c_uint,
    /// The number along y.
    pub y: c_uint,
    /// The number along z.
    pub z: c_uint,
}

/// The value of an attribute of a launch. The [identifier](CUlaunchAttribute::id) says which of the
/// fields is used.
#[repr(C)]
#[derive(Clone, Copy)]
pub union CUlaunchAttributeValue {
    /// All bytes of the value.
    pub pad: [c_char; 64],
    /// For [`CU_LAUNCH_ATTRIBUTE_COOPERATIVE`]: not 0 if all blocks of the grid must run at once.
    pub cooperative: c_int,
    /// For [`CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`]: the number of blocks of a cluster.
    pub clusterDim: CUlaunchAttributeClusterDim,
    /// For [`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`]: not 0 if the grid may start
    /// before the previous grid of the stream has ended.
    pub programmaticStreamSerializationAllowed: c_int,
    /// For [`CU_LAUNCH_ATTRIBUTE_PRIORITY`]: the priority of the launch.
    pub priority: c_int,
    // The union in cuda.h contains pointers. This field gives the union their alignment.
    event: CUevent,
}

impl std::fmt::Debug for CUlaunchAttributeValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CUlaunchAttributeValue").finish_non_exhaustive()
    }
}

/// An attribute of a launch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchAttribute {
    /// The identifier of the attribute.
    pub id: CUlaunchAttributeID,
    pad: c_uint,
    /// The value of the attribute.
    pub value: CUlaunchAttributeValue,
}

impl CUlaunchAttribute {
    /// An attribute that has no effect.
    ///
    /// ```
    /// use cuda_driver::{CU_LAUNCH_ATTRIBUTE_IGNORE, CUlaunchAttribute};
    ///
    /// assert_eq!(CUlaunchAttribute::ignored().id, CU_LAUNCH_ATTRIBUTE_IGNORE);
    /// ```
    pub const fn ignored() -> Self {
        Self::new(CU_LAUNCH_ATTRIBUTE_IGNORE, CUlaunchAttributeValue { pad: [0; 64] })
    }

    /// An attribute that says whether all blocks of the grid must run at once.
    pub const fn cooperative(wanted: bool) -> Self {
        Self::new(
            CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
            CUlaunchAttributeValue { cooperative: wanted as c_int },
        )
    }

    /// An attribute that says how many blocks a cluster has along each axis.
    pub const fn cluster_dimension(x: u32, y: u32, z: u32) -> Self {
        let clusterDim = CUlaunchAttributeClusterDim { x, y, z };
        Self::new(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CUlaunchAttributeValue { clusterDim })
    }

    /// An attribute that says whether the grid may start before the previous grid of the stream has
    /// ended.
    pub const fn programmatic_stream_serialization(allowed: bool) -> Self {
        Self::new(
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            CUlaunchAttributeValue { programmaticStreamSerializationAllowed: allowed as c_int },
        )
    }

    const fn new(id: CUlaunchAttributeID, value: CUlaunchAttributeValue) -> Self {
        Self { id, pad: 0, value }
    }
}

/// The shape of a launch, and its stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchConfig {
    /// The number of blocks along x.
    pub gridDimX: c_uint,
    /// The number of blocks along y.
    pub gridDimY: c_uint,
    /// The number of blocks along z.
    pub gridDimZ: c_uint,
    /// The number of threads of a block along x.
    pub blockDimX: c_uint,
    /// The number of threads of a block along y.
    pub blockDimY: c_uint,
    /// The number of threads of a block along z.
    pub blockDimZ: c_uint,
    /// The dynamic shared memory of a block, in bytes.
    pub sharedMemBytes: c_uint,
    /// The stream.
    pub hStream: CUstream,
    /// The attributes. The pointer may be null if there are none.
    pub attrs: *mut CUlaunchAttribute,
    /// How many attributes there are.
    pub numAttrs: c_uint,
}

/// A launch that a graph has as a node, in the first version of this structure.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_KERNEL_NODE_PARAMS_v1 {
    /// The kernel.
    pub func: CUfunction,
    /// The number of blocks along x.
    pub gridDimX: c_uint,
    /// The number of blocks along y.
    pub gridDimY: c_uint,
    /// The number of blocks along z.
    pub gridDimZ: c_uint,
    /// The threads of a block along x.
    pub blockDimX: c_uint,
    /// The threads of a block along y.
    pub blockDimY: c_uint,
    /// The threads of a block along z.
    pub blockDimZ: c_uint,
    /// The dynamic shared memory of a block, in bytes.
    pub sharedMemBytes: c_uint,
    /// The addresses of the arguments.
    pub kernelParams: *mut *mut c_void,
    /// The arguments in another form. The pointer is null if there are none.
    pub extra: *mut *mut c_void,
}

/// A copy of a rectangle.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_MEMCPY2D {
    /// The first byte of a row of the source.
    pub srcXInBytes: usize,
    /// The first row of the source.
    pub srcY: usize,
    /// The kind of memory that holds the source.
    pub srcMemoryType: CUmemorytype,
    /// The source, if it is on the host.
    pub srcHost: *const c_void,
    /// The source, if it is on a device.
    pub srcDevice: CUdeviceptr,
    /// The source, if it is an array.
    pub srcArray: CUarray,
    /// The distance from one row of the source to the next, in bytes.
    pub srcPitch: usize,
    /// The first byte of a row of the destination.
    pub dstXInBytes: usize,
    /// The first row of the destination.
    pub dstY: usize,
    /// The kind of memory that holds the destination.
    pub dstMemoryType: CUmemorytype,
    /// The destination, if it is on the host.
    pub dstHost: *mut c_void,
    /// The destination, if it is on a device.
    pub dstDevice: CUdeviceptr,
    /// The destination, if it is an array.
    pub dstArray: CUarray,
    /// The distance from one row of the destination to the next, in bytes.
    pub dstPitch: usize,
    /// How many bytes of each row are copied.
    pub WidthInBytes: usize,
    /// How many rows are copied.
    pub Height: usize,
}

/// The result that [`cuGraphExecUpdate_v2`](crate::Driver::cuGraphExecUpdate_v2) writes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUgraphExecUpdateResultInfo {
    /// The outcome of the update: success, or the reason for which it was not possible.
    pub result: CUgraphExecUpdateResult,
    /// The node that could not be updated, or null.
    pub errorNode: CUgraphNode,
    /// The node at which the edge to that node begins, if the edge is the cause of the error.
    pub errorFromNode: CUgraphNode,
}

// The layouts on 64-bit hosts; CUDA supports no other hosts. The test `layouts_are_those_of_cuda_h`
// compares each field with a cuda.h, if there is one.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<CUuuid>() == 16 && align_of::<CUuuid>() == 1);
    assert!(size_of::<CUipcMemHandle>() == 64 && align_of::<CUipcMemHandle>() == 1);
    assert!(
        size_of::<CUlaunchAttributeClusterDim>() == 12
            && align_of::<CUlaunchAttributeClusterDim>() == 4
    );
    assert!(size_of::<CUlaunchAttributeValue>() == 64 && align_of::<CUlaunchAttributeValue>() == 8);
    assert!(size_of::<CUlaunchAttribute>() == 72 && align_of::<CUlaunchAttribute>() == 8);
    assert!(size_of::<CUlaunchConfig>() == 56 && align_of::<CUlaunchConfig>() == 8);
    assert!(
        size_of::<CUDA_KERNEL_NODE_PARAMS_v1>() == 56
            && align_of::<CUDA_KERNEL_NODE_PARAMS_v1>() == 8
    );
    assert!(size_of::<CUDA_MEMCPY2D>() == 128 && align_of::<CUDA_MEMCPY2D>() == 8);
    assert!(
        size_of::<CUgraphExecUpdateResultInfo>() == 24
            && align_of::<CUgraphExecUpdateResultInfo>() == 8
    );
};

/// Declares constants of cuda.h. The test `constants_are_those_of_cuda_h` compares them with a
/// cuda.h, if there is one.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        $(
            $(#[$doc])*
            pub const $name: $type = $value;
        )*

        #[cfg(test)]
        pub(crate) const CONSTANTS: &[(&str, c_uint)] = &[$((stringify!($name), $name)),*];
    };
}

constants! {
    /// No error.
    CUDA_SUCCESS: CUresult = 0;
    /// There is not enough memory.
    CUDA_ERROR_OUT_OF_MEMORY: CUresult = 2;
    /// The call needs a newer driver than this one.
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER: CUresult = 36;
    /// There is no device.
    CUDA_ERROR_NO_DEVICE: CUresult = 100;
    /// A symbol was not found in a shared library.
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND: CUresult = 302;
    /// A symbol or object of the given name was not found.
    CUDA_ERROR_NOT_FOUND: CUresult = 500;
    /// The operation has not ended yet.
    CUDA_ERROR_NOT_READY: CUresult = 600;

    /// The attribute has no effect.
    CU_LAUNCH_ATTRIBUTE_IGNORE: CUlaunchAttributeID = 0;
    /// All blocks of the grid must run at once.
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE: CUlaunchAttributeID = 2;
    /// The number of blocks of a cluster along each axis.
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: CUlaunchAttributeID = 4;
    /// The grid may start before the previous grid of the stream has ended.
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: CUlaunchAttributeID = 6;
    /// The priority of the launch.
    CU_LAUNCH_ATTRIBUTE_PRIORITY: CUlaunchAttributeID = 8;

    /// The greatest size of shared memory that a block may have if the kernel opts in, in bytes.
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: CUdevice_attribute = 97;
    /// The greatest size of dynamic shared memory that a block of this kernel may have, in bytes.
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: CUfunction_attribute = 8;

    /// The greatest number of registers of a thread.
    CU_JIT_MAX_REGISTERS: CUjit_option = 0;
    /// The buffer for the error messages of the compiler.
    CU_JIT_ERROR_LOG_BUFFER: CUjit_option = 5;
    /// The size of that buffer in bytes.
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: CUjit_option = 6;
    /// The level of optimisation, from 0 to 4.
    CU_JIT_OPTIMIZATION_LEVEL: CUjit_option = 7;
    /// The code is compiled for the device of the current context.
    CU_JIT_TARGET_FROM_CUCONTEXT: CUjit_option = 8;
    /// The architecture for which the code is compiled.
    CU_JIT_TARGET: CUjit_option = 9;
    /// The kind of code that is used if no machine code fits the device.
    CU_JIT_FALLBACK_STRATEGY: CUjit_option = 10;
    /// Whether the compiler generates debug information.
    CU_JIT_GENERATE_DEBUG_INFO: CUjit_option = 11;
    /// Whether the compiler generates line tables.
    CU_JIT_GENERATE_LINE_INFO: CUjit_option = 13;

    /// The memory is on the host.
    CU_MEMORYTYPE_HOST: CUmemorytype = 1;
    /// The memory is on a device.
    CU_MEMORYTYPE_DEVICE: CUmemorytype = 2;

    /// The context to which an address belongs.
    CU_POINTER_ATTRIBUTE_CONTEXT: CUpointer_attribute = 1;
    /// The ordinal of the device to which an address belongs.
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: CUpointer_attribute = 9;

    /// The stream waits for the legacy default stream, and the legacy default stream waits for it.
    CU_STREAM_DEFAULT: c_uint = 0;
    /// The stream and the legacy default stream do not wait for each other.
    CU_STREAM_NON_BLOCKING: c_uint = 1;
    /// Unsafe calls of any thread end the capture.
    CU_STREAM_CAPTURE_MODE_GLOBAL: CUstreamCaptureMode = 0;
    /// Unsafe calls of the capturing thread end the capture.
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: CUstreamCaptureMode = 1;
    /// No unsafe call ends the capture.
    CU_STREAM_CAPTURE_MODE_RELAXED: CUstreamCaptureMode = 2;
    /// The stream does not capture.
    CU_STREAM_CAPTURE_STATUS_NONE: CUstreamCaptureStatus = 0;
    /// The stream captures.
    CU_STREAM_CAPTURE_STATUS_ACTIVE: CUstreamCaptureStatus = 1;

    /// Access from the current device to the device of the memory is enabled when it is needed.
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS: c_uint = 1;
    /// Every stream of every device may use the memory.
    CU_MEM_ATTACH_GLOBAL: c_uint = 1;
    /// All details of a graph are written.
    CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE: c_uint = 1;
}
