//! The runs that cross tiles.
//!
//! A block leaves a record of each of its tiles. When no tile is left, a block takes a group of
//! neighbouring tiles, one for each thread, and reduces what their records know of the run that is
//! open at the begin of each tile. The group has a record too, for the runs that cross groups.
//!
//! A record comes in tagged words, as in [`grid_reduction`](crate::grid_reduction::Polled), so it
//! needs no fence. The block of the group clears it.

use super::{THREADS, WARPS, Workspace, scan, shuffle_up, write};
use crate::Reduction;
use crate::unroll::each;
use crate::warp::WARP;
use crate::words::Words;
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control};
use cuda_std::{address_space, thread, warp};

/// The tag of each word of a record.
const TAG: u64 = 1 << 63;

/// Bits of the number of runs before a tile, in the first word of its record. The number of the
/// tile's own runs is above them.
const BEFORE_BITS: u32 = 48;

/// Words of the longest record: that of a tile, whose accumulators have up to four words.
const MOST_WORDS: usize = 9;

/// Whether a run begins in the elements of each warp's tiles.
#[address_space(shared)]
static mut HAS_HEAD: [MaybeUninit<u32>; WARPS] = [const { MaybeUninit::uninit() }; WARPS];

/// What is open at the end of each warp's tiles, and at the begin of the group.
#[address_space(shared)]
static mut OPEN: [MaybeUninit<u128>; WARPS + 1] = [const { MaybeUninit::uninit() }; WARPS + 1];

/// What is known of the runs of a tile.
#[derive(Clone, Copy)]
pub(super) struct Record<A> {
    /// The number of runs that begin before the tile.
    pub before: u64,
    /// The number of runs that begin in the tile.
    pub count: u32,
    /// The part of the run that is open at the begin of the tile, and of the one that is open at
    /// its end. If no run begins in the tile, the first one counts.
    pub ends: [A; 2],
}

impl<A: Words> Record<A> {
    /// Words of the record of a tile.
    const WORDS: usize = 1 + 2 * A::COUNT;

    /// Where the record of a tile is: behind those of the groups.
    #[inline(always)]
    fn place(workspace: Workspace, tile: u32) -> *mut u64 {
        Group::<A>::place(workspace, workspace.groups()).wrapping_add(tile as usize * Self::WORDS)
    }

    /// Leaves the record of a tile.
    ///
    /// # Safety
    /// One thread calls this, once for each tile.
    #[inline(always)]
    pub(super) unsafe fn leave(self, workspace: Workspace, tile: u32) {
        let place = Self::place(workspace, tile);
        // SAFETY: the caller's contract.
        unsafe {
            let numbers = self.before | u64::from(self.count) << BEFORE_BITS;
            atomic::store_relaxed(place, TAG | numbers);
            each(2, |end| {
                let words = self.ends[end].to_words();
                each(A::COUNT, |i| {
                    let place = place.wrapping_add(1 + end * A::COUNT + i);
                    atomic::store_relaxed(place, TAG | u64::from(words[i]));
                });
            });
        }
    }

    /// Waits for the record of a tile, and clears it.
    ///
    /// # Safety
    /// One thread calls this for each tile, whose block leaves its record.
    #[inline(always)]
    unsafe fn take(workspace: Workspace, tile: u32) -> Self {
        let place = Self::place(workspace, tile);
        // SAFETY: the caller's contract.
        unsafe {
            let words = wait(place, Self::WORDS);
            each(Self::WORDS, |i| atomic::store_relaxed(place.wrapping_add(i), 0));
            let numbers = words[0] & !TAG;
            let end = |end: usize| A::from_words(&|i| words[1 + end * A::COUNT + i] as u32);
            Self {
                before: numbers & ((1 << BEFORE_BITS) - 1),
                count: (numbers >> BEFORE_BITS) as u32,
                ends: [end(0), end(1)],
            }
        }
    }
}

/// What is known of the run that is open at the end of a group of tiles.
#[derive(Clone, Copy)]
struct Group<A> {
    /// Whether a run begins in the group.
    has_head: bool,
    open: A,
}

impl<A: Words> Group<A> {
    /// Words of the record of a group.
    const WORDS: usize = 1 + A::COUNT;

    /// Where the record of a group is.
    #[inline(always)]
    fn place(workspace: Workspace, group: u32) -> *mut u64 {
        workspace.records().wrapping_add(group as usize * Self::WORDS)
    }

    /// Leaves the record of a group.
    ///
    /// # Safety
    /// One thread calls this, once for each group.
    #[inline(always)]
    unsafe fn leave(self, workspace: Workspace, group: u32) {
        let place = Self::place(workspace, group);
        let words = self.open.to_words();
        // SAFETY: the caller's contract.
        unsafe {
            atomic::store_relaxed(place, TAG | u64::from(self.has_head));
            each(A::COUNT, |i| {
                atomic::store_relaxed(place.wrapping_add(1 + i), TAG | u64::from(words[i]));
            });
        }
    }

    /// Waits for the record of a group.
    ///
    /// # Safety
    /// The group's block leaves its record.
    #[inline(always)]
    unsafe fn look(workspace: Workspace, group: u32) -> Self {
        // SAFETY: the caller's contract.
        let words = unsafe { wait(Self::place(workspace, group), Self::WORDS) };
        let open = A::from_words(&|i| words[1 + i] as u32);
        Self { has_head: words[0] & 1 != 0, open }
    }
}

