//! Elements that are generated from a seed.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};

use super::{error::InputError, zeroed::zeroed};
use crate::{
    element::{Element, ElementType, Values},
    op::Op,
};

/// Generates `n` elements from a seed. They come from the bytes of ChaCha8 with that seed
/// (`seed_from_u64` of `rand`), so they are the same on every machine.
///
/// - Integers are uniform over the whole range of the type, so sums wrap. For a product they are
///   uniform over the odd numbers, because even ones would soon make it 0.
/// - Floats are uniform in `[-1, 1)`, as multiples of 2^-23 (`f32`) or 2^-52 (`f64`). For a product
///   they are `±(1 + t)` with `t` uniform in `[-w, w)`, where `w` is the lesser of 1/2 and 64/n
///   (`f32`) or 512/n (`f64`). So no partial product leaves the range of the type.
///
/// ```
/// use warpfold_lab::{element::{ElementType, Values}, input::generate, op::Op};
///
/// let Values::F32(values) = generate(ElementType::F32, Op::Sum, 1000, 7)? else { unreachable!() };
/// assert!(values.iter().all(|x| (-1.0..1.0).contains(x)));
/// # Ok::<(), warpfold_lab::input::InputError>(())
/// ```
///
/// # Errors
///
/// [`InputError::HostMemory`].
pub fn generate(element: ElementType, op: Op, n: u64, seed: u64) -> Result<Values, InputError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let width = |limit: f64| (limit / n as f64).min(0.5);
    match (element, op) {
        (ElementType::I32, Op::Prod) => random(&mut rng, n, |x: i32| x | 1),
        (ElementType::U32, Op::Prod) => random(&mut rng, n, |x: u32| x | 1),
        (ElementType::I64, Op::Prod) => random(&mut rng, n, |x: i64| x | 1),
        (ElementType::U64, Op::Prod) => random(&mut rng, n, |x: u64| x | 1),
        (ElementType::I32, _) => random(&mut rng, n, |x: i32| x),
        (ElementType::U32, _) => random(&mut rng, n, |x: u32| x),
        (ElementType::I64, _) => random(&mut rng, n, |x: i64| x),
        (ElementType::U64, _) => random(&mut rng, n, |x: u64| x),
        (ElementType::F32, Op::Prod) => {
            let width = width(64.0) as f32;
            random(&mut rng, n, |x: f32| near_one(unit32(x), width, x.to_bits() & 1 == 1))
        }
        (ElementType::F64, Op::Prod) => {
            let width = width(512.0);
            random(&mut rng, n, |x: f64| near_one(unit64(x), width, x.to_bits() & 1 == 1))
        }
        (ElementType::F32, _) => random(&mut rng, n, unit32),
        (ElementType::F64, _) => random(&mut rng, n, unit64),
    }
}

/// `n` values whose bits are random, each then passed through `shape`.
fn random<T: Element>(
    rng: &mut ChaCha8Rng,
    n: u64,
    shape: impl Fn(T) -> T,
) -> Result<Values, InputError> {
    let mut values = zeroed(n)?;
    rng.fill_bytes(bytemuck::cast_slice_mut(&mut values));
    for value in &mut values {
        *value = shape(*value);
    }
    Ok(T::values(values))
}

/// Turns random bits into a number in `[-1, 1)`.
fn unit32(bits: f32) -> f32 {
    (bits.to_bits() >> 8) as f32 / (1 << 23) as f32 - 1.0
}

/// Turns random bits into a number in `[-1, 1)`.
fn unit64(bits: f64) -> f64 {
    (bits.to_bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn near_one<T>(unit: T, width: T, negative: bool) -> T
where
    T: From<i8> + std::ops::Mul<Output = T> + std::ops::Add<Output = T> + std::ops::Neg<Output = T>,
{
    let magnitude = T::from(1) + unit * width;
    if negative { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Reference;

    #[test]
    fn the_seed_decides() {
        for element in ElementType::ALL {
            for op in Op::ALL {
                let of = |seed| format!("{:?}", generate(element, op, 100, seed).unwrap());
                assert_eq!(of(7), of(7));
                assert_ne!(of(7), of(8));
                assert_eq!(generate(element, op, 0, 7).unwrap().len(), 0);
            }
        }
        // The values are written out here, so that a change of the generator is noticed.
        assert!(
            matches!(generate(ElementType::U32, Op::Sum, 2, 1), Ok(Values::U32(v)) if v == [2_359_561_649, 1_728_662_762])
        );
    }

    #[test]
    fn products_stay_in_range() {
        for n in [1, 100, 100_000] {
            for element in [ElementType::F32, ElementType::F64] {
                let values = generate(element, Op::Prod, n, 3).unwrap();
                let bound = Reference::new(&values, Op::Prod, 0).error_bound();
                assert!(bound.is_finite(), "{n} {element}");
            }
            let odd = generate(ElementType::I32, Op::Prod, n, 3).unwrap();
            assert!(matches!(odd, Values::I32(v) if v.iter().all(|x| x % 2 != 0)));
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        let error = generate(ElementType::F64, Op::Sum, 1 << 60, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("n = {} f64 elements do not fit in the host's memory", 1u64 << 60)
        );
    }
}
