//! Textbook kernels in CUDA C++ (`data/foreign/*.cu`), which nvcc compiled for release and for
//! debugging. Their results are compared with results that are computed here. Integers and single
//! roundings must agree to the bit. Other floats must lie within bounds that follow from the number
//! of roundings, or from the documentation of CUDA.

#![allow(clippy::float_cmp, reason = "a single rounding has one right result")]

mod calls;
mod elementwise;
mod halves;
mod mathematics;
mod nearest;
mod physics;
mod printing;
mod reductions;
mod tiles;
mod together;

use std::fs;
use std::path::Path;

use simt::{Arg, Dim3, LaunchConfig, Memory, Module, Report, check, launch_named};

/// The unit roundoff of `f32`.
const U: f64 = 1.0 / (1 << 24) as f64;

/// The greatest relative error of `count` roundings in a row (Higham, lemma 3.1).
fn gamma(count: usize) -> f64 {
    let product = count as f64 * U;
    product / (1.0 - product)
}

/// The builds of `data/foreign/<name>.cu`: at least one for release and one for debugging.
fn builds(name: &str) -> Vec<Module> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign");
    let mut files: Vec<String> = fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
        .filter(|file| matches!(file.split('.').collect::<Vec<_>>()[..], [first, .., "ptx"] if first == name))
        .collect();
    files.sort();
    for build in [".O3.", ".G."] {
        assert!(files.iter().any(|file| file.contains(build)), "no {build} among {files:?}");
    }
    let load = |file: &String| {
        let text = fs::read_to_string(folder.join(file)).expect("it can be read");
        Module::from_ptx(file, &text).unwrap_or_else(|error| panic!("{error}"))
    };
    files.iter().map(load).collect()
}

/// The memory of a device, with functions that run kernels on it.
struct Gpu(Memory);

impl Gpu {
    fn new() -> Gpu {
        Gpu(Memory::checked(1 << 26))
    }

    /// Copies values to the device.
    fn upload<T: bytemuck::NoUninit>(&self, values: &[T]) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let address = self.0.alloc(bytes.len().max(1) as u64).expect("the memory is large enough");
        self.0.write(address, bytes).expect("it was allocated");
        address
    }

    fn download<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
        &self,
        address: u64,
        count: usize,
    ) -> Vec<T> {
        let mut values = vec![T::zeroed(); count];
        self.0.read(address, bytemuck::cast_slice_mut(&mut values)).expect("it was allocated");
        values
    }

    fn launch(
        &self,
        module: &Module,
        kernel: &str,
        shape: (impl Into<Dim3>, impl Into<Dim3>),
        args: &[Arg],
    ) {
        self.launch_with(module, kernel, shape, 0, args);
    }

    /// Launches a kernel with checks, which find nothing.
    #[track_caller]
    fn launch_clean(&self, module: &Module, kernel: &str, config: &LaunchConfig, args: &[Arg]) {
        let kernel = module.kernel(kernel).expect("the kernel is there");
        let checked = check(kernel, config, args, &self.0)
            .unwrap_or_else(|error| panic!("{}: {error}", module.name()));
        assert_eq!(checked.fault, None, "{}", module.name());
        let reports: Vec<String> = checked.reports.iter().map(Report::to_string).collect();
        assert_eq!(reports, [""; 0], "{}", module.name());
    }

    /// Launches a kernel with `dynamic_shared_bytes` bytes of dynamic shared memory.
    fn launch_with(
        &self,
        module: &Module,
        kernel: &str,
        (grid, block): (impl Into<Dim3>, impl Into<Dim3>),
        dynamic_shared_bytes: u32,
        args: &[Arg],
    ) {
        let config = LaunchConfig { dynamic_shared_bytes, ..LaunchConfig::new(grid, block) };
        launch_named(module, kernel, &config, args, &self.0)
            .unwrap_or_else(|error| panic!("{}: {kernel}: {error}", module.name()));
    }
}

/// The `i`-th number of a sequence without a pattern (the finaliser of SplitMix64).
fn mix(i: usize) -> u64 {
    let mut z = (i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `count` numbers from -1 to 1, in multiples of 2^-20.
fn fractions(count: usize, from: usize) -> Vec<f32> {
    (from..from + count).map(|i| (mix(i) % (1 << 21)) as f32 / (1 << 20) as f32 - 1.0).collect()
}

/// `count` integers of any size.
fn integers(count: usize) -> Vec<i32> {
    (0..count).map(|i| mix(i) as i32).collect()
}

/// Asserts that `found` differs from `exact` by at most `bound`. `exact` is computed in `f64`, and
/// the bound to first order.
#[track_caller]
fn assert_close(found: f32, exact: f64, bound: f64, what: &str) {
    let error = (f64::from(found) - exact).abs();
    assert!(
        error <= bound * (1.0 + 1e-6),
        "{what}: {found} is {error:e} from {exact}, more than {bound:e}"
    );
}
