//! Reads elements of a tile that has arrived in shared memory.

use super::{LINE, PACK, PART_BYTES, WORD, padded};
use crate::item::{Item, Pack};
use crate::unroll::each;
use crate::warp::WARP;
use cuda_std::ext::{copy, packed, target};

/// The number of packs of a whole part.
pub(crate) const PACKS: usize = (PART_BYTES / PACK) as usize;

/// What reads the packs of a lane's part one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Reader {
    tile: *const u8,
    /// How many bytes behind the beginning of the tile the next element lies.
    at: u32,
    /// Bytes from an element to the next.
    step: u32,
    /// Each pack is a pack of shared memory.
    are_packs: bool,
    /// The elements are neighbours, and have less than a word each. A pack of them lies in two
    /// packs of shared memory.
    are_narrow: bool,
    /// The elements lie at equal distances, in the padded tile too.
    is_even: bool,
    /// If the elements are such neighbours, the pack of shared memory that has the next element.
    low: Pack,
    /// Where the pack of shared memory with the last element begins.
    last: u32,
}

impl Reader {
    /// For `count` elements that lie `step` bytes apart. The first of them lies `at` bytes behind
    /// the beginning of the tile. `are_packs` says that they are neighbours and that `at` is a
    /// multiple of a pack, in all lanes of the warp.
    ///
    /// # Safety
    /// The elements have arrived. If they are neighbours and have less than a word, all bytes of
    /// the packs of shared memory that have some of them have been written.
    #[inline(always)]
    pub(crate) unsafe fn new<T: Item>(
        tile: *const u8,
        at: u32,
        step: u32,
        count: u32,
        are_packs: bool,
    ) -> Self {
        let size = size_of::<T>() as u32;
        let are_narrow = step == size && size < WORD;
        let last = (at + count * size).wrapping_sub(1) & !(PACK - 1);
        let mut low = [0; 4];
        if are_narrow && !are_packs && count * size >= PACK {
            // SAFETY: the caller's contract. The elements are a pack at least.
            low = unsafe { read(tile, at & !(PACK - 1)) };
        }
        let is_even = step.is_multiple_of(LINE);
        Self { tile, at, step, are_packs, are_narrow, is_even, low, last }
    }

    /// The next pack of elements.
    ///
    /// # Safety
    /// There are so many elements.
    #[inline(always)]
    pub(crate) unsafe fn pack<T: Item>(&mut self) -> Pack {
        let Self { tile, at, step, low, .. } = *self;
        self.at += T::PER_PACK as u32 * step;
        let mut pack = [0; 4];
        // SAFETY: the caller's contract.
        unsafe {
            if self.are_packs {
                pack = read(tile, at);
            } else if self.are_narrow {
                // A last pack that begins at a pack of shared memory has no element behind that.
                self.low = read(tile, ((at & !(PACK - 1)) + PACK).min(self.last));
                pack = joined(low, self.low, at);
            } else if self.is_even {
                let (first, step) = (padded(at), padded(step));
                each(T::PER_PACK, |i| put::<T>(&mut pack, i, tile, first + i as u32 * step));
            } else {
                each(T::PER_PACK, |i| put::<T>(&mut pack, i, tile, padded(at + i as u32 * step)));
            }
        }
        pack
    }
}

/// The element `at` bytes behind the beginning of a tile, in the first place of a pack of zeros.
///
/// # Safety
/// The element is there.
#[inline(always)]
pub(crate) unsafe fn element<T: Item>(tile: *const u8, at: u32) -> Pack {
    // SAFETY: the caller's contract.
    unsafe { alone::<T>(tile.wrapping_add(padded(at) as usize)) }
}

/// The element at `from`, in the first place of a pack of zeros.
///
/// # Safety
/// The element is there.
#[inline(always)]
pub(crate) unsafe fn alone<T: Item>(from: *const u8) -> Pack {
    let mut pack = [0; 4];
    // SAFETY: the caller's contract.
    unsafe { put::<T>(&mut pack, 0, from, 0) };
    pack
}

/// The next pack of elements that lie `step` bytes apart, also in the padded tile, of which the
/// first begins at `from`.
///
/// # Safety
/// The elements are there.
#[inline(always)]
pub(crate) unsafe fn apart<T: Item>(from: *const u8, step: usize) -> Pack {
    let mut pack = [0; 4];
    // SAFETY: the caller's contract.
    each(T::PER_PACK, |i| unsafe {
        put::<T>(&mut pack, i, from.wrapping_add(i * step), 0);
    });
    pack
}

/// Whether neighbouring elements are read in packs of shared memory wherever they begin. Below
/// sm_90 there are too few registers for that, unless elements have less than a word.
#[inline(always)]
pub(crate) fn reads_packs<T>() -> bool {
    size_of::<T>() < WORD as usize || target::arch() >= 900
}

/// The packs of a part that is a column of a tile of 32 columns. Its first element lies `at` bytes
/// behind the beginning of the tile.
///
/// # Safety
/// The tile has a whole part there.
#[inline(always)]
pub(crate) unsafe fn column<T: Item>(tile: *const u8, at: u32) -> [Pack; PACKS] {
    let from = tile.wrapping_add(padded(at) as usize);
    let mut packs = [[0; 4]; PACKS];
    each(PACKS, |i| {
        each(T::PER_PACK, |k| {
            let line = (i * T::PER_PACK + k) as u32;
            // SAFETY: the caller's contract.
            unsafe {
                put::<T>(&mut packs[i], k, from, line * padded(WARP * size_of::<T>() as u32));
            };
        });
    });
    packs
}

