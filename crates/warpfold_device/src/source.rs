//! The arrays that elements come from: one, or two of the same length.

use crate::item::{Item, Pack};
use crate::unroll::each;
use core::marker::PhantomData;
use cuda_std::ext::streaming::{self, Policy};

/// One or more arrays whose elements are read by packs, or singly.
pub trait Source: Copy {
    /// An element of each array.
    type Item: Copy;
    /// A pack of each array.
    type Pack: Copy + Default;
    /// How many elements of an array a pack has.
    const PER_PACK: usize;
    /// How many arrays there are.
    const ARRAYS: usize;

    /// How many elements lie before the first boundary of 16 bytes.
    fn to_boundary(self) -> usize;

    /// The same arrays from an element on. The address wraps, because a source may begin before its
    /// array.
    #[must_use]
    fn skip(self, elements: usize) -> Self;

    /// The element at `index`, or any value if it is not `valid`.
    ///
    /// # Safety
    /// If `valid`, there is an element at `index`.
    unsafe fn item_if(self, index: usize, valid: bool) -> Self::Item;

    /// The pack of number `index`.
    ///
    /// # Safety
    /// There is such a pack, and the source begins at a boundary of 16 bytes.
    unsafe fn pack(self, index: usize, policy: Policy) -> Self::Pack;

    /// The pack of number `index`, or any value if it is not `valid`. The second-level cache treats
    /// the pack as usual if there is no policy.
    ///
    /// # Safety
    /// If `valid`, there is such a pack, and the source begins at a boundary of 16 bytes.
    unsafe fn pack_if(self, index: usize, policy: Option<Policy>, valid: bool) -> Self::Pack;

    /// Asks for the pack of number `index` to be brought near, if it is `valid`, so that a later
    /// load takes less time.
    ///
    /// # Safety
    /// If `valid`, there is such a pack.
    unsafe fn prefetch_if(self, index: usize, valid: bool);
}

/// One array, by the address of its first element.
#[derive(Clone, Copy)]
pub struct One<T>(pub *const T);

impl<T: Item> Source for One<T> {
    type Item = T;
    type Pack = Pack;
    const PER_PACK: usize = T::PER_PACK;
    const ARRAYS: usize = 1;

    #[inline(always)]
    fn to_boundary(self) -> usize {
        (self.0 as usize).wrapping_neg() % size_of::<Pack>() / size_of::<T>()
    }
    #[inline(always)]
    fn skip(self, elements: usize) -> Self {
        Self(self.0.wrapping_add(elements))
    }
    #[inline(always)]
    unsafe fn item_if(self, index: usize, valid: bool) -> T {
        // SAFETY: the caller vouches for the elements.
        unsafe { T::load_if(self.0.wrapping_add(index), valid) }
    }
    #[inline(always)]
    unsafe fn pack(self, index: usize, policy: Policy) -> Pack {
        // SAFETY: the caller vouches for the elements.
        unsafe { streaming::load_pack(self.0.cast::<Pack>().add(index), policy) }
    }
    #[inline(always)]
    unsafe fn pack_if(self, index: usize, policy: Option<Policy>, valid: bool) -> Pack {
        let pack = self.0.cast::<Pack>().wrapping_add(index);
        // SAFETY: the caller vouches for the elements.
        unsafe {
            match policy {
                Some(policy) => streaming::load_pack_if(pack, policy, valid),
                None => streaming::load_unhinted_pack_if(pack, valid),
            }
        }
    }
    #[inline(always)]
    unsafe fn prefetch_if(self, index: usize, valid: bool) {
        // SAFETY: the caller vouches for the elements.
        unsafe { streaming::prefetch_if(self.0.cast::<Pack>().wrapping_add(index), valid) }
    }
}

/// A source of one array. It may give each pack and each element something to take along, such as
/// the bounds that an element is compared with.
pub trait OneArray: Source {
    /// The type of the elements of the array.
    type Element: Item;
    /// The address of the first element.
    fn address(self) -> *const Self::Element;
    /// The source's pack for a pack of the array.
    fn with_pack(self, pack: Pack) -> Self::Pack;
    /// The source's element for an element of the array.
    fn with_element(self, element: Self::Element) -> Self::Item;
}

impl<T: Item> OneArray for One<T> {
    type Element = T;

    #[inline(always)]
    fn address(self) -> *const T {
        self.0
    }
    #[inline(always)]
    fn with_pack(self, pack: Pack) -> Pack {
        pack
    }
    #[inline(always)]
    fn with_element(self, element: T) -> T {
        element
    }
}

/// One array whose packs and elements all take the same value along.
#[derive(Clone, Copy)]
pub struct Along<T, V> {
    pub(crate) array: One<T>,
    pub(crate) value: V,
}

impl<T: Item, V: Copy + Default> Source for Along<T, V> {
    type Item = (T, V);
    type Pack = (Pack, V);
    const PER_PACK: usize = T::PER_PACK;
    const ARRAYS: usize = 1;

