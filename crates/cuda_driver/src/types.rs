//! The types and constants of cuda.h, by their names there.
//!
//! Enums of C are plain numbers here, because a driver may know values that this crate does not.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

/// Each handle points to something that only the driver knows.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident = $target:ident;)*) => {
        $(
            #[doc = concat!("What [`", stringify!($name), "`] points to: known to the driver alone.")]
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
    /// A context: what a process has of a device.
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

/// Numbers that cuda.h declares as enums.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            pub type $name = c_uint;
        )*
    };
}

numbers! {
    /// What a call returns: 0, or the code of an error.
    CUresult;
    /// An attribute of a device.
    CUdevice_attribute;
    /// What two devices can do with each other's memory.
    CUdevice_P2PAttribute;
    /// How shared memory and the L1 cache divide their memory.
    CUfunc_cache;
    /// An attribute of a kernel.
    CUfunction_attribute;
    /// What an update of a graph met.
    CUgraphExecUpdateResult;
    /// What a node of a graph does.
    CUgraphNodeType;
    /// How a module that is being loaded is compiled.
    CUjit_option;
    /// An architecture to compile for.
    CUjit_target;
    /// Which attribute of a launch it is.
    CUlaunchAttributeID;
    /// A limit of a context.
    CUlimit;
    /// Where memory is.
    CUmemorytype;
    /// A question about an address.
    CUpointer_attribute;
    /// How wide the banks of shared memory are.
    CUsharedconfig;
    /// Which calls of other threads end the capture of a stream.
    CUstreamCaptureMode;
    /// Whether a stream captures.
    CUstreamCaptureStatus;
}

/// A device, as [`cuDeviceGet`](crate::Driver::cuDeviceGet) numbers it.
pub type CUdevice = c_int;

/// An address in the memory of a device.
pub type CUdeviceptr = c_ulonglong;

/// What a stream calls when it comes to it; the result is that of the work before it.
pub type CUstreamCallback =
    Option<unsafe extern "system" fn(stream: CUstream, status: CUresult, user_data: *mut c_void)>;

/// What a stream calls when it comes to it, unless the work before it failed.
pub type CUhostFn = Option<unsafe extern "system" fn(user_data: *mut c_void)>;

/// How much dynamic shared memory a block of so many threads needs, in bytes.
pub type CUoccupancyB2DSize = Option<unsafe extern "system" fn(block_size: c_int) -> usize>;

/// The identity of a device, which it keeps in every process and on every start.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CUuuid {
    /// 16 bytes, in the order in which they are written.
    pub bytes: [c_char; 16],
}

/// Blocks of a cluster along each axis.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CUlaunchAttributeClusterDim {
    /// Along x.
    pub x: c_uint,
    /// Along y.
    pub y: c_uint,
    /// Along z.
    pub z: c_uint,
}

/// The value of an attribute of a launch: one of the fields, which the
/// [identifier](CUlaunchAttribute::id) chooses.
#[repr(C)]
#[derive(Clone, Copy)]
pub union CUlaunchAttributeValue {
    /// All of it.
    pub pad: [c_char; 64],
    /// For [`CU_LAUNCH_ATTRIBUTE_COOPERATIVE`]: not 0 for a grid all of whose blocks run at once.
    pub cooperative: c_int,
    /// For [`CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`].
    pub clusterDim: CUlaunchAttributeClusterDim,
    /// For [`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`]: not 0 for a grid that may
    /// start before the one before it in the stream has ended.
    pub programmaticStreamSerializationAllowed: c_int,
    /// For [`CU_LAUNCH_ATTRIBUTE_PRIORITY`].
    pub priority: c_int,
    // The union of cuda.h has pointers, hence their alignment.
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
    /// Which one.
    pub id: CUlaunchAttributeID,
    pad: c_uint,
    /// Its value.
    pub value: CUlaunchAttributeValue,
}

impl CUlaunchAttribute {
    /// An attribute that changes nothing.
    ///
    /// ```
    /// use cuda_driver::{CU_LAUNCH_ATTRIBUTE_IGNORE, CUlaunchAttribute};
    ///
    /// assert_eq!(CUlaunchAttribute::ignored().id, CU_LAUNCH_ATTRIBUTE_IGNORE);
    /// ```
    pub const fn ignored() -> Self {
        Self::new(CU_LAUNCH_ATTRIBUTE_IGNORE, CUlaunchAttributeValue { pad: [0; 64] })
    }