/// Waits until `count` words have their tags.
///
/// # Safety
/// The words are there, and another thread writes them.
#[inline(always)]
unsafe fn wait(place: *const u64, count: usize) -> [u64; MOST_WORDS] {
    let mut words = [0; MOST_WORDS];
    loop {
        control::keep_rolled();
        let mut tags = TAG;
        each(count, |i| {
            // SAFETY: the caller's contract.
            words[i] = unsafe { atomic::load_relaxed(place.wrapping_add(i)) };
            tags &= words[i];
        });
        if tags != 0 {
            return words;
        }
    }
}

/// Closes the runs that cross tiles. `job` is the first job of this block that is no tile.
///
/// # Safety
/// All threads of the block call this, behind its last tile. `ticket` is a place in shared memory.
#[inline(always)]
pub(super) unsafe fn close<R: Reduction>(
    workspace: Workspace,
    mut job: u32,
    ticket: *mut u32,
    output: *mut R::Raw,
    source: R::Source,
) {
    // SAFETY: the caller's contract.
    unsafe {
        while job.wrapping_sub(workspace.tiles) < workspace.groups() {
            control::keep_rolled();
            let group = job - workspace.tiles;
            close_group::<R>(workspace, group, output, source);
            // The barriers from here to the next group also separate its shared memory from this.
            if thread::thread_idx_x() == 0 {
                *ticket = workspace.is_last_group().into();
            }
            thread::sync_threads();
            if *ticket != 0 {
                workspace.clear(Record::<R::Acc>::place(workspace, 0));
            }
            job = workspace.next_ticket(ticket);
        }
    }
}

/// Writes the results of the runs that cross the begins of the tiles of a group, and of the last
/// run of the array.
///
/// # Safety
/// All threads of the block call this, and no other block does for the group.
#[inline(always)]
unsafe fn close_group<R: Reduction>(
    workspace: Workspace,
    group: u32,
    output: *mut R::Raw,
    source: R::Source,
) {
    let tid = thread::thread_idx_x();
    let (warp_of_block, lane) = ((tid / WARP) as usize, tid % WARP);
    let has_head = (&raw mut HAS_HEAD).cast::<u32>();
    let open = (&raw mut OPEN).cast::<R::Acc>();
    let tile = group * THREADS + tid;
    // SAFETY: barriers separate the threads that write shared memory from those that read it. All
    // branches around collective calls are the same in all lanes of a warp.
    unsafe {
        let identity = R::identity();
        let mut record = Record { before: 0, count: 0, ends: [identity; 2] };
        if tile < workspace.tiles {
            record = Record::take(workspace, tile);
        }
        let Record { before, count, ends: [lead, tail] } = record;
        let heads = warp::warp_vote_ballot(u32::MAX, count > 0);
        let scanned = scan::<R>(if count > 0 { tail } else { lead }, heads);
        if lane == WARP - 1 {
            *has_head.add(warp_of_block) = u32::from(heads != 0);
            open.add(warp_of_block).write(scanned);
        }
        thread::sync_threads();
        // What is open at the begin of the warp's tiles, and at the end of the group, unless it was
        // open before the group.
        let (mut at_warp, mut at_end) = (identity, identity);
        let (mut is_at_warp, mut is_at_end) = (false, false);
        each(WARPS, |i| {
            if i == warp_of_block {
                (at_warp, is_at_warp) = (at_end, is_at_end);
            }
            let has_head = *has_head.add(i) != 0;
            let of_warp = *open.add(i);
            at_end = if has_head { of_warp } else { R::append(at_end, of_warp) };
            is_at_end |= has_head;
        });
        if tid == 0 && group + 1 < workspace.groups() {
            Group { has_head: is_at_end, open: at_end }.leave(workspace, group);
        }
        if warp_of_block == 0 {
            let carry = before_group::<R>(workspace, group);
            if lane == WARP - 1 {
                open.add(WARPS).write(carry);
            }
        }
        thread::sync_threads();
        let carry = *open.add(WARPS);
        if !is_at_warp {
            at_warp = R::append(carry, at_warp);
        }
        // What is open at the begin of this tile.
        let mut at_tile = shuffle_up(scanned, 1);
        let below = heads & ((1 << lane) - 1);
        if lane == 0 {
            at_tile = at_warp;
        } else if below == 0 {
            at_tile = R::append(at_warp, at_tile);
        }
        if count > 0 && before > 0 {
            write::<R>(R::append(at_tile, lead), output, before - 1, source);
        }
        if tile == workspace.tiles - 1 {
            let last = if count > 0 { tail } else { R::append(at_tile, lead) };
            write::<R>(last, output, before + u64::from(count) - 1, source);
        }
    }
}

/// What is open at the begin of a group, in the last lane.
///
/// # Safety
/// A whole warp calls this.
#[inline(always)]
unsafe fn before_group<R: Reduction>(workspace: Workspace, group: u32) -> R::Acc {
    let lane = thread::thread_idx_x() % WARP;
    let mut carry = R::identity();
    let mut end = group;
    while end > 0 {
        control::keep_rolled();
        // SAFETY: the records are those of lower groups, whose blocks leave them.
        unsafe {
            let mut found = Group { has_head: false, open: R::identity() };
            if end + lane >= WARP {
                found = Group::look(workspace, end + lane - WARP);
            }
            let heads = warp::warp_vote_ballot(u32::MAX, found.has_head);
            carry = R::append(scan::<R>(found.open, heads), carry);
            if heads != 0 {
                break;
            }
        }
        end = end.saturating_sub(WARP);
    }
    carry
}
