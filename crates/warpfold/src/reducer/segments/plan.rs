//! How segments are shared out among warps: a pure function of their number and of that of the
//! elements, because the host does not know the offsets.

use crate::device::WORKSPACE_BYTES;

/// Threads of a block. `warpfold_device::segments::THREADS`.
pub(super) const THREADS: u32 = 64;
/// A segment counts as 2 to this number of bytes, besides its elements, when ranges are made: about
/// what its offset and its result cost.
pub(super) const COST: u32 = 4;
/// 2 to this number are the bytes of a tile. `warpfold_device::rows::TILE_BYTES`.
pub(super) const TILE: u32 = 12;
/// 2 to this number are the most tiles of a task. `warpfold_device::segments::LEVELS`.
const LEVELS: u32 = 10;
/// 2 to this number are the least bytes of a range.
const LEAST: u32 = 10;
/// The most ranges for each multiprocessor that are shorter than a tile. A warp with fewer segments
/// has done sooner, but more warps begin later. (bench/NOTEBOOK.md, attempt 115.)
const MOST_SHORT: u64 = 8;
/// Warps that a multiprocessor has room for at a time, with the smaller ring and with the larger.
pub(super) const RESIDENT: [u64; 2] = [32, 30];
/// The least number of ranges for spans. So the spans of any array may have 8 GiB together, and
/// warps that have nothing to do cost little.
const RANGES_OF_SPANS: u64 = 2048;
/// The time in which a warp finds its range, in bytes of elements that it reduces in the same time:
/// with the smaller ring and with the larger.
const SEARCH: [u64; 2] = [3 << (TILE - 1), 3 << TILE];
/// The most bytes of elements that a launch takes if there are few segments and a slot has `words`
/// words. One range is left for the segments, and one because the last word of the workspace is a
/// status.
pub(super) const fn most_bytes(words: u64) -> u64 {
    ((WORKSPACE_BYTES / 8 / words / 2 - 2) << LEVELS) << TILE
}

/// The most bytes of elements for which warps take segments by their numbers. Such warps need not
/// search. But if some segments are longer than others, some warps have more work, and in larger
/// arrays that takes longer than a search. (This number and the following ones were measured on an
/// H200: bench/NOTEBOOK.md, attempt 137.)
const MOST_NUMBERED: u64 = 4 << 20;
/// The same for elements and the costs of segments together.
const MOST_NUMBERED_WITH_COSTS: u64 = 16 << 20;
/// Bytes of elements and costs for each such warp.
const OF_WARP: u64 = 3 << 9;
/// The most such warps for each multiprocessor.
const MANY_WARPS: u64 = 16;
/// Bytes of elements and costs for each such warp if a multiprocessor has few of them. More warps
/// cost little then, and each of them has done sooner.
const OF_FEW_WARPS: u64 = 256;
/// The most such warps for each multiprocessor that are few.
const FEW_WARPS: u64 = 4;

/// Bytes of shared memory of a warp, without its ring. `warpfold_device::segments::shared_bytes`.
const WARP_BYTES: u32 = 5104;
/// The words of the smaller ring, `warpfold_device::segments::LEAST_RING`, and of the larger.
const RINGS: [u32; 2] = [256, 512];
/// The most words of boundaries that a tile has on average if the ring is the smaller one.
const FEW_WORDS: u64 = 64;

/// Whether the ring of a warp is the larger one, for elements of `bytes` bytes together and
/// boundaries of 2 to the power of `log` bytes. In the smaller ring fewer short segments have room,
/// but a multiprocessor has room for more warps (bench/NOTEBOOK.md, attempt 131).
fn are_short(bytes: u64, segments: u64, log: u32) -> bool {
    ((segments << TILE) << (log - 2)) / bytes.max(1) > FEW_WORDS
}

/// The words of the ring of a warp. The parameters are those of [`are_short`].
pub(super) fn ring(bytes: u64, segments: u64, log: u32) -> u32 {
    RINGS[usize::from(are_short(bytes, segments, log))]
}

/// Bytes of dynamic shared memory of a block whose rings have so many words.
pub(super) const fn shared_bytes(ring: u32) -> u32 {
    THREADS / 32 * (WARP_BYTES + 4 * ring)
}

/// How a launch is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// 2 to this number are the bytes of a range.
    pub(super) width: u32,
    /// The number of ranges.
    pub(super) ranges: u32,
    /// Segments for each byte.
    pub(super) density: f32,
    /// The number of warps that take segments by their numbers, or 0.
    pub(super) numbered: u32,
    /// How many segments each of these warps takes.
    pub(super) each: u32,
}

impl Plan {
    /// The tiles of a task.
    pub(super) fn task(self) -> u32 {
        1 << self.width.saturating_sub(TILE)
    }

    /// The warps of a launch.
    pub(super) fn warps(self) -> u32 {
        self.numbered + self.ranges
    }

    /// The same plan if the array is large. If it is small, warps take the segments by their
    /// numbers. The other parameters are those of [`plan`].
    pub(super) fn by_number(
        self,
        elements: u64,
        segments: u64,
        bytes: u64,
        multiprocessors: u32,
    ) -> Self {
        let total = elements * bytes + (segments << COST);
        if elements * bytes > MOST_NUMBERED || total > MOST_NUMBERED_WITH_COSTS {
            return self;
        }
        let multiprocessors = u64::from(multiprocessors);
        let few = (total / OF_FEW_WARPS).min(multiprocessors * FEW_WARPS);
        let warps = (total / OF_WARP).min(multiprocessors * MANY_WARPS).max(few).max(1);
        let each = segments.div_ceil(warps);
        // The ranges are left for the tasks of long segments, of which none is shorter than a tile.
        let width = self.width.max(TILE);
        Self {
            width,
            ranges: (total >> width) as u32 + 1,
            numbered: segments.div_ceil(each) as u32,
            each: each as u32,
            ..self
        }
    }
}

