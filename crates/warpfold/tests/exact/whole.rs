//! The kernels for whole arrays, and the calls that use them.

use bytemuck::Pod;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};
use warpfold::{
    ReproducibleSum,
    device::{Arg, Buffer, Device, Kernel, LaunchShape},
    reducer::{ExactF32, ExactF64},
    testing::{Instrument, Seen},
};

use super::{
    reference::{BINARY32, BINARY64, Format, expected, power},
    support::{Launch, devices, production_kernel},
};

/// A type of elements, represented by its bits.
trait Kind {
    const KERNEL: &'static str;
    /// The type that holds the bits of an element.
    type Bits: Pod + PartialEq + std::fmt::Debug;
    type Raw: Pod;
    /// The value of an element. The value of a NaN is a NaN.
    fn widen(bits: Self::Bits) -> f64;
    /// The element whose bits are the lowest bits of `random`.
    fn element(random: u64) -> Self::Bits;
    /// The element nearest to a number.
    fn of(x: f64) -> Self::Bits;
    /// The largest finite element.
    const MAX: f64;
    /// The value of the sum. An `f64` holds it exactly.
    fn value(raw: &Self::Raw) -> f64;
    fn combine(a: &Self::Raw, b: &Self::Raw) -> Self::Raw;
    /// The format of the type of the sum.
    const FORMAT: Format;
}

struct F16;
struct Bf16;
struct F32;
struct F64;

macro_rules! kinds {
    ($($kind:ident, $kernel:literal, $bits:ident, $raw:ident, $format:ident, $max:expr, $widen:expr, $of:expr;)*) => {$(
        impl Kind for $kind {
            const KERNEL: &'static str = $kernel;
            type Bits = $bits;
            type Raw = $raw;
            const FORMAT: Format = $format;
            fn widen(bits: $bits) -> f64 {
                $widen(bits)
            }
            fn of(x: f64) -> $bits {
                $of(x)
            }
            const MAX: f64 = $max;
            fn element(random: u64) -> $bits {
                random as $bits
            }
            fn value(raw: &$raw) -> f64 {
                raw.value().into()
            }
            fn combine(a: &$raw, b: &$raw) -> $raw {
                a.combine(b)
            }
        }
    )*};
}

kinds! {
    F16, "reduce_exact_f16", u16, ExactF32, BINARY32, 65504.0, from_half, |x| half::f16::from_f64(x).to_bits();
    Bf16, "reduce_exact_bf16", u16, ExactF32, BINARY32, 255.0 * TWO_TO_120, from_bfloat, |x| half::bf16::from_f64(x).to_bits();
    F32, "reduce_exact_f32", u32, ExactF32, BINARY32, f32::MAX as f64, from_single, |x| (x as f32).to_bits();
    F64, "reduce_exact_f64", u64, ExactF64, BINARY64, f64::MAX, f64::from_bits, f64::to_bits;
}

const TWO_TO_120: f64 = (1u128 << 120) as f64;

fn from_single(bits: u32) -> f64 {
    f32::from_bits(bits).into()
}

fn from_bfloat(bits: u16) -> f64 {
    from_single(u32::from(bits) << 16)
}

/// The value of an IEEE binary16 number.
fn from_half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// The kernel of a type on a device, with the buffers that its launches need.
struct Summer<'d, K: Kind> {
    device: &'d Device,
    kernel: Kernel,
    slots: Buffer<u64>,
    output: Buffer<K::Raw>,
}

impl<'d, K: Kind> Summer<'d, K> {
    fn new(device: &'d Device) -> Self {
        let kernel = production_kernel(device, K::KERNEL);
        let slots = device.upload(&[0u64; 128]).unwrap();
        Self { device, kernel, slots, output: device.alloc(1).unwrap() }
    }

    /// The sum of the elements of a buffer from `offset` on. The shape consists of the threads of a
    /// block, the packs in a block's chunk, and the number of additional blocks.
    fn sum(
        &self,
        input: &Buffer<K::Bits>,
        offset: usize,
        (block, chunk, more): (u32, u64, u32),
    ) -> K::Raw {
        let size = size_of::<K::Bits>();
        let n = input.len() - offset;
        let address = input.address() + (offset * size) as u64;
        let head = (address.wrapping_neg() % 16) / size as u64;
        let packs = (n as u64).saturating_sub(head) * size as u64 / 16;
        let grid = packs.div_ceil(chunk).max(1) as u32 + more;
        let arguments = [
            Arg::Pointer(address),
            Arg::U64(n as u64),
            Arg::U64(chunk),
            Arg::U32(1f32.to_bits()),
            Arg::Pointer(self.output.address()),
            Arg::Pointer(self.slots.address()),
        ];
        self.device.start(&self.kernel, LaunchShape::linear(grid, block, 0), &arguments).unwrap();
        let raw = self.output.copy_to_host().unwrap()[0];
        assert!(
            self.slots.copy_to_host().unwrap().iter().all(|&slot| slot == 0),
            "slots are left behind"
        );
        raw
    }

