//! The skeleton of all kernels: each block takes one contiguous part of the input, without a loop over the grid.
//!
//! *Loads.* A thread asks for `LOADS` packs before it uses the first. What is left after such rounds is asked for by `REST` at once,
//! under predicates; so are the elements outside of packs. So a small input costs one trip to memory, and a large one keeps it
//! busy.
//! Warps stay whole: where a lane's first pack is loaded without a predicate, ptxas uses it before it asks for the others.
//!
//! *Caches.* No line is put into the first-level cache, and of the second one as much is claimed as the launch asks for
//! ([`Policy`]): an input that exceeds it would evict itself before it is read again.
//!
//! *Following another grid* ([`cuda_std::ext::grid`]): the kernel lets the next grid begin at its own beginning, and touches no
//! memory before the grids that it depends on have ended, but for a prefetch: that fetches translations and lines, and what the
//! other grids write to those lines is seen all the same.

use super::block::WARP;
use super::item::Item;
use super::grid_reduction::GridReduction;
use super::source::{Even, One, Skewed, Source, Two};
use super::unroll::each;
use super::{Position, Reduction};
use cuda_std::ext::streaming::Policy;
use cuda_std::ext::{control, grid, target};
use cuda_std::thread;

/// Threads of the block that read elements before packs; as many read those behind.
const EDGE: usize = 16;

/// The bits of a lane in the number of a thread.
const LAST_LANE: u32 = WARP - 1;

/// The most packs of a round.
const MOST_LOADS: usize = 8;

/// The same below sm_90.
const OLD_LOADS: usize = 2;

/// The most threads of a block whose single round is not divided (bench/NOTEBOOK.md, attempt 30).
const SMALL_BLOCK: u32 = 512;

/// Reduces one array.
///
/// # Safety
/// The launch's contract (see [`reduce`](super)).
#[inline(always)]
pub unsafe fn unary<T: Item, R: Reduction<Source = One<T>>, W: GridReduction<R>, const LOADS: usize, const REST: usize>(
    input: *const T,
    n: usize,
    chunk: usize,
    keep: f32,
    output: *mut R::Raw,
    slots: *mut u64,
) {
    grid::launch_dependents();
    // SAFETY: the caller's contract.
    unsafe {
        let parts = Parts::new(One(input), n, chunk);
        let acc = thread_part::<R, _, LOADS, REST>(One(input), n, parts, keep);
        W::reduce(acc, output, slots, parts.is_long, |position| parts.index(position));
    }
}

/// Reduces the pairs of two arrays.
///
/// # Safety
/// The launch's contract (see [`reduce`](super)).
#[inline(always)]
pub unsafe fn pairs<T: Item, R: Reduction<Source = Two<T, Even>>, W: GridReduction<R>, const LOADS: usize>(
    (left, right): (*const T, *const T),
    n: usize,
    chunk: usize,
    keep: f32,
    output: *mut R::Raw,
    slots: *mut u64,
) {
    grid::launch_dependents();
    // SAFETY: the caller's contract.
    unsafe {
        let parts = Parts::new(Two::<T, Even>::new(left, right), n, chunk);
        let acc = if (left as usize ^ right as usize).is_multiple_of(16) {
            thread_part::<R, _, LOADS, LOADS>(Two::<T, Even>::new(left, right), n, parts, keep)
        } else {
            thread_part::<R, _, 1, 1>(Two::<T, Skewed>::new(left, right), n, parts, keep)
        };
        W::reduce(acc, output, slots, parts.is_long, |position| parts.index(position));
    }
}

/// How the input is divided: elements before the first pack, packs, elements behind the last one.
#[derive(Clone, Copy)]
struct Parts {
    /// Elements before the first pack.
    head: usize,
    packs: usize,
    /// Packs of a block.
    chunk: usize,
    /// By how many packs the first block has fewer, so that the others begin with a line: a warp off lines reads one more.
    skew: usize,
    /// Elements of a pack.
    lanes: usize,
    /// Whether indices may have more than 32 bits.
    is_long: bool,
}

impl Parts {
    #[inline(always)]
    fn new<S: Source>(source: S, n: usize, chunk: usize) -> Self {
        let head = source.to_boundary().min(n);
        Self {
            head,
            packs: (n - head) / S::PER_PACK,
            chunk,
            skew: source.packs_in_line(),
            lanes: S::PER_PACK,
            is_long: n > u32::MAX as usize,
        }
    }

