//! The production kernels on every available device, launched by hand. Each operation and type is
//! compared with plain loops over the same elements, at the edges of packs, rounds, warps and
//! blocks, from aligned and misaligned starts.

mod floats;
mod integers;
#[path = "../support/mod.rs"]
mod support;

use std::{cell::RefCell, collections::BTreeSet, env};

use rand::{SeedableRng, rngs::StdRng};
use support::{Launch, devices, production_entry, production_kernel};
use warpfold::{
    device::{Arg, Buffer, Device, Kernel, LaunchShape, Pod},
    testing::kernels,
};

/// The environment variable that sets the seed of the random elements.
const SEED_VARIABLE: &str = "WARPFOLD_TEST_SEED";

fn seeded() -> StdRng {
    let seed = env::var(SEED_VARIABLE).map_or(1, |seed| seed.parse().expect("a number"));
    eprintln!("{SEED_VARIABLE}={seed}");
    StdRng::seed_from_u64(seed)
}

/// A launch: the number of elements, the start of each array in its buffer, and the shape. `chunk`
/// is the number of packs in a block's chunk.
#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    starts: [usize; 2],
    block: u32,
    chunk: u32,
    /// The number of additional blocks, which have no packs.
    spare: u32,
}

const fn case(n: usize, starts: [usize; 2], block: u32, chunk: u32, spare: u32) -> Case {
    Case { n, starts, block, chunk, spare }
}

/// The cases have one block or many blocks, and blocks of one warp or of all warps. Some have more
/// blocks than the last block has threads, or eight times as many. Their packs are too few for a
/// round, just enough, or one too many. Two arrays are aligned alike or differently.
const CASES: [Case; 18] = [
    // The first eight cases are small. Some tests run only these with all of their samples.
    case(1, [0, 0], 32, 8, 0),
    case(1, [1, 1], 64, 8, 1),
    case(15, [3, 2], 32, 9, 0),
    case(31, [0, 1], 32, 8, 0),
    case(32, [1, 1], 32, 8, 0),
    case(33, [3, 0], 64, 1000, 0),
    case(1023, [0, 0], 128, 64, 2),
    case(1024, [2, 2], 256, 100, 0),
    case(2051, [1, 1], 32, 8, 0),
    case(1025, [5, 1], 1024, 1000, 0),
    case(4096, [0, 0], 32, 256, 0),
    case(4097, [0, 0], 32, 256, 1),
    case(4099, [1, 3], 64, 33, 0),
    case(9001, [0, 2], 32, 8, 0),
    case(9000, [7, 7], 128, 1024, 0),
    // One block of a whole number of warps takes all packs, four for each thread at most.
    case(1003, [3, 3], 96, 1024, 0),
    case(4100, [6, 2], 1024, 4096, 0),
    case(1999, [2, 2], 512, 4096, 0),
];

/// The number of elements of each array, which is enough for the longest case from any start.
const ELEMENTS: usize = 9016;

/// The number of bytes of the output, which is more than the largest raw result has.
const OUTPUT: usize = 64;

/// A device, and the objects that all launches share.
struct Bench {
    device: Device,
    slots: RefCell<Buffer<u64>>,
    launched: RefCell<BTreeSet<String>>,
    /// The arguments that follow those of every kernel.
    more: RefCell<Vec<Arg>>,
}

impl Bench {
    fn new(device: Device) -> Self {
        let slots = device.upload(&vec![0; 1 << 15]).unwrap();
        Self {
            device,
            slots: slots.into(),
            launched: BTreeSet::new().into(),
            more: Vec::new().into(),
        }
    }

    fn kernel(&self, name: &str) -> Kernel {
        self.launched.borrow_mut().insert(name.to_owned());
        production_kernel(&self.device, name)
    }

    /// A new output, so that no result of an earlier launch can lie there.
    fn output(&self) -> Buffer<u8> {
        self.device.upload(&[0; OUTPUT]).unwrap()
    }