/// The packs of a whole part that is a line of shared memory, `at` bytes behind the beginning of
/// the tile.
///
/// # Safety
/// The line has been written.
#[inline(always)]
pub(crate) unsafe fn line(tile: *const u8, at: u32) -> [Pack; PACKS] {
    let from: *const Pack = tile.wrapping_add(padded(at) as usize).cast();
    let mut packs = [[0; 4]; PACKS];
    // SAFETY: the caller's contract.
    each(PACKS, |i| packs[i] = unsafe { copy::read_pack(from.wrapping_add(i)) });
    packs
}

/// As [`line`], if the part begins at a pack.
///
/// # Safety
/// The part has been written.
#[inline(always)]
pub(crate) unsafe fn packs(tile: *const u8, at: u32) -> [Pack; PACKS] {
    let mut packs = [[0; 4]; PACKS];
    // SAFETY: the caller's contract.
    each(PACKS, |i| packs[i] = unsafe { read_across(tile, at, i as u32 * PACK) });
    packs
}

/// The packs of a window.
pub(crate) const WINDOW: usize = 4;

/// [`WINDOW`] packs of neighbours, wherever the first of them begins. Their elements have words.
///
/// # Safety
/// All bytes of the packs of shared memory that have some of these elements have been written.
#[inline(always)]
pub(crate) unsafe fn window(tile: *const u8, at: u32) -> [Pack; WINDOW] {
    let begin = at & !(PACK - 1);
    let mut words = [0; 4 * WINDOW + 4];
    each(WINDOW + 1, |i| {
        // A window that begins at a pack has no element in the last one.
        let is_none = i == WINDOW && begin == at;
        // SAFETY: the caller's contract.
        let pack = unsafe { read_across(tile, begin, if is_none { 0 } else { i as u32 * PACK }) };
        each(4, |k| words[4 * i + k] = pack[k]);
    });
    let (two, one) = (mask(at, 2 * WORD), mask(at, WORD));
    each(17, |i| words[i] = chosen(two, words[i + 2], words[i]));
    each(16, |i| words[i] = chosen(one, words[i + 1], words[i]));
    let mut packs = [[0; 4]; WINDOW];
    each(WINDOW, |i| each(4, |k| packs[i][k] = words[4 * i + k]));
    packs
}

/// The pack of shared memory `behind` bytes behind the one that begins at byte number `begin`, if
/// there is the end of at most one line between them.
///
/// # Safety
/// It has been written.
#[inline(always)]
unsafe fn read_across(tile: *const u8, begin: u32, behind: u32) -> Pack {
    let gap = if behind < LINE - begin % LINE { 0 } else { PACK };
    // SAFETY: the caller's contract.
    unsafe { copy::read_pack(tile.wrapping_add((padded(begin) + behind + gap) as usize).cast()) }
}

/// The pack of shared memory `at` bytes behind the beginning of a tile.
///
/// # Safety
/// It has been written.
#[inline(always)]
unsafe fn read(tile: *const u8, at: u32) -> Pack {
    // SAFETY: the caller's contract.
    unsafe { copy::read_pack(tile.wrapping_add(padded(at) as usize).cast()) }
}

/// The pack that begins at byte number `at` of a tile, which lies in the pack `low`. The next pack
/// is `high`, or there is no element of the pack in it.
#[inline(always)]
fn joined(low: Pack, high: Pack, at: u32) -> Pack {
    let mut words = [0; 8];
    each(4, |i| (words[i], words[4 + i]) = (low[i], high[i]));
    // The words are moved by two, then by one, and then by bytes.
    let (two, one) = (mask(at, 2 * WORD), mask(at, WORD));
    each(6, |i| words[i] = chosen(two, words[i + 2], words[i]));
    each(5, |i| words[i] = chosen(one, words[i + 1], words[i]));
    let bytes = 0x3210 + 0x1111 * (at % WORD);
    let mut pack = [0; 4];
    each(4, |i| pack[i] = packed::permute(words[i], words[i + 1], bytes));
    pack
}

/// All ones if the bit of `at` with the value `bit` is set, and 0 otherwise.
#[inline(always)]
fn mask(at: u32, bit: u32) -> u32 {
    0u32.wrapping_sub(at / bit % 2)
}

/// One word or the other. LLVM would make a branch a choice of addresses, and the words would need
/// memory.
#[inline(always)]
fn chosen(mask: u32, moved: u32, stays: u32) -> u32 {
    moved & mask | stays & !mask
}

/// Puts the element that lies `at` bytes behind `tile` into place `i` of a pack, in which this
/// place is 0.
///
/// # Safety
/// The element is there.
#[inline(always)]
#[expect(clippy::cast_ptr_alignment, reason = "an element is aligned in the tile")]
unsafe fn put<T: Item>(pack: &mut Pack, i: usize, tile: *const u8, at: u32) {
    let place = tile.wrapping_add(at as usize);
    let bits = i * size_of::<T>() * 8;
    // SAFETY: the caller's contract. An element lies within a line, so that its words are
    // neighbours.
    unsafe {
        match size_of::<T>() {
            1 => pack[bits / 32] |= u32::from(*place) << (bits % 32),
            2 => pack[bits / 32] |= u32::from(*place.cast::<u16>()) << (bits % 32),
            size => each(size / 4, |word| pack[bits / 32 + word] = *place.cast::<u32>().add(word)),
        }
    }
}
