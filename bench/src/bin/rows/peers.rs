//! The library that `bench/peers/build.sh` makes of `rows.cu`, which describes its functions.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::Path,
    ptr,
};

use anyhow::{Context, ensure};
use libloading::Library;
use warpfold::device::Buffer;

use crate::cases::Case;

type Stream = unsafe extern "C" fn(u64, u64, u64, u64, *mut c_void) -> c_int;
type Rows = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, u64, u64, *mut c_void) -> c_int;

/// The loaded library.
pub(crate) struct RowPeers {
    library: Library,
    stream: Stream,
}

/// CUB's function for the operation and type of a case.
#[derive(Clone, Copy)]
pub(crate) struct Cub<'a> {
    function: Rows,
    rows: u64,
    length: u64,
    library: std::marker::PhantomData<&'a Library>,
}

impl RowPeers {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        // SAFETY: loading runs only the registration of kernels by CUDA's own runtime.
        let library = unsafe { Library::new(path) };
        let library = library.with_context(|| format!("cannot load {}", path.display()))?;
        // SAFETY: the type is that of the function in rows.cu.
        let stream = *unsafe { library.get::<Stream>(b"twin_stream")? };
        Ok(Self { library, stream })
    }

    /// The compiler and the version of CUB with which the library was made.
    pub(crate) fn versions(&self) -> anyhow::Result<String> {
        // SAFETY: the function in rows.cu has this type and no parameters.
        let text = unsafe {
            let versions = self
                .library
                .get::<unsafe extern "C" fn() -> *const c_char>(b"rows_peer_versions")?;
            CStr::from_ptr(versions())
        };
        Ok(text.to_string_lossy().into_owned())
    }

    /// Starts the twin, which reads and writes so many bytes.
    ///
    /// # Safety
    ///
    /// The context of the stream is current. The input has `bytes` bytes. The output has
    /// `out_bytes` bytes, rounded up to a multiple of 16. Both begin at a multiple of 16, and live
    /// until the stream has done the work.
    pub(crate) unsafe fn twin(
        &self,
        (input, bytes): (u64, u64),
        (out, out_bytes): (u64, u64),
        stream: *mut c_void,
    ) -> anyhow::Result<()> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.stream)(input, bytes, out, out_bytes, stream) };
        ensure!(code == 0, "the twin failed: cudaError_t {code}");
        Ok(())
    }

    /// CUB's function for a case. There is none if the rows do not lie one after another, or if the
    /// library has no such operation over the type.
    pub(crate) fn cub(&self, case: &Case) -> Option<Cub<'_>> {
        if !case.is_rows() || c_int::try_from(case.length()).is_err() {
            return None;
        }
        let name = format!("cub_rows_{}_{}", case.op.name(), case.element.name());
        // SAFETY: all functions with such names have this type.
        let function = unsafe { self.library.get::<Rows>(name.as_bytes()) }.ok()?;
        Some(Cub {
            function: *function,
            rows: case.rows(),
            length: case.length(),
            library: std::marker::PhantomData,
        })
    }
}

impl Cub<'_> {
    /// The bytes of temporary memory that a call needs; at least 1.
    pub(crate) fn temp_bytes(&self) -> anyhow::Result<usize> {
        let (mut bytes, none) = (0, ptr::null_mut());
        // SAFETY: without temporary memory nothing is read or launched.
        let code =
            unsafe { (self.function)(none, &raw mut bytes, 0, self.rows, self.length, 0, none) };
        ensure!(code == 0, "CUB failed when asked for its memory: cudaError_t {code}");
        Ok(bytes.max(1))
    }

    /// Starts the reduction.
    ///
    /// # Safety
    ///
    /// The context of the stream is current. The input has all rows, and the output a place for
    /// each result. `temp` has [`temp_bytes`](Self::temp_bytes). All of this memory lives until the
    /// stream has done the work.
    pub(crate) unsafe fn call(
        &self,
        temp: &Buffer<u8>,
        input: u64,
        out: u64,
        stream: *mut c_void,
    ) -> anyhow::Result<()> {
        let mut bytes = temp.len();
        let temp = ptr::with_exposed_provenance_mut(temp.address() as usize);
        // SAFETY: the caller's promise.
        let code = unsafe {
            (self.function)(temp, &raw mut bytes, input, self.rows, self.length, out, stream)
        };
        ensure!(code == 0, "CUB failed: cudaError_t {code}");
        Ok(())
    }
}
