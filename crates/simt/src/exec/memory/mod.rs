//! Simulated device memory: one flat 64-bit address space of allocations, backed by host memory.
//!
//! Every word is an [`AtomicU64`](std::sync::atomic::AtomicU64), and all accesses go through it. A
//! data race in a simulated kernel therefore stays a race of the *kernel*, which may read either
//! value; it is never undefined behaviour of the simulator. Loads of fewer bytes extract them from
//! the word. Stores of fewer bytes replace them by a compare-and-swap, because Rust does not define
//! races of atomics of different sizes. Where the lanes of one store instruction cover a whole word
//! together, as coalesced stores do, the word is stored at once.

mod allocation;
mod error;
mod output;
mod shared;
mod view;
mod words;
mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

pub(crate) use allocation::Allocation;
pub use error::MemoryError;
pub(crate) use shared::is_shared;
pub(crate) use view::MemoryView;
pub(crate) use words::{MergedStores, load, update};
pub(crate) use written::Written;

use output::Output;

/// The address of the first allocation. Nothing lies below, so that null and small integers are
/// never valid addresses.
const FIRST_ADDRESS: u64 = 0x1_0000_0000;
/// Every allocation starts at a multiple of this many bytes, as with `cuMemAlloc`.
const ALIGNMENT: u64 = 256;
/// How many bytes after each allocation stay unmapped. An access that misses the allocation by less
/// than this is therefore a fault, and does not reach the next allocation.
const GUARD: u64 = 1 << 20;
/// The address of the first allocation that several memories share. A memory's own allocations end
/// below.
const FIRST_SHARED_ADDRESS: u64 = 0x6000_0000_0000;
/// All allocations end below this address, because the generic windows of the other state spaces
/// lie above.
const END_ADDRESS: u64 = 0x7000_0000_0000;
/// How many freed ranges are remembered, so that an access to one is reported as a use after free.
const REMEMBERED_FREED: usize = if cfg!(test) { 16 } else { 4096 };

#[derive(Debug)]
struct State {
    live: BTreeMap<u64, Arc<Allocation>>,
    freed: BTreeMap<u64, u64>,
    /// The live allocations that another memory owns.
    borrowed: BTreeSet<u64>,
    next: u64,
    used: u64,
}

impl State {
    /// How many bytes are free, if `bytes` bytes are not too many for that.
    fn room(&self, bytes: u64, capacity: u64) -> Result<u64, MemoryError> {
        let free = capacity - self.used;
        if bytes > free {
            return Err(MemoryError::OutOfMemory { asked: bytes, free, capacity });
        }
        Ok(free)
    }
}

/// The memory of a simulated device.
///
/// Fresh allocations read as zero, and the host provides their pages only when they are used. A
/// freed address range is not given to another allocation, so that a use after free is found and
/// reported as such.
///
/// ```
/// let memory = simt::Memory::new(1 << 20);
/// let address = memory.alloc(8)?;
/// memory.write(address, &[1, 2, 3])?;
/// let mut back = [0; 4];
/// memory.read(address, &mut back)?;
/// assert_eq!(back, [1, 2, 3, 0]);
/// memory.free(address)?;
/// assert!(memory.read(address, &mut back).is_err());
/// # Ok::<(), simt::MemoryError>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    capacity: u64,
    notes_writes: bool,
    state: RwLock<State>,
    /// The addresses of the `.global` and `.const` variables of all modules that have run on this
    /// memory, by the number of the module.
    variables: Mutex<HashMap<u64, Arc<[u64]>>>,
    output: Output,
}

impl Memory {
    /// An empty device memory that can hold `capacity_bytes`.
    pub fn new(capacity_bytes: u64) -> Memory {
        let state = State {
            live: BTreeMap::new(),
            freed: BTreeMap::new(),
            borrowed: BTreeSet::new(),
            next: FIRST_ADDRESS,
            used: 0,
        };
        Memory {
            capacity: capacity_bytes,
            notes_writes: false,
            state: RwLock::new(state),
            variables: Mutex::default(),
            output: Output::default(),
        }
    }