    /// Launches a kernel over one array or two arrays, twice in each case. `check` gets the
    /// elements and the raw result, and returns an error if the result is wrong.
    fn run<T: Pod, const ARRAYS: usize>(
        &self,
        kernel: &str,
        arrays: [&[T]; ARRAYS],
        check: impl Fn([&[T]; ARRAYS], &[u8]) -> Result<(), String>,
    ) {
        self.run_cases(&CASES, kernel, arrays, check);
    }

    fn run_cases<T: Pod, const ARRAYS: usize>(
        &self,
        cases: &[Case],
        kernel: &str,
        arrays: [&[T]; ARRAYS],
        check: impl Fn([&[T]; ARRAYS], &[u8]) -> Result<(), String>,
    ) {
        let loaded = self.kernel(kernel);
        let single = production_entry(&self.device, kernel, &format!("{kernel}_single"));
        let most_threads = if kernel == "reduce_logsumexp_f64" { 512 } else { 1024 };
        for &case in cases.iter().filter(|case| case.block <= most_threads) {
            // The buffer ends with the last element, so that the simulator reports a read behind
            // it.
            let parts: [_; ARRAYS] = std::array::from_fn(|i| &arrays[i][..case.starts[i] + case.n]);
            let buffers = parts.map(|part| self.device.upload(part).unwrap());
            let bits: [_; 2] = std::array::from_fn(|_| self.launch(&loaded, case, &buffers));
            let device = &self.device.info().name;
            assert_eq!(bits[0], bits[1], "{kernel} on {device}, {case:?}: the second launch");
            if let Some(of_single) = self.launch_single(&single, case, &buffers) {
                assert_eq!(of_single, bits[0], "{kernel}_single on {device}, {case:?}");
            }
            let elements = std::array::from_fn(|i| &parts[i][case.starts[i]..]);
            check(elements, &bits[0])
                .unwrap_or_else(|wrong| panic!("{kernel} on {device}, {case:?}: {wrong}"));
        }
    }

    /// Launches the kernel `reduce_within_<element>` for the elements from `least` to `most`, which
    /// are given by their bits, and for the other ones. `is_within` is plain Rust.
    fn run_within<T: Pod>(
        &self,
        element: &str,
        values: &[T],
        [least, most]: [u128; 2],
        is_within: impl Fn(&T) -> bool,
    ) {
        for outside in [false, true] {
            let words = [least, least >> 64, most, most >> 64];
            let words = words.map(|word| Arg::U64(word as u64));
            *self.more.borrow_mut() = [&words[..], &[Arg::U32(outside.into())]].concat();
            self.run(&format!("reduce_within_{element}"), [values], |[x], raw| {
                let count = x.iter().filter(|x| is_within(x) != outside).count() as u64;
                same(raw, &count.to_le_bytes())
            });
        }
        self.more.borrow_mut().clear();
    }

    fn launch<T: Pod>(&self, kernel: &Kernel, case: Case, buffers: &[Buffer<T>]) -> Vec<u8> {
        let Cut { addresses, to_boundary, packs, skew, edges } = case.cut(buffers);
        let end = skew + packs;
        let grid = end.div_ceil(case.chunk.into()).max(1) as u32 + case.spare;
        let mut slots = self.slots.borrow_mut();
        let output = self.output();
        // Kernels take the address of the line in which the first pack begins.
        let to_lines = to_boundary.wrapping_sub(skew * 16);
        let mut args: Vec<Arg> = addresses
            .into_iter()
            .map(|address| Arg::Pointer(address.wrapping_add(to_lines)))
            .collect();
        args.extend([
            Arg::U32(case.chunk),
            Arg::U32((end / u64::from(case.chunk)) as u32),
            Arg::U32((end % u64::from(case.chunk)) as u32),
            Arg::U32(edges),
            Arg::F32(0.5),
            Arg::Pointer(output.address()),
            Arg::Pointer(slots.address()),
        ]);
        args.extend_from_slice(&self.more.borrow());
        self.device.start(kernel, LaunchShape::linear(grid, case.block, 0), &args).unwrap();
        let left = slots.copy_to_host().unwrap();
        if left.iter().any(|&word| word != 0) {
            slots.fill_bytes(0).unwrap();
            panic!("{case:?}: the slots are not 0 again");
        }
        output.copy_to_host().unwrap()
    }

