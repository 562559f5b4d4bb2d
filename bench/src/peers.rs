//! Other libraries' reductions, compiled by `bench/peers/build.sh` into one shared library of plain
//! C functions.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    path::Path,
    ptr,
};

use anyhow::{Context, ensure};
use libloading::Library;

/// The protocol of all functions of the library, which is CUB's. With a null `temp`, a function
/// writes the size of the temporary device memory that it needs, in bytes, to `*temp_bytes`.
/// Otherwise it starts the reduction of `n` elements on the stream. `right` is the second input of
/// pairs. The result is a `cudaError_t`.
type Function = unsafe extern "C" fn(
    temp: *mut c_void,
    temp_bytes: *mut usize,
    input: u64,
    right: u64,
    out: u64,
    n: u64,
    stream: *mut c_void,
) -> c_int;

/// The library that `bench/peers/build.sh` makes. The headers of `cub.cu` and `thrust.cu` describe
/// its functions.
#[derive(Debug)]
pub struct PeerLibrary {
    library: Library,
}

/// A function of a [`PeerLibrary`], such as `cub_sum_f32`.
#[derive(Clone, Copy, Debug)]
pub struct PeerFunction<'a> {
    function: Function,
    library: std::marker::PhantomData<&'a Library>,
}

/// The inputs of a [`PeerFunction`] and the place of its result. All are device addresses, except
/// Thrust's `out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCall {
    /// The first element of the input.
    pub input: u64,
    /// The first element of the second input; 0 if there is no second input.
    pub right: u64,
    /// The address of the result; 32 bytes are enough for every function.
    pub out: u64,
    /// The number of elements.
    pub n: u64,
}

impl PeerLibrary {
    /// Loads the library.
    ///
    /// # Errors
    ///
    /// If the loader cannot load the library.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        // SAFETY: loading runs only the registration of kernels by CUDA's own runtime.
        let library = unsafe { Library::new(path) };
        Ok(Self { library: library.with_context(|| format!("cannot load {}", path.display()))? })
    }

    /// The compiler and libraries with which the library was made, such as `nvcc 13.0.88, CCCL
    /// 3.0.1`.
    ///
    /// # Errors
    ///
    /// If `bench/peers/build.sh` did not make the library.
    pub fn versions(&self) -> anyhow::Result<String> {
        // SAFETY: the type is that of the declaration in thrust.cu.
        let versions = unsafe {
            self.library.get::<unsafe extern "C" fn() -> *const c_char>(b"peer_versions")
        };
        // SAFETY: the function has no parameters, and returns a string literal.
        let text = unsafe { CStr::from_ptr(versions?()) };
        Ok(text.to_string_lossy().into_owned())
    }

    /// The function of that name; `None` if this version of the library lacks it.
    pub fn function(&self, name: &str) -> Option<PeerFunction<'_>> {
        // SAFETY: all functions with such names have this signature.
        let function = unsafe { self.library.get::<Function>(name.as_bytes()) }.ok()?;
        Some(PeerFunction { function: *function, library: std::marker::PhantomData })
    }
}

impl PeerFunction<'_> {
    /// The bytes of temporary device memory that `n` elements need; at least 1.
    ///
    /// # Errors
    ///
    /// If the library returns an error. The message has its number, a `cudaError_t`.
    pub fn temp_bytes(&self, n: u64) -> anyhow::Result<usize> {
        let mut bytes = 0;
        // SAFETY: without temporary memory nothing is read or launched.
        let code = unsafe {
            (self.function)(ptr::null_mut(), &raw mut bytes, 0, 0, 0, n, ptr::null_mut())
        };
        ensure!(code == 0, "cudaError_t {code} when asked for its temporary memory");
        Ok(bytes.max(1))
    }

    /// Starts the reduction on a stream; see [`PeerFunction::temp_bytes`] for `temp`.
    ///
    /// # Errors
    ///
    /// If the library returns an error. The message has its number, a `cudaError_t`.
    ///
    /// # Safety
    ///
    /// The CUDA context of the addresses and of the stream (a `CUstream`) is current. Input and,
    /// for pairs, the second input have `n` elements of the function's type. `temp` is device
    /// memory of `temp_bytes`. Until the stream has done the work, all of this memory stays
    /// allocated, and nobody else uses `temp` and `out`.
    pub unsafe fn call(
        &self,
        temp: (u64, usize),
        call: PeerCall,
        stream: *mut c_void,
    ) -> anyhow::Result<()> {
        let (temp, mut bytes) = temp;
        let temp = ptr::with_exposed_provenance_mut(temp as usize);
        // SAFETY: the caller's promise.
        let code = unsafe {
            (self.function)(temp, &raw mut bytes, call.input, call.right, call.out, call.n, stream)
        };
        ensure!(code == 0, "cudaError_t {code}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_refused_by_name() {
        let error = PeerLibrary::open(Path::new("/nowhere/peers.so")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/peers.so"));
    }
}
