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
/// Bytes of static shared memory of a kernel, or more.
const STATIC_BYTES: u32 = 512;
/// How many blocks there are for each multiprocessor at most. So many have room for their registers
/// on an H200. With room for six, registers are spilled, and a call takes 15 to 24 % more.
/// (bench/NOTEBOOK.md, attempt 130.)
const BLOCKS_OF_MULTIPROCESSOR: u64 = 5;
/// The most bytes of a key. Longer keys are rare, and would be a fifth of each kernel's code.
pub(super) const MOST_KEY_BYTES: usize = 8;
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
        let items = match (key, value) {
            (..=4, _) => 12,
            (_, ..=4) => 6,
            _ => 10,
        };
        let tile = THREADS * items;
        let count = n.div_ceil(tile as u64);
        let groups = count.div_ceil(THREADS as u64);
        let acc_words = acc as u64 / 4;
        // `warpfold_device::keyed::words`.
        let words =
            1 + count.div_ceil(OF_WORD) + groups * (1 + acc_words) + count * (1 + 2 * acc_words);
        Self { count, shared_bytes: tile * (2 * key + value + acc + 2), words }
    }

    /// Whether the kernel takes them on a device whose blocks have so much shared memory. The last
    /// word of the workspace is a status.
    fn fit(self, most_shared_bytes: u32) -> bool {
        let is_room = self.shared_bytes + STATIC_BYTES <= most_shared_bytes;
        is_room && self.count > 0 && self.words < WORKSPACE_BYTES / 8
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
    /// `key_log` bytes. Does nothing and returns `false` if there is none, or if there are no keys,
    /// or too many for the workspace.
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
        let Some(keyed) = &self.keyed else { return Ok(false) };
        let n = values.len;
        // An accumulator is as long as the result, or as the element in which elements are
        // compared.
        let acc = size_of::<T>().max(size_of::<O::RowRaw>()).max(4) as u32;
        let tiles = Tiles::of(n, 1 << key_log, size_of::<T>() as u32, acc);
        if !tiles.fit(self.device().info().most_shared_bytes_per_block) {
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
    fn a_device_with_less_shared_memory_takes_shorter_keys_and_values() {
        for ((key, value, acc), most, fits) in [
            ((4, 4, 4), 48 << 10, true),
            ((4, 4, 8), 48 << 10, true),
            ((4, 8, 8), 48 << 10, false),
            ((8, 4, 4), 48 << 10, true),
            ((8, 4, 8), 48 << 10, true),
            // A device of compute capability 7.5 has 64 KiB for a block.
            ((4, 8, 8), 64 << 10, true),
            ((8, 8, 8), 64 << 10, true),
        ] {
            assert_eq!(Tiles::of(1, key, value, acc).fit(most), fits, "{key}, {value}, {acc}");
        }
    }

    #[test]
    fn the_workspace_has_room_for_hundreds_of_millions_of_elements() {
        let fits = |n, acc| Tiles::of(n, 4, 4, acc).fit(u32::MAX);
        assert!(fits(300_000_000, 4) && !fits(350_000_000, 4));
        assert!(fits(180_000_000, 8) && !fits(200_000_000, 8));
        assert!(!fits(0, 4));
    }

    #[test]
    fn small_arrays_have_a_block_for_each_job() {
        let blocks = |n| Tiles::of(n, 4, 4, 4).blocks(132);
        assert_eq!([1, 1920, 1921, 160 * 1920, 160 * 1920 + 1].map(blocks), [2, 2, 3, 161, 163]);
        assert_eq!(blocks(1 << 26), 5 * 132);
    }
}
