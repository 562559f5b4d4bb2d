//! Measures warp instructions per second: on one core in each mode, and on more cores. The command
//! is `cargo bench -p warpfold-simt`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use simt::{Arg, LaunchConfig, LaunchError, Memory, Module, check, count, launch};

/// A kernel of `kernels.ptx`, which can be launched again and again.
struct Case {
    module: Module,
    name: &'static str,
    config: LaunchConfig,
    args: Vec<Arg>,
    memory: Memory,
}

impl Case {
    fn new(
        name: &'static str,
        blocks: u32,
        dynamic_shared_bytes: u32,
        args: impl Fn(&Memory) -> Vec<Arg>,
    ) -> Case {
        let module = Module::from_ptx("kernels.ptx", include_str!("kernels.ptx"))
            .expect("the kernels are PTX");
        let memory = Memory::new(1 << 30);
        let args = args(&memory);
        let config = LaunchConfig {
            dynamic_shared_bytes,
            workers: Some(1),
            ..LaunchConfig::new(blocks, THREADS)
        };
        Case { module, name, config, args, memory }
    }

    fn run<T>(
        &self,
        workers: usize,
        mode: fn(&simt::Kernel, &LaunchConfig, &[Arg], &Memory) -> Result<T, LaunchError>,
    ) -> T {
        let kernel = self.module.kernel(self.name).expect("the module has this kernel");
        let config = LaunchConfig { workers: Some(workers), ..self.config };
        mode(kernel, &config, &self.args, &self.memory).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The number of threads of a block.
const THREADS: u32 = 256;
/// The number of elements that are read.
const N: u32 = 1 << 22;

fn cases() -> [Case; 4] {
    let words = |memory: &Memory, count: u32| {
        Arg::Pointer(memory.alloc(u64::from(count) * 4).expect("there is room"))
    };
    [
        Case::new("alu", 8, 0, |memory| vec![words(memory, 8 * THREADS), Arg::U32(1000)]),
        Case::new("grid_stride", 16, 0, |memory| {
            vec![words(memory, N), words(memory, 16 * THREADS), Arg::U32(N)]
        }),
        Case::new("tree", 1024, 4 * THREADS, |memory| {
            vec![words(memory, 2 * THREADS * 1024), words(memory, 1024)]
        }),
        Case::new("conflicts", 8, 128 * THREADS, |memory| {
            vec![words(memory, 8 * THREADS), Arg::U32(1000)]
        }),
    ]
}

fn modes(criterion: &mut Criterion) {
    for case in cases() {
        let instructions = case.run(1, count).counters.warp_instructions;
        let mut group = criterion.benchmark_group(case.name);
        group.sample_size(20).throughput(Throughput::Elements(instructions));
        group.bench_function("run", |bench| bench.iter(|| case.run(1, launch)));
        group.bench_function("count", |bench| bench.iter(|| case.run(1, count)));
        group.bench_function("check", |bench| bench.iter(|| case.run(1, check)));
        for workers in [1, 2] {
            group.bench_function(BenchmarkId::new("workers", workers), |bench| {
                bench.iter(|| case.run(workers, launch));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, modes);
criterion_main!(benches);
