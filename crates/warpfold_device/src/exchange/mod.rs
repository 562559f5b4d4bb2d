//! The skeleton of kernels in which devices exchange their raw results: each device of a group
//! launches one such kernel, and each then has the results that the devices have together.
//!
//! A device is a *rank*, and has a *mailbox* in its own memory. A block copies the raw results of
//! its rank to the mailboxes of all other ranks, waits until theirs have come to its own mailbox,
//! and combines all of them in the order of the ranks. So the bits are the same on each device, in
//! each run. No host takes part.
//!
//! *Words and tags.* A word of a mailbox has 32 bits of a result, and above them the number of the
//! call, which is the *tag*. Value and tag are one 64-bit access, so that relaxed accesses are
//! enough and no fence is needed (PTX ISA, "Memory Consistency Model"). Because other devices take
//! part, the accesses have the scope of the system.
//!
//! *Many calls.* Nobody clears a word. Each block counts its calls in its own mailbox, so that a
//! graph can replay the kernel, and the tag tells this call's words from those of earlier calls.
//! There are two sets of words, for even and odd calls. A rank can begin call `c + 2` only when all
//! ranks have posted in call `c + 1`, that is, when all have read the words of call `c`, which are
//! in the same set. So no word is written before it is read. The counter begins again after 2^32 -
//! 2 calls.
//!
//! *Forward progress.* A block waits only for the blocks of the same number on other ranks. Blocks
//! start in the order of their numbers, so the lowest blocks that have not ended are resident on
//! all ranks. If a rank never comes, a block gives up after a limit of time, and notes in its
//! mailbox for whom it waited. Later calls end at once then, because the counters of the ranks no
//! longer agree.
//!
//! # The launch's contract
//!
//! - `raws` holds `results` raw results of this rank, at least one, aligned to 4 bytes, and
//!   `output` has space for as many. Bit `r` of `present` is set if rank `r` has results; a rank
//!   that has none reads nothing from `raws`. At least one bit is set. `base` is the number of
//!   elements of all lower ranks, by which indices are moved.
//! - There are `ranks` ranks, at least 1 and at most [`MOST_RANKS`], and this is `rank`. The first
//!   `ranks` mailboxes are those of the ranks, in their order. Each is aligned to 8 bytes, has
//!   [`words`] words, was zeroed before the first call, and is used by these kernels alone.
//! - The grid has `results / PER_BLOCK` blocks, rounded up. A block has whole warps along x and
//!   `ranks` threads along y. The dynamic shared memory has [`shared_bytes`]. All of it is the same
//!   on all ranks.
//! - All ranks make the same calls in the same order, with the same `results`, `ranks` and
//!   `present`; a rank's calls do not overlap.
//! - `limit` is how long a block waits for a word, in nanoseconds, or 0 if it waits for ever.
//!
//! The first word of a mailbox is its *status*: 0, or 1 plus the rank that did not come in time. If
//! the status is not 0 after a launch, the launch has not written all of its results.

mod combine;
pub mod direct;
mod entry;
pub mod fused;

pub use self::combine::{Combined, FromRaw};

use crate::unroll::each;
use cuda_std::ext::{atomic, control, grid, streaming, time};
use cuda_std::{shared, thread};

/// The most ranks.
pub const MOST_RANKS: usize = 8;

/// How the raw results of several ranks become one.
pub trait Exchanged {
    /// A raw result.
    type Raw;
    /// The most results of a block.
    const PER_BLOCK: u32;
    /// Whether a raw result has an index, which counts the elements of its rank.
    const HAS_INDEX: bool;

    /// Adds `base` to the index of a result. It is called if [`HAS_INDEX`](Self::HAS_INDEX) is
    /// true.
    ///
    /// # Safety
    /// `raw` is a raw result, which only this thread uses.
    unsafe fn move_index(raw: *mut Self::Raw, base: u64);

    /// Combines result number `i` of each rank that is `present`, for each `i` below `results`, and
    /// writes it to each of the first `copies` outputs.
    ///
    /// # Safety
    /// The threads of the block whose place along y is 0 call this together, and all others have
    /// ended. `raw` gives the place of a rank's result, and nobody writes these. There is an output
    /// at least, and each has space for the results.
    unsafe fn combine(
        raw: impl Fn(u32, u32) -> *const Self::Raw,
        ranks: Ranks,
        results: u32,
        outputs: impl Fn(u32) -> *mut Self::Raw,
        copies: u32,
    );
}

