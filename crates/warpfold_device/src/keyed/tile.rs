//! What a block does with a tile: copies, the elements of a lane, and the runs that it makes of
//! them.

use super::{Outputs, THREADS, WARPS, items, scan, shuffle_up};
use crate::item::{Item, Pack};
use crate::runs::Bits;
use crate::source::OneArray;
use crate::unroll::each;
use crate::warp::{WARP, sum_up_to, warp_reduce};
use crate::words::Words;
use crate::{Position, Reduction};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use cuda_std::ext::{control, copy};
use cuda_std::{address_space, shared, warp};

/// The most 32-bit words of the keys, or of the values, of a lane.
const MOST_WORDS: usize = 24;

/// The position of all elements, which no operation looks at.
const ANYWHERE: Position = Position { block: 0, number: 0 };

/// Set in the place of a warp's first run if a run begins, or the array ends, in the warp.
const HAS_HEAD: u32 = 1 << 31;

/// The number of the first run of each warp, and [`HAS_HEAD`].
#[address_space(shared)]
static mut FIRSTS: [MaybeUninit<u32>; WARPS] = [const { MaybeUninit::uninit() }; WARPS];

/// What each warp has of the run that is open at its end, or of its elements if no run begins
/// there.
#[address_space(shared)]
static mut OF_WARPS: [MaybeUninit<u128>; WARPS] = [const { MaybeUninit::uninit() }; WARPS];

/// What a block has in its dynamic shared memory: keys and values of the tile that comes next, and
/// the runs of the tile whose results wait. There are keys of type `K`, values of type `V`, and
/// accumulators of type `A`.
#[derive(Clone, Copy)]
pub(super) struct Layout<K, V, A> {
    keys: *mut K,
    values: *mut V,
    unique: *mut K,
    /// The accumulator of the run that ends where each run begins.
    results: *mut A,
    places: *mut u16,
}

impl<K: Bits, V: Item, A: Words> Layout<K, V, A> {
    /// Elements of a lane.
    const ITEMS: u32 = items(size_of::<K>(), size_of::<V>());
    /// Elements of a tile.
    pub(super) const TILE: u32 = THREADS * Self::ITEMS;

    /// The parts of the block's dynamic shared memory.
    #[inline(always)]
    pub(super) fn new() -> Self {
        let keys = shared::dynamic_shared_mem::<K>();
        let values = keys.wrapping_add(Self::TILE as usize).cast::<V>();
        let unique = values.wrapping_add(Self::TILE as usize).cast::<K>();
        let results = unique.wrapping_add(Self::TILE as usize).cast::<A>();
        let places = results.wrapping_add(Self::TILE as usize).cast();
        Self { keys, values, unique, results, places }
    }

    /// Starts the copies of a tile.
    ///
    /// # Safety
    /// All threads of the block call this, and none of them reads the last tile any more. The keys
    /// and the values of the tile are there, of `count` all together.
    #[inline(always)]
    pub(super) unsafe fn stage(self, keys: *const K, values: *const V, count: u64, tile: u32) {
        let first = u64::from(tile) * u64::from(Self::TILE);
        let inside = (count - first).min(Self::TILE.into()) as u32;
        // SAFETY: the caller's contract.
        unsafe {
            Self::copy(self.keys, keys.wrapping_add(first as usize), inside);
            Self::copy(self.values, values.wrapping_add(first as usize), inside);
        }
    }

