//! The skeleton of kernels for a small input: one block, and at most [`LOADS`] packs for each
//! thread.
//!
//! A small reduction between two other kernels takes as long as its instructions, its one trip to
//! memory and its one barrier, and each line of its code is fetched for the first time. So this
//! kernel has nothing that only a larger input needs: no rounds, no slots, no cache policy
//! (bench/NOTEBOOK.md, attempts 46 and 51). It follows another grid as [`grid`](crate::grid) does.

use crate::Reduction;
use crate::block::block_reduce;
use crate::cut::{Cut, Parts, batch};
use crate::item::Item;
use crate::source::{Even, OneArray, Source, Two};
use crate::warp::WARP;
use core::ptr;
use cuda_std::ext::grid;
use cuda_std::thread;

/// The most packs of each array that a thread takes.
pub const LOADS: usize = 4;

/// Reduces one small array. This is the whole body of the second kernel that
/// [`unary!`](crate::unary!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](crate#a-small-input).
#[inline(always)]
pub unsafe fn unary<S: OneArray, R: Reduction<Source = S>>(
    first: S,
    packs: u32,
    edges: u32,
    output: *mut R::Raw,
) {
    // SAFETY: the caller's contract.
    unsafe { reduce::<R>(first, packs, edges, output) }
}

/// Reduces the pairs of two small arrays. This is the whole body of the second kernel that
/// [`pairs!`](crate::pairs!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](crate#a-small-input).
#[inline(always)]
pub unsafe fn pairs<T: Item, R: Reduction<Source = Two<T, Even>>>(
    (left, right): (*const T, *const T),
    packs: u32,
    edges: u32,
    output: *mut R::Raw,
) {
    let source = Two::<T, Even>::new(left, right);
    // SAFETY: the caller's contract.
    unsafe { reduce::<R>(source, packs, edges, output) }
}

/// Reduces what begins at the first pack of `source`.
///
/// # Safety
/// The launch keeps [its contract](crate#a-small-input).
#[inline(always)]
unsafe fn reduce<R: Reduction>(source: R::Source, packs: u32, edges: u32, output: *mut R::Raw) {
    grid::launch_dependents();
    let cut = Cut { chunk: packs, full: 0, rest: packs, edges: edges & Cut::SHORT_UNSKEWED };
    let parts = Parts { cut, per_pack: R::Source::PER_PACK };
    let tid = thread::thread_idx_x();
    // SAFETY: `edge` is an element if `has_edge`, and there are packs below `packs`.
    unsafe {
        // All threads take the same branch.
        let (edge, has_edge) = if parts.has_edges() { parts.edge(0, true) } else { (0, false) };
        grid::wait_for_dependencies();
        let item = source.item_if(edge, has_edge);
        let mut kept = R::start();
        batch::<R, R::Source>(&mut kept, source, LOADS, (tid, packs), None);
        let acc = R::finish(kept, parts.position(0, 0));
        let of_edge = R::item(item, parts.position(edge, 0));
        let acc = if has_edge { R::combine(acc, of_edge) } else { acc };
        let acc = block_reduce::<R>(acc, thread::block_dim_x() / WARP, false);
        if tid == 0 {
            let index = |position| parts.index(position);
            R::write(acc, output, 0, index, source, ptr::null_mut());
        }
    }
}
