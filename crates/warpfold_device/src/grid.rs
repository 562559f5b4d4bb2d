//! The skeleton of all kernels: each block takes one contiguous part of the input, without a loop
//! over the grid.
//!
//! *Loads.* A thread asks for `LOADS` packs before it uses the first one; that is a whole round.
//! After the whole rounds it asks for the packs that are left, `REST` at a time and under
//! predicates. The elements outside of packs are loaded under predicates as well. So a small input
//! costs one trip to memory, and a large input keeps memory busy. The loops' conditions are the
//! same in all lanes of a warp, so that either all loads of a round have predicates or none has.
//! When only a lane's first load had none, ptxas used it before it asked for the others
//! (bench/NOTEBOOK.md, attempt 19).
//!
//! *Caches.* No line is put into the first-level cache. Only the fraction that the launch asks for
//! stays in the second-level cache ([`Policy`]), because an input larger than that cache would
//! evict itself before it is read again.
//!
//! *Following another grid* ([`cuda_std::ext::grid`]): at its beginning the kernel allows the next
//! grid to start. Until the grids that it depends on have ended, the kernel touches no memory,
//! except by a prefetch. A prefetch fetches address translations and lines, and later loads still
//! see what other grids write to these lines.

use crate::grid_reduction::GridReduction;
use crate::item::Item;
use crate::source::{Even, One, Skewed, Source, Two};
use crate::unroll::each;
use crate::warp::WARP;
use crate::{Position, Reduction};
use cuda_std::ext::streaming::Policy;
use cuda_std::ext::{control, grid, target};
use cuda_std::thread;

/// How many threads of a block are set aside for the elements before the packs, one element each.
/// As many others are set aside for the elements after the packs.
const EDGE: usize = 16;

/// The bits of a thread's number that give its lane.
const LAST_LANE: u32 = WARP - 1;

/// The most packs that a thread asks for at once. More packs would need more registers than the 64
/// that each thread has in a block of 1024 (bench/NOTEBOOK.md, attempt 11, H100 and H200).
const MOST_LOADS: usize = 8;

/// The most packs that a thread asks for at once on devices before sm_90, because that keeps their
/// code short. No such device was measured.
const OLD_LOADS: usize = 2;

/// The most threads that a block may have if its single round is not to be divided into several
/// (bench/NOTEBOOK.md, attempt 30, H100, f64 of 2^20: in blocks of 1024 threads two rounds instead
/// of one take 3.22 us instead of 3.35, in blocks of 128 or 512 threads 0.15 to 0.2 more).
const SMALL_BLOCK: u32 = 512;

/// Reduces one array. This is the whole body of a kernel that [`unary!`](crate::unary!) stamps out.
///
/// `W` is the way in which blocks combine their results. `LOADS` and `REST`, both at most 8, are
/// the numbers of packs that a thread asks for at once, in whole rounds and after them.
///
/// # Safety
/// The launch keeps [its contract](crate#the-launchs-contract).
#[inline(always)]
pub unsafe fn unary<
    T: Item,
    R: Reduction<Source = One<T>>,
    W: GridReduction<R>,
    const LOADS: usize,
    const REST: usize,
