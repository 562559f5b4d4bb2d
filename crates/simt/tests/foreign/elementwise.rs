//! Kernels whose elements are independent of each other: vectors and the Mandelbrot set.

use simt::Arg;

use crate::{Gpu, U, assert_close, builds, fractions};

#[test]
fn vectors_add() {
    for module in builds("vector") {
        for n in [1, 255, 256, 1000, 4097] {
            let gpu = Gpu::new();
            let (a, b) = (fractions(n, 0), fractions(n, n));
            // The output has one element more, which the kernel must not change.
            let out = gpu.upload(&vec![-7f32; n + 1]);
            let args = [gpu.upload(&a), gpu.upload(&b), out].map(Arg::Pointer);
            let args = [&args[..], &[Arg::I32(n as i32)]].concat();
            gpu.launch(&module, "vector_add", (n.div_ceil(256) as u32, 256), &args);
            let mut expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
            expected.push(-7.0);
            assert_eq!(gpu.download::<f32>(out, n + 1), expected, "{} of {n}", module.name());
        }
    }
}

/// If the compiler fuses the product and the sum, there is one rounding. If it does not, there are
/// two.
#[test]
fn saxpy_strides_over_its_vectors() {
    for module in builds("vector") {
        for n in [1, 96, 1000, 3 * 4 * 96 + 5] {
            let gpu = Gpu::new();
            let (a, x, y) = (1.7, fractions(n, 0), fractions(n, n));
            let to = gpu.upload(&y);
            let args =
                [Arg::F32(a), Arg::Pointer(gpu.upload(&x)), Arg::Pointer(to), Arg::I32(n as i32)];
            gpu.launch(&module, "saxpy", (4, 96), &args);
            for (i, found) in gpu.download::<f32>(to, n).into_iter().enumerate() {
                let product = f64::from(a) * f64::from(x[i]);
                let exact = product + f64::from(y[i]);
                let bound = U * product.abs() * (1.0 + U) + U * exact.abs();
                assert_close(
                    found,
                    exact,
                    bound,
                    &format!("{} of {n}, element {i}", module.name()),
                );
            }
        }
    }
}

/// The least and the greatest number of steps that a computation in `f32` can take for `c`, if `c`
/// itself is off by `c_error`.
///
/// The exact orbit is followed, and with it a bound of the distance that rounding can have caused.
/// A step has at most four roundings in each part, of values no larger than `|z|^2 + |c|`; both
/// parts together are below twice that.
fn steps_between(c: (f64, f64), c_error: f64, limit: i32) -> (i32, i32) {
    let size = c.0.hypot(c.1) + c_error;
    let (mut z, mut error) = ((0.0, 0.0), 0.0);
    let mut least = limit;
    for step in 0..limit {
        let radius = f64::hypot(z.0, z.1);
        // The comparison has three roundings.
        if (radius + error).powi(2) * (1.0 + 4.0 * U) > 4.0 {
            least = least.min(step);
        }
        if radius > error && (radius - error).powi(2) * (1.0 - 4.0 * U) > 4.0 {
            return (least, step);
        }
        error =
            (2.0 * radius + error) * error + c_error + 8.0 * U * ((radius + error).powi(2) + size);
        z = (z.0 * z.0 - z.1 * z.1 + c.0, 2.0 * z.0 * z.1 + c.1);
    }
    (least, limit)
}

#[test]
fn mandelbrot_counts_steps() {
    const LIMIT: i32 = 60;
    let (width, height, left, top, scale) = (75, 50, -2.2f32, -1.2f32, 0.05f32);
    for module in builds("mandelbrot") {
        let gpu = Gpu::new();
        let out = gpu.upload(&vec![-1i32; width * height]);
        let args = [
            Arg::Pointer(out),
            Arg::I32(width as i32),
            Arg::I32(height as i32),
            Arg::F32(left),
            Arg::F32(top),
            Arg::F32(scale),
            Arg::I32(LIMIT),
        ];
        gpu.launch(&module, "mandelbrot", ((5, 7), (16, 8)), &args);
        let found: Vec<i32> = gpu.download(out, width * height);
        let mut certain = 0;
        for (i, &steps) in found.iter().enumerate() {
            let (x, y) =
                ((i % width) as f64 * f64::from(scale), (i / width) as f64 * f64::from(scale));
            let c = (f64::from(left) + x, f64::from(top) + y);
            // Each part of c has two roundings.
            let c_error = 2.0 * U * (x + y + c.0.abs() + c.1.abs());
            let (least, most) = steps_between(c, c_error, LIMIT);
            assert!(
                (least..=most).contains(&steps),
                "{}: {steps} steps at {c:?}, not {least} to {most}",
                module.name()
            );
            certain += usize::from(least == most);
        }
        assert!(
            certain * 10 >= found.len() * 8,
            "the bounds say too little: {certain} of {}",
            found.len()
        );
    }
}
