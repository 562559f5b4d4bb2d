//! How bins and elements are shared out among blocks: a pure function of their numbers, because the
//! bits of the results depend on it.

use crate::device::WORKSPACE_BYTES;

/// The most bins of a call. Their counts fit into the workspace of a stream.
pub(super) const MOST_BINS: u64 = 1 << 16;
/// Threads of a warp.
const WARP: u64 = 32;
/// Shared memory that every device has for a block.
const SHARED_BYTES: u64 = 48 << 10;

/// The most warps of a block that reduces.
const MOST_WARPS: u64 = 8;
/// The most bytes of a warp's bins. If there are more bins, several blocks read the same elements.
/// With one warp to a block there would be too few warps to keep memory busy, so a third of the
/// shared memory is the most.
const RANGE_BYTES: u64 = SHARED_BYTES / 3;
/// Elements of a tile. `warpfold_device::bins::LOADS` for each lane.
const TILE: u64 = 4 * WARP;
/// With so many tiles to a warp one block is enough, because they take less time than a second
/// launch. With this number and [`FEW_CHUNKS`], sums of 2^14 `f32` into 256 bins take 4.4 us on an
/// H100 and not 13.4 (bench/NOTEBOOK.md, attempt 85). No other numbers were measured.
const TILES_OF_ONE_BLOCK: u64 = 4;
/// As many chunks as have one tile to a warp, because tiles take longer than more partial results,
/// which the second launch reads in one round. See [`TILES_OF_ONE_BLOCK`].
const FEW_CHUNKS: u64 = 128;
/// The least tiles of a warp if there are more chunks, because its bins take time at the beginning
/// and at the end.
const LEAST_TILES: u64 = 8;
/// The most chunks, if a warp has fewer than [`MANY_TILES`].
const MOST_CHUNKS: u64 = 512;
/// A warp with so many tiles takes so long that more chunks cost little. They are worth it, because
/// the last blocks leave less of the device idle. Not measured.
const MANY_TILES: u64 = 64;
/// The most chunks of all.
const MOST_CHUNKS_OF_ALL: u64 = 4 * MOST_CHUNKS;

/// How a reduction is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// Bins of a block.
    pub(super) range: u32,
    /// How many such ranges there are.
    pub(super) ranges: u32,
    /// Warps of a block.
    pub(super) warps: u32,
    /// The number of chunks, each of which has a block for each range.
    pub(super) chunks: u32,
    /// Elements of a warp.
    pub(super) share: u64,
}

/// The plan for `n` elements and `bins` bins, of which there is at least one and at most
/// [`MOST_BINS`], if an accumulator has `words` words of 32 bits, at most 8.
pub(super) fn plan(n: u64, bins: u64, words: u64) -> Plan {
    let ranges = (bins * words * 4).div_ceil(RANGE_BYTES);
    let range = bins.div_ceil(ranges);
    // A range that was rounded up may exceed its bytes by one bin, for which there is room.
    let warps = (SHARED_BYTES / (range * words * 4)).clamp(1, MOST_WARPS);
    let tiles = n.div_ceil(TILE);
    let chunks = |tiles_of_warp: u64| tiles.div_ceil(tiles_of_warp * warps);
    let few = if chunks(TILES_OF_ONE_BLOCK) > 1 { chunks(1).min(FEW_CHUNKS) } else { 1 };
    let chunks = few.max(chunks(LEAST_TILES).min(MOST_CHUNKS)).max(chunks(MANY_TILES));
    // The partial results must fit into the workspace.
    let most = (WORKSPACE_BYTES / 4 / (bins * words)).clamp(1, MOST_CHUNKS_OF_ALL);
    let chunks = chunks.clamp(1, most);
    let share = tiles.div_ceil(chunks * warps) * TILE;
    Plan {
        range: range as u32,
        ranges: bins.div_ceil(range) as u32,
        warps: warps as u32,
        chunks: chunks as u32,
        share,
    }
}

/// A chunk of a block that counts has a multiple of so many packs, which are a KiB. A multiple of a
/// round of the block would leave other blocks less.
const CHUNK_PACKS: u64 = 64;
/// Threads of a block that counts. `warpfold_device::bins::THREADS`.
const COUNTING_THREADS: u32 = 256;
/// Bytes of a pack.
const PACK: u64 = 16;
/// Packs that the threads of a block have under way, four each.
const ROUND: u64 = 4 * COUNTING_THREADS as u64;
/// The least packs of a block, unless there are fewer blocks than multiprocessors.
const LEAST_PACKS: u64 = 2 * ROUND;
/// The most packs of a block, because it counts in 32 bits.
const MOST_PACKS: u64 = u32::MAX as u64 / PACK / ROUND * ROUND;
/// The most blocks that a multiprocessor has room for at a time.
const RESIDENT: u64 = 8;
/// Threads of a block that counts keys of one byte. `warpfold_device::bins::BYTE_THREADS`.
const BYTE_THREADS: u32 = 512;
/// Columns of counts of such a block. `warpfold_device::bins::BYTE_COLUMNS`.
const BYTE_COLUMNS: u64 = 64;
/// Packs of such keys for which no thread takes more than one.
const BYTE_ROUND: u64 = BYTE_THREADS as u64;
/// The least packs of a block of such keys, unless there are fewer blocks than multiprocessors.
const LEAST_BYTE_PACKS: u64 = 2 * BYTE_ROUND;
/// The most packs of a block of such keys, because a column counts in 16 bits, and may have one key
/// more.
const MOST_BYTE_PACKS: u64 = (u16::MAX as u64 - 1) / PACK * BYTE_COLUMNS / BYTE_ROUND * BYTE_ROUND;
/// The most blocks for such keys that a multiprocessor has room for at a time.
const BYTE_RESIDENT: u64 = 4;

