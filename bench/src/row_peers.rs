//! The library that `bench/peers/build.sh` makes of `rows.cu`, which describes its functions.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::Path,
    ptr,
};

use anyhow::{Context, ensure};
use libloading::Library;
use warpfold::device::Buffer;

type Stream = unsafe extern "C" fn(u64, u64, u64, u64, *mut c_void) -> c_int;
type Keys = unsafe extern "C" fn(
    *mut c_void,
    *mut usize,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    *mut c_void,
) -> c_int;
type Rows = unsafe extern "C" fn(*mut c_void, *mut usize, u64, u64, u64, u64, *mut c_void) -> c_int;

/// The loaded library.
#[derive(Debug)]
pub struct RowPeers {
    library: Library,
    stream: Stream,
}

/// A function of CUB, and what it is to reduce.
#[derive(Clone, Copy, Debug)]
pub struct Cub<'a> {
    function: Rows,
    rows: u64,
    /// The length of each row, or the address of the offsets.
    layout: u64,
    library: std::marker::PhantomData<&'a Library>,
}

/// A reduction by key of so many elements: that of CUB, or one by atomics.
#[derive(Clone, Copy, Debug)]
pub struct CubKeys<'a> {
    function: Keys,
    n: u64,
    library: std::marker::PhantomData<&'a Library>,
}

impl RowPeers {
    /// Loads the library.
    ///
    /// # Errors
    ///
    /// If there is no such library, or if it lacks a function.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        // SAFETY: loading runs only the registration of kernels by CUDA's own runtime.
        let library = unsafe { Library::new(path) };
        let library = library.with_context(|| format!("cannot load {}", path.display()))?;
        // SAFETY: the type is that of the function in rows.cu.
        let stream = *unsafe { library.get::<Stream>(b"twin_stream")? };
        Ok(Self { library, stream })
    }

    /// The compiler and the version of CUB with which the library was made.
    ///
    /// # Errors
    ///
    /// If the library lacks the function.
    pub fn versions(&self) -> anyhow::Result<String> {
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
    /// # Errors
    ///
    /// If CUDA refuses the launch.
    ///
    /// # Safety
    ///
    /// The context of the stream is current. The input has `bytes` bytes. The output has
    /// `out_bytes` bytes, rounded up to a multiple of 16. Both begin at a multiple of 16, and live
    /// until the stream has done the work.
    pub unsafe fn twin(
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

    /// CUB's function `name` for so many rows of one length. There is none if the library has no
    /// such function, or if CUB cannot count the length.
    pub fn cub_rows(&self, name: &str, rows: u64, length: u64) -> Option<Cub<'_>> {
        c_int::try_from(length).ok()?;
        self.cub(name, rows, length)
    }

    /// CUB's function `name` for segments whose offsets, of 32 bits, are at an address of the
    /// device.
    pub fn cub_segments(&self, name: &str, segments: u64, offsets: u64) -> Option<Cub<'_>> {
        self.cub(name, segments, offsets)
    }

    /// CUB's function `name` for the histogram of `n` keys in so many bins.
    pub fn cub_histogram(&self, name: &str, n: u64, bins: u64) -> Option<Cub<'_>> {
        self.cub(name, n, bins)
    }

    /// The function `name` for `n` keys of 32 bits and as many values.
    pub fn cub_keys(&self, name: &str, n: u64) -> Option<CubKeys<'_>> {
        // SAFETY: all functions with such names have this type.
        let function = unsafe { self.library.get::<Keys>(name.as_bytes()) }.ok()?;
        Some(CubKeys { function: *function, n, library: std::marker::PhantomData })
    }

    fn cub(&self, name: &str, rows: u64, layout: u64) -> Option<Cub<'_>> {
        // SAFETY: all functions with such names have this type.
        let function = unsafe { self.library.get::<Rows>(name.as_bytes()) }.ok()?;
        Some(Cub { function: *function, rows, layout, library: std::marker::PhantomData })
    }
}

impl Cub<'_> {
    /// The bytes of temporary memory that a call needs; at least 1.
    ///
    /// # Errors
    ///
    /// If CUB refuses the call.
    pub fn temp_bytes(&self) -> anyhow::Result<usize> {
        let (mut bytes, none) = (0, ptr::null_mut());
        // SAFETY: without temporary memory nothing is read or launched.
        let code =
            unsafe { (self.function)(none, &raw mut bytes, 0, self.rows, self.layout, 0, none) };
        ensure!(code == 0, "CUB failed when asked for its memory: cudaError_t {code}");
        Ok(bytes.max(1))
    }

    /// Starts the reduction.
    ///
    /// # Errors
    ///
    /// If CUB or CUDA refuses the call.
    ///
    /// # Safety
    ///
    /// The context of the stream is current. The input has all rows, and the output a place for
    /// each result. `temp` has [`temp_bytes`](Self::temp_bytes). All of this memory lives until the
    /// stream has done the work.
    pub unsafe fn call(
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
            (self.function)(temp, &raw mut bytes, input, self.rows, self.layout, out, stream)
        };
        ensure!(code == 0, "CUB failed: cudaError_t {code}");
        Ok(())
    }
}

impl CubKeys<'_> {
    /// As [`Cub::temp_bytes`].
    ///
    /// # Errors
    ///
    /// If CUB refuses the call.
    pub fn temp_bytes(&self) -> anyhow::Result<usize> {
        let (mut bytes, none) = (0, ptr::null_mut());
        // SAFETY: without temporary memory nothing is read or launched.
        let code = unsafe { (self.function)(none, &raw mut bytes, 0, self.n, 0, 0, 0, 0, none) };
        ensure!(code == 0, "CUB failed when asked for its memory: cudaError_t {code}");
        Ok(bytes.max(1))
    }

    /// Starts the reduction of keys and values into results, the keys of the runs, and the number
    /// of runs.
    ///
    /// # Errors
    ///
    /// If CUB or CUDA refuses the call.
    ///
    /// # Safety
    ///
    /// The context of the stream is current. The inputs have all elements, the first two outputs
    /// as many places, and the last one has a place of 64 bits. For the reduction by atomics the
    /// second output is the number of bins, and the first one has a place for each. `temp` has
    /// [`temp_bytes`](Self::temp_bytes). All of this memory lives until the stream has done the
    /// work.
    pub unsafe fn call(
        &self,
        temp: &Buffer<u8>,
        [keys, values]: [u64; 2],
        [results, unique, runs]: [u64; 3],
        stream: *mut c_void,
    ) -> anyhow::Result<()> {
        let mut bytes = temp.len();
        let temp = ptr::with_exposed_provenance_mut(temp.address() as usize);
        let (call, n) = (self.function, self.n);
        // SAFETY: the caller's promise.
        let code =
            unsafe { call(temp, &raw mut bytes, values, n, keys, results, unique, runs, stream) };
        ensure!(code == 0, "CUB failed: cudaError_t {code}");
        Ok(())
    }
}
