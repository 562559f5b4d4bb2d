//! Reductions of inputs on the host. The elements are copied to the device through page-locked
//! memory. A large input is copied and reduced part by part; the documentation of the crate calls
//! such a part a chunk. While the device reduces one part, the next one is copied.

use crate::device::{Buffer, Device, DeviceError, Stream};

use super::{
    Error, Item,
    engine::Engine,
    input::{Operand, Place},
    staging::{PART_BYTES, Queue},
};

/// One or two operands of `n` elements, of which at least one is on the host.
struct Job<'a, T> {
    operands: [Option<Operand<'a, T>>; 2],
    n: u64,
}

impl<T: Item> Job<'_, T> {
    fn on_host(&self) -> u64 {
        self.operands
            .iter()
            .flatten()
            .filter(|operand| !matches!(operand, Operand::Device(_)))
            .count() as u64
    }

    /// The number of bytes of all operands that are on the host.
    fn bytes(&self) -> u64 {
        self.n * size_of::<T>() as u64 * self.on_host()
    }

    /// The number of elements of a part whose operands on the host take at most `bytes` bytes. A
    /// part is a number of whole packs, so that each part of an operand on the device is aligned
    /// like the operand's beginning.
    fn part(&self, bytes: u64) -> u64 {
        let packs = bytes / self.on_host() / 16;
        packs.max(1) * 16 / size_of::<T>() as u64
    }

    /// The parts in order. Each item holds the index of the part's first element and the number of
    /// the part's elements.
    fn parts(&self, part: u64) -> impl Iterator<Item = (u64, u64)> + use<T> {
        let n = self.n;
        (0..n.div_ceil(part)).map(move |k| (k * part, part.min(n - k * part)))
    }
}

/// A function that launches a reduction. Its parameters are the places of one or two operands, the
/// device address at which it leaves the raw result, and the stream.
pub(super) type Launch<'a, T> =
    dyn Fn(Place<'_, T>, Option<Place<'_, T>>, u64, &Stream) -> Result<(), Error> + 'a;

/// The parameters of a reduction of elements on the host. All operations share this code, because
/// each passes its own steps as functions.
pub(super) struct Call<'a, T> {
    pub(super) device: &'a Device,
    pub(super) engine: &'a Engine,
    pub(super) memory_limit: Option<u64>,
    pub(super) launch: &'a Launch<'a, T>,
    /// A function that combines the parts. It gets the index of a part's first element and the
    /// bytes of the part's raw result. It is called for every part in order, and at least once.
    pub(super) fold: &'a mut dyn FnMut(u64, &[u8]),
    /// See [`Reducer::reduce_with_progress`](super::Reducer::reduce_with_progress).
    pub(super) progress: &'a mut dyn FnMut(u64, u64),
}