    /// The block's first pack. It may have none.
    #[inline(always)]
    fn begin(self, block: u32) -> usize {
        (block as usize * self.chunk).saturating_sub(self.skew).min(self.packs)
    }

    /// The index of the block's first pack's first element.
    #[inline(always)]
    fn first(self, block: u32) -> usize {
        self.head + self.begin(block) * self.lanes
    }

    /// The position of the element at an index, if it is one of that block's. Numbers are indices, if those have 32 bits. Else they
    /// count from `EDGE` on, since there are fewer elements than that before packs.
    #[inline(always)]
    fn position(self, index: usize, block: u32) -> Position {
        let number = if self.is_long { (index + EDGE).wrapping_sub(self.first(block)) } else { index };
        Position { block, number: number as u32 }
    }

    /// The inverse of [`position`](Self::position).
    #[inline(always)]
    fn index(self, Position { block, number }: Position) -> u64 {
        let number = u64::from(number);
        if self.is_long { (self.first(block) as u64 + number).wrapping_sub(EDGE as u64) } else { number }
    }
}

/// The thread's part of the input.
///
/// # Safety
/// The launch's contract.
#[inline(always)]
unsafe fn thread_part<R, S, const LOADS: usize, const REST: usize>(
    source: S,
    n: usize,
    parts: Parts,
    keep: f32,
) -> R::Acc
where
    R: Reduction<Source: Source<Item = S::Item, Pack = S::Pack>>,
    S: Source,
{
    let (tid, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let block = thread::block_idx_x();
    let is_last = block + 1 == thread::grid_dim_x();

    let Parts { head, packs, .. } = parts;
    let count = (parts.begin(block + 1) - parts.begin(block)) as u32;
    let first = parts.first(block);

    // The first threads have an element before packs, the next ones an element behind.
    let tail = head + packs * S::PER_PACK;
    let edge = if (tid as usize) < EDGE { tid as usize } else { tail + tid as usize - EDGE };
    let has_edge = if (tid as usize) < EDGE { block == 0 && edge < head } else { is_last && edge < n };

    // In a branch it is ready before the wait. A constant one takes no time.
    let policy = if keep < 1.0 { Policy::keep(keep) } else { Policy::keep(1.0) };
    let mut kept = R::start();
    // SAFETY: an edge is an element; packs below `count` are the block's.
    unsafe {
        let part = source.skip(first);
        part.prefetch_if(tid as usize, tid < count);
        grid::wait_for_dependencies();

        let item = source.item_if(edge, has_edge);
        let mut place = tid;
        let mut packs = [S::Pack::default(); MOST_LOADS];
        // Without predicates it is faster and worth a second text, but for two arrays. In a large block the arithmetic of one
        // round is hidden by the loads of another, if there is one: where it takes longer, one round is made several.
        let is_split = REST < LOADS && LOADS < MOST_LOADS && threads > SMALL_BLOCK && count <= LOADS as u32 * threads;
        let has_whole_rounds = target::arch() >= 900 && S::ARRAYS == 1 && !is_split;
        while has_whole_rounds && (place | LAST_LANE) + (LOADS as u32 - 1) * threads < count {
            control::no_unroll();
            let here = part.skip(place as usize * S::PER_PACK);
            each(LOADS, |k| packs[k] = here.pack(k * threads as usize, policy));
            each(LOADS, |k| kept = R::pack(kept, packs[k], place + k as u32 * threads));
            place += LOADS as u32 * threads;
        }
        // Of what is not loaded the arithmetic takes time all the same. The text for old devices is short.
        let loads = if target::arch() >= 900 { REST } else { REST.min(OLD_LOADS) };
        while place & !LAST_LANE < count {
            control::no_unroll();
            each(loads, |k| {
                let place = place + k as u32 * threads;
                packs[k] = part.pack_if(place as usize, policy, place < count);
            });
            each(loads, |k| {
                let place = place + k as u32 * threads;
                if place < count {
                    kept = R::pack(kept, packs[k], place);
                }
            });
            place += loads as u32 * threads;
        }

        let acc = R::finish(kept, parts.position(first, block));
        if has_edge { R::combine(acc, R::item(item, parts.position(edge, block))) } else { acc }
    }
}