    /// Checks the sum of these elements against the reference, and checks that it does not depend
    /// on the shape, the order and the offset.
    fn check(&self, what: &str, elements: &[K::Bits]) {
        let values: Vec<f64> = elements.iter().map(|&bits| K::widen(bits)).collect();
        let expected = expected(&values, K::FORMAT);
        let place =
            format!("{} on {}: {what}, n = {}", K::KERNEL, self.device.info().name, elements.len());

        let input = self.device.upload(elements).unwrap();
        let raw = self.sum(&input, 0, (256, 4096, 0));
        let value = K::value(&raw);
        let is_right = value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan();
        assert!(is_right, "{place}: {value:e} is not {expected:e}");

        let mut rng = StdRng::seed_from_u64(elements.len() as u64);
        let mut order = elements.to_vec();
        for shape in [(32, 16, 0), (64, 200, 1), (512, 37, 0)] {
            order.shuffle(&mut rng);
            // Other elements precede the input in the buffer.
            let offset = rng.random_range(0..9);
            let shifted: Vec<K::Bits> = (0..offset)
                .map(|_| K::element(rng.random()))
                .chain(order.iter().copied())
                .collect();
            let other = self.sum(&self.device.upload(&shifted).unwrap(), offset, shape);
            let same = bytemuck::bytes_of(&other) == bytemuck::bytes_of(&raw);
            assert!(
                same,
                "{place}: {shape:?} and offset {offset} give {:e} instead of {value:e}",
                K::value(&other)
            );
        }

        let (left, right) = elements.split_at(rng.random_range(0..=elements.len()));
        let [left, right] = [left, right]
            .map(|part| self.sum(&self.device.upload(part).unwrap(), 0, (128, 128, 0)));
        let both = K::combine(&left, &right);
        assert!(
            bytemuck::bytes_of(&both) == bytemuck::bytes_of(&raw),
            "{place}: the halves give {:e}",
            K::value(&both)
        );
    }
}

/// Lengths at the edges of warps, and some lengths that need several blocks and rounds.
const LENGTHS: [usize; 7] = [0, 1, 2, 31, 33, 1024, 4099];

/// Runs a test for each type on every available device.
macro_rules! for_all_types {
    ($($name:ident = $test:ident;)*) => {$(
        #[test]
        fn $name() {
            for device in &devices() {
                $test(&Summer::<F16>::new(device));
                $test(&Summer::<Bf16>::new(device));
                $test(&Summer::<F32>::new(device));
                $test(&Summer::<F64>::new(device));
            }
        }
    )*};
}

for_all_types! {
    ordinary_numbers = ordinary;
    numbers_of_any_bits = any_bits;
    numbers_around_the_least = subnormal;
    what_cancels_leaves_the_rest = cancelling;
    sums_are_rounded_once_to_nearest_even = rounding;
    large_numbers_overflow_in_the_end_only = large;
    infinities_and_nans_decide = special;
    zeros_have_the_sign_of_ieee_754 = zeros;
}

/// The elements that are nearest to these values.
fn elements<K: Kind>(values: impl IntoIterator<Item = f64>) -> Vec<K::Bits> {
    values.into_iter().map(K::of).collect()
}

fn ordinary<K: Kind>(summer: &Summer<'_, K>) {
    let mut rng = StdRng::seed_from_u64(1);
    for n in LENGTHS {
        let mut uniform = |from, to| elements::<K>((0..n).map(|_| rng.random_range(from..to)));
        summer.check("from 0 to 1", &uniform(0.0, 1.0));
        summer.check("from -1 to 1", &uniform(-1.0, 1.0));
        summer.check("from 1000 to 1001", &uniform(1000.0, 1001.0));
    }
    summer.check("ascending", &elements::<K>((0..3000).map(|i| 1.01f64.powi(i % 1000))));
}