/// How many ranks there are, and which of them have results.
#[derive(Clone, Copy)]
pub struct Ranks {
    /// The number of ranks.
    pub count: u32,
    /// Bit `r` is set if rank `r` has results.
    pub present: u32,
}

impl Ranks {
    /// Whether the rank has results.
    #[inline(always)]
    #[must_use]
    pub fn has(self, rank: u32) -> bool {
        self.present >> rank & 1 != 0
    }
}

/// The mailboxes of the ranks.
#[derive(Clone, Copy)]
pub struct Mailboxes(pub [*mut u64; MOST_RANKS]);

impl Mailboxes {
    /// The mailbox of a rank.
    #[inline(always)]
    fn of(self, rank: u32) -> *mut u64 {
        select(self.0, rank)
    }
}

/// What the list has for this rank. The list stays in registers, which have no addresses.
#[inline(always)]
fn select<T: Copy>(list: [T; MOST_RANKS], rank: u32) -> T {
    let mut found = list[0];
    each(MOST_RANKS, |i| found = if i as u32 == rank { list[i] } else { found });
    found
}

/// How many words of 32 bits a raw result takes.
#[must_use]
pub const fn words_of<Raw>() -> u32 {
    size_of::<Raw>().div_ceil(4) as u32
}

/// How many words of 32 bits the results of a full block take.
const fn room<E: Exchanged>() -> u32 {
    E::PER_BLOCK * words_of::<E::Raw>()
}

/// How many words of 64 bits the blocks of one number need in a mailbox: the number of their last
/// call, and two sets of words for each rank.
const fn words_of_block(room: u32, ranks: u32) -> usize {
    1 + 2 * ranks as usize * room as usize
}

/// How many words of 64 bits a mailbox has, for this number of blocks. `room` is how many words of
/// 32 bits the results of a full block take.
///
/// ```
/// // One block, and two ranks with one word each.
/// assert_eq!(warpfold_device::exchange::words(1, 1, 2), 1 + 1 + 2 * 2);
/// ```
#[must_use]
pub const fn words(blocks: u32, room: u32, ranks: u32) -> usize {
    1 + blocks as usize * words_of_block(room, ranks)
}

/// How many bytes of shared memory a block needs: the results of all ranks, and two notes.
#[must_use]
pub const fn shared_bytes(room: u32, ranks: u32) -> u32 {
    4 * (ranks * room + 2)
}

/// One call of a rank.
pub struct Call<Raw> {
    /// Where the results of all ranks together go.
    pub output: *mut Raw,
    /// The number of elements of all lower ranks.
    pub base: u64,
    /// This rank.
    pub rank: u32,
    /// All ranks.
    pub ranks: Ranks,
    /// How long a block waits, in nanoseconds.
    pub limit: u64,
    /// The mailboxes of the ranks.
    pub mailboxes: Mailboxes,
}