    /// Starts the copies of `inside` elements, and makes the rest of the tile 0.
    ///
    /// # Safety
    /// That of [`stage`](Self::stage).
    #[inline(always)]
    unsafe fn copy<T: Item>(target: *mut T, source: *const T, inside: u32) {
        const PACK: usize = size_of::<Pack>();
        const WORD: usize = size_of::<u32>();
        /// Elements that a thread asks for at a time.
        const AT_ONCE: usize = 3;
        let tid = control::anew_thread_idx_x();
        let bytes = Self::TILE as usize * size_of::<T>();
        let is_aligned = source.addr().is_multiple_of(PACK);
        // SAFETY: the caller's contract.
        unsafe {
            if is_aligned && inside == Self::TILE {
                let packs = (bytes / PACK) as u32;
                each(packs.div_ceil(THREADS) as usize, |i| {
                    let at = i as u32 * THREADS + tid;
                    let to = target.cast::<Pack>().wrapping_add(at as usize);
                    let from = source.cast::<Pack>().wrapping_add(at as usize);
                    let is_there = (i as u32 + 1) * THREADS <= packs || at < packs;
                    copy::cached_pack_if(to, from, is_there);
                });
            } else if is_aligned {
                let packs = inside * size_of::<T>() as u32 / PACK as u32;
                let mut at = tid;
                while at < (bytes / PACK) as u32 {
                    control::keep_rolled();
                    let to = target.cast::<Pack>().wrapping_add(at as usize);
                    let from = source.cast::<Pack>().wrapping_add(at as usize);
                    copy::cached_pack_if(to, from, at < packs);
                    if at > packs {
                        to.write([0; 4]);
                    }
                    at += THREADS;
                }
                // The pack in which the array ends.
                let at = packs * T::PER_PACK as u32 + tid;
                if tid < T::PER_PACK as u32 {
                    let is_inside = at < inside;
                    let element = T::load_if(source.wrapping_add(at as usize), is_inside);
                    let nothing = T::element([0; 4], 0);
                    target.add(at as usize).write(if is_inside { element } else { nothing });
                }
            } else if size_of::<T>() >= WORD {
                let words = inside * (size_of::<T>() / WORD) as u32;
                let mut at = tid;
                while at < (bytes / WORD) as u32 {
                    control::keep_rolled();
                    let to = target.cast::<u32>().wrapping_add(at as usize);
                    copy::word_if(to, source.cast::<u32>().wrapping_add(at as usize), at < words);
                    if at >= words {
                        to.write(0);
                    }
                    at += THREADS;
                }
            } else {
                let mut first = tid;
                while first < Self::TILE {
                    control::keep_rolled();
                    let mut elements = [None; AT_ONCE];
                    let at = |i: usize| first + i as u32 * THREADS;
                    each(AT_ONCE, |i| {
                        let from = source.wrapping_add(at(i) as usize);
                        elements[i] = Some(T::load_if(from, at(i) < inside));
                    });
                    each(AT_ONCE, |i| {
                        if at(i) < Self::TILE
                            && let Some(element) = elements[i]
                        {
                            target.add(at(i) as usize).write(element);
                        }
                    });
                    first += AT_ONCE as u32 * THREADS;
                }
            }
        }
    }

    /// The elements of this lane. `last` is the key before the tile, which thread 0 knows, and
    /// `left` the number of keys from the tile's first one on.
    ///
    /// # Safety
    /// The whole block calls this. The tile has arrived, and a barrier is behind that.
    #[inline(always)]
    pub(super) unsafe fn lane<S: OneArray<Element = V>>(
        self,
        source: S,
        last: K::Word,
        left: u64,
        is_first: bool,
    ) -> Lane<K, S> {
        let tid = control::anew_thread_idx_x();
        let place = (tid * Self::ITEMS) as usize;
        // SAFETY: the caller's contract.
        unsafe {
            let keys = Self::words(self.keys, tid);
            let mut before = last;
            if tid > 0 {
                before = (*self.keys.add(place - 1)).word();
            }
            let mut heads = 0;
            each(Self::ITEMS as usize, |i| {
                let key = element::<K>(&keys, i).word();
                heads |= u32::from(key != before) << i;
                before = key;
            });
            if is_first && tid == 0 {
                heads |= 1;
            }
            let mut end = 0;
            if left < Self::TILE.into() {
                let inside = (left as u32).saturating_sub(place as u32);
                if inside < Self::ITEMS {
                    heads &= (1 << inside) - 1;
                    // The lane in which the array ends.
                    end = u32::from(place as u32 <= left as u32) << inside;
                }
            }
            let values = Self::words(self.values, tid);
            let count = heads.count_ones();
            let until = sum_up_to(count);
            Lane { keys, values, stops: heads | end, count, until, source, key: PhantomData }
        }
    }

    /// The words of this lane's elements.
    ///
    /// # Safety
    /// That of [`lane`](Self::lane).
    #[inline(always)]
    unsafe fn words<T: Item>(staged: *const T, tid: u32) -> [u32; MOST_WORDS] {
        let bytes = Self::ITEMS as usize * size_of::<T>();
        let own = staged.wrapping_add((tid * Self::ITEMS) as usize);
        let mut words = [0; MOST_WORDS];
        // SAFETY: the caller's contract. The elements of a lane begin at a multiple of what is read
        // at a time.
        unsafe {
            if bytes.is_multiple_of(size_of::<Pack>()) {
                each(bytes / size_of::<Pack>(), |i| {
                    let pack = copy::read_pack(own.cast::<Pack>().wrapping_add(i));
                    each(4, |j| words[4 * i + j] = pack[j]);
                });
            } else if bytes.is_multiple_of(4) {
                each(bytes / 4, |i| words[i] = *own.cast::<u32>().wrapping_add(i));
            } else {
                each(bytes / 2, |i| {
                    let half = *own.cast::<u16>().wrapping_add(i);
                    words[i / 2] |= u32::from(half) << (i % 2 * 16);
                });
            }
        }
        words
    }

