//! Counts of the elements for which a comparison with a constant holds, against Rust's own
//! comparisons.

use std::fmt::Debug;

use half::{bf16, f16};
use proptest::{collection::vec, prelude::any};
use rand::{Rng, seq::IndexedRandom as _};
use warpfold::{
    AllWhere, AnyWhere, CountWhere, Device, Is, Item, Operation,
    device::Pod,
    reducer::{Error, Single},
};

use crate::{
    cases::{Placed, SIZES, offsets, rng},
    random,
    support::devices,
};

/// Elements and constants of a type: some that are special, and otherwise any.
trait Sample: Item {
    const SPECIAL: &[Self];
}

macro_rules! samples {
    ($($type:ident: $($special:expr),*;)*) => {$(
        impl Sample for $type {
            const SPECIAL: &[Self] = &[$($special),*];
        }
    )*};
}

samples! {
    i8: i8::MIN, -2, -1, 0, 1, i8::MAX - 1, i8::MAX;
    u8: 0, 1, 127, 128, u8::MAX - 1, u8::MAX;
    i16: i16::MIN, -1, 0, 1, i16::MAX;
    u16: 0, 1, 0x7fff, 0x8000, u16::MAX;
    i32: i32::MIN, -1, 0, 1, i32::MAX;
    u32: 0, 1, i32::MAX as u32, 1 << 31, u32::MAX;
    i64: i64::MIN, -1, 0, 1 << 32, i64::MAX;
    u64: 0, 1, 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX;
    i128: i128::MIN, -1, 0, 1 << 64, i128::MAX;
    u128: 0, 1, 1 << 64, 1 << 127, u128::MAX;
    f16: f16::NEG_INFINITY, f16::NEG_ZERO, f16::ZERO, f16::from_bits(1), f16::ONE, f16::MAX,
        f16::INFINITY, f16::NAN;
    bf16: bf16::NEG_INFINITY, bf16::NEG_ZERO, bf16::ZERO, bf16::from_bits(0x8001), bf16::ONE,
        bf16::MAX, bf16::INFINITY, bf16::NAN;
    f32: f32::NEG_INFINITY, -0.0, 0.0, f32::from_bits(1), -f32::from_bits(1), 1.0, f32::MAX,
        f32::INFINITY, f32::NAN, -f32::NAN;
    f64: f64::NEG_INFINITY, -0.0, 0.0, f64::from_bits(1), 1.0, f64::MIN, f64::INFINITY, f64::NAN;
}

/// One of the special elements, or any bits.
fn sample<T: Sample + Pod>(rng: &mut impl Rng) -> T {
    if rng.random() {
        return *T::SPECIAL.choose(rng).unwrap();
    }
    let bytes: [u8; 16] = rng.random();
    bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
}

/// All comparisons with one constant; the range also has another one.
fn comparisons<T: Copy>(constant: T, other: T) -> [Is<T>; 8] {
    [
        Is::Equal(constant),
        Is::NotEqual(constant),
        Is::Less(constant),
        Is::LessOrEqual(constant),
        Is::Greater(constant),
        Is::GreaterOrEqual(constant),
        Is::InRange(constant, other),
        Is::InRange(other, constant),
    ]
}

/// Compares the three operations with plain Rust, for elements at `from` of a buffer.
fn check<T: Item>(device: &Device, values: &[T], from: usize, comparison: Is<T>)
where
    CountWhere<T>: Operation<T, Arity = Single, Output = u64>,
    AnyWhere<T>: Operation<T, Arity = Single, Output = bool>,
    AllWhere<T>: Operation<T, Arity = Single, Output = bool>,
{
    let count = values.iter().filter(|&&x| expected(x, comparison)).count();
    let placed = Placed::new(device, values, from, values[0]);
    let x = placed.view();
    let at = format!("{} {} from {from} on, {comparison:?}", values.len(), T::NAME);
    assert_eq!(device.reduce(x, CountWhere(comparison)).unwrap(), count as u64, "{at}");
    assert_eq!(device.reduce(x, AnyWhere(comparison)).unwrap(), count > 0, "{at}");
    let all = count == values.len();
    assert_eq!(device.reduce(x, AllWhere(comparison)).unwrap(), all, "{at}");
}