    /// The raw result of the kernel for small inputs, if the case is one of them.
    fn launch_single<T: Pod>(
        &self,
        kernel: &Kernel,
        case: Case,
        buffers: &[Buffer<T>],
    ) -> Option<Vec<u8>> {
        let Cut { addresses, to_boundary, packs, skew, edges } = case.cut(buffers);
        let is_even = addresses.iter().all(|address| address % 16 == addresses[0] % 16);
        let is_one_block = skew + packs <= case.chunk.into() && case.spare == 0;
        let most_threads = if buffers.len() == 2 { 512 } else { 1024 };
        let fits = case.block <= most_threads && packs <= 4 * u64::from(case.block);
        if !is_even || !is_one_block || !fits {
            return None;
        }
        let output = self.output();
        let firsts = addresses.into_iter().map(|address| Arg::Pointer(address + to_boundary));
        let mut args: Vec<Arg> = firsts.collect();
        args.extend([Arg::U32(packs as u32), Arg::U32(edges), Arg::Pointer(output.address())]);
        args.extend_from_slice(&self.more.borrow());
        self.device.start(kernel, LaunchShape::linear(1, case.block, 0), &args).unwrap();
        Some(output.copy_to_host().unwrap())
    }
}

/// How the arrays of a case are divided.
struct Cut {
    addresses: Vec<u64>,
    /// The bytes before the first boundary of 16 bytes.
    to_boundary: u64,
    /// The number of packs.
    packs: u64,
    /// The number of packs between a boundary of 128 bytes and the first pack.
    skew: u64,
    /// The numbers that are not about packs, as kernels take them.
    edges: u32,
}

impl Case {
    fn cut<T: Pod>(self, buffers: &[Buffer<T>]) -> Cut {
        let size = size_of::<T>() as u64;
        let addresses: Vec<u64> = buffers
            .iter()
            .zip(self.starts)
            .map(|(buffer, start)| buffer.address() + start as u64 * size)
            .collect();
        let (n, in_pack) = (self.n as u64, 16 / size);
        let to_boundary = addresses[0].wrapping_neg() % 16;
        let head = (to_boundary / size).min(n);
        let (packs, tail) = ((n - head) / in_pack, (n - head) % in_pack);
        let skew = addresses[0].div_ceil(16) % 8;
        let edges = skew + to_boundary / size * 0x10 + head * 0x100 + tail * 0x1_0000;
        Cut { addresses, to_boundary, packs, skew, edges: edges as u32 }
    }
}

/// Returns an error unless the raw result begins with these bytes.
fn same(raw: &[u8], expected: &[u8]) -> Result<(), String> {
    let found = &raw[..expected.len()];
    if found == expected { Ok(()) } else { Err(format!("{found:02x?} instead of {expected:02x?}")) }
}

/// The value at an offset of the raw result.
fn at<T: Pod>(raw: &[u8], offset: usize) -> T {
    bytemuck::pod_read_unaligned(&raw[offset..][..size_of::<T>()])
}

/// Runs `all` on each device, and checks that it launched every kernel whose type `is_element`
/// accepts.
fn on_each_device(all: impl Fn(&Bench, &mut StdRng), is_element: impl Fn(&str) -> bool) {
    for device in devices() {
        let bench = Bench::new(device);
        all(&bench, &mut seeded());
        // The exact sums have their own test, `tests/exact`, and so have the rows.
        let names = kernels()
            .map(warpfold::testing::EmbeddedKernel::name)
            .filter(|name| name.starts_with("reduce_") && !name.starts_with("reduce_exact_"));
        let expected: BTreeSet<String> = names
            .filter(|name| is_element(name.rsplit('_').next().unwrap()))
            .map(str::to_owned)
            .collect();
        assert_eq!(*bench.launched.borrow(), expected, "each kernel is launched");
    }
}

#[test]
fn kernels_of_integers_agree_with_plain_loops() {
    on_each_device(integers::all, |element| !element.contains('f'));
}

#[test]
fn kernels_of_floats_agree_with_plain_loops() {
    on_each_device(floats::all, |element| element.contains('f'));
}