>(
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

/// Reduces the pairs of two arrays. This is the whole body of a kernel that
/// [`pairs!`](crate::pairs!) stamps out.
///
/// `W` is the way in which blocks combine their results. `LOADS`, at most 8, is the number of packs
/// of each array that a thread asks for at once. If the arrays begin at different distances from a
/// boundary of 16 bytes, it is 1.
///
/// # Safety
/// The launch keeps [its contract](crate#the-launchs-contract).
#[inline(always)]
pub unsafe fn pairs<
    T: Item,
    R: Reduction<Source = Two<T, Even>>,
    W: GridReduction<R>,
    const LOADS: usize,
>(
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

/// How the input is divided: elements before the first pack, packs, and elements after the last
/// one.
#[derive(Clone, Copy)]
struct Parts {
    /// The number of elements before the first pack.
    head: usize,
    packs: usize,
    /// The number of packs that a block takes.
    chunk: usize,
    /// The number of packs that the first block takes less than `chunk`. The other blocks then
    /// begin at a line of the caches, because a warp whose packs do not begin at a line reads one
    /// line more (bench/NOTEBOOK.md, attempt 32; H100, f16 of 2^24 + 1: 8.49 us to 7.95).
    skew: usize,
    /// The number of elements in a pack.
    per_pack: usize,
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
            per_pack: S::PER_PACK,
            is_long: n > u32::MAX as usize,
        }
    }

    /// The number of the block's first pack. The block may have no packs.
    #[inline(always)]
    fn begin(self, block: u32) -> usize {
        (block as usize * self.chunk).saturating_sub(self.skew).min(self.packs)
    }

    /// The index of the first element of the block's first pack.
    #[inline(always)]
    fn first(self, block: u32) -> usize {
        self.head + self.begin(block) * self.per_pack
    }

    /// The position of the element at `index`, which is one of the elements of `block`. Its number
    /// is its index if all indices have 32 bits. Otherwise numbers count from `EDGE` on at the
    /// block's first pack, because fewer elements than that lie before the packs.
    #[inline(always)]
    fn position(self, index: usize, block: u32) -> Position {
        let number =
            if self.is_long { (index + EDGE).wrapping_sub(self.first(block)) } else { index };
        Position { block, number: number as u32 }
    }

    /// The inverse of [`position`](Self::position).
    #[inline(always)]
    fn index(self, Position { block, number }: Position) -> u64 {
        let number = u64::from(number);
        if self.is_long {
            (self.first(block) as u64 + number).wrapping_sub(EDGE as u64)
        } else {
            number
        }
    }
}

/// The accumulator of the thread's part of the input.
///
/// # Safety
/// The launch keeps [its contract](crate#the-launchs-contract).
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

    // The first threads of the first block take one element each before the packs. The next threads
    // of the last block take one element each after the packs.
    let tail = head + packs * S::PER_PACK;
    let edge = if (tid as usize) < EDGE { tid as usize } else { tail + tid as usize - EDGE };
    let has_edge =
        if (tid as usize) < EDGE { block == 0 && edge < head } else { is_last && edge < n };

    // Both arms are written out so that ptxas computes the policy before the wait. The second arm
    // is a constant and costs nothing (bench/NOTEBOOK.md, attempt 21; H100, f32 of 2^14: 1.58 us to
    // 1.52).
    let policy = if keep < 1.0 { Policy::keep(keep) } else { Policy::keep(1.0) };
    let mut kept = R::start();
    // SAFETY: `edge` is an element if `has_edge`, and packs below `count` are the block's.
    unsafe {
        let part = source.skip(first);
        part.prefetch_if(tid as usize, tid < count);
        grid::wait_for_dependencies();

        let item = source.item_if(edge, has_edge);
        let mut place = tid;
        let mut packs = [S::Pack::default(); MOST_LOADS];
        // Loads without predicates are faster and worth a second copy of the code, except for two
        // arrays (bench/NOTEBOOK.md, attempt 8). In a large block the loads of one round hide the
        // arithmetic of another. So a single whole round is divided into several if the arithmetic
        // takes long, that is, if `LOADS` is small.
        let is_split = REST < LOADS
            && LOADS < MOST_LOADS
            && threads > SMALL_BLOCK
            && count <= LOADS as u32 * threads;
        let has_whole_rounds = target::arch() >= 900 && S::ARRAYS == 1 && !is_split;
        while has_whole_rounds && (place | LAST_LANE) + (LOADS as u32 - 1) * threads < count {
            control::no_unroll();
            let here = part.skip(place as usize * S::PER_PACK);
            each(LOADS, |k| packs[k] = here.pack(k * threads as usize, policy));
            each(LOADS, |k| kept = R::pack(kept, packs[k], place + k as u32 * threads));
            place += LOADS as u32 * threads;
        }
        // A load that is predicated off still costs its arithmetic, so the last round asks for
        // fewer packs at once. Devices before sm_90 get fewer still, because that keeps their code
        // short.
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