/// The plan for so many elements of `bytes` bytes in so many segments, on a device with this number
/// of multiprocessors, if a slot has `words` words. `None` if they are too many for a launch.
pub(super) fn plan(
    elements: u64,
    segments: u64,
    bytes: u64,
    words: u64,
    multiprocessors: u32,
) -> Option<Plan> {
    let total = elements.checked_mul(bytes)?.checked_add(segments.checked_mul(1 << COST)?)?;
    let are_short = are_short(elements * bytes, segments, 2);
    let places = u64::from(multiprocessors) * RESIDENT[usize::from(are_short)];
    // About how long a launch takes, because the places for warps are taken in rounds. The last
    // round begins earlier where the warps before have had less work. Where segments are short,
    // warps wait for instructions, so a round that is not full takes less time.
    let time = |width: u32| {
        let ranges = (total >> width) + 1;
        let of_range = (1 << width) + SEARCH[usize::from(are_short)];
        let ranges = if are_short { ranges } else { ranges.next_multiple_of(places) };
        let end = if are_short { places } else { places / 4 };
        (ranges + end).saturating_mul(of_range)
    };
    let mut width = (TILE..=TILE + LEVELS).min_by_key(|&width| time(width))?;
    let most_short = u64::from(multiprocessors) * MOST_SHORT;
    while width <= TILE && width > LEAST && total >> (width - 1) < most_short {
        width -= 1;
    }
    loop {
        let ranges = (total >> width) + 1;
        // The last word of the workspace is left for a status.
        if ranges * 2 * words < WORKSPACE_BYTES / 8 {
            let density = segments as f32 / total as f32;
            return Some(Plan { width, ranges: ranges as u32, density, numbered: 0, each: 0 });
        }
        if width == TILE + LEVELS {
            return None;
        }
        width += 1;
    }
}

/// The plan for spans, from that for as many neighbours in an array of so many elements, and the
/// most elements that all spans may have together. They may be more than there are in the array,
/// and the kernel makes ranges shorter if they are fewer.
pub(super) fn of_spans(neighbours: Plan, segments: u64, bytes: u64, words: u64) -> (Plan, u64) {
    let most = (WORKSPACE_BYTES / 8 - 1) / (2 * words);
    let wanted = (2 * u64::from(neighbours.ranges)).max(RANGES_OF_SPANS);
    let ranges = wanted.min(most);
    let total = (ranges << (TILE + LEVELS)) - 1;
    let elements = (total - (segments << COST)) / bytes;
    // The kernel may be one element beyond before it sees that they are too many.
    (Plan { ranges: ranges as u32, ..neighbours }, elements.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_plan_keeps_the_contract_of_the_kernel(
            elements in 0u64..1 << 36,
            segments in 1u64..1 << 32,
            log in 0u32..5,
            words in 2..=24u64,
            multiprocessors in 1u32..300,
        ) {
            let bytes = 1 << log;
            match plan(elements, segments, bytes, words, multiprocessors) {
                Some(plan @ Plan { width, ranges, density, .. }) => {
                    prop_assert!((LEAST..=TILE + LEVELS).contains(&width));
                    // A range is as long as a task, or shorter than a tile.
                    let bytes_of_task = u64::from(plan.task()) << TILE;
                    prop_assert_eq!(bytes_of_task, 1 << width.max(TILE));
                    let width = 1u64 << width;
                    prop_assert!(density > 0.0 && density <= 1.0);
                    let total = elements * bytes + (segments << COST);
                    prop_assert!(total < u64::from(ranges) * width);
                    prop_assert!(total >= u64::from(ranges - 1) * width);
                    prop_assert!(u64::from(ranges) * 2 * words * 8 < WORKSPACE_BYTES);
                    let by_number = plan.by_number(elements, segments, bytes, multiprocessors);
                    if by_number.numbered == 0 {
                        prop_assert_eq!(by_number, plan);
                    } else {
                        let numbered = segments.div_ceil(by_number.each.into());
                        prop_assert_eq!(u64::from(by_number.numbered), numbered);
                        prop_assert!(total < u64::from(by_number.ranges) << by_number.width);
                        prop_assert!(by_number.ranges <= plan.ranges);
                        prop_assert!(by_number.width >= TILE);
                    }
                    let (of_spans, most) = super::of_spans(plan, segments, bytes, words);
                    prop_assert!(of_spans.ranges >= ranges);
                    prop_assert!(u64::from(of_spans.ranges) * 2 * words * 8 < WORKSPACE_BYTES);
                    // The longest tasks are enough, also with one element too many.
                    let longest = 1u64 << (TILE + LEVELS);
                    let total = (most + 1) * bytes + (segments << COST);
                    prop_assert!(total < u64::from(of_spans.ranges) * longest);
                    prop_assert!(most < 1 << 52);
                }
                None => prop_assert!(elements * bytes + (segments << COST) > most_bytes(words)),
            }
        }
    }

    #[test]
    fn the_largest_arrays_have_a_plan() {
        for (bytes, words) in [(1, 2), (2, 8), (4, 8), (8, 24), (16, 8)] {
            let elements = most_bytes(words) / bytes;
            assert!(plan(elements, 1, bytes, words, 132).is_some());
            assert!(plan(2 * elements, 1, bytes, words, 132).is_none());
        }
        assert_eq!(plan(u64::MAX, 1, 8, 2, 132), None);
    }
}