/// Whether a comparison holds. This function does not trust [`Is::holds`], and compares both.
fn expected<T: PartialOrd + Copy + Debug>(x: T, comparison: Is<T>) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = |constant: T| x.partial_cmp(&constant);
    let holds = match comparison {
        Is::Equal(constant) => order(constant) == Some(Equal),
        Is::NotEqual(constant) => order(constant) != Some(Equal),
        Is::Less(constant) => order(constant) == Some(Less),
        Is::LessOrEqual(constant) => matches!(order(constant), Some(Less | Equal)),
        Is::Greater(constant) => order(constant) == Some(Greater),
        Is::GreaterOrEqual(constant) => matches!(order(constant), Some(Greater | Equal)),
        Is::InRange(from, below) => {
            matches!(order(from), Some(Greater | Equal)) && order(below) == Some(Less)
        }
    };
    assert_eq!(comparison.holds(x), holds, "{x:?} {comparison:?}");
    holds
}

macro_rules! of_all_types {
    ($device:expr, $function:ident) => {
        of_all_types!(@ $device, $function,
            i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64)
    };
    (@ $device:expr, $function:ident, $($type:ident)*) => {
        $($function::<$type>($device);)*
    };
}

#[test]
fn comparisons_with_special_and_any_constants() {
    fn of_type<T: Sample>(device: &Device)
    where
        CountWhere<T>: Operation<T, Arity = Single, Output = u64>,
        AnyWhere<T>: Operation<T, Arity = Single, Output = bool>,
        AllWhere<T>: Operation<T, Arity = Single, Output = bool>,
    {
        let mut rng = rng();
        let values: Vec<T> = (0..1003).map(|_| sample(&mut rng)).collect();
        let mut constants = T::SPECIAL.to_vec();
        constants.extend((0..3).map(|_| sample::<T>(&mut rng)));
        constants.extend_from_slice(&values[..2]);
        for constant in constants {
            for comparison in comparisons(constant, sample(&mut rng)) {
                check(device, &values, 1, comparison);
            }
        }
    }
    for device in devices() {
        of_all_types!(&device, of_type);
    }
}

#[test]
fn comparisons_of_every_length_and_place() {
    fn of_type<T: Sample>(device: &Device)
    where
        CountWhere<T>: Operation<T, Arity = Single, Output = u64>,
        AnyWhere<T>: Operation<T, Arity = Single, Output = bool>,
        AllWhere<T>: Operation<T, Arity = Single, Output = bool>,
    {
        let mut rng = rng();
        for n in SIZES {
            let values: Vec<T> = (0..n).map(|_| sample(&mut rng)).collect();
            for from in offsets::<T>(n) {
                let constants = [sample(&mut rng), sample(&mut rng)];
                let all = comparisons(constants[0], constants[1]);
                check(device, &values, from, *all.choose(&mut rng).unwrap());
            }
        }
    }
    for device in devices() {
        of_all_types!(&device, of_type);
    }
}

#[test]
fn one_element_decides() {
    for device in devices() {
        let mut values = vec![0.5f32; 40_001];
        for at in [0, 1, 1023, 20_000, 40_000] {
            values[at] = f32::NAN;
            assert!(
                device.reduce(&values, AllWhere(Is::GreaterOrEqual(0.5))).is_ok_and(|all| !all)
            );
            assert!(device.reduce(&values, AnyWhere(Is::NotEqual(0.5))).unwrap());
            assert_eq!(device.reduce(&values, CountWhere(Is::Equal(f32::NAN))).unwrap(), 0);
            values[at] = 0.5;
            assert!(device.reduce(&values, AllWhere(Is::GreaterOrEqual(0.5))).unwrap());
            assert!(!device.reduce(&values, AnyWhere(Is::NotEqual(0.5))).unwrap());
        }
    }
}

