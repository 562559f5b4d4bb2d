//! The elements of one or several arrays, read as one.

use anyhow::anyhow;
use bytemuck::Pod;
use warpfold::host_memory;
use warpfold_tools::{
    arrays::{Array, Dtype, in_c_order},
    terminal::{Failure, refused},
};

/// Several arrays of one type, one behind the other.
pub(crate) struct Elements<T> {
    arrays: Vec<Array>,
    /// Whether elements that lie in Fortran order are brought into C order.
    is_c_order: bool,
    /// The array that is read now, and the number of its elements that were read.
    current: usize,
    done: u64,
    /// The elements of the current array, if it must be held to bring it into C order.
    held: Option<Vec<T>>,
}

/// The most bytes that are read from a pipe before the elements are reduced in pieces.
pub(crate) const PIPE_BYTES: usize = 1 << 30;

impl<T: Pod> Elements<T> {
    /// The elements of these arrays, all of which have the type `T`.
    pub(crate) fn new(arrays: Vec<Array>, is_c_order: bool) -> Self {
        Self { arrays, is_c_order, current: 0, done: 0, held: None }
    }

    /// The number of elements, if it is known.
    pub(crate) fn len(&self) -> Option<u64> {
        self.arrays.iter().map(Array::len).sum()
    }

    fn is_gathered(&self, array: &Array) -> bool {
        self.is_c_order && array.is_fortran()
    }

    /// The elements where they lie in a file, if that is possible.
    pub(crate) fn mapped(&self) -> Option<&[T]> {
        match self.arrays.as_slice() {
            [only] if !self.is_gathered(only) => only.mapped(),
            _ => None,
        }
    }

    /// Reads the elements into memory: all of them, if they take at most half of the memory that is
    /// available. Of a pipe whose length is not known, it reads that much at most, and no more than
    /// `pipe_bytes`. The second result says whether these are all.
    pub(crate) fn load(&mut self, pipe_bytes: usize) -> Result<(Vec<T>, bool), Failure> {
        let most = host_memory::available().map_or(usize::MAX, |bytes| bytes as usize / 2);
        let size = size_of::<T>();
        match self.len() {
            Some(n) if n as u128 * size as u128 > most as u128 => Ok((Vec::new(), false)),
            Some(n) => {
                let mut values = vec![T::zeroed(); n as usize];
                let read = self.read(&mut values)?;
                values.truncate(read);
                // Asking for one more compares the ends of all arrays with their headers.
                self.read(&mut [T::zeroed()])?;
                Ok((values, true))
            }
            None => {
                let (most, step) = (pipe_bytes.min(most) / size, (1 << 22) / size);
                let mut values = Vec::new();
                while values.len() < most {
                    let before = values.len();
                    values.resize(before + step, T::zeroed());
                    let read = self.read(&mut values[before..])?;
                    values.truncate(before + read);
                    if read < step {
                        return Ok((values, true));
                    }
                }
                Ok((values, false))
            }
        }
    }

    /// Reads the next elements until `elements` is full or the last array ends, and returns their
    /// number.
    pub(crate) fn read(&mut self, elements: &mut [T]) -> Result<usize, Failure> {
        let mut read = 0;
        while read < elements.len() && self.current < self.arrays.len() {
            let n = self.read_current(&mut elements[read..])?;
            read += n;
            self.done += n as u64;
            if read < elements.len() {
                (self.current, self.done, self.held) = (self.current + 1, 0, None);
            }
        }
        Ok(read)
    }

    fn read_current(&mut self, elements: &mut [T]) -> Result<usize, Failure> {
        if !self.is_gathered(&self.arrays[self.current]) {
            return self.arrays[self.current].read(elements).map_err(refused);
        }
        let array = &mut self.arrays[self.current];
        let (n, shape) = (array.len().unwrap_or(0), array.shape().unwrap_or_default());
        if array.mapped::<T>().is_none() && self.held.is_none() {
            self.held = Some(hold(array, n)?);
        }
        let n = (n - self.done).min(elements.len() as u64) as usize;
        let all = match &self.held {
            Some(held) => held.as_slice(),
            None => array.mapped().unwrap_or_default(),
        };
        in_c_order(all, &shape, self.done, &mut elements[..n]);
        Ok(n)
    }
}

/// Reads a whole array.
fn hold<T: Pod>(array: &mut Array, n: u64) -> Result<Vec<T>, Failure> {
    let bytes = n as u128 * size_of::<T>() as u128;
    if host_memory::available().is_some_and(|available| bytes > u128::from(available)) {
        return Err(refused(anyhow!(
            "{}: this operation needs C order, and the {bytes} bytes of the array in Fortran order do not fit in memory",
            array.name()
        )));
    }
    let mut held = vec![T::zeroed(); n as usize];
    array.read(&mut held).map_err(refused)?;
    array.read(&mut [T::zeroed()]).map_err(refused)?;
    Ok(held)
}

/// Opens arrays that are to be read as one. They must have one type, which is that of the first one
/// if none is asked for.
pub(crate) fn open(
    specs: &[std::ffi::OsString],
    asked: Option<Dtype>,
) -> Result<Vec<Array>, Failure> {
    if specs.iter().filter(|spec| *spec == "-").count() > 1 {
        return Err(refused(anyhow!("'-' is given twice: the standard input can be read once")));
    }
    let mut arrays: Vec<Array> = Vec::new();
    for spec in specs {
        let array = Array::open(spec, asked).map_err(refused)?;
        if let Some(first) = arrays.first()
            && first.dtype() != array.dtype()
        {
            return Err(refused(anyhow!(
                "{} holds {}, and {} holds {}: all arrays must have one type",
                first.name(),
                first.dtype(),
                array.name(),
                array.dtype()
            )));
        }
        arrays.push(array);
    }
    Ok(arrays)
}
