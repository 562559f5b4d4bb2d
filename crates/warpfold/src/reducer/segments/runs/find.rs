//! The launches that find where segments begin, and those of the reductions behind them.

use crate::device::{Arg, LaunchShape, Stream, WORKSPACE_BYTES};

use super::{
    super::{
        super::{Error, Item, SegmentOperation, input::Place},
        Boundaries, Offset, Plan, SegmentReducer,
    },
    RunReducer,
};

/// Threads of a block. `warpfold_device::runs::THREADS`.
const THREADS: u64 = 256;
/// The most keys or flags of a thread. `warpfold_device::runs::MOST_ROWS`.
const MOST_ROWS: u64 = 256;
/// How many keys or flags of up to 4 bytes a thread asks for at a time.
const ROUND: u64 = 16;
/// Blocks of a small array. More of them would wait longer for each other's numbers than they save.
const BLOCKS: u64 = 64;
/// The most blocks whose threads have one round, in an array that is not large.
const MOST_OF_ONE_ROUND: u64 = 512;
/// How many tiles there are at least for each multiprocessor in a large array. A multiprocessor has
/// room for four blocks at a time.
const TILES_OF_MULTIPROCESSOR: u64 = 8;
/// Lengths that a thread loads. `warpfold_device::runs::LENGTHS`.
const LENGTHS: u64 = 8;
/// The most tiles of a launch: a word of the workspace counts blocks, and the last one is a status.
const MOST_TILES: u64 = WORKSPACE_BYTES / 8 - 2;

/// The address of a word of a stream's workspace that is 0 and that no kernel writes: the status of
/// segments whose boundaries cannot be wrong.
fn no_status(stream: &Stream) -> u64 {
    stream.workspace() + WORKSPACE_BYTES - 8
}

/// The launch shape for `n` elements in tiles of `tile`, or the most elements.
fn shape(n: u64, tile: u64) -> Result<LaunchShape, u64> {
    let tiles = n.div_ceil(tile).max(1);
    if tiles > MOST_TILES {
        return Err(MOST_TILES * tile);
    }
    Ok(LaunchShape::linear(tiles as u32, THREADS as u32, 0).in_sequence())
}

/// How many keys or flags each thread has. A block with a larger tile reads for longer, and waits
/// no longer for lower blocks, but large tiles of few keys leave multiprocessors without work.
/// (bench/NOTEBOOK.md, attempt 91.)
fn rows(n: u64, multiprocessors: u32) -> u64 {
    let rows = n.div_ceil(BLOCKS * THREADS).max(1).next_power_of_two();
    if rows <= ROUND {
        return rows;
    }
    if n <= MOST_OF_ONE_ROUND * THREADS * ROUND {
        return ROUND;
    }
    let rows = n / (THREADS * TILES_OF_MULTIPROCESSOR * u64::from(multiprocessors));
    1 << rows.clamp(2 * ROUND, MOST_ROWS).ilog2()
}

/// Where the results of keys or flags go: addresses of the device.
#[derive(Clone, Copy)]
pub(super) struct Outputs {
    /// The first key of each run. Flags have none.
    pub(super) unique: u64,
    /// The raw results.
    pub(super) output: u64,
    /// The boundaries of the runs.
    pub(super) offsets: u64,
    /// 2 to this number are the bytes of a boundary.
    pub(super) log: u32,
    /// The number of runs.
    pub(super) runs: u64,
}

impl<B, T: Item, O: SegmentOperation<T>> RunReducer<B, T, O> {
    /// Adds to `stream` the launches that find the runs of keys or flags, of which there is one
    /// for each value, and reduce them. `keys` is the address of the first one.
    ///
    /// # Safety
    ///
    /// The keys are there. Of each output but the last there is room for as many as there are
    /// values, and for one more of the offsets. All memory belongs to the stream's device.
    pub(super) unsafe fn launch_heads(
        &self,
        keys: u64,
        values: Place<'_, T>,
        out: Outputs,
        stream: &Stream,
    ) -> Result<(), Error> {
        let n = values.len;
        let too_long = |most| Error::TooLong { op: O::NAME, item: T::NAME, n, most };
        let rows = rows(n, self.device().class().multiprocessors());
        let shape = shape(n, rows * THREADS).map_err(too_long)?;
        let plan = self.plan(n, n)?;
        let args = [
            Arg::Pointer(keys),
            Arg::U64(n),
            Arg::U32(rows as u32),
            Arg::Pointer(out.unique),
            Arg::Pointer(out.offsets),
            Arg::U32(out.log),
            Arg::Pointer(out.runs),
            Arg::Pointer(stream.workspace()),
        ];
        // SAFETY: the first kernel reads the keys, and writes no more runs than there are keys. It
        // uses one word of the workspace for each block, and one more. The second one has right
        // boundaries then. Dropping memory waits for the work that uses it, and a graph retains the
        // memory that it uses.
        unsafe {
            stream.launch(self.finder.kernel(), shape, &args)?;
            let Some(plan) = plan else { return Ok(()) };
            let boundaries = Boundaries {
                address: out.offsets,
                log: out.log,
                greatest: u64::MAX,
                segments: n,
                counted: out.runs,
                spans: None,
            };
            let outputs = [out.output, no_status(stream)];
            self.segments.launch_planned(plan, values, boundaries, outputs, stream)
        }
    }

