//! Virtual functions and function pointers.

use simt::{Arg, FaultKind, LaunchConfig, LaunchError, launch_named};

use crate::{Gpu, builds, fractions, integers};

#[test]
fn virtual_functions_are_called() {
    for module in builds("calls") {
        let gpu = Gpu::new();
        let n = 96;
        let x = fractions(n, 0);
        let (area, sides) = (gpu.upload(&vec![0f32; n]), gpu.upload(&vec![-1i32; n]));
        let args =
            [Arg::Pointer(gpu.upload(&x)), Arg::Pointer(area), Arg::Pointer(sides), Arg::I32(0)];
        gpu.launch(&module, "areas", (3, 32), &args);
        gpu.launch_clean(&module, "areas", &LaunchConfig::new(3, 32), &args);
        let expected = |i: usize| {
            let (square, circle) = (x[i] * x[i] * 2.0, 3.0 * x[i] * x[i] * 2.0);
            match i % 4 {
                0 => (square, 4),
                1 => (circle, 0),
                _ => (square + circle, 4),
            }
        };
        let expected: (Vec<f32>, Vec<i32>) = (0..n).map(expected).unzip();
        assert_eq!(gpu.download::<f32>(area, n), expected.0, "{}", module.name());
        assert_eq!(gpu.download::<i32>(sides, n), expected.1, "{}", module.name());
    }
}

#[test]
fn recursion_of_virtual_functions_is_a_fault() {
    for module in builds("calls") {
        let gpu = Gpu::new();
        let [x, area, sides] = [0; 3].map(|_| Arg::Pointer(gpu.upload(&[1f32; 32])));
        let config = LaunchConfig::new(1, 32);
        let error = launch_named(&module, "areas", &config, &[x, area, sides, Arg::I32(1)], &gpu.0);
        let Err(LaunchError::Fault(fault)) = error else { panic!("{error:?}") };
        assert_eq!(fault.thread.x, 3, "the first thread with a pair of pairs");
        assert_eq!(
            fault.kind.to_string(),
            "`_ZNK4Pair4areaEf` calls itself, and recursion is not simulated"
        );
    }
}

#[test]
fn structures_pass_through_function_pointers() {
    for module in builds("calls") {
        let gpu = Gpu::new();
        let (n, count) = (64, 9);
        let bits = integers(n);
        let [a, b, sum] = [0; 3].map(|_| gpu.upload(&vec![0f64; n]));
        let pointers = [gpu.upload(&bits), a, b, sum].map(Arg::Pointer);
        gpu.launch(&module, "walk", (1, 64), &[&pointers[..], &[Arg::I32(count)]].concat());
        let walk = |bits: i32| {
            let (mut a, mut b, mut c) = (1.0, 2, [3, 4, 5]);
            for step in 0..count {
                if bits >> step & 1 == 0 {
                    a += f64::from(step);
                    c[1] += 1;
                } else {
                    b = step - b;
                    c[2] = c[1];
                }
            }
            (a, b, c[2])
        };
        let walked: Vec<_> = bits.iter().map(|bits| walk(*bits)).collect();
        let found: Vec<f64> = gpu.download(a, n);
        assert_eq!(found, walked.iter().map(|walked| walked.0).collect::<Vec<_>>());
        let found: Vec<i32> = gpu.download(b, n);
        assert_eq!(
            found,
            walked.iter().map(|walked| walked.1 * 100 + walked.2).collect::<Vec<_>>()
        );
        let sums = walked
            .chunks(32)
            .flat_map(|warp| vec![warp.iter().map(|walked| walked.1).sum::<i32>(); 32]);
        assert_eq!(gpu.download::<i32>(sum, n), sums.collect::<Vec<_>>(), "{}", module.name());
    }
}

#[test]
fn a_function_pointer_in_memory_is_set_by_a_kernel() {
    for module in builds("calls") {
        let gpu = Gpu::new();
        let x = gpu.upload(&[3f32, 5.0]);
        let config = LaunchConfig::new(1, 2);
        let error = launch_named(&module, "apply", &config, &[Arg::Pointer(x)], &gpu.0);
        let Err(LaunchError::Fault(fault)) = error else { panic!("{error:?}") };
        assert_eq!(fault.kind, FaultKind::CallTarget { address: 0 });
        for (which, expected) in [(0, [1.5, 2.5]), (1, [2.25, 6.25])] {
            gpu.launch(&module, "choose", (1, 1), &[Arg::I32(which)]);
            gpu.launch(&module, "apply", (1, 2), &[Arg::Pointer(x)]);
            assert_eq!(gpu.download::<f32>(x, 2), expected, "{}", module.name());
        }
    }
}