    /// Whether all blocks of the grid must run at once.
    pub const fn cooperative(wanted: bool) -> Self {
        Self::new(
            CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
            CUlaunchAttributeValue { cooperative: wanted as c_int },
        )
    }

    /// How many blocks a cluster has along each axis.
    pub const fn cluster_dimension(x: u32, y: u32, z: u32) -> Self {
        let clusterDim = CUlaunchAttributeClusterDim { x, y, z };
        Self::new(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CUlaunchAttributeValue { clusterDim })
    }

    /// Whether the grid may start before the one before it in the stream has ended.
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

/// The shape of a launch and where it goes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUlaunchConfig {
    /// Blocks along x.
    pub gridDimX: c_uint,
    /// Blocks along y.
    pub gridDimY: c_uint,
    /// Blocks along z.
    pub gridDimZ: c_uint,
    /// Threads of a block along x.
    pub blockDimX: c_uint,
    /// Threads of a block along y.
    pub blockDimY: c_uint,
    /// Threads of a block along z.
    pub blockDimZ: c_uint,
    /// Dynamic shared memory of a block, in bytes.
    pub sharedMemBytes: c_uint,
    /// The stream.
    pub hStream: CUstream,
    /// The attributes; may be null if there are none.
    pub attrs: *mut CUlaunchAttribute,
    /// How many attributes there are.
    pub numAttrs: c_uint,
}

/// A copy of a rectangle.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_MEMCPY2D {
    /// The first byte of a row of the source.
    pub srcXInBytes: usize,
    /// The first row of the source.
    pub srcY: usize,
    /// Where the source is.
    pub srcMemoryType: CUmemorytype,
    /// The source, if it is on the host.
    pub srcHost: *const c_void,
    /// The source, if it is on a device.
    pub srcDevice: CUdeviceptr,
    /// The source, if it is an array.
    pub srcArray: CUarray,
    /// Bytes from one row of the source to the next.
    pub srcPitch: usize,
    /// The first byte of a row of the destination.
    pub dstXInBytes: usize,
    /// The first row of the destination.
    pub dstY: usize,
    /// Where the destination is.
    pub dstMemoryType: CUmemorytype,
    /// The destination, if it is on the host.
    pub dstHost: *mut c_void,
    /// The destination, if it is on a device.
    pub dstDevice: CUdeviceptr,
    /// The destination, if it is an array.
    pub dstArray: CUarray,
    /// Bytes from one row of the destination to the next.
    pub dstPitch: usize,
    /// Bytes of a row to copy.
    pub WidthInBytes: usize,
    /// Rows to copy.
    pub Height: usize,
}

/// What [`cuGraphExecUpdate_v2`](crate::Driver::cuGraphExecUpdate_v2) says.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUgraphExecUpdateResultInfo {
    /// Whether it was possible, and if not, why.
    pub result: CUgraphExecUpdateResult,
    /// The node that could not be updated, or null.
    pub errorNode: CUgraphNode,
    /// Where the edge to that node begins, if that edge is at fault.
    pub errorFromNode: CUgraphNode,
}

// On 64-bit hosts, and CUDA has no other. `layouts_are_those_of_cuda_h` compares each field with a
// cuda.h, where there is one.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<CUuuid>() == 16 && align_of::<CUuuid>() == 1);
    assert!(
        size_of::<CUlaunchAttributeClusterDim>() == 12
            && align_of::<CUlaunchAttributeClusterDim>() == 4
    );
    assert!(size_of::<CUlaunchAttributeValue>() == 64 && align_of::<CUlaunchAttributeValue>() == 8);
    assert!(size_of::<CUlaunchAttribute>() == 72 && align_of::<CUlaunchAttribute>() == 8);
    assert!(size_of::<CUlaunchConfig>() == 56 && align_of::<CUlaunchConfig>() == 8);
    assert!(size_of::<CUDA_MEMCPY2D>() == 128 && align_of::<CUDA_MEMCPY2D>() == 8);
    assert!(
        size_of::<CUgraphExecUpdateResultInfo>() == 24
            && align_of::<CUgraphExecUpdateResultInfo>() == 8
    );
};