impl<T: Item> Call<'_, T> {
    /// Reduces operands of `n` elements each. `n` is at least 1, and at least one operand is on the
    /// host.
    pub(super) fn reduce(
        &mut self,
        first: Operand<'_, T>,
        second: Option<Operand<'_, T>>,
        n: u64,
    ) -> Result<(), Error> {
        let job = Job { operands: [Some(first), second], n };
        let limit = match self.memory_limit {
            Some(limit) => limit,
            None => self.device.free_memory()? / 10 * 9,
        };
        if job.bytes() <= limit {
            match self.whole(&job) {
                // The free memory may be in pieces that are too small, so the input is reduced in
                // parts instead.
                Err(Error::Device(DeviceError::OutOfMemory { .. })) => (),
                result => return result,
            }
        }
        self.in_parts(&job, limit)
    }

    /// Copies the operands to the device and reduces them by one launch.
    fn whole(&mut self, job: &Job<'_, T>) -> Result<(), Error> {
        let mut buffers = buffers(self.device, job, job.n)?;
        if job.bytes() <= PART_BYTES {
            for (operand, buffer) in job.operands.iter().zip(&mut buffers) {
                if let (Some(Operand::Host(values) | Operand::Pinned(values)), Some(buffer)) =
                    (operand, buffer)
                {
                    buffer.copy_from_host(values)?;
                }
            }
            (self.progress)(job.n, job.n);
        } else {
            let mut staging = self.engine.take_staging(self.device)?;
            for (k, (start, len)) in job.parts(job.part(PART_BYTES)).enumerate() {
                let queue = &mut staging.queues[k % 2];
                queue.stream.synchronize()?;
                queue.copy(job, start, len, &mut buffers, start)?;
                (self.progress)(start + len, job.n);
            }
            for queue in &staging.queues {
                queue.stream.synchronize()?;
            }
            self.engine.keep_staging(staging);
        }
        let (first, second) = places(job, &buffers, 0, job.n);
        let stream = self.engine.stream();
        self.engine.with_output(
            self.device,
            &|out| (self.launch)(first, second, out, stream),
            |result| {
                (self.fold)(0, result);
            },
        )
    }

    /// Reduces one part after another. While the device reduces a part, the next part is copied
    /// there.
    fn in_parts(&mut self, job: &Job<'_, T>, limit: u64) -> Result<(), Error> {
        let (device, result_bytes) = (self.device, self.engine.result_bytes());
        let part = job.part(PART_BYTES.min(limit / 2));
        // These are declared before the queues, so they are dropped after them. They must live
        // longer, because the queues may still write to them after an error.
        let mut results =
            [device.alloc_pinned::<u8>(result_bytes)?, device.alloc_pinned(result_bytes)?];
        let mut outputs = [device.alloc::<u8>(result_bytes)?, device.alloc(result_bytes)?];
        let mut buffers =
            [buffers(device, job, part.min(job.n))?, buffers(device, job, part.min(job.n))?];
        let mut staging = self.engine.take_staging(device)?;
        // For each queue, the index of the first element of the part that it is working on.
        let mut under_way: [Option<u64>; 2] = [None, None];
        let mut finish = |queue: &Queue, result: &[u8], under_way: &mut Option<u64>| {
            queue.stream.synchronize()?;
            if let Some(start) = under_way.take() {
                (self.fold)(start, result);
            }
            Ok::<(), Error>(())
        };

        for queue in &staging.queues {
            // An earlier launch may still be writing an operand on the device, so the queues wait
            // for the device's own stream.
            queue.stream.wait_for(self.engine.stream())?;
        }
        let mut parts = 0;
        for (k, (start, len)) in job.parts(part).enumerate() {
            let of = k % 2;
            let (queue, output) = (&mut staging.queues[of], &mut outputs[of]);
            finish(queue, &results[of], &mut under_way[of])?;
            queue.copy(job, start, len, &mut buffers[of], 0)?;
            let (first, second) = places(job, &buffers[of], start, len);
            (self.launch)(first, second, output.address(), &queue.stream)?;
            // SAFETY: the result is read only after the wait for the queue, and lives longer than
            // the queue.
            unsafe { queue.stream.copy_to_host(&*output, &mut results[of])? };
            under_way[of] = Some(start);
            (self.progress)(start + len, job.n);
            parts = k + 1;
        }
        for of in [parts % 2, (parts + 1) % 2] {
            finish(&staging.queues[of], &results[of], &mut under_way[of])?;
        }
        self.engine.keep_staging(staging);
        Ok(())
    }
}

/// Allocates a buffer of `len` elements on the device for each operand that is on the host.
fn buffers<T: Item>(
    device: &Device,
    job: &Job<'_, T>,
    len: u64,
) -> Result<[Option<Buffer<T>>; 2], Error> {
    let buffer = |operand: &Option<Operand<'_, T>>| match operand {
        None | Some(Operand::Device(_)) => Ok(None),
        Some(Operand::Host(_) | Operand::Pinned(_)) => device.alloc(len as usize).map(Some),
    };
    Ok([buffer(&job.operands[0])?, buffer(&job.operands[1])?])
}

/// The place of a part of each operand. For an operand on the host, it is the first `len` elements
/// of the operand's buffer. For an operand on the device, it is `len` elements of the operand
/// itself, from element `start` on.
fn places<'a, T: Item>(
    job: &Job<'a, T>,
    buffers: &'a [Option<Buffer<T>>; 2],
    start: u64,
    len: u64,
) -> (Place<'a, T>, Option<Place<'a, T>>) {
    let [first, second] = [0, 1].map(|of| match (&job.operands[of], &buffers[of]) {
        (Some(Operand::Device(place)), _) => Some(place.part(start, len)),
        (_, buffer) => buffer.as_ref().map(|buffer| buffer.view(..len as usize).into()),
    });
    (first.expect("there is a first operand"), second)
}

impl Queue {
    /// For each operand on the host, starts to copy `len` elements from element `start` on into the
    /// operand's buffer, where the first one becomes element `at`. The queue must have no other
    /// work.
    fn copy<T: Item>(
        &mut self,
        job: &Job<'_, T>,
        start: u64,
        len: u64,
        buffers: &mut [Option<Buffer<T>>; 2],
        at: u64,
    ) -> Result<(), Error> {
        let range = |start: u64| start as usize..(start + len) as usize;
        let mut free: &mut [T] = bytemuck::cast_slice_mut(&mut self.pinned);
        for (operand, buffer) in job.operands.iter().zip(buffers) {
            let Some(buffer) = buffer else { continue };
            let values = match operand {
                Some(Operand::Host(values)) => {
                    let (staged, rest) = free.split_at_mut(len as usize);
                    staged.copy_from_slice(&values[range(start)]);
                    free = rest;
                    &*staged
                }
                Some(Operand::Pinned(values)) => &values[range(start)],
                Some(Operand::Device(_)) | None => continue,
            };
            // SAFETY: `pinned` is written again only after a wait for the stream, and the caller's
            // values stay borrowed until the last wait, which is at the end of the reduction or,
            // after an error, in the drop of the queue.
            unsafe { self.stream.copy_from_host(values, buffer.view_mut(range(at)))? };
        }
        Ok(())
    }
}
