//! The launch of operations that have a kernel of their own for runs of keys, which finds the runs
//! and reduces them.

use crate::device::{Arg, LaunchShape, Stream, WORKSPACE_BYTES};

use super::{
    super::super::{Error, Item, SegmentOperation, input::Place},
    RunReducer,
    find::Outputs,
};

/// Threads of a block. `warpfold_device::keyed::THREADS`.
const THREADS: u32 = 160;
/// How many blocks there are for each multiprocessor at most. So many have room for their registers
/// at a time.
const BLOCKS_OF_MULTIPROCESSOR: u64 = 5;
/// 2 to this number are the most bytes of a key. Longer keys are rare, and would be a fifth of each
/// kernel's code.
const MOST_KEY_LOG: u32 = 3;
/// How many tiles share a word of the workspace. `warpfold_device::keyed::numbers::OF_WORD`.
const OF_WORD: u64 = 4;

/// How the keys are divided.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tiles {
    /// The number of tiles.
    count: u64,
    /// Bytes of shared memory of a block.
    shared_bytes: u32,
    /// 64-bit words of the workspace.
    words: u64,
}

impl Tiles {
    /// The tiles of `n` keys of `key` bytes, with values of `value` bytes and accumulators of `acc`
    /// bytes.
    const fn of(n: u64, key: u32, value: u32, acc: u32) -> Self {
        // `warpfold_device::keyed::items`.
        let items = if key > 4 || value > 4 { 6 } else { 12 };
        let tile = THREADS * items;
        let count = n.div_ceil(tile as u64);
        let groups = count.div_ceil(THREADS as u64);
        let acc_words = acc as u64 / 4;
        // `warpfold_device::keyed::words`.
        let words =
            1 + count.div_ceil(OF_WORD) + groups * (1 + acc_words) + count * (1 + 2 * acc_words);
        Self { count, shared_bytes: tile * (2 * key + value + acc + 2), words }
    }

    /// Whether the kernel takes them. The last word of the workspace is a status.
    fn fit(self) -> bool {
        self.count > 0 && self.words < WORKSPACE_BYTES / 8
    }

    /// How many blocks there are: one for each tile and each group of tiles, or as many as there is
    /// room for.
    fn blocks(self, multiprocessors: u32) -> u32 {
        let jobs = self.count + self.count.div_ceil(THREADS.into());
        jobs.min(BLOCKS_OF_MULTIPROCESSOR * u64::from(multiprocessors)) as u32
    }
}

impl<B, T: Item, O: SegmentOperation<T>> RunReducer<B, T, O> {
    /// As [`launch_heads`](Self::launch_heads), with the kernel for keys, of 2 to the power of
    /// `key_log` bytes. Does nothing and returns `false` if there is none, if there are no keys or
    /// too many for the workspace, or if keys are too long.
    ///
    /// # Safety
    ///
    /// That of [`launch_heads`](Self::launch_heads).
    pub(super) unsafe fn launch_keyed(
        &self,
        keys: u64,
        key_log: u32,
        values: &Place<'_, T>,
        out: Outputs,
        stream: &Stream,
    ) -> Result<bool, Error> {
        let (Some(keyed), ..=MOST_KEY_LOG) = (&self.keyed, key_log) else { return Ok(false) };
        let n = values.len;
        // An accumulator is as long as the result, or as the element in which elements are
        // compared.
        let acc = size_of::<T>().max(size_of::<O::RowRaw>()).max(4) as u32;
        let tiles = Tiles::of(n, 1 << key_log, size_of::<T>() as u32, acc);
        if !tiles.fit() {
            return Ok(false);
        }
        let blocks = tiles.blocks(self.device().class().multiprocessors());
        let shape = LaunchShape::linear(blocks, THREADS, tiles.shared_bytes).in_sequence();
        let args = [
            Arg::Pointer(values.address),
            Arg::Pointer(out.output),
            Arg::Pointer(keys),
            Arg::U32(key_log),
            Arg::U64(n),
            Arg::Pointer(out.unique),
            Arg::Pointer(out.offsets),
            Arg::U32(out.log),
            Arg::Pointer(out.runs),
            Arg::Pointer(stream.workspace()),
        ];
        // SAFETY: the kernel reads the keys and the values, and writes no more runs than there are
        // keys. The workspace has room for what it needs. Dropping memory waits for the work that
        // uses it, and a graph retains the memory that it uses.
        unsafe { stream.launch(keyed.kernel(), shape, &args)? };
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_have_as_many_elements_as_their_bytes_allow() {
        for ((key, value), tile) in [
            ((1, 2), 1920),
            ((4, 4), 1920),
            ((8, 4), 960),
            ((4, 8), 960),
            ((8, 8), 960),
            ((1, 8), 960),
        ] {
            for (n, count) in [(0, 0), (1, 1), (tile, 1), (tile + 1, 2), (10 * tile, 10)] {
                assert_eq!(Tiles::of(n, key, value, 8).count, count, "{key}, {value}: {n}");
            }
        }
    }

    #[test]
    fn a_block_has_at_most_48_kib_of_shared_memory() {
        for key in [1, 2, 4, 8] {
            for (value, acc) in [(2, 4), (4, 4), (4, 8), (8, 8)] {
                let bytes = Tiles::of(1, key, value, acc).shared_bytes;
                assert!(bytes <= 48 << 10, "{key}, {value}, {acc}: {bytes}");
            }
        }
    }

    #[test]
    fn the_workspace_has_room_for_hundreds_of_millions_of_floats() {
        let of = |n| Tiles::of(n, 4, 4, 4);
        assert!(of(1 << 28).fit());
        assert!(!of(1 << 29).fit());
        assert!(!of(0).fit());
    }

    #[test]
    fn small_arrays_have_a_block_for_each_job() {
        let blocks = |n| Tiles::of(n, 4, 4, 4).blocks(132);
        assert_eq!([1, 1920, 1921, 160 * 1920, 160 * 1920 + 1].map(blocks), [2, 2, 3, 161, 163]);
        assert_eq!(blocks(1 << 26), 5 * 132);
    }
}
