//! The long accumulator: a fixed-point number that can hold every finite number of the type, and
//! every sum of 2^64 of them.
//!
//! U. Kulisch, *Computer Arithmetic and Validity* (2nd ed., 2013), chapter 8. It is cut into digits
//! of 32 bits, each in a signed cell of 64 bits. So a cell takes 2^31 additions before a carry must
//! be passed on, and their order does not matter. The block's long accumulator is in shared memory,
//! the grid's in the launch's `slots`.

use super::item::Rounded;
use super::{Raw, flag};
use crate::unroll::each;
use core::mem::MaybeUninit;
use cuda_std::ext::{atomic, control};
use cuda_std::{address_space, thread};

/// The number of bits in a digit.
const DIGIT: u32 = 32;
/// How many digits of `f64` lie below the lowest digit of the narrow types, which contains the bit
/// `2^-210`. An `f64` that is a multiple of `2^-149` has its last bit at `2^-201` or above.
const NARROW_FIRST: u32 = 27;
/// The number of limbs in the sum of a narrow type. They reach up to `2^206`.
pub const NARROW_LIMBS: usize = 13;
/// The number of limbs in the sum of `f64`. They reach up to `2^1134`.
pub const WIDE_LIMBS: usize = 69;

/// The counters. They are the cells after the digits, one for each constant: three count the
/// numbers that are not finite, and the last one counts the warps that saw a number other than -0.
const NAN: usize = 0;
const POSITIVE_INFINITY: usize = 1;
const NEGATIVE_INFINITY: usize = 2;
const NUMBERS: usize = 3;
const COUNTS: usize = 4;

/// The flags of the infinities of both signs.
const BOTH: u32 = flag::POSITIVE_INFINITY | flag::NEGATIVE_INFINITY;

/// The block's cells. The narrow types use the first ones only.
#[address_space(shared)]
// PTX contains the variable's name, and the committed PTX is to stay as it is, byte for byte, when
// this module moves.
#[unsafe(export_name = "_RNvNtNtNtC7kernels6reduce5exact5cells5CELLS")]
static mut CELLS: [MaybeUninit<u64>; WIDE_LIMBS + COUNTS] =
    [const { MaybeUninit::uninit() }; WIDE_LIMBS + COUNTS];

/// The block's long accumulator of `LIMBS` digits.
#[derive(Clone, Copy)]
pub(super) struct Cells<const LIMBS: usize>;

impl<const LIMBS: usize> Cells<LIMBS> {
    /// The number of cells in use: the digits and the counters.
    pub(super) const LEN: usize = LIMBS + COUNTS;
    /// How many digits of `f64` lie below the lowest digit.
    const FIRST: u32 = if LIMBS == WIDE_LIMBS { 0 } else { NARROW_FIRST };

    #[inline(always)]
    fn pointer() -> *mut u64 {
        (&raw mut CELLS).cast()
    }

    /// Calls `each` for this thread's share of the cells.
    #[inline(always)]
    fn share(each: impl Fn(usize)) {
        let mut cell = thread::thread_idx_x() as usize;
        while cell < Self::LEN {
            each(cell);
            cell += thread::block_dim_x() as usize;
        }
    }

    /// Makes all cells 0.
    ///
    /// # Safety
    /// All threads of the block call this together. A barrier stands between this and other uses of
    /// the cells.
    #[inline(always)]
    pub(super) unsafe fn clear() {
        // SAFETY: each thread has cells of its own.
        Self::share(|cell| unsafe { *Self::pointer().add(cell) = 0 });
    }

    /// Adds `value` to a cell, while other threads may do the same.
    ///
    /// The two halves of a cell are added one after the other, and the carry is passed on here,
    /// because an atomic addition to shared memory is one instruction for 32 bits, but for 64 bits
    /// it is a loop of compare and swap.
    ///
    /// # Safety
    /// `cell` is below [`LEN`](Self::LEN), and nobody reads or writes it otherwise.
    #[inline(always)]
    unsafe fn add_to(cell: usize, value: i64) {
        let low = value as u32;
        // SAFETY: both halves belong to a cell that exists.
        unsafe {
            let halves = Self::pointer().add(cell).cast::<u32>();
            let before = atomic::add(halves, low);
            let carry = u32::from(before.wrapping_add(low) < low);
            let high = ((value >> 32) as u32).wrapping_add(carry);
            if high != 0 {
                atomic::add(halves.add(1), high);
            }
        }
    }