/// 64-bit words of the workspace before the first shard. `warpfold_device::bins::SHARDS_AT`.
const SHARDS_AT: u64 = 16;
/// The words of a shard for keys of one byte, each of which holds two counts of 32 bits.
const BYTE_SHARD: u64 = 128;
/// The most blocks of a shard for keys of one byte: with [`MOST_BYTE_PACKS`] each, they have fewer
/// than 2^32 keys.
const MOST_BYTE_BLOCKS: u64 = 1024;
/// The blocks of a shard, unless there are too few shards. Additions of that many blocks to a word
/// take less time than another shard takes the last block. With this number and [`MOST_SHARDS`],
/// counts of 2^26 bytes take 29.5 us on an H100 and not 45 (bench/NOTEBOOK.md, attempt 85). No
/// other numbers were measured.
const SHARD_BLOCKS: u64 = 16;
/// The most shards, which the last block reads in two rounds.
const MOST_SHARDS: u64 = 16;
/// The most words of all shards, so that the last block has few to read. With more bins, blocks
/// meet less often.
const MOST_SHARD_WORDS: u64 = 4096;

/// How counting is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CountPlan {
    /// Threads of a block.
    pub(super) threads: u32,
    /// Bins of a block.
    pub(super) range: u32,
    /// How many such ranges there are.
    pub(super) ranges: u32,
    /// Copies of the bins of a block in dynamic shared memory.
    pub(super) copies: u32,
    /// Shards in the workspace, to which the blocks add.
    pub(super) shards: u32,
    /// The number of chunks.
    pub(super) chunks: u32,
    /// Packs of a chunk.
    pub(super) chunk: u64,
}

/// The plan for `n` keys of `bytes` bytes and `bins` bins, of which there is at least one and at
/// most [`MOST_BINS`], on a device with this number of multiprocessors. `None` if there are too
/// many keys.
pub(super) fn count_plan(n: u64, bytes: u64, bins: u64, multiprocessors: u32) -> Option<CountPlan> {
    let most = SHARED_BYTES / 4;
    let ranges = bins.div_ceil(most);
    let range = bins.div_ceil(ranges);
    let copies = 1 << (most / range).min(MOST_WARPS).ilog2();
    let packs = n.checked_mul(bytes)? / PACK;
    // The kernel for keys of one byte has counts of all of them in static shared memory.
    let (threads, range, ranges, copies) = match bytes {
        1 => (BYTE_THREADS, bins, 1, 0),
        _ => (COUNTING_THREADS, range, ranges, copies),
    };
    let (round, least, most, resident) = match bytes {
        1 => (BYTE_ROUND, LEAST_BYTE_PACKS, MOST_BYTE_PACKS, BYTE_RESIDENT),
        _ => (ROUND, LEAST_PACKS, MOST_PACKS, RESIDENT),
    };
    let multiprocessors = u64::from(multiprocessors);
    let blocks = (multiprocessors * resident / ranges).max(1);
    // If one block is not enough, then the shards take their time for any number of blocks.
    let few = if packs > least { packs.div_ceil(round).min(multiprocessors) } else { 1 };
    let chunks = packs.div_ceil(least).min(blocks).max(few).max(packs.div_ceil(most));
    let chunk = packs.div_ceil(chunks).max(1).next_multiple_of(CHUNK_PACKS).min(most);
    // Because a chunk was rounded up, fewer chunks may be enough.
    let chunks = packs.div_ceil(chunk).max(1);
    Some(CountPlan {
        threads,
        range: range as u32,
        ranges: ranges as u32,
        copies,
        shards: shards(chunks, bytes, bins)?,
        chunks: u32::try_from(chunks).ok().filter(|&chunks| chunks < 1 << 31)?,
        chunk,
    })
}

