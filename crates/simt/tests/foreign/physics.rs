//! Bodies that attract each other.

use simt::Arg;

use crate::{Gpu, U, assert_close, builds, fractions, gamma};

/// The largest relative error of `rsqrt.approx.f32` (PTX ISA 9.7.3.18): 2^-22.9.
const RSQRT: f64 = 1.279e-7;

/// The bound on the error of one term. A coordinate's difference `d` has one rounding. The squared
/// distance is a sum of positive terms with these roundings: two of `d`, one of the square, and at
/// most three of the sums. The inverse root has half of these errors and its own error. The term is
/// the third power of the inverse root, with three products, and the last product with `d`.
#[test]
fn bodies_attract() {
    let term = 3.0 * (3.0 * U + RSQRT) + 3.0 * U + 2.0 * U;
    let softening = 0.01f32;
    for module in builds("nbody") {
        for (n, block) in [(1, 32), (64, 64), (150, 64), (200, 128)] {
            let gpu = Gpu::new();
            let mut bodies = fractions(4 * n, 0);
            bodies.iter_mut().skip(3).step_by(4).for_each(|mass| *mass = mass.abs() + 0.1);
            let out = gpu.upload(&vec![f32::NAN; 4 * n]);
            let args = [
                Arg::Pointer(gpu.upload(&bodies)),
                Arg::Pointer(out),
                Arg::I32(n as i32),
                Arg::F32(softening),
            ];
            gpu.launch_with(
                &module,
                "nbody",
                (n.div_ceil(block) as u32, block as u32),
                16 * block as u32,
                &args,
            );
            let found: Vec<f32> = gpu.download(out, 4 * n);
            let bodies: Vec<[f64; 4]> =
                bodies.as_chunks().0.iter().map(|body: &[f32; 4]| body.map(f64::from)).collect();
            for (i, own) in bodies.iter().enumerate() {
                for axis in 0..3 {
                    let pull = |body: &[f64; 4]| {
                        let squares: f64 =
                            (0..3).map(|axis| (body[axis] - own[axis]).powi(2)).sum();
                        body[3]
                            * (squares + f64::from(softening)).powf(-1.5)
                            * (body[axis] - own[axis])
                    };
                    let exact: f64 = bodies.iter().map(pull).sum();
                    let size: f64 = bodies.iter().map(|body| pull(body).abs()).sum();
                    let what = format!("{}: body {i} of {n}, axis {axis}", module.name());
                    assert_close(found[4 * i + axis], exact, (term + gamma(n)) * size, &what);
                }
                assert_eq!(found[4 * i + 3], 0.0);
            }
        }
    }
}