    /// Adds any number, finite or not.
    ///
    /// # Safety
    /// The cells are cleared. A barrier stands between clearing and adding, and between adding and
    /// reading.
    #[inline(always)]
    pub(super) unsafe fn add(x: f64) {
        let bits = x.to_bits();
        let exponent = (bits >> 52) as u32 & 0x7ff;
        let fraction = bits & ((1 << 52) - 1);
        let is_negative = x.is_sign_negative();

        // Subnormal numbers have the place of the smallest normal numbers, but no leading bit.
        let (significand, place) =
            if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
        let shift = place % DIGIT;
        let mut cell = (place / DIGIT - Self::FIRST) as usize;
        let (mut low, mut high) = (significand << shift, significand >> 1 >> (63 - shift));
        if exponent == 0x7ff {
            cell = LIMBS
                + if fraction != 0 {
                    NAN
                } else if is_negative {
                    NEGATIVE_INFINITY
                } else {
                    POSITIVE_INFINITY
                };
            (low, high) = (1, 0);
        }
        let is_subtracted = is_negative && exponent != 0x7ff;
        // The number has two or three digits, and the lowest of them are mostly 0.
        while low | high != 0 {
            control::no_unroll();
            let digit = i64::from(low as u32);
            if digit != 0 {
                // SAFETY: the cells for all finite numbers of the type, and for sums of them,
                // exist.
                unsafe { Self::add_to(cell, if is_subtracted { -digit } else { digit }) };
            }
            low = low >> DIGIT | high << DIGIT;
            high >>= DIGIT;
            cell += 1;
        }
    }

    /// Counts a warp whose elements were not all -0.
    ///
    /// # Safety
    /// Those of [`add`](Self::add).
    #[inline(always)]
    pub(super) unsafe fn note_numbers() {
        // SAFETY: the cell exists.
        unsafe { Self::add_to(LIMBS + NUMBERS, 1) }
    }

    /// Adds this block's cells to the grid's.
    ///
    /// Before that, each digit passes the bits above its lowest 32 on to the next digit, once. So
    /// the grid's cells too can take 2^30 additions.
    ///
    /// # Safety
    /// All threads of the block call this together, after a barrier; `target` holds
    /// [`LEN`](Self::LEN) cells in global memory that only atomics use meanwhile.
    #[inline(always)]
    pub(super) unsafe fn add_to_grid(target: *mut u64) {
        // SAFETY: the cells are there.
        Self::share(|cell| unsafe {
            let own = *Self::pointer().add(cell);
            let value = if cell >= LIMBS {
                own
            } else {
                let kept = if cell + 1 < LIMBS { own & u64::from(u32::MAX) } else { own };
                let carry = if cell > 0 {
                    (*Self::pointer().add(cell - 1) as i64 >> DIGIT) as u64
                } else {
                    0
                };
                kept.wrapping_add(carry)
            };
            if value != 0 {
                atomic::add(target.add(cell), value);
            }
        });
    }

    /// Copies the grid's cells to this block's, and leaves zeros in the grid's.
    ///
    /// # Safety
    /// All threads of the block call this together, between barriers; all blocks' additions to
    /// `source` are visible.
    #[inline(always)]
    pub(super) unsafe fn take_from_grid(source: *mut u64) {
        // SAFETY: the cells exist, and each thread has its own.
        Self::share(|cell| unsafe {
            *Self::pointer().add(cell) = *source.add(cell);
            *source.add(cell) = 0;
        });
    }

    /// Makes the cells those of the sum of exact sums: of those for which `has` is true, out of
    /// `count`.
    ///
    /// # Safety
    /// All threads of the block call this together. A barrier stands between this and other uses of
    /// the cells. `sum` gives the place of a sum, which nobody writes. There are fewer than 2^31.
    #[inline(always)]
    pub(super) unsafe fn put_sum<V>(
        count: u32,
        has: impl Fn(u32) -> bool,
        sum: impl Fn(u32) -> *const Raw<V, LIMBS>,
    ) {
        const FLAGS: [u32; COUNTS] = {
            let mut flags = [0; COUNTS];
            flags[NAN] = flag::NAN;
            flags[POSITIVE_INFINITY] = flag::POSITIVE_INFINITY;
            flags[NEGATIVE_INFINITY] = flag::NEGATIVE_INFINITY;
            flags[NUMBERS] = flag::NUMBERS;
            flags
        };
        Self::share(|cell| {
            let mut total = 0i64;
            let mut i = 0;
            while i < count {
                control::keep_rolled();
                if has(i) {
                    // SAFETY: the caller's contract.
                    unsafe {
                        total += if cell < LIMBS {
                            let limb = *(&raw const (*sum(i)).limbs).cast::<u32>().add(cell);
                            // The highest limb has the sign.
                            let is_highest = cell == LIMBS - 1;
                            if is_highest { limb.cast_signed().into() } else { limb.into() }
                        } else {
                            let mut flag = FLAGS[0];
                            each(COUNTS, |i| {
                                flag = if cell == LIMBS + i { FLAGS[i] } else { flag }
                            });
                            i64::from((*sum(i)).flags & flag != 0)
                        };
                    }
                }
                i += 1;
            }
            // SAFETY: each thread has cells of its own.
            unsafe { *Self::pointer().add(cell) = total.cast_unsigned() };
        });
    }