    /// Makes runs of the elements of all lanes. `rank` is the number of the lane's first run in the
    /// tile. Runs that cross warps are not whole yet ([`join`](Self::join)).
    ///
    /// # Safety
    /// The whole block calls this, and a barrier is behind what was done with the runs of the last
    /// tile.
    #[inline(always)]
    pub(super) unsafe fn reduce<S, R>(self, lane: &Lane<K, S>, rank: u32)
    where
        S: OneArray<Element = V>,
        R: Reduction<Source = S, Acc = A>,
    {
        let tid = control::anew_thread_idx_x();
        let (warp_of_block, lane_id) = (tid / WARP, tid % WARP);
        let firsts = (&raw mut FIRSTS).cast::<u32>();
        let of_warps = (&raw mut OF_WARPS).cast::<A>();
        // SAFETY: the caller's contract. Each run belongs to one lane. All branches around
        // collective calls are the same in a warp.
        unsafe {
            let heads = warp::warp_vote_ballot(u32::MAX, lane.stops != 0);
            let mut run = R::identity();
            if heads == 0 {
                each(Self::ITEMS as usize, |i| run = R::append_item(run, lane.item(i), ANYWHERE));
                run = warp_reduce::<R>(run, WARP, false);
            } else {
                let mut at = rank as usize;
                each(Self::ITEMS as usize, |i| {
                    if lane.stops >> i & 1 != 0 {
                        self.results.add(at).write(run);
                        self.unique.add(at).write(element(&lane.keys, i));
                        self.places.add(at).write(((tid * Self::ITEMS) as usize + i) as u16);
                        at += 1;
                        run = R::identity();
                    }
                    run = R::append_item(run, lane.item(i), ANYWHERE);
                });
                let scanned = scan::<R>(run, heads);
                let before = shuffle_up(scanned, 1);
                if lane.stops != 0 && lane_id > 0 {
                    let first = self.results.add(rank as usize);
                    first.write(R::append(before, *first));
                }
                run = scanned;
            }
            let last = if heads == 0 { 0 } else { WARP - 1 };
            if lane_id == last {
                of_warps.add(warp_of_block as usize).write(run);
            }
            if lane_id == 0 {
                *firsts.add(warp_of_block as usize) = rank | if heads == 0 { 0 } else { HAS_HEAD };
            }
        }
    }

    /// Puts together the parts of the runs that cross the warps of a tile with `count` runs.
    /// Returns what is known of the run that is open at the begin of the tile, and of the one that
    /// is open at its end. `is_cut` tells whether the array ends before the tile would.
    ///
    /// One thread takes less time for this than a lane for each warp, because a shuffle takes as
    /// long as a read of shared memory (bench/NOTEBOOK.md, attempt 130).
    ///
    /// # Safety
    /// One thread calls this, behind a barrier behind [`reduce`](Self::reduce).
    #[inline(always)]
    pub(super) unsafe fn join<R: Reduction<Acc = A>>(self, count: u32, is_cut: bool) -> [A; 2] {
        let firsts = (&raw const FIRSTS).cast::<u32>();
        let of_warps = (&raw const OF_WARPS).cast::<A>();
        let (mut lead, mut open) = (R::identity(), R::identity());
        let mut is_open = true;
        // SAFETY: the caller's contract.
        unsafe {
            each(WARPS, |i| {
                let (first, run) = (*firsts.add(i), *of_warps.add(i));
                if first & HAS_HEAD == 0 {
                    open = R::append(open, run);
                } else {
                    let ended = self.results.add((first & !HAS_HEAD) as usize);
                    open = R::append(open, *ended);
                    ended.write(open);
                    if is_open {
                        lead = open;
                    }
                    is_open = false;
                    open = run;
                }
            });
            if is_open {
                lead = open;
            }
            if is_cut {
                // The run that ends with the array.
                open = *self.results.add(count as usize);
            }
        }
        [lead, open]
    }

