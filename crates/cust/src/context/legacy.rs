//! The stack of contexts that each thread has.

use std::ptr;

use super::ContextHandle;
use crate::{CudaApiVersion, error::CudaResult, private::Sealed, sys::CUcontext};

/// A context that this value does not keep alive.
#[derive(Clone, Debug)]
pub struct UnownedContext {
    inner: CUcontext,
}

// SAFETY: any thread may use a context, and several may do so at once.
unsafe impl Send for UnownedContext {}
// SAFETY: as above.
unsafe impl Sync for UnownedContext {}

impl Sealed for UnownedContext {}
impl ContextHandle for UnownedContext {
    fn get_inner(&self) -> CUcontext {
        self.inner
    }
}

impl UnownedContext {
    /// The version of CUDA for which the context was made.
    ///
    /// # Errors
    ///
    /// An error of the driver, for example if the context has been destroyed.
    pub fn get_api_version(&self) -> CudaResult<CudaApiVersion> {
        let mut version = 0;
        // SAFETY: the driver refuses a handle that it does not know; the pointer is to a live
        // variable.
        unsafe { call!(cuCtxGetApiVersion(self.inner, &raw mut version)) }?;
        Ok(CudaApiVersion { version: version as i32 })
    }
}

/// The stack of contexts of the calling thread. The uppermost context is the
/// [current](super::CurrentContext) one.
///
/// ```no_run
/// use cust::context::{Context, legacy::ContextStack};
/// use cust::device::Device;
///
/// let first = cust::quick_init()?;
/// let second = Context::new(Device::get_device(1)?)?;
/// ContextStack::push(&first)?;
/// // This thread now works on the first device, whatever its current context was before.
/// ContextStack::pop()?;
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[derive(Debug)]
pub struct ContextStack;

impl ContextStack {
    /// Takes the uppermost context off the stack.
    ///
    /// # Errors
    ///
    /// An error of the driver, for example if the stack is empty.
    pub fn pop() -> CudaResult<UnownedContext> {
        let mut inner = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuCtxPopCurrent_v2(&raw mut inner)) }?;
        Ok(UnownedContext { inner })
    }

    /// Puts a context on the stack.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn push<C: ContextHandle>(ctx: &C) -> CudaResult<()> {
        // SAFETY: the context is held by `ctx`, or the driver refuses it.
        unsafe { call!(cuCtxPushCurrent_v2(ctx.get_inner())) }
    }
}

/// The priorities that streams may have. A smaller number is more urgent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamPriorityRange {
    /// The number of the least urgent priority.
    pub least: i32,
    /// The number of the most urgent priority.
    pub greatest: i32,
}
