//! The table of the driver's functions, and one trampoline for each.
//!
//! `cust` is linked against symbols such as `cuInit`. They are defined here: each jumps through its entry of [`TABLE`],
//! with all arguments still in their registers and on the stack, so that no signature is repeated. Entries that no
//! library has filled return [`NO_DEVICE`].

use std::{
    ffi::{CStr, c_char, c_uint},
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Release},
    },
};

/// `CUDA_ERROR_NO_DEVICE`.
pub(crate) const NO_DEVICE: u32 = 100;

/// What a function returns that no library has filled. In the C calling conventions of x86-64 and AArch64 the caller
/// removes the arguments, so a function without any may stand in for all.
extern "C" fn unfilled() -> c_uint {
    NO_DEVICE
}

/// `cuGetErrorName` and `cuGetErrorString` before a library is loaded. `cust` reads the text without looking at it
/// first, so there must be one.
unsafe extern "C" fn unfilled_text(_code: c_uint, text: *mut *const c_char) -> c_uint {
    // SAFETY: the driver's contract for these two functions: `text` points to a writable pointer.
    unsafe { *text = c"the CUDA driver is not loaded".as_ptr() };
    0
}

macro_rules! trampolines {
    (required { $($required:ident,)* } optional { $($optional:ident,)* }) => {
        /// The position of each function in [`TABLE`].
        #[allow(non_camel_case_types, clippy::enum_variant_names)]
        #[derive(Clone, Copy)]
        enum Position {
            $($required,)*
            $($optional,)*
        }

        /// Functions without which this workspace cannot work.
        pub(crate) const REQUIRED: &[&str] = &[$(stringify!($required)),*];

        /// All names, in the order of [`TABLE`].
        const NAMES: &[&CStr] = &[
            $(as_c_str(concat!(stringify!($required), "\0")),)*
            $(as_c_str(concat!(stringify!($optional), "\0")),)*
        ];

        static TABLE: [AtomicPtr<()>; NAMES.len()] = {
            let mut table = [const { AtomicPtr::new(unfilled as *mut ()) }; NAMES.len()];
            table[Position::cuGetErrorName as usize] = AtomicPtr::new(unfilled_text as *mut ());
            table[Position::cuGetErrorString as usize] = AtomicPtr::new(unfilled_text as *mut ());
            table
        };

        $(trampoline!($required);)*
        $(trampoline!($optional);)*
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! trampoline {
    ($name:ident) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                "jmp qword ptr [rip + {table} + {offset}]",
                table = sym TABLE,
                offset = const Position::$name as usize * size_of::<usize>(),
            )
        }
    };
}

// Written by the book (AAPCS64: x16 is free between a call and its target) and never run.
#[cfg(target_arch = "aarch64")]
macro_rules! trampoline {
    ($name:ident) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                "adrp x16, {table} + {offset}",
                "ldr x16, [x16, :lo12:{table} + {offset}]",
                "br x16",
                table = sym TABLE,
                offset = const Position::$name as usize * size_of::<usize>(),
            )
        }
    };
}

const fn as_c_str(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a name with a NUL inside"),
    }
}