/// Constants of cuda.h, which `constants_are_those_of_cuda_h` compares with a cuda.h, where there
/// is one.
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
    /// There is not so much memory.
    CUDA_ERROR_OUT_OF_MEMORY: CUresult = 2;
    /// This driver is older than what was asked of it.
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER: CUresult = 36;
    /// There is no device.
    CUDA_ERROR_NO_DEVICE: CUresult = 100;
    /// A function of a library is not there.
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND: CUresult = 302;
    /// What was asked for by name is not there.
    CUDA_ERROR_NOT_FOUND: CUresult = 500;
    /// It is not done yet.
    CUDA_ERROR_NOT_READY: CUresult = 600;

    /// An attribute that changes nothing.
    CU_LAUNCH_ATTRIBUTE_IGNORE: CUlaunchAttributeID = 0;
    /// All blocks of the grid run at once.
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE: CUlaunchAttributeID = 2;
    /// Blocks of a cluster.
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: CUlaunchAttributeID = 4;
    /// The grid may start before the one before it has ended.
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: CUlaunchAttributeID = 6;
    /// The priority of the launch.
    CU_LAUNCH_ATTRIBUTE_PRIORITY: CUlaunchAttributeID = 8;

    /// The most shared memory that a block may ask for, in bytes.
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: CUdevice_attribute = 97;
    /// The most dynamic shared memory that a block of this kernel may have, in bytes.
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: CUfunction_attribute = 8;

    /// The most registers of a thread.
    CU_JIT_MAX_REGISTERS: CUjit_option = 0;
    /// Where the compiler's errors go.
    CU_JIT_ERROR_LOG_BUFFER: CUjit_option = 5;
    /// How long that buffer is, in bytes.
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: CUjit_option = 6;
    /// How much the compiler optimises, from 0 to 4.
    CU_JIT_OPTIMIZATION_LEVEL: CUjit_option = 7;
    /// Compile for the device of the current context.
    CU_JIT_TARGET_FROM_CUCONTEXT: CUjit_option = 8;
    /// Compile for this architecture.
    CU_JIT_TARGET: CUjit_option = 9;
    /// What to take where no machine code fits.
    CU_JIT_FALLBACK_STRATEGY: CUjit_option = 10;
    /// Whether debug information is made.
    CU_JIT_GENERATE_DEBUG_INFO: CUjit_option = 11;
    /// Whether line tables are made.
    CU_JIT_GENERATE_LINE_INFO: CUjit_option = 13;

    /// Memory of the host.
    CU_MEMORYTYPE_HOST: CUmemorytype = 1;
    /// Memory of a device.
    CU_MEMORYTYPE_DEVICE: CUmemorytype = 2;

    /// The context that an address belongs to.
    CU_POINTER_ATTRIBUTE_CONTEXT: CUpointer_attribute = 1;
    /// The ordinal of the device that an address belongs to.
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: CUpointer_attribute = 9;

    /// A stream that waits for the legacy default stream, and is waited for by it.
    CU_STREAM_DEFAULT: c_uint = 0;
    /// A stream that has nothing to do with the legacy default stream.
    CU_STREAM_NON_BLOCKING: c_uint = 1;
    /// Unsafe calls of any thread end the capture.
    CU_STREAM_CAPTURE_MODE_GLOBAL: CUstreamCaptureMode = 0;
    /// Unsafe calls of this thread end the capture.
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: CUstreamCaptureMode = 1;
    /// No call of another kind ends the capture.
    CU_STREAM_CAPTURE_MODE_RELAXED: CUstreamCaptureMode = 2;
    /// A stream that does not capture.
    CU_STREAM_CAPTURE_STATUS_NONE: CUstreamCaptureStatus = 0;

    /// Memory that every stream of every device may use.
    CU_MEM_ATTACH_GLOBAL: c_uint = 1;
    /// Everything about a graph is written.
    CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE: c_uint = 1;
}
