//! Blocks that meet: in the whole grid and in clusters; and asynchronous copies.

use simt::{Arg, Dim3, LaunchConfig, Module, check, launch_named};

use crate::{Gpu, assert_close, builds, fractions, gamma, integers};

/// Runs a kernel by one worker and by two, and checks it: nothing is reported.
fn launch(gpu: &Gpu, module: &Module, kernel: &str, config: &LaunchConfig, args: &[Arg]) {
    launch_named(module, kernel, config, args, &gpu.0)
        .unwrap_or_else(|error| panic!("{}: {kernel}: {error}", module.name()));
}

/// The reports of `check` on a launch.
fn reports(
    gpu: &Gpu,
    module: &Module,
    kernel: &str,
    config: &LaunchConfig,
    args: &[Arg],
) -> Vec<String> {
    let kernel = module.kernel(kernel).expect("the kernel is there");
    let checked = check(kernel, config, args, &gpu.0).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(checked.fault, None, "{}", module.name());
    checked.reports.iter().map(ToString::to_string).collect()
}

fn cooperative(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> LaunchConfig {
    LaunchConfig { cooperative: true, ..LaunchConfig::new(grid, block) }
}

#[test]
fn a_grid_meets_by_cooperative_groups() {
    for module in builds("grid") {
        for (n, config) in [
            (1, cooperative(1, 32)),
            (5000, cooperative(7, 96)),
            (999, cooperative((3, 2), (16, 2))),
        ] {
            let gpu = Gpu::new();
            let values = integers(n);
            let blocks = config.grid.count() as usize;
            let threads = config.block.count() as usize;
            let (partial, out) =
                (gpu.upload(&vec![0i32; blocks]), gpu.upload(&vec![0i32; blocks * threads]));
            let args = [
                Arg::Pointer(gpu.upload(&values)),
                Arg::Pointer(partial),
                Arg::Pointer(out),
                Arg::I32(n as i32),
            ];
            if config.grid.y > 1 {
                // The kernel counts only the blocks along x. This launch only tests that the grid's
                // barrier works.
                launch(&gpu, &module, "total_by_groups", &config, &args);
                continue;
            }
            launch(&gpu, &module, "total_by_groups", &config, &args);
            let total = values.iter().fold(0i32, |sum, value| sum.wrapping_add(*value));
            let partial = gpu.download::<i32>(partial, blocks);
            let expected: Vec<i32> = (0..blocks)
                .flat_map(|block| vec![total.wrapping_add(partial[(block + 1) % blocks]); threads])
                .collect();
            assert_eq!(
                gpu.download::<i32>(out, blocks * threads),
                expected,
                "{} of {n}",
                module.name()
            );
            assert_eq!(
                reports(&gpu, &module, "total_by_groups", &config, &args),
                Vec::<String>::new()
            );
        }
    }
}

#[test]
fn a_grid_meets_by_a_counter() {
    for module in builds("grid") {
        for (n, blocks) in [(1, 1), (32, 1), (1000, 16), (4096, 64)] {
            let gpu = Gpu::new();
            let values = integers(n);
            let (a, b) = (gpu.upload(&values), gpu.upload(&vec![0i32; n]));
            let counter = gpu.upload(&[0u32]);
            let args =
                [Arg::Pointer(a), Arg::Pointer(b), Arg::Pointer(counter), Arg::I32(n as i32)];
            launch(&gpu, &module, "scan_by_counter", &cooperative(blocks, 64), &args);
            let rounds = n.next_power_of_two().trailing_zeros();
            let mut sum = 0i32;
            let expected: Vec<i32> = values
                .iter()
                .map(|value| {
                    sum = sum.wrapping_add(*value);
                    sum
                })
                .collect();
            let result = gpu.download::<i32>(if rounds % 2 == 0 { a } else { b }, n);
            assert_eq!(result, expected, "{} of {n}", module.name());
        }
    }
}

#[test]
fn clusters_share_a_histogram() {
    for module in builds("cluster") {
        for (cluster, blocks) in [(1, 3), (2, 4), (8, 16)] {
            let gpu = Gpu::new();
            let bytes: Vec<u8> = integers(10_007).iter().map(|value| *value as u8).collect();
            let nbins = 200u32;
            let per_block = nbins.div_ceil(cluster);
            let bins = gpu.upload(&vec![0i32; (per_block * cluster) as usize]);
            let args = [
                Arg::Pointer(bins),
                Arg::U32(nbins),
                Arg::U32(per_block),
                Arg::Pointer(gpu.upload(&bytes)),
                Arg::I32(bytes.len() as i32),
            ];
            let config = LaunchConfig {
                cluster,
                dynamic_shared_bytes: per_block * 4,
                ..LaunchConfig::new(blocks, 96)
            };
            launch(&gpu, &module, "cluster_histogram", &config, &args);
            let mut expected = vec![0i32; (per_block * cluster) as usize];
            for byte in &bytes {
                expected[*byte as usize % 200] += 1;
            }
            let name = module.name();
            assert_eq!(
                gpu.download::<i32>(bins, expected.len()),
                expected,
                "{name} in clusters of {cluster}"
            );
            assert_eq!(
                reports(&gpu, &module, "cluster_histogram", &config, &args),
                Vec::<String>::new()
            );
        }
    }
}

#[test]
fn clusters_sum_and_pass_on() {
    for module in builds("cluster") {
        let gpu = Gpu::new();
        let values = integers(3001);
        let out = gpu.upload(&[0i32; 3]);
        let args = [Arg::Pointer(gpu.upload(&values)), Arg::Pointer(out), Arg::I32(3001)];
        // The kernel's own directive sets the size of the clusters.
        let config = LaunchConfig::new(12, 64);
        launch(&gpu, &module, "cluster_sum", &config, &args);
        let mut expected = [0i32; 3];
        for (i, value) in values.iter().enumerate() {
            let cluster = i / 64 % 12 / 4;
            expected[cluster] = expected[cluster].wrapping_add(*value);
        }
        assert_eq!(gpu.download::<i32>(out, 3), expected, "{}", module.name());
        assert_eq!(reports(&gpu, &module, "cluster_sum", &config, &args), Vec::<String>::new());

        let out = gpu.upload(&vec![0i32; 6 * 128]);
        let config = LaunchConfig { cluster: 3, ..LaunchConfig::new(6, 128) };
        launch(&gpu, &module, "cluster_ring", &config, &[Arg::Pointer(out)]);
        let expected: Vec<i32> = (0..6 * 128)
            .map(|i| {
                let (block, thread) = (i / 128, i % 128);
                1000 * (block / 3 * 3 + (block + 2) % 3) + thread
            })
            .collect();
        assert_eq!(gpu.download::<i32>(out, 6 * 128), expected, "{}", module.name());
        assert_eq!(
            reports(&gpu, &module, "cluster_ring", &config, &[Arg::Pointer(out)]),
            Vec::<String>::new()
        );
    }
}

#[test]
fn bulk_copies_feed_a_sum() {
    for module in builds("bulk") {
        for (tiles, blocks) in [(1, 1), (2, 1), (9, 2), (3, 4)] {
            let gpu = Gpu::new();
            let values = integers(tiles * 256);
            let out = gpu.upload(&[0i32]);
            let args =
                [Arg::Pointer(gpu.upload(&values)), Arg::Pointer(out), Arg::I32(tiles as i32)];
            let config = LaunchConfig::new(blocks, 256);
            launch(&gpu, &module, "pipeline_sum", &config, &args);
            let expected = values.iter().fold(0i32, |sum, value| sum.wrapping_add(*value));
            assert_eq!(gpu.download::<i32>(out, 1), [expected], "{}: {tiles} tiles", module.name());
            assert_eq!(
                reports(&gpu, &module, "pipeline_sum", &config, &args),
                Vec::<String>::new()
            );
        }
    }
}

#[test]
fn tiles_are_copied_in_and_out() {
    for module in builds("bulk") {
        let gpu = Gpu::new();
        let values = integers(3 * 256);
        let data = gpu.upload(&values);
        let config = LaunchConfig::new(3, 256);
        launch(&gpu, &module, "double_tile", &config, &[Arg::Pointer(data)]);
        let expected: Vec<i32> = values.iter().map(|value| value.wrapping_mul(2)).collect();
        assert_eq!(gpu.download::<i32>(data, 3 * 256), expected, "{}", module.name());
        assert_eq!(
            reports(&gpu, &module, "double_tile", &config, &[Arg::Pointer(data)]),
            Vec::<String>::new()
        );
        // Only the release build contains the barrier of the library.
        assert_eq!(module.kernel("reverse_tile").is_some(), module.name().contains(".O3."));
        if module.kernel("reverse_tile").is_some() {
            let (from, to) = (gpu.upload(&values), gpu.upload(&vec![0i32; 3 * 256]));
            let args = [Arg::Pointer(from), Arg::Pointer(to)];
            launch(&gpu, &module, "reverse_tile", &config, &args);
            let expected: Vec<i32> =
                values.chunks(256).flat_map(|tile| tile.iter().rev().copied()).collect();
            assert_eq!(gpu.download::<i32>(to, 3 * 256), expected, "{}", module.name());
            assert_eq!(
                reports(&gpu, &module, "reverse_tile", &config, &args),
                Vec::<String>::new()
            );
        }
    }
}

#[test]
fn small_copies_run_a_stage_ahead() {
    for module in builds("async") {
        let gpu = Gpu::new();
        let (tiles, blocks) = (7usize, 2usize);
        let (a, b) = (fractions(tiles * 256, 0), fractions(tiles * 64, 5000));
        let out = gpu.upload(&vec![0f32; blocks * 64]);
        let args = [
            Arg::Pointer(gpu.upload(&a)),
            Arg::Pointer(gpu.upload(&b)),
            Arg::Pointer(out),
            Arg::I32(tiles as i32),
        ];
        let config = LaunchConfig::new(blocks as u32, 64);
        launch(&gpu, &module, "staged_dot", &config, &args);
        let result = gpu.download::<f32>(out, blocks * 64);
        for (i, found) in result.into_iter().enumerate() {
            let (block, thread) = (i / 64, 63 - i % 64);
            let (mut exact, mut size) = (0.0, 0.0);
            for tile in (block..tiles).step_by(blocks) {
                let four = &a[(tile * 64 + thread) * 4..][..4];
                let weight = f64::from(b[tile * 64 + thread]);
                exact += four.iter().copied().map(f64::from).sum::<f64>() * weight;
                size += four.iter().map(|x| f64::from(x.abs())).sum::<f64>() * weight.abs();
            }
            // There are three sums of four, a product, and a sum for each tile.
            assert_close(found, exact, gamma(4 + tiles.div_ceil(blocks)) * size, module.name());
        }
        assert_eq!(reports(&gpu, &module, "staged_dot", &config, &args), Vec::<String>::new());
    }
}
