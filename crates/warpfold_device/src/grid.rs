//! The skeleton of all kernels: each block takes one contiguous part of the input, without a loop
//! over the grid.
//!
//! *Loads.* A thread asks for `LOADS` packs before it uses the first one; that is a whole round.
//! After the whole rounds it asks for the packs that are left, `REST` at a time and under
//! predicates. A block whose whole chunk is no more than that takes a path of its own, which is
//! short, because each instruction counts in a small reduction between two other kernels. So a
//! small input costs one trip to memory, and a large input keeps memory busy. The loops' conditions
//! are the same in all lanes of a warp, so that either all loads of a round have predicates or none
//! has. When only a lane's first load had none, ptxas used it before it asked for the others
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

use crate::Reduction;
use crate::cut::{Cut, MOST_LOADS, Parts, batch};
use crate::grid_reduction::GridReduction;
use crate::item::Item;
use crate::source::{Even, OneArray, Skewed, Source, Two};
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::streaming::Policy;
use cuda_std::ext::{control, grid, target};
use cuda_std::thread;

/// The bits of a thread's number that give its lane.
const LAST_LANE: u32 = WARP - 1;

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
    S: OneArray,
    R: Reduction<Source = S>,
    W: GridReduction<R>,
    const LOADS: usize,
    const REST: usize,
>(
    lines: S,
    cut: Cut,
    keep: f32,
    output: W::Output,
    slots: *mut u64,
) {
    grid::launch_dependents();
    let parts = Parts { cut, per_pack: S::PER_PACK };
    // SAFETY: the caller's contract.
    unsafe {
        let acc = thread_part::<R, _, LOADS, REST>(lines, parts, keep);
        W::reduce(acc, output, slots, parts.is_long(), |position| parts.index(position), lines);
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
    cut: Cut,
    keep: f32,
    output: W::Output,
    slots: *mut u64,
) {
    grid::launch_dependents();
    let parts = Parts { cut, per_pack: T::PER_PACK };
    let even = Two::<T, Even>::new(left, right);
    // SAFETY: the caller's contract.
    unsafe {
        // The left array's line is aligned.
        let acc = if (right as usize).is_multiple_of(16) {
            thread_part::<R, _, LOADS, LOADS>(even, parts, keep)
        } else {
            thread_part::<R, _, 1, 1>(Two::<T, Skewed>::new(left, right), parts, keep)
        };
        W::reduce(acc, output, slots, parts.is_long(), |position| parts.index(position), even);
    }
}

/// The accumulator of the thread's part of the input.
///
/// # Safety
/// The launch keeps [its contract](crate#the-launchs-contract).
#[inline(always)]
unsafe fn thread_part<R, S, const LOADS: usize, const REST: usize>(
    lines: S,
    parts: Parts,
    keep: f32,
) -> R::Acc
where
    R: Reduction<Source: Source<Item = S::Item, Pack = S::Pack>>,
    S: Source,
{
    let (tid, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let block = thread::block_idx_x();
    let (begin, count) = parts.packs(block);
    let first = begin * S::PER_PACK;
    let chunk = parts.cut.chunk;
    // SAFETY: `edge` is an element if `has_edge`, and packs below `count` are the block's.
    unsafe {
        let part = lines.skip(first);
        // All threads take the same branch.
        let (edge, has_edge) = if parts.has_edges() {
            parts.edge(block, block + 1 == thread::grid_dim_x())
        } else {
            (0, false)
        };

        let has_whole_rounds = target::arch() >= 900 && S::ARRAYS == 1;
        // Devices before sm_90 get fewer packs at once, because that keeps their code short.
        let few = if target::arch() >= 900 { REST } else { REST.min(OLD_LOADS) };
        let mut kept = R::start();
        let item;
        if chunk <= few as u32 * threads {
            // A single round has as few instructions as possible, because all warps of a small
            // input go through them at the same time.
            part.prefetch_if(tid as usize, tid < count && thread::grid_dim_x() > 1);
            grid::wait_for_dependencies();
            let policy = if has_whole_rounds { None } else { Some(Policy::keep(keep)) };
            item = lines.item_if(edge, has_edge);
            batch::<R, S>(&mut kept, part, few, (tid, count), policy);
        } else {
            part.prefetch_if(tid as usize, tid < count);
            grid::wait_for_dependencies();
            item = lines.item_if(edge, has_edge);
            let mut place = tid;
            // Loads without predicates are faster and worth a second copy of the code, except for
            // two arrays (bench/NOTEBOOK.md, attempt 8). In a large block the loads of one round
            // hide the arithmetic of another. So a single whole round is divided into several if
            // the arithmetic takes long, that is, if `LOADS` is small.
            let is_split = REST < LOADS
                && LOADS < MOST_LOADS
                && threads > SMALL_BLOCK
                && chunk <= LOADS as u32 * threads;
            // Only an input that is larger than the cache needs a policy, and such an input has
            // whole rounds. Two arrays have none, so all their loads have the policy. ptxas keeps
            // the policy in a uniform register because both branches around it depend on arguments
            // alone; one `Policy::keep(keep)` would be computed behind the next branch, which
            // depends on the thread.
            let policy = if keep < 1.0 { Policy::keep(keep) } else { Policy::keep(1.0) };
            while has_whole_rounds
                && !is_split
                && (place | LAST_LANE) + (LOADS as u32 - 1) * threads < count
            {
                control::no_unroll();
                let here = part.skip(place as usize * S::PER_PACK);
                let mut packs = [S::Pack::default(); MOST_LOADS];
                each(LOADS, |k| packs[k] = here.pack(k * threads as usize, policy));
                each(LOADS, |k| kept = R::pack(kept, packs[k], place + k as u32 * threads));
                place += LOADS as u32 * threads;
            }
            while place & !LAST_LANE < count {
                control::no_unroll();
                batch::<R, S>(&mut kept, part, few, (place, count), Some(policy));
                place += few as u32 * threads;
            }
        }

        let acc = R::finish(kept, parts.position(first, block));
        if has_edge { R::combine(acc, R::item(item, parts.position(edge, block))) } else { acc }
    }
}
