//! Kernels that share tiles: transposes, scans, the bitonic sort, the matrix product.

use simt::Arg;

use crate::{Gpu, assert_close, builds, fractions, gamma, integers, mix};

#[test]
fn matrices_transpose() {
    for module in builds("transpose") {
        for kernel in ["transpose_tiled", "transpose_padded"] {
            for (width, height) in [(1, 1), (32, 32), (33, 31), (100, 70), (7, 129)] {
                let gpu = Gpu::new();
                let matrix = fractions(width * height, 0);
                let out = gpu.upload(&vec![f32::NAN; width * height]);
                let args = [
                    Arg::Pointer(gpu.upload(&matrix)),
                    Arg::Pointer(out),
                    Arg::I32(width as i32),
                    Arg::I32(height as i32),
                ];
                let grid = (width.div_ceil(32) as u32, height.div_ceil(32) as u32);
                gpu.launch(&module, kernel, (grid, (32, 8)), &args);
                let expected: Vec<f32> =
                    (0..width * height).map(|i| matrix[i % height * width + i / height]).collect();
                let found: Vec<f32> = gpu.download(out, width * height);
                assert_eq!(found, expected, "{}: {kernel} of {width} x {height}", module.name());
            }
        }
    }
}

/// The results of a scan in each block of `part` elements: the sums before each element, and the
/// sums that include it.
fn sums(values: &[i32], part: usize) -> (Vec<i32>, Vec<i32>) {
    let scan = |part: &[i32]| {
        let mut sum = 0i32;
        part.iter()
            .map(|value| {
                (sum, {
                    sum = sum.wrapping_add(*value);
                    sum
                })
            })
            .collect::<Vec<_>>()
    };
    values.chunks(part).flat_map(scan).unzip()
}

#[test]
fn blocks_scan() {
    for module in builds("scan") {
        for (n, block) in [(1, 32), (100, 64), (256, 256), (5000, 256), (777, 128)] {
            for (kernel, part) in [("inclusive_scan", block), ("exclusive_scan", 2 * block)] {
                let gpu = Gpu::new();
                let values = integers(n);
                let out = gpu.upload(&vec![0i32; n]);
                let args =
                    [Arg::Pointer(gpu.upload(&values)), Arg::Pointer(out), Arg::I32(n as i32)];
                let shape = (n.div_ceil(part) as u32, block as u32);
                gpu.launch_with(&module, kernel, shape, 2 * 4 * block as u32, &args);
                let (before, with) = sums(&values, part);
                let expected = if kernel == "inclusive_scan" { with } else { before };
                assert_eq!(
                    gpu.download::<i32>(out, n),
                    expected,
                    "{}: {kernel} of {n} by {block}",
                    module.name()
                );
            }
        }
    }
}

#[test]
fn tiles_sort() {
    for module in builds("bitonic") {
        for n in [1, 512, 700, 2048] {
            let gpu = Gpu::new();
            // The second half has few distinct keys.
            let keys: Vec<u32> = (0..n)
                .map(|i| if i % 1024 < 512 { mix(i) as u32 } else { mix(i) as u32 % 10 })
                .collect();
            let address = gpu.upload(&keys);
            gpu.launch(
                &module,
                "bitonic_sort",
                (n.div_ceil(512) as u32, 256),
                &[Arg::Pointer(address), Arg::I32(n as i32)],
            );
            let mut expected = keys;
            expected.chunks_mut(512).for_each(<[u32]>::sort_unstable);
            assert_eq!(gpu.download::<u32>(address, n), expected, "{} of {n}", module.name());
        }
    }
}

/// A term goes through at most `k` roundings: one of its product, and those of the sums after it.
#[test]
fn matrices_multiply() {
    for module in builds("matmul") {
        for (m, n, k) in [(1, 1, 1), (16, 16, 16), (33, 18, 47), (5, 40, 100)] {
            let gpu = Gpu::new();
            let (a, b) = (fractions(m * k, 0), fractions(k * n, m * k));
            let out = gpu.upload(&vec![f32::NAN; m * n]);
            let mut args = [gpu.upload(&a), gpu.upload(&b), out].map(Arg::Pointer).to_vec();
            args.extend([m, n, k].map(|extent| Arg::I32(extent as i32)));
            let grid = (n.div_ceil(16) as u32, m.div_ceil(16) as u32);
            gpu.launch(&module, "matmul", (grid, (16, 16)), &args);
            for (i, found) in gpu.download::<f32>(out, m * n).into_iter().enumerate() {
                let terms =
                    || (0..k).map(|j| f64::from(a[i / n * k + j]) * f64::from(b[j * n + i % n]));
                let size: f64 = terms().map(f64::abs).sum();
                assert_close(
                    found,
                    terms().sum(),
                    gamma(k) * size,
                    &format!("{}: {m} x {n} x {k}", module.name()),
                );
            }
        }
    }
}