    #[inline(always)]
    fn to_boundary(self) -> usize {
        self.array.to_boundary()
    }
    #[inline(always)]
    fn skip(self, elements: usize) -> Self {
        Self { array: self.array.skip(elements), ..self }
    }
    #[inline(always)]
    unsafe fn item_if(self, index: usize, valid: bool) -> Self::Item {
        // SAFETY: the caller vouches for the elements.
        self.with_element(unsafe { self.array.item_if(index, valid) })
    }
    #[inline(always)]
    unsafe fn pack(self, index: usize, policy: Policy) -> Self::Pack {
        // SAFETY: the caller vouches for the elements.
        self.with_pack(unsafe { self.array.pack(index, policy) })
    }
    #[inline(always)]
    unsafe fn pack_if(self, index: usize, policy: Option<Policy>, valid: bool) -> Self::Pack {
        // SAFETY: the caller vouches for the elements.
        self.with_pack(unsafe { self.array.pack_if(index, policy, valid) })
    }
    #[inline(always)]
    unsafe fn prefetch_if(self, index: usize, valid: bool) {
        // SAFETY: the caller vouches for the elements.
        unsafe { self.array.prefetch_if(index, valid) }
    }
}

impl<T: Item, V: Copy + Default> OneArray for Along<T, V> {
    type Element = T;

    #[inline(always)]
    fn address(self) -> *const T {
        self.array.address()
    }
    #[inline(always)]
    fn with_pack(self, pack: Pack) -> Self::Pack {
        (pack, self.value)
    }
    #[inline(always)]
    fn with_element(self, element: T) -> Self::Item {
        (element, self.value)
    }
}

/// How the packs of a second array are read. They begin at the same elements as the packs of the
/// first array.
pub trait Reach: Copy {
    /// See [`Source::pack_if`].
    ///
    /// # Safety
    /// If `valid`, there is a pack at `source`.
    unsafe fn pack_if<T: Item>(source: *const T, policy: Option<Policy>, valid: bool) -> Pack;
}

/// Both arrays have their boundaries of 16 bytes at the same elements, so that a pack of the second
/// is one load.
#[derive(Clone, Copy)]
pub struct Even;

impl Reach for Even {
    #[inline(always)]
    unsafe fn pack_if<T: Item>(source: *const T, policy: Option<Policy>, valid: bool) -> Pack {
        // SAFETY: the caller vouches for the elements.
        unsafe { One(source).pack_if(0, policy, valid) }
    }
}

/// The arrays have their boundaries of 16 bytes at different elements, so that a load of the second
/// array takes one element, or 32 bits of an element.
#[derive(Clone, Copy)]
pub struct Skewed;

impl Reach for Skewed {
    #[inline(always)]
    unsafe fn pack_if<T: Item>(source: *const T, _policy: Option<Policy>, valid: bool) -> Pack {
        let mut pack = [0; 4];
        each(4, |i| {
            let at = source.cast::<u32>().wrapping_add(i);
            // SAFETY: the caller vouches for the elements.
            let part = |part| unsafe {
                match size_of::<T>() {
                    1 => {
                        u32::from(streaming::load_u8_if(at.cast::<u8>().wrapping_add(part), valid))
                            << (8 * part)
                    }
                    2 => {
                        u32::from(streaming::load_u16_if(
                            at.cast::<u16>().wrapping_add(part),
                            valid,
                        )) << (16 * part)
                    }
                    _ => streaming::load_u32_if(at, valid),
                }
            };
            each(4usize.div_ceil(size_of::<T>()), |number| pack[i] |= part(number));
        });
        pack
    }
}

/// Two arrays of the same length, whose elements are taken in pairs.
#[derive(Clone, Copy)]
pub struct Two<T, R> {
    left: *const T,
    right: *const T,
    reach: PhantomData<R>,
}

impl<T: Item, R: Reach> Two<T, R> {
    /// The pairs of the arrays at these addresses.
    #[inline(always)]
    pub fn new(left: *const T, right: *const T) -> Self {
        Self { left, right, reach: PhantomData }
    }
    /// The addresses of the first elements.
    #[inline(always)]
    pub(crate) fn starts(self) -> [u64; 2] {
        [self.left as u64, self.right as u64]
    }
}

impl<T: Item, R: Reach> Source for Two<T, R> {
    type Item = [T; 2];
    type Pack = [Pack; 2];
    const PER_PACK: usize = T::PER_PACK;
    const ARRAYS: usize = 2;

    #[inline(always)]
    fn to_boundary(self) -> usize {
        One(self.left).to_boundary()
    }
    #[inline(always)]
    fn skip(self, elements: usize) -> Self {
        Self::new(self.left.wrapping_add(elements), self.right.wrapping_add(elements))
    }
    #[inline(always)]
    unsafe fn item_if(self, index: usize, valid: bool) -> [T; 2] {
        // SAFETY: the caller vouches for the elements.
        unsafe {
            [
                T::load_if(self.left.wrapping_add(index), valid),
                T::load_if(self.right.wrapping_add(index), valid),
            ]
        }
    }
    #[inline(always)]
    unsafe fn pack(self, index: usize, policy: Policy) -> [Pack; 2] {
        // SAFETY: the caller vouches for the elements.
        unsafe { self.pack_if(index, Some(policy), true) }
    }
    #[inline(always)]
    unsafe fn pack_if(self, index: usize, policy: Option<Policy>, valid: bool) -> [Pack; 2] {
        // SAFETY: the caller vouches for the elements.
        unsafe {
            let left = One(self.left).pack_if(index, policy, valid);
            [left, R::pack_if(self.right.wrapping_add(index * T::PER_PACK), policy, valid)]
        }
    }
    #[inline(always)]
    unsafe fn prefetch_if(self, index: usize, valid: bool) {
        // SAFETY: the caller vouches for the packs, and a prefetch needs no alignment.
        unsafe {
            One(self.left).prefetch_if(index, valid);
            One(self.right).prefetch_if(index, valid);
        }
    }
}