/// Exchanges `all` raw results of this rank with the other ranks. This is the whole body of a
/// kernel that [`exchange!`](crate::exchange!) stamps out.
///
/// # Safety
/// The launch keeps [its contract](self#the-launchs-contract).
#[inline(always)]
pub unsafe fn exchange<E: Exchanged>(raws: *const E::Raw, all: u32, call: &Call<E::Raw>) {
    grid::launch_dependents();
    let &Call { rank, ranks, .. } = call;
    // A thread exchanges words with one rank, or copies those of its own.
    let (lane, lanes, peer) =
        (thread::thread_idx_x(), thread::block_dim_x(), thread::thread_idx_y());
    let (tid, threads) = (peer * lanes + lane, lanes * ranks.count);
    let block = thread::block_idx_x();
    let first = block * E::PER_BLOCK;
    let results = (all - first).min(E::PER_BLOCK);
    let words = results * words_of::<E::Raw>();
    let (own, other) = (call.mailboxes.of(rank), call.mailboxes.of(peer));
    let of_block = 1 + block as usize * words_of_block(room::<E>(), ranks.count);

    let staged = shared::dynamic_shared_mem::<u32>();
    let place = |rank: u32, word: u32| staged.wrapping_add((rank * room::<E>() + word) as usize);
    // The notes whether an earlier call or this one has failed. Each is written before a barrier
    // and read behind it.
    let [failed_before, failed] = [place(ranks.count, 0), place(ranks.count, 1)];
    // SAFETY: a thread writes words that no other thread writes, and barriers separate these from
    // the reads of other threads. The rest is the launch's contract.
    unsafe {
        grid::wait_for_dependencies();
        // All three loads are under way together, because each takes as long as the others.
        let count = next(atomic::load_relaxed(own.add(of_block)) as u32);
        let status = if tid == 0 { atomic::load_relaxed_system(own) } else { 0 };
        let raws = raws.wrapping_add(first as usize);
        let mut word = tid;
        while word < words {
            control::keep_rolled();
            *place(rank, word) = load::<E::Raw>(raws, word, ranks.has(rank));
            word += threads;
        }
        if tid == 0 {
            *failed_before = u32::from(status != 0);
            *failed = 0;
        }
        thread::sync_threads();
        if *failed_before != 0 {
            return;
        }
        if E::HAS_INDEX {
            let mut result = tid;
            while result < results {
                control::keep_rolled();
                let raw = place(rank, result * words_of::<E::Raw>());
                E::move_index(raw.cast(), call.base);
                result += threads;
            }
            thread::sync_threads();
        }

        let set = of_block + 1 + (count % 2 * ranks.count * room::<E>()) as usize;
        let slot = |mailbox: *mut u64, of: u32, word: u32| slot::<E>(mailbox, set, of, word);
        let tag = u64::from(count) << 32;
        let end = if peer == rank { 0 } else { words };
        let mut word = lane;
        while word < end {
            control::keep_rolled();
            atomic::store_relaxed_system(
                slot(other, rank, word),
                tag | u64::from(*place(rank, word)),
            );
            word += lanes;
        }
        let mut word = lane;
        while word < end {
            control::keep_rolled();
            let (value, came) = wait(slot(own, peer, word), count, call.limit);
            if !came {
                atomic::store_relaxed_system(own, status_of(peer));
                *failed = 1;
                break;
            }
            *place(peer, word) = value;
            word += lanes;
        }
        thread::sync_threads();
        // The threads along y are no longer needed.
        if *failed != 0 || peer > 0 {
            return;
        }
        let raw =
            |rank, result| place(rank, result * words_of::<E::Raw>()).cast_const().cast::<E::Raw>();
        let output = call.output.wrapping_add(first as usize);
        E::combine(raw, ranks, results, |_| output, 1);
        if lane == 0 {
            atomic::store_relaxed(own.add(of_block), count.into());
        }
    }
}

/// The word number `word` of rank `of` in a set of words, which begins at `set` in the mailbox.
#[inline(always)]
fn slot<E: Exchanged>(mailbox: *mut u64, set: usize, of: u32, word: u32) -> *mut u64 {
    mailbox.wrapping_add(set + (of * room::<E>() + word) as usize)
}

/// The status of a mailbox whose rank has waited in vain for this one.
#[inline(always)]
fn status_of(absent: u32) -> u64 {
    u64::from(absent) + 1
}

/// The number of the call after call `count`. No call has the number 0, which is the tag of words
/// that nobody has written. The numbers of neighbouring calls are never both odd or both even.
#[inline(always)]
fn next(count: u32) -> u32 {
    if count >= u32::MAX - 1 { 1 } else { count + 1 }
}

/// Word number `word` of the results at `raws`, or 0 if there are none. A result of fewer than 32
/// bits takes a word, too.
///
/// # Safety
/// If `is_there`, the results are in global memory.
#[inline(always)]
unsafe fn load<Raw>(raws: *const Raw, word: u32, is_there: bool) -> u32 {
    let word = word as usize;
    // SAFETY: the caller's contract; a result of 1 or 2 bytes is one such integer.
    unsafe {
        match size_of::<Raw>() {
            1 => streaming::load_u8_if(raws.cast::<u8>().wrapping_add(word), is_there).into(),
            2 => streaming::load_u16_if(raws.cast::<u16>().wrapping_add(word), is_there).into(),
            _ => streaming::load_u32_if(raws.cast::<u32>().wrapping_add(word), is_there),
        }
    }
}

/// Waits until the word at `slot` has the tag of call `count`, and returns its value; or returns
/// false after `limit` nanoseconds.
///
/// # Safety
/// `slot` is a word of a mailbox.
#[inline(always)]
unsafe fn wait(slot: *const u64, count: u32, limit: u64) -> (u32, bool) {
    let mut start = 0;
    loop {
        control::keep_rolled();
        // SAFETY: the caller's word.
        let word = unsafe { atomic::load_relaxed_system(slot) };
        if (word >> 32) as u32 == count {
            return (word as u32, true);
        }
        // Without a limit the loop reads no clock, so that the simulator can tell that the state of
        // the thread stays the same.
        if limit != 0 {
            let now = time::nanoseconds();
            start = if start == 0 { now } else { start };
            if now - start > limit {
                return (0, false);
            }
        }
    }
}