fn any_bits<K: Kind>(summer: &Summer<'_, K>) {
    let mut rng = StdRng::seed_from_u64(2);
    for n in LENGTHS {
        let any = std::iter::repeat_with(|| K::element(rng.random()));
        let finite: Vec<_> = any.filter(|&bits| K::widen(bits).is_finite()).take(n).collect();
        summer.check("finite numbers of any bits", &finite);
    }
    let any: Vec<_> = (0..1000).map(|_| K::element(rng.random())).collect();
    for n in [1, 2, 3, 5, 100, 1000] {
        summer.check("any bits", &any[..n]);
    }
}

fn subnormal<K: Kind>(summer: &Summer<'_, K>) {
    let mut rng = StdRng::seed_from_u64(3);
    let least = K::widen(K::element(1));
    for n in LENGTHS {
        let mut multiples = |most: i64| {
            elements::<K>((0..n).map(|_| rng.random_range(-most..=most) as f64 * least))
        };
        summer.check("the least number and its negative", &multiples(1));
        summer.check("up to 127 times the least number", &multiples(127));
    }
}

fn cancelling<K: Kind>(summer: &Summer<'_, K>) {
    let mut rng = StdRng::seed_from_u64(4);
    let negative = |bits: K::Bits| K::of(-K::widen(bits));
    for n in LENGTHS {
        let any = std::iter::repeat_with(|| K::element(rng.random()));
        let mut values: Vec<_> = any.filter(|&bits| K::widen(bits).is_finite()).take(n).collect();
        values.extend(values.clone().into_iter().map(negative));
        values.shuffle(&mut rng);
        summer.check("numbers and their negatives", &values);
        values.push(K::element(1));
        values.shuffle(&mut rng);
        summer.check("numbers, their negatives, and the least number", &values);
    }
}

fn rounding<K: Kind>(summer: &Summer<'_, K>) {
    let Format { precision, .. } = K::FORMAT;
    let (ulp, half) = (power(1 - precision as i32), power(-(precision as i32)));
    let tiny = K::widen(K::element(1));
    let mut ties = vec![
        vec![1.0, half],
        vec![1.0, ulp, half],
        vec![1.0, ulp, ulp, half],
        vec![2.0, -half],
        vec![2.0, -ulp, -half],
    ];
    if tiny < half {
        ties.extend(ties.clone().into_iter().map(|tie| [tie, vec![tiny]].concat()));
        ties.extend(ties.clone().into_iter().map(|tie| [tie, vec![-tiny]].concat()));
    }
    for tie in ties {
        for sign in [1.0, -1.0] {
            summer.check("halfway, or nearly so", &elements::<K>(tie.iter().map(|x| sign * x)));
            // The other elements cancel.
            let others = (0..500).map(|i| if i % 2 == 0 { 8192.0 } else { -8192.0 });
            summer.check(
                "halfway, among others",
                &elements::<K>(tie.iter().map(|x| sign * x).chain(others)),
            );
        }
    }
    // 2^24 - 1/2 rounds to 2^24, and 2^53 - 1/2 to 2^53.
    let (term, terms) = if precision == 24 { (4096.0, 4096) } else { (power(43), 1024) };
    summer.check(
        "up to a power of two",
        &elements::<K>(std::iter::repeat_n(term, terms).chain([-0.5])),
    );
}

fn large<K: Kind>(summer: &Summer<'_, K>) {
    for n in [2, 3, 1000, 5000] {
        let up = std::iter::repeat_n(K::MAX, n);
        summer.check("the largest number often", &elements::<K>(up.clone()));
        summer.check("its negative often", &elements::<K>(up.clone().map(|x| -x)));
        let down = std::iter::repeat_n(-K::MAX, n);
        summer.check(
            "both often, and 1",
            &elements::<K>(up.clone().chain(down.clone()).chain([1.0])),
        );
        summer.check(
            "one more of them than of its negative",
            &elements::<K>(up.chain(down).chain([K::MAX])),
        );
    }
    let Format { precision, overflow, .. } = K::FORMAT;
    let (top, last) = (power(overflow - 1), power(overflow - precision as i32));
    if top < K::MAX {
        let tiny = K::widen(K::element(1));
        for rest in [
            vec![-last],
            vec![-last, last / 2.0],
            vec![-last, last / 2.0, -tiny],
            vec![-tiny],
            vec![last],
        ] {
            summer.check(
                "where numbers end",
                &elements::<K>([top, top].into_iter().chain(rest.clone())),
            );
            summer.check(
                "where numbers end",
                &elements::<K>([top, top].into_iter().chain(rest).map(|x| -x)),
            );
        }
    }
}

