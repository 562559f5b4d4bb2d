//! Sums and counts over all threads.

use simt::Arg;

use crate::{Gpu, assert_close, builds, fractions, gamma, integers, mix};

#[test]
fn bytes_count_in_shared_memory() {
    for module in builds("histogram") {
        for n in [1, 1000, 20_011] {
            let gpu = Gpu::new();
            // Half of the bytes are the same.
            let bytes: Vec<u8> =
                (0..n).map(|i| if i % 2 == 0 { 42 } else { mix(i) as u8 }).collect();
            let bins = gpu.upload(&[1u32; 256]);
            gpu.launch(
                &module,
                "histogram",
                (5, 192),
                &[Arg::Pointer(gpu.upload(&bytes)), Arg::Pointer(bins), Arg::I32(n as i32)],
            );
            let mut expected = vec![1u32; 256];
            for &byte in &bytes {
                expected[usize::from(byte)] += 1;
            }
            assert_eq!(gpu.download::<u32>(bins, 256), expected, "{} of {n}", module.name());
        }
    }
}

#[test]
fn shuffles_sum() {
    for module in builds("reduce") {
        for (n, grid, block) in [(1, 1, 32), (33, 1, 64), (1000, 3, 96), (50_000, 7, 1024)] {
            let gpu = Gpu::new();
            let values = integers(n);
            let out = gpu.upload(&[5i32]);
            let args = [Arg::Pointer(gpu.upload(&values)), Arg::Pointer(out), Arg::I32(n as i32)];
            gpu.launch(&module, "reduce_shuffle", (grid, block), &args);
            let expected = values.iter().fold(5i32, |sum, value| sum.wrapping_add(*value));
            assert_eq!(gpu.download::<i32>(out, 1), [expected], "{} of {n}", module.name());
        }
    }
}

/// A term is rounded in each sum of which it is a part: in its thread, over the warp and over the
/// warps, and then in the same way in the last block.
#[test]
fn the_last_block_sums_what_others_left() {
    for module in builds("reduce") {
        for (n, grid, block) in [(1, 1, 32), (1000, 3, 96), (30_000, 40u32, 128)] {
            let gpu = Gpu::new();
            let values = fractions(n, 0);
            let (out, ticket) = (gpu.upload(&[f32::NAN]), gpu.upload(&[0u32]));
            let partial = gpu.upload(&vec![f32::NAN; grid as usize]);
            let args = [gpu.upload(&values), partial, ticket, out].map(Arg::Pointer);
            let args = [&args[..], &[Arg::I32(n as i32)]].concat();
            let depth =
                n.div_ceil((grid * block) as usize) + 10 + grid.div_ceil(block) as usize + 10;
            // The kernel runs twice, because it must leave the ticket as it found it.
            for _ in 0..2 {
                gpu.launch(&module, "reduce_last_block", (grid, block), &args);
                let exact: f64 = values.iter().copied().map(f64::from).sum();
                let size: f64 = values.iter().map(|value| f64::from(value.abs())).sum();
                let found = gpu.download::<f32>(out, 1)[0];
                assert_close(
                    found,
                    exact,
                    gamma(depth) * size,
                    &format!("{} of {n}", module.name()),
                );
                assert_eq!(gpu.download::<u32>(ticket, 1), [0]);
            }
        }
    }
}

#[test]
fn groups_reduce() {
    for module in builds("groups") {
        for (n, grid, block) in [(1, 1, 32), (100, 2, 64), (9999, 3, 256), (4096, 2, 1024)] {
            let gpu = Gpu::new();
            let values = integers(n);
            let (sum, largest) = (gpu.upload(&[0i32]), gpu.upload(&[i32::MIN]));
            let args = [gpu.upload(&values), sum, largest].map(Arg::Pointer);
            let args = [&args[..], &[Arg::I32(n as i32)]].concat();
            gpu.launch(&module, "reduce_groups", (grid, block), &args);
            let expected = values.iter().fold(0i32, |sum, value| sum.wrapping_add(*value));
            assert_eq!(gpu.download::<i32>(sum, 1), [expected], "{}: sum of {n}", module.name());
            let expected = values.iter().copied().max();
            assert_eq!(
                gpu.download::<i32>(largest, 1).first().copied(),
                expected,
                "{}: largest of {n}",
                module.name()
            );
        }
    }
}

/// Eight terms may be added in any order. Each goes through at most seven roundings.
#[test]
fn tiles_of_eight_reduce() {
    for module in builds("groups") {
        for n in [1, 64, 1000, 1003] {
            let gpu = Gpu::new();
            let values = fractions(n, 0);
            let count = n.div_ceil(8);
            let out = gpu.upload(&vec![f32::NAN; count]);
            let args = [Arg::Pointer(gpu.upload(&values)), Arg::Pointer(out), Arg::I32(n as i32)];
            gpu.launch(&module, "reduce_tiles", (n.div_ceil(128) as u32, 128), &args);
            for (found, terms) in gpu.download::<f32>(out, count).into_iter().zip(values.chunks(8))
            {
                let exact = terms.iter().copied().map(f64::from).sum();
                let size: f64 = terms.iter().map(|term| f64::from(term.abs())).sum();
                assert_close(found, exact, gamma(7) * size, &format!("{} of {n}", module.name()));
            }
        }
    }
}