/// How many shards the blocks of `chunks` chunks add to. `None` if the workspace has no room for as
/// many as they need.
fn shards(chunks: u64, bytes: u64, bins: u64) -> Option<u32> {
    let (length, least) = match bytes {
        1 => (BYTE_SHARD, chunks.div_ceil(MOST_BYTE_BLOCKS).next_power_of_two()),
        _ => (bins.next_multiple_of(2), 1),
    };
    let shards = (chunks / SHARD_BLOCKS).min(MOST_SHARDS).min(MOST_SHARD_WORDS / length).max(1);
    let shards = (1 << shards.ilog2()).max(least);
    ((SHARDS_AT + shards * length) * 8 <= WORKSPACE_BYTES).then_some(shards as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_plan_keeps_the_contract_of_the_kernel(
            n in prop_oneof![0u64..1 << 20, 0u64..1 << 40],
            bins in 1..=MOST_BINS,
            words in 1u64..=8,
        ) {
            let Plan { range, ranges, warps, chunks, share } = plan(n, bins, words);
            let [range, ranges, warps, chunks] = [range, ranges, warps, chunks].map(u64::from);
            prop_assert!(warps * range * words * 4 <= SHARED_BYTES);
            prop_assert!((1..=MOST_WARPS).contains(&warps));
            prop_assert!(range * ranges >= bins && range * (ranges - 1) < bins);
            prop_assert!(share % TILE == 0 && chunks * warps * share >= n);
            prop_assert!(chunks == 1 || chunks * bins * words * 4 <= WORKSPACE_BYTES);
        }

        #[test]
        fn a_plan_for_counts_keeps_the_contract_of_the_kernel(
            n in prop_oneof![0u64..1 << 20, 0u64..1 << 40],
            log in 0u32..4,
            bins in 1..=MOST_BINS,
            multiprocessors in 1u32..300,
        ) {
            let plan = count_plan(n, 1 << log, bins, multiprocessors).unwrap();
            let [range, ranges] = [plan.range, plan.ranges].map(u64::from);
            prop_assert!(u64::from(plan.copies) * range * 4 <= SHARED_BYTES);
            prop_assert!(plan.copies.is_power_of_two() || log == 0 && plan.copies == 0);
            prop_assert!(range * ranges >= bins && range * (ranges - 1) < bins);
            prop_assert!(u64::from(plan.chunks) * plan.chunk >= (n << log) / PACK);
            prop_assert!(plan.chunk * (PACK >> log) < 1 << 32);
            let of_thread = plan.chunk.div_ceil(plan.threads.into()) * PACK;
            let of_column = u64::from(plan.threads) / BYTE_COLUMNS * of_thread;
            prop_assert!(log > 0 || of_column < u16::MAX.into());
            let [shards, chunks] = [plan.shards, plan.chunks].map(u64::from);
            prop_assert!(shards.is_power_of_two());
            let length = if log == 0 { 128 } else { bins.next_multiple_of(2) };
            prop_assert!((SHARDS_AT + shards * length) * 8 <= WORKSPACE_BYTES);
            // The first block also has the keys before and behind the packs.
            let of_shard = chunks.div_ceil(shards) * plan.chunk * PACK + 2 * PACK;
            prop_assert!(log > 0 || of_shard < 1 << 32);
        }
    }

    #[test]
    fn small_inputs_take_one_block_and_most_bins_have_room() {
        assert_eq!(plan(4096, 10, 1).chunks, 1);
        assert_eq!(plan(4097, 10, 1).chunks, 5);
        assert_eq!(plan(1 << 14, 10, 1).chunks, 16);
        assert_eq!(plan(1 << 20, 10, 1).chunks, 128);
        assert_eq!(plan(1 << 24, 10, 1).chunks, 512);
        assert_eq!(plan(1 << 26, 10, 1).chunks, 1024);
        assert_eq!(plan(1 << 30, 10, 1).chunks, 2048);
        let Plan { range, warps, chunks, .. } = plan(1 << 28, 4096, 1);
        assert_eq!((range, warps, chunks), (4096, 3, 256));
    }

    #[test]
    fn more_blocks_count_into_more_shards() {
        let of = |n, bytes, bins| {
            let plan = count_plan(n, bytes, bins, 132).unwrap();
            (plan.chunks, plan.shards)
        };
        assert_eq!(of(1 << 14, 1, 256), (1, 1));
        assert_eq!(of((1 << 14) + 16, 1, 256), (3, 1));
        assert_eq!(of(1 << 18, 1, 256), (32, 2));
        assert_eq!(of(1 << 26, 1, 256), (525, 16));
        assert_eq!(of(1 << 13, 4, 256), (1, 1));
        assert_eq!(of(1 << 14, 4, 256), (4, 1));
        assert_eq!(of(1 << 26, 4, 10), (1053, 16));
        assert_eq!(of(1 << 26, 4, 1000), (1053, 4));
        assert_eq!(of(1 << 26, 4, 5000), (1053, 1));
        // The counts of a shard have 32 bits.
        assert_eq!(of(1 << 36, 1, 256), (16_417, 32));
        assert_eq!(count_plan(u64::MAX, 8, 10, 132), None);
        assert_eq!(count_plan(u64::MAX, 1, 10, 132), None);
    }
}