    /// Writes the keys and the begins of the `count` runs of a tile, and the results of those that
    /// end in it, but for the one that is open at its begin. There are `before` runs before the
    /// tile, and its first element is number `first`.
    ///
    /// # Safety
    /// All threads of the block call this, and a barrier is behind [`reduce`](Self::reduce). The
    /// outputs have a place for each run.
    #[inline(always)]
    #[expect(clippy::cast_ptr_alignment, reason = "the places of offsets are as large as offsets")]
    pub(super) unsafe fn write<R: Reduction<Acc = A>>(
        self,
        count: u32,
        before: u64,
        first: u64,
        output: *mut R::Raw,
        out: Outputs,
        source: R::Source,
    ) {
        let unique = out.unique.cast::<K>().wrapping_add(before as usize);
        let output = output.wrapping_add(before as usize);
        // SAFETY: the caller's contract.
        unsafe {
            let (narrow, wide) = (out.offsets, out.offsets.cast::<u64>());
            let (narrow, wide) =
                (narrow.wrapping_add(before as usize), wide.wrapping_add(before as usize));
            each_of(count, |run| {
                let key = *self.unique.add(run);
                let result = *self.results.add(run);
                let place = *self.places.add(run);
                move || {
                    unique.wrapping_add(run).write(key);
                    if out.log == 2 {
                        narrow.wrapping_add(run).write(first as u32 + u32::from(place));
                    } else {
                        wide.wrapping_add(run).write(first + u64::from(place));
                    }
                    if run > 0 {
                        super::write::<R>(result, output.wrapping_sub(1), run as u64, source);
                    }
                }
            });
        }
    }
}

/// Calls `read` with each number below `count` that this thread has, and then what it returns. Some
/// numbers are read before the first one is written, because reading takes its time.
#[inline(always)]
fn each_of<W: FnOnce()>(count: u32, read: impl Fn(usize) -> W) {
    const AT_ONCE: usize = 2;
    let mut first = control::anew_thread_idx_x();
    while first < count {
        control::keep_rolled();
        let at = |i: usize| first + i as u32 * THREADS;
        let mut writes = [const { None }; AT_ONCE];
        each(AT_ONCE, |i| {
            if at(i) < count {
                writes[i] = Some(read(at(i) as usize));
            }
        });
        each(AT_ONCE, |i| {
            if let Some(write) = writes[i].take() {
                write();
            }
        });
        first += AT_ONCE as u32 * THREADS;
    }
}

/// The elements of a lane, and the runs that begin among them.
#[derive(Clone, Copy)]
pub(super) struct Lane<K, S> {
    keys: [u32; MOST_WORDS],
    values: [u32; MOST_WORDS],
    /// A bit for each element that begins a run, and for the end of the array.
    stops: u32,
    /// The number of runs that begin.
    count: u32,
    /// The number of runs that begin in the lanes of the warp up to this one.
    until: u32,
    source: S,
    key: PhantomData<K>,
}

/// Element `i` of a lane's words.
#[inline(always)]
fn element<T: Item>(words: &[u32; MOST_WORDS], i: usize) -> T {
    let pack = i / T::PER_PACK * 4;
    T::element([0, 1, 2, 3].map(|word| words[pack + word]), i % T::PER_PACK)
}

impl<K, S: OneArray> Lane<K, S> {
    /// A lane without elements.
    #[inline(always)]
    pub(super) fn empty(source: S) -> Self {
        let (keys, values) = ([0; MOST_WORDS], [0; MOST_WORDS]);
        Self { keys, values, stops: 0, count: 0, until: 0, source, key: PhantomData }
    }

    /// Value `i`.
    #[inline(always)]
    fn item(&self, i: usize) -> S::Item {
        self.source.with_element(element(&self.values, i))
    }

    /// Leaves the number of the warp's runs.
    ///
    /// # Safety
    /// All threads of the block call this, and `counts` has a place for each warp.
    #[inline(always)]
    pub(super) unsafe fn count_in(&self, counts: *mut u32) {
        let tid = control::anew_thread_idx_x();
        if tid % WARP == WARP - 1 {
            // SAFETY: the caller's contract.
            unsafe { *counts.add((tid / WARP) as usize) = self.until };
        }
    }

    /// The number of the lane's first run in the tile, and the number of all runs of the tile.
    ///
    /// # Safety
    /// A barrier is behind [`count_in`](Self::count_in).
    #[inline(always)]
    pub(super) unsafe fn rank(&self, counts: *const u32) -> (u32, u32) {
        let warp_of_block = control::anew_thread_idx_x() / WARP;
        let (mut before, mut all) = (self.until - self.count, 0);
        each(WARPS, |i| {
            // SAFETY: the caller's contract.
            let count = unsafe { *counts.add(i) };
            before += if (i as u32) < warp_of_block { count } else { 0 };
            all += count;
        });
        (before, all)
    }
}