#[test]
fn no_elements() -> Result<(), Error> {
    for device in devices() {
        let nothing: [i32; 0] = [];
        for comparison in comparisons(0, 1) {
            assert_eq!(device.reduce(&nothing, CountWhere(comparison))?, 0);
            assert!(!device.reduce(&nothing, AnyWhere(comparison))?);
            assert!(device.reduce(&nothing, AllWhere(comparison))?);
        }
    }
    Ok(())
}

/// Two reducers of one kernel have different constants, in parts of an input on the host, on
/// streams, and in a graph that runs again.
#[test]
fn every_way_to_call_has_its_constant() -> Result<(), Error> {
    for device in devices() {
        let values: Vec<i16> = (-2000..3000).collect();
        let less = device.reducer::<i16, _>(CountWhere(Is::Less(-1500)))?;
        let greater = device.reducer::<i16, _>(CountWhere(Is::Greater(7)))?.clone();
        assert_eq!((less.reduce(&values)?, greater.reduce(&values)?), (500, 2992));
        let in_parts = greater.clone().with_memory_limit(1000);
        assert_eq!(in_parts.reduce(&values)?, 2992);

        let (buffer, stream) = (device.upload(&values)?, device.stream()?);
        let mut outputs = [device.alloc::<u64>(1)?, device.alloc(1)?];
        let [first, second] = &mut outputs;
        let (graph, _) = device.capture(|stream| {
            less.reduce_into(&buffer, &mut *first, stream)?;
            greater.reduce_into(&buffer, &mut *second, stream)
        })?;
        for _ in 0..2 {
            graph.launch(&stream)?;
            stream.synchronize()?;
        }
        let [first, second] = outputs;
        assert_eq!((first.copy_to_host()?, second.copy_to_host()?), (vec![500], vec![2992]));
    }
    Ok(())
}

#[test]
fn any_lengths_places_and_constants() {
    let strategy = (vec(any::<i8>(), 1..6000), 0usize..20, any::<i8>(), any::<i8>());
    random::check(strategy, |device, (values, from, constant, other)| {
        for comparison in comparisons(constant, other) {
            check(device, &values, from, comparison);
        }
        Ok(())
    });
    let strategy = (vec(any::<u32>(), 1..3000), 0usize..8, 0usize..100);
    random::check(strategy, |device, (bits, from, constant)| {
        let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        let constant = values[constant % values.len()];
        for comparison in comparisons(constant, values[0]) {
            check(device, &values, from, comparison);
        }
        Ok(())
    });
}

#[test]
fn truth_values_are_bytes() -> Result<(), Error> {
    use warpfold::{All, Any, Array, CountNonzero, Sum};
    for device in devices() {
        for n in SIZES {
            let flags: Vec<bool> = (0..n).map(|i| i % 3 == 1).collect();
            let count = flags.iter().filter(|&&flag| flag).count() as u64;
            assert_eq!(device.reduce(&flags, CountNonzero)?, count);
            assert_eq!(device.reduce(&flags[..], Any)?, count > 0);
            assert_eq!(device.reduce(&flags, All)?, count == n as u64);
            assert_eq!(device.reduce(&flags, Sum)?, count);
            assert!(device.reduce(&vec![true; n], All)?);
            assert!(!device.reduce(&vec![false; n], Any)?);
        }
        let matrix = Array::new(&[true, false, true, true, true, true], &[2, 3])?;
        assert_eq!(device.reduce_rows(&matrix, CountNonzero)?, [2, 3]);
        assert_eq!(device.reduce_axes(&matrix, &[0], All)?, [true, false, true]);
        let nothing: [bool; 0] = [];
        assert!(device.reduce(&nothing, All)? && !device.reduce(&nothing, Any)?);
    }
    Ok(())
}