    /// Adds to `stream` the launches that find where segments of these lengths begin, and reduce
    /// them. A length is negative if it is greater than `greatest`. `outputs` are the addresses of
    /// the raw results, the offsets and the status, and 2 to the power of `log` the bytes of an
    /// offset.
    ///
    /// # Safety
    ///
    /// There is room for a raw result of each length, and for one offset more, which can hold the
    /// number of values and one more. All memory belongs to the stream's device.
    pub(super) unsafe fn launch_lengths<L>(
        &self,
        lengths: &Place<'_, L>,
        greatest: u64,
        values: Place<'_, T>,
        ([output, offsets, status], log): ([u64; 3], u32),
        stream: &Stream,
    ) -> Result<(), Error> {
        let segments = lengths.len;
        let too_long = |most| Error::TooLong { op: O::NAME, item: T::NAME, n: segments, most };
        let shape = shape(segments, THREADS * LENGTHS).map_err(too_long)?;
        let plan = self.plan(values.len, segments)?;
        let args = [
            Arg::Pointer(lengths.address),
            Arg::U64(segments),
            Arg::U64(greatest),
            Arg::U64(values.len + 1),
            Arg::Pointer(offsets),
            Arg::U32(log),
            Arg::Pointer(stream.workspace()),
        ];
        // SAFETY: as in `launch_heads`, except that boundaries may be wrong. Then the workspace is
        // zeroed when the status is checked.
        unsafe {
            stream.launch(self.finder.kernel(), shape, &args)?;
            let Some(plan) = plan else { return Ok(()) };
            let (greatest, counted, spans) = (u64::MAX, 0, None);
            let boundaries =
                Boundaries { address: offsets, log, greatest, segments, counted, spans };
            self.segments.launch_planned(plan, values, boundaries, [output, status], stream)
        }
    }

    /// Adds to `stream` the launches that check spans, put them one behind the other, and reduce
    /// them. Returns how many elements all spans may have together. `outputs` are the addresses of
    /// the raw results, the offsets and the status.
    ///
    /// # Safety
    ///
    /// There is a begin and an end for each span, room for a raw result of each span, and for one
    /// offset more, of 8 bytes. All memory belongs to the stream's device.
    pub(super) unsafe fn launch_spans<E: Offset>(
        &self,
        begins: &Place<'_, E>,
        ends: &Place<'_, E>,
        values: Place<'_, T>,
        [output, offsets, status]: [u64; 3],
        stream: &Stream,
    ) -> Result<u64, Error> {
        let segments = begins.len;
        let too_long = |most| Error::TooLong { op: O::NAME, item: T::NAME, n: segments, most };
        let shape = shape(segments, THREADS * LENGTHS).map_err(too_long)?;
        let Some(plan) = self.plan(values.len, segments)? else { return Ok(0) };
        let (plan, most) = SegmentReducer::<T, O>::plan_of_spans(plan, segments);
        let args = [
            Arg::Pointer(begins.address),
            Arg::Pointer(ends.address),
            Arg::U64(segments),
            // A negative end is beyond them.
            Arg::U64(values.len.min(E::GREATEST)),
            Arg::U64(most + 1),
            Arg::Pointer(status),
            Arg::Pointer(offsets),
            Arg::U32(size_of::<u64>().ilog2()),
            Arg::Pointer(stream.workspace()),
        ];
        let boundaries = Boundaries {
            address: offsets,
            log: size_of::<u64>().ilog2(),
            greatest: u64::MAX,
            segments,
            counted: 0,
            spans: Some((begins.address, size_of::<E>().ilog2())),
        };
        // SAFETY: as in `launch_heads`. The first kernel gives a wrong span no elements, and leaves
        // out elements that are too many, so the second one has right boundaries.
        unsafe {
            stream.launch(self.finder.kernel(), shape, &args)?;
            let outputs = [output, no_status(stream)];
            self.segments.launch_planned(plan, values, boundaries, outputs, stream)?;
        }
        Ok(most)
    }

    /// The plan for at most so many segments. `None` if there are none.
    fn plan(&self, elements: u64, segments: u64) -> Result<Option<Plan>, Error> {
        let plan = || SegmentReducer::<T, O>::plan(elements, segments, self.device());
        (segments > 0).then(plan).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_grow_with_the_number_of_keys() {
        let small = BLOCKS * THREADS;
        for (n, expected) in [(0, 1), (1, 1), (small, 1), (small + 1, 2), (3 * small, 4)] {
            assert_eq!(rows(n, 132), expected, "{n} keys");
        }
        let one_round = MOST_OF_ONE_ROUND * THREADS * ROUND;
        for (n, expected) in [(16 * small, 16), (one_round, 16), (one_round + 1, 32)] {
            assert_eq!(rows(n, 132), expected, "{n} keys");
        }
        let many = TILES_OF_MULTIPROCESSOR * 132 * THREADS;
        for (n, expected) in [(64 * many - 1, 32), (64 * many, 64), (u64::MAX, 256)] {
            assert_eq!(rows(n, 132), expected, "{n} keys");
        }
    }

    #[test]
    fn there_is_a_block_for_each_tile_and_a_word_for_each_block() {
        for (n, blocks) in [(0, 1), (1, 1), (4096, 1), (4097, 2), (MOST_TILES * 4096, MOST_TILES)] {
            assert_eq!(shape(n, 4096).unwrap().grid, (blocks as u32).into(), "{n} elements");
        }
        assert_eq!(shape(MOST_TILES * 4096 + 1, 4096), Err(MOST_TILES * 4096));
        // The words of the blocks, the counter before them, and the status behind them.
        assert_eq!((MOST_TILES + 2) * 8, WORKSPACE_BYTES);
    }
}
