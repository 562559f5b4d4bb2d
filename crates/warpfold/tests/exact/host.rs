//! Exact sums on the host.

use bytemuck::bytes_of;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    Device,
    half::{bf16, f16},
    reducer::{ExactF32, ExactF64},
};

use super::elements::{Element, Source, check_sum, check_whole, sources};

/// Calls `check` with elements of each kind and of some numbers.
fn each<T: Element>(check: impl Fn(&Device, &[T], &dyn Fn() -> String)) {
    const SEED: u64 = 77;
    let device = Device::simulator();
    for (name, source) in sources::<T>() {
        for n in [0, 1, 2, 31, 32, 33, 1000, 5003] {
            let source: Source<T> = (name, source);
            let mut random = ChaCha8Rng::seed_from_u64(SEED + n);
            let mut elements: Vec<T> = (0..n).map(|_| source.1(&mut random)).collect();
            let what = || format!("{n} elements {name}, seed {SEED}");
            check(&device, &elements, &what);
            elements.shuffle(&mut random);
            check(&device, &elements, &what);
        }
    }
}

#[test]
fn sums_are_right_and_have_the_bits_of_a_device() {
    each::<f32>(|device, elements, what| {
        let sum = ExactF32::of(elements.iter().copied()).value();
        check_sum(sum, elements, what);
        check_whole(device, sum, elements);
    });
    each::<f16>(|device, elements, what| {
        let sum = ExactF32::of(elements.iter().map(|x| x.to_f32())).value();
        check_sum(sum, elements, what);
        check_whole(device, sum, elements);
    });
    each::<bf16>(|device, elements, what| {
        let sum = ExactF32::of(elements.iter().map(|x| x.to_f32())).value();
        check_sum(sum, elements, what);
        check_whole(device, sum, elements);
    });
    each::<f64>(|device, elements, what| {
        let sum = ExactF64::of(elements.iter().copied()).value();
        check_sum(sum, elements, what);
        check_whole(device, sum, elements);
    });
}

#[test]
fn parts_give_the_bytes_of_the_whole() {
    each::<f32>(|_, elements, what| {
        let (a, b) = elements.split_at(elements.len() / 3);
        let [a, b] = [a, b].map(|part| ExactF32::of(part.iter().copied()));
        let whole = ExactF32::of(elements.iter().copied());
        assert_eq!(bytes_of(&a.combine(&b)), bytes_of(&whole), "{}", what());
    });
    each::<f64>(|_, elements, what| {
        let (a, b) = elements.split_at(elements.len() / 3);
        let [a, b] = [a, b].map(|part| ExactF64::of(part.iter().copied()));
        let whole = ExactF64::of(elements.iter().copied());
        assert_eq!(bytes_of(&a.combine(&b)), bytes_of(&whole), "{}", what());
    });
}