    /// Rounds the sum of `n` numbers and writes the result.
    ///
    /// # Safety
    /// One thread calls this, after a barrier; `output` is writable.
    #[inline(always)]
    pub(super) unsafe fn finish<V: Rounded>(n: usize, output: *mut Raw<V, LIMBS>) {
        // SAFETY: the cells and the limbs exist.
        unsafe {
            // This loop passes on the carries and makes each cell a limb. It notes three limbs: the
            // lowest and the highest one that are not 0, and the highest one whose bits are not all
            // 1.
            let (mut carry, mut lowest, mut highest, mut highest_with_zeros) = (0, LIMBS, 0, 0);
            let mut i = 0;
            while i < LIMBS {
                let value = (*Self::pointer().add(i)).cast_signed() + carry;
                carry = value >> DIGIT;
                let limb = value as u32;
                *Self::pointer().add(i) = u64::from(limb);
                (&raw mut (*output).limbs).cast::<u32>().add(i).write(limb);
                if limb != 0 {
                    highest = i;
                    lowest = if lowest == LIMBS { i } else { lowest };
                }
                if limb != u32::MAX {
                    highest_with_zeros = i;
                }
                i += 1;
            }

            let counted = |count: usize| *Self::pointer().add(LIMBS + count) != 0;
            let mut flags = 0;
            flags |= if counted(NAN) { flag::NAN } else { 0 };
            flags |= if counted(POSITIVE_INFINITY) { flag::POSITIVE_INFINITY } else { 0 };
            flags |= if counted(NEGATIVE_INFINITY) { flag::NEGATIVE_INFINITY } else { 0 };
            if flags != 0 || counted(NUMBERS) {
                flags |= flag::NUMBERS;
            } else if n > 0 {
                flags = flag::MINUS_ZEROS;
            }
            (&raw mut (*output).flags).write(flags);

            let value = if flags & flag::NAN != 0 || flags & BOTH == BOTH {
                V::from_magnitude(V::NAN, false)
            } else if flags & BOTH != 0 {
                V::from_magnitude(V::INFINITY, flags & BOTH == flag::NEGATIVE_INFINITY)
            } else if lowest == LIMBS {
                V::from_magnitude(0, flags == flag::MINUS_ZEROS)
            } else {
                let is_negative = carry < 0;
                let top = if is_negative { highest_with_zeros.max(lowest) } else { highest };
                V::from_magnitude(Self::round::<V>(is_negative, lowest, top), is_negative)
            };
            (&raw mut (*output).value).write(value);
        }
    }

    /// The bits of the magnitude of the sum in the limbs, rounded to nearest even. `lowest` and
    /// `top` are the lowest and the highest limb of the magnitude that are not 0.
    ///
    /// # Safety
    /// The block's cells hold limbs.
    #[inline(always)]
    unsafe fn round<V: Rounded>(is_negative: bool, lowest: usize, top: usize) -> u64 {
        // The magnitude of a negative number has all limbs inverted, and 1 added.
        let magnitude = |i: usize| {
            // SAFETY: `i` is at most `top`, which is the index of a limb.
            let limb = unsafe { *Self::pointer().add(i) } as u32;
            u64::from(match is_negative {
                _ if i < lowest => 0,
                false => limb,
                true if i == lowest => limb.wrapping_neg(),
                true => !limb,
            })
        };
        let below = |distance: usize| if top >= distance { magnitude(top - distance) } else { 0 };

        // The leading 64 bits, from the leading 1 on, and whether any lower bit is 1.
        let zeros = (below(0) as u32).leading_zeros();
        let third = below(2) << zeros;
        let leading = (below(0) << DIGIT | below(1)) << zeros | third >> DIGIT;
        let is_more = third as u32 != 0 || lowest + 2 < top;

        // Bits are counted from 2^-1074. The precision says how far the last bit of the result lies
        // below the leading bit, but the last bit is never below the lowest bit of the type.
        let leading_bit = DIGIT * (Self::FIRST + top as u32) + 31 - zeros;
        let last_bit = (leading_bit + 1).saturating_sub(V::PRECISION).max(V::LEAST);
        let dropped = 63 - (leading_bit - last_bit);
        let significand = leading >> dropped;
        let rest = leading << (64 - dropped);
        let half = 1 << 63;
        let up = rest > half || rest == half && (is_more || significand % 2 == 1);
        // The leading 1 of a normal number adds 1 to the exponent; a carry from rounding does so
        // too.
        let bits =
            (u64::from(last_bit - V::LEAST) << (V::PRECISION - 1)) + significand + u64::from(up);
        if bits < V::INFINITY { bits } else { V::INFINITY }
    }
}