    /// An empty device memory that also records which bytes the host or a kernel has written, so
    /// that [`check`](crate::check()) finds reads of bytes that nothing has written. A launch that
    /// is not checked counts as having written everything. The record takes additional host memory,
    /// an eighth of the size of the allocations.
    ///
    /// ```
    /// use simt::{Arg, LaunchConfig, Memory, Module, ReportKind, check};
    ///
    /// let module = Module::from_ptx(
    ///     "first.ptx",
    ///     ".version 7.0
    ///      .target sm_75
    ///      .address_size 64
    ///      .visible .entry first(.param .u64 data) {
    ///          .reg .b32 %r<2>;
    ///          .reg .b64 %rd<2>;
    ///          ld.param.u64 %rd1, [data];
    ///          ld.global.u32 %r1, [%rd1];
    ///          ret;
    ///      }",
    /// )?;
    /// let kernel = module.kernel("first").ok_or("no such kernel")?;
    /// let memory = Memory::checked(1 << 20);
    /// let data = memory.alloc(4)?;
    /// let checked = check(kernel, &LaunchConfig::new(1, 1), &[Arg::Pointer(data)], &memory)?;
    /// assert_eq!(checked.reports[0].kind, ReportKind::UninitializedRead);
    /// memory.write(data, &[0; 4])?;
    /// let checked = check(kernel, &LaunchConfig::new(1, 1), &[Arg::Pointer(data)], &memory)?;
    /// assert!(checked.reports.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked(capacity_bytes: u64) -> Memory {
        Memory { notes_writes: true, ..Memory::new(capacity_bytes) }
    }

    /// Allocates `bytes` bytes of zeros, and returns their device address, which is a multiple of
    /// 256.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`] beyond the capacity, [`MemoryError::ZeroBytes`],
    /// [`MemoryError::HostOutOfMemory`].
    pub fn alloc(&self, bytes: u64) -> Result<u64, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::ZeroBytes);
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let free = state.room(bytes, self.capacity)?;
        let base = state.next;
        let next = end_of(base, bytes, FIRST_SHARED_ADDRESS).ok_or(MemoryError::OutOfMemory {
            asked: bytes,
            free,
            capacity: self.capacity,
        })?;
        let allocation = Allocation::new(base, bytes, self.notes_writes)?;
        state.next = next;
        state.used += bytes;
        state.live.insert(base, Arc::new(allocation));
        Ok(base)
    }

    /// Frees an allocation. A launch that is running can access it until the launch ends.
    ///
    /// An allocation of [`Memory::alloc_shared`] stays in the other memories until they free it
    /// too.
    ///
    /// # Errors
    /// [`MemoryError::NotAnAllocation`] if no allocation of this memory starts at `address`, or if
    /// it was freed before.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let allocation =
            state.live.remove(&address).ok_or(MemoryError::NotAnAllocation { address })?;
        if !state.borrowed.remove(&address) {
            state.used -= allocation.bytes;
        }
        state.freed.insert(address, allocation.bytes);
        if state.freed.len() > REMEMBERED_FREED {
            state.freed.pop_first();
        }
        Ok(())
    }

    /// Copies `bytes` to device address `address`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] unless the whole range lies inside one live allocation; nothing
    /// is written then.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let Some((allocation, offset)) = self.host_range(address, bytes.len())? else {
            return Ok(());
        };
        if let Some(written) = &allocation.written {
            written.set(offset, bytes.len());
        }
        let mut stores = MergedStores::default();
        let lead = (offset.next_multiple_of(8) - offset).min(bytes.len());
        let (head, rest) = bytes.split_at(lead);
        let (body, tail) = rest.as_chunks::<8>();
        for (i, byte) in head.iter().enumerate() {
            stores.push(&allocation.words, offset + i, u64::from(*byte), 1);
        }
        let first = (offset + lead) / 8;
        for (word, chunk) in allocation.words[first..].iter().zip(body) {
            word.store(u64::from_le_bytes(*chunk), Relaxed);
        }
        for (i, byte) in tail.iter().enumerate() {
            stores.push(&allocation.words, (first + body.len()) * 8 + i, u64::from(*byte), 1);
        }
        stores.flush(&allocation.words);
        Ok(())
    }

    /// Copies from device address `address` into `bytes`.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] unless the whole range lies inside one live allocation.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let Some((allocation, offset)) = self.host_range(address, bytes.len())? else {
            return Ok(());
        };
        let lead = (offset.next_multiple_of(8) - offset).min(bytes.len());
        let (head, rest) = bytes.split_at_mut(lead);
        let (body, tail) = rest.as_chunks_mut::<8>();
        for (i, byte) in head.iter_mut().enumerate() {
            *byte = load(&allocation.words, offset + i, 1) as u8;
        }
        let first = (offset + lead) / 8;
        for (word, chunk) in allocation.words[first..].iter().zip(&mut *body) {
            *chunk = word.load(Relaxed).to_le_bytes();
        }
        for (i, byte) in tail.iter_mut().enumerate() {
            *byte = load(&allocation.words, (first + body.len()) * 8 + i, 1) as u8;
        }
        Ok(())
    }

    /// Chooses where the text of `printf` in kernels goes; without this call it goes to stdout.
    ///
    /// The text of a launch is written at the end of the launch, also if the launch ends with a
    /// fault. The blocks' texts follow each other in the order of the blocks' linear indices. In a
    /// block, the text has the order in which the threads printed; the lanes of a warp that print
    /// together do so in ascending order.
    ///
    /// ```
    /// use std::io::{self, Write};
    /// use std::sync::mpsc::{Sender, channel};
    ///
    /// use simt::{LaunchConfig, Memory, Module, launch};
    ///
    /// struct Sink(Sender<Vec<u8>>);
    /// impl Write for Sink {
    ///     fn write(&mut self, text: &[u8]) -> io::Result<usize> {
    ///         self.0.send(text.to_vec()).map_err(io::Error::other)?;
    ///         Ok(text.len())
    ///     }
    ///     fn flush(&mut self) -> io::Result<()> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let module = Module::from_ptx(
    ///     "hello.ptx",
    ///     ".version 7.0
    ///      .target sm_75
    ///      .address_size 64
    ///      .extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
    ///      .global .align 1 .b8 text[4] = {72, 105, 10, 0};
    ///      .visible .entry hello() {
    ///          .reg .b64 %rd<2>;
    ///          .param .b64 format; .param .b64 arguments; .param .b32 count;
    ///          mov.u64 %rd1, text;
    ///          st.param.b64 [format], %rd1;
    ///          st.param.b64 [arguments], 0;
    ///          call (count), vprintf, (format, arguments);
    ///          ret;
    ///      }",
    /// )?;
    /// let mut memory = Memory::new(1 << 20);
    /// let (sender, receiver) = channel();
    /// memory.print_to(Sink(sender));
    /// let kernel = module.kernel("hello").ok_or("no such kernel")?;
    /// launch(kernel, &LaunchConfig::new(1, 2), &[], &memory)?;
    /// assert_eq!(receiver.recv()?, b"Hi\nHi\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn print_to(&mut self, sink: impl Write + Send + 'static) {
        self.output = Output::new(sink);
    }

    /// Writes the text of a launch to its sink.
    pub(crate) fn print(&self, text: &[u8]) {
        if !text.is_empty() {
            self.output.write(text);
        }
    }

    /// How many bytes all live allocations have together, without those that another memory owns.
    pub fn used(&self) -> u64 {
        self.state.read().unwrap_or_else(PoisonError::into_inner).used
    }

    /// How many bytes all live allocations may have together, without those that another memory
    /// owns.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The allocation that holds a range of the host's copies, and the offset of the range in it;
    /// `None` if `bytes` is 0.
    pub(crate) fn host_range(
        &self,
        address: u64,
        bytes: usize,
    ) -> Result<Option<(Arc<Allocation>, usize)>, MemoryError> {
        if bytes == 0 {
            return Ok(None);
        }
        let bytes = bytes as u64;
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let found = state.live.range(..=address).next_back().map(|(_, allocation)| allocation);
        match found {
            Some(a) if address - a.base <= a.bytes && bytes <= a.bytes - (address - a.base) => {
                Ok(Some((Arc::clone(a), (address - a.base) as usize)))
            }
            _ => Err(MemoryError::OutOfBounds { address, bytes }),
        }
    }

    /// The addresses of the variables of module `id`. `place` places them when the module first
    /// runs on this memory.
    pub(crate) fn module_variables(
        &self,
        id: u64,
        place: impl FnOnce() -> Result<Vec<u64>, MemoryError>,
    ) -> Result<Arc<[u64]>, MemoryError> {
        let mut variables = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = variables.get(&id) {
            return Ok(Arc::clone(found));
        }
        let placed: Arc<[u64]> = place()?.into();
        variables.insert(id, Arc::clone(&placed));
        Ok(placed)
    }

    /// Treats all allocated bytes as written.
    pub(crate) fn assume_written(&self) {
        // A memory without a record may hold allocations of which another memory keeps a record.
        let first = if self.notes_writes { 0 } else { FIRST_SHARED_ADDRESS };
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.live.range(first..).for_each(|(_, a)| a.assume_written());
    }

    /// Treats all bytes of the allocation at `base` as written.
    pub(crate) fn assume_written_at(&self, base: u64) {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.live.get(&base).into_iter().for_each(|a| a.assume_written());
    }

    /// The allocations that a launch can reach if it starts now.
    pub(crate) fn view(&self) -> MemoryView {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        MemoryView { live: state.live.values().cloned().collect(), freed: state.freed.clone() }
    }
}

/// Where the allocation after one of `bytes` bytes at `base` starts; `None` if the range and the
/// guard behind it do not end below `limit`.
fn end_of(base: u64, bytes: u64, limit: u64) -> Option<u64> {
    let fits = bytes <= limit.saturating_sub(base + GUARD + ALIGNMENT);
    fits.then(|| (base + bytes).next_multiple_of(ALIGNMENT) + GUARD)
}

#[cfg(test)]
mod tests;