// All that cust 0.3.2 names (`nm -u` on its rlib shows only those that are not generic), and what we add.
trampolines! {
    required {
        cuCtxGetCurrent,
        cuCtxSetCurrent,
        cuDeviceGet,
        cuDeviceGetAttribute,
        cuDeviceGetCount,
        cuDeviceGetName,
        cuDevicePrimaryCtxRelease_v2,
        cuDevicePrimaryCtxRetain,
        cuDeviceTotalMem_v2,
        cuDriverGetVersion,
        cuEventCreate,
        cuEventDestroy_v2,
        cuEventElapsedTime,
        cuEventRecord,
        cuEventSynchronize,
        cuFuncGetParamInfo,
        cuGetErrorName,
        cuGetErrorString,
        cuInit,
        cuLaunchKernel,
        cuMemAlloc_v2,
        cuMemFree_v2,
        cuMemGetInfo_v2,
        cuMemcpyDtoD_v2,
        cuMemcpyDtoH_v2,
        cuMemcpyHtoD_v2,
        cuMemsetD8_v2,
        cuModuleGetFunction,
        cuModuleLoadDataEx,
        cuModuleUnload,
        cuStreamCreateWithPriority,
        cuStreamDestroy_v2,
        cuStreamSynchronize,
    }
    optional {
        cuArray3DCreate_v2,
        cuArray3DGetDescriptor_v2,
        cuArrayDestroy,
        cuCtxCreate_v2,
        cuCtxDestroy_v2,
        cuCtxGetApiVersion,
        cuCtxGetCacheConfig,
        cuCtxGetDevice,
        cuCtxGetFlags,
        cuCtxGetLimit,
        cuCtxGetSharedMemConfig,
        cuCtxGetStreamPriorityRange,
        cuCtxPopCurrent_v2,
        cuCtxPushCurrent_v2,
        cuCtxSetCacheConfig,
        cuCtxSetLimit,
        cuCtxSetSharedMemConfig,
        cuCtxSynchronize,
        cuDestroyExternalMemory,
        cuDevicePrimaryCtxReset_v2,
        cuDevicePrimaryCtxSetFlags_v2,
        cuEventQuery,
        cuExternalMemoryGetMappedBuffer,
        cuFuncGetAttribute,
        cuFuncSetAttribute,
        cuFuncSetCacheConfig,
        cuFuncSetSharedMemConfig,
        cuGraphAddKernelNode,
        cuGraphCreate,
        cuGraphDebugDotPrint,
        cuGraphDestroy,
        cuGraphExecDestroy,
        cuGraphGetEdges,
        cuGraphGetNodes,
        cuGraphInstantiateWithFlags,
        cuGraphKernelNodeGetParams,
        cuGraphLaunch,
        cuGraphNodeGetType,
        cuImportExternalMemory,
        cuLaunchHostFunc,
        cuLaunchKernelEx,
        cuLinkAddData_v2,
        cuLinkComplete,
        cuLinkCreate_v2,
        cuLinkDestroy,
        cuMemAdvise,
        cuMemAllocAsync,
        cuMemAllocHost_v2,
        cuMemAllocManaged,
        cuMemFreeAsync,
        cuMemFreeHost,
        cuMemPrefetchAsync,
        cuMemcpy2D_v2,
        cuMemcpyAtoH_v2,
        cuMemcpyDtoDAsync_v2,
        cuMemcpyDtoHAsync_v2,
        cuMemcpyHtoA_v2,
        cuMemcpyHtoDAsync_v2,
        cuMemsetD16Async,
        cuMemsetD16_v2,
        cuMemsetD32Async,
        cuMemsetD32_v2,
        cuMemsetD8Async,
        cuModuleGetGlobal_v2,
        cuModuleLoad,
        cuModuleLoadData,
        cuOccupancyAvailableDynamicSMemPerBlock,
        cuOccupancyMaxActiveBlocksPerMultiprocessor,
        cuOccupancyMaxPotentialBlockSize,
        cuPointerGetAttribute,
        cuStreamBeginCapture_v2,
        cuStreamEndCapture,
        cuStreamGetCtx,
        cuStreamGetFlags,
        cuStreamGetPriority,
        cuStreamWaitEvent,
        cuSurfObjectCreate,
        cuSurfObjectDestroy,
        cuSurfObjectGetResourceDesc,
        cuTexObjectCreate,
        cuTexObjectDestroy,
        cuTexObjectGetResourceDesc,
    }
}

/// Points every entry that `find` knows to the loaded library, which must stay loaded from now on.
pub(crate) fn fill(find: impl Fn(&CStr) -> Option<*mut ()>) {
    for (name, entry) in NAMES.iter().zip(&TABLE) {
        if let Some(function) = find(name) {
            entry.store(function, Release);
        }
    }
}

/// Whether the loaded library has the function.
pub(crate) fn has(function: &str) -> bool {
    let mut entries = NAMES.iter().zip(&TABLE);
    entries.any(|(name, entry)| name.to_bytes() == function.as_bytes() && entry.load(Acquire) != unfilled as *mut ())
}