fn special<K: Kind>(summer: &Summer<'_, K>) {
    const INF: f64 = f64::INFINITY;
    let mut rng = StdRng::seed_from_u64(5);
    let specials: [&[f64]; 7] = [
        &[INF],
        &[-INF],
        &[INF, INF],
        &[INF, -INF],
        &[f64::NAN],
        &[INF, f64::NAN],
        &[-INF, -INF, f64::NAN],
    ];
    for special in specials {
        for n in [0, 1, 100, 5000] {
            let finite = (0..n).map(|_| rng.random_range(-K::MAX / 2.0..K::MAX / 2.0));
            let mut values: Vec<_> = finite.chain(special.iter().copied()).collect();
            values.shuffle(&mut StdRng::seed_from_u64(n));
            summer.check("among finite numbers", &elements::<K>(values));
        }
    }
}

fn zeros<K: Kind>(summer: &Summer<'_, K>) {
    for n in LENGTHS {
        let minus = std::iter::repeat_n(-0.0, n);
        summer.check("nothing but -0", &elements::<K>(minus.clone()));
        summer.check("nothing but +0", &elements::<K>(std::iter::repeat_n(0.0, n)));
        summer.check("one +0", &elements::<K>(minus.clone().chain([0.0])));
        summer.check("1 and -1", &elements::<K>(minus.clone().chain([1.0, -1.0])));
        summer.check("the least number", &elements::<K>(minus.chain([K::widen(K::element(1))])));
    }
}

/// Tests the public interface: buffers, slices of the host, and slices that are reduced in chunks.
#[test]
fn the_library_gives_the_same_bits_from_everywhere() {
    let mut rng = StdRng::seed_from_u64(7);
    let values: Vec<f32> =
        (0..9001).map(|_| f32::from_bits(rng.random())).filter(|x| x.is_finite()).collect();
    let truth = expected(&values.iter().map(|&x| x.into()).collect::<Vec<_>>(), BINARY32) as f32;
    let halves: Vec<half::bf16> = values.iter().map(|&x| half::bf16::from_f32(x / 4.0)).collect();
    let half_truth =
        expected(&halves.iter().map(|&x| x.into()).collect::<Vec<_>>(), BINARY32) as f32;
    for device in &devices() {
        let reducer = device.reducer::<f32, _>(ReproducibleSum).unwrap();
        let buffer = device.upload(&values).unwrap();
        assert_eq!(reducer.reduce(&buffer).unwrap().to_bits(), truth.to_bits());
        assert_eq!(reducer.reduce(&values).unwrap().to_bits(), truth.to_bits());
        for limit in [4096, 10_000] {
            let chunked = reducer.clone().with_memory_limit(limit);
            assert_eq!(
                chunked.reduce(&values).unwrap().to_bits(),
                truth.to_bits(),
                "{limit} bytes"
            );
        }
        assert_eq!(
            device.reduce(&halves, ReproducibleSum).unwrap().to_bits(),
            half_truth.to_bits()
        );
        assert_eq!(device.reduce(&Vec::<f64>::new(), ReproducibleSum).unwrap().to_bits(), 0);
    }
}

/// Runs on the simulator with the check for races and for reads of uninitialized memory.
#[test]
fn the_kernels_are_clean() {
    fn check<K: Kind>(device: &Device) {
        let summer = Summer::<K>::new(device);
        let mut rng = StdRng::seed_from_u64(6);
        for n in [0, 1, 1000, 4099] {
            summer.check("ordinary", &elements::<K>((0..n).map(|_| rng.random_range(-1.0..1.0))));
            summer.check("any bits", &(0..n).map(|_| K::element(rng.random())).collect::<Vec<_>>());
        }
        let observations = device.take_observations();
        assert!(observations.len() >= 48);
        for observation in observations {
            let Seen::Checked(checked) = &observation.seen else { panic!("{observation:?}") };
            assert!(checked.reports.is_empty() && checked.fault.is_none(), "{observation:?}");
        }
    }
    let device = Device::simulator_with(Instrument::Check);
    check::<F16>(&device);
    check::<Bf16>(&device);
    check::<F32>(&device);
    check::<F64>(&device);
}
