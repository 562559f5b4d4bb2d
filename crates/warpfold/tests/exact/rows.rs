//! Rows and axes.

use warpfold::{
    Array, Device, Error, ReproducibleSum, RowOperation, StridedOutput,
    device::DeviceClass,
    half::{bf16, f16},
    testing::{Instrument, Seen},
};

use super::{
    elements::{Element, check_sum, check_whole, sources},
    seed,
    support::devices,
};

/// Lengths at the edges of packs, parts and tiles, and some that have several tasks.
const LENGTHS: [usize; 14] = [0, 1, 2, 7, 31, 32, 33, 129, 1000, 1023, 1024, 1025, 4099, 9001];

/// The devices, each in two classes.
fn classes() -> Vec<Device> {
    let of = |device: Device| {
        let old = DeviceClass::new(16, false, (7, 5));
        [DeviceClass::H100, old].map(|class| device.with_class(class).unwrap())
    };
    devices().into_iter().flat_map(of).collect()
}

fn check_rows<T: Element>()
where
    ReproducibleSum: RowOperation<T, Output = T::Sum, RowRaw = T::Sum>,
{
    let mut random = seed::random();
    for device in &classes() {
        let sums = device.row_reducer::<T, _>(ReproducibleSum).unwrap();
        for (name, source) in sources::<T>() {
            for length in LENGTHS {
                let rows = if length > 100 { 3 } else { 40 };
                let elements: Vec<T> = (0..rows * length).map(|_| source(&mut random)).collect();
                let shape = [rows as u64, length as u64];
                let results = sums.reduce_rows(&Array::new(&elements, &shape).unwrap()).unwrap();
                assert_eq!(results.len(), rows);
                for (row, &sum) in results.iter().enumerate() {
                    let elements = &elements[row * length..][..length];
                    check_sum(sum, elements, &|| format!("{}, {name}: {length}", T::NAME));
                    if row == 0 {
                        check_whole(device, sum, elements);
                    }
                }
                // The columns of the same matrix, whose elements come in another order.
                let sums_of_columns: Vec<T> = elements;
                if length > 0 && length < 200 {
                    let array = Array::new(&sums_of_columns, &shape).unwrap();
                    for (column, &sum) in sums.reduce_axes(&array, &[0]).unwrap().iter().enumerate()
                    {
                        let elements: Vec<T> =
                            sums_of_columns[column..].iter().step_by(length).copied().collect();
                        check_sum(sum, &elements, &|| format!("{}, {name}: columns", T::NAME));
                    }
                }
            }
        }
    }
}

#[test]
fn rows_of_f16() {
    check_rows::<f16>();
}

#[test]
fn rows_of_bf16() {
    check_rows::<bf16>();
}

#[test]
fn rows_of_f32() {
    check_rows::<f32>();
}

#[test]
fn rows_of_f64() {
    check_rows::<f64>();
}

/// Rows of several chunks meet in the workspace, and results do not depend on the layout.
#[test]
fn long_rows_that_must_be_summed_again() {
    fn check<T: Element>(device: &Device)
    where
        ReproducibleSum: RowOperation<T, Output = T::Sum, RowRaw = T::Sum>,
    {
        let mut random = seed::random();
        let (rows, length) = (3, 150_001);
        let source = sources::<T>()[1].1;
        let elements: Vec<T> = (0..rows * length).map(|_| source(&mut random)).collect();
        let sums = device.row_reducer::<T, _>(ReproducibleSum).unwrap();
        let matrix = Array::new(&elements, &[rows as u64, length as u64]).unwrap();
        let results = sums.reduce_rows(&matrix).unwrap();
        for (row, &sum) in results.iter().enumerate() {
            check_sum(sum, &elements[row * length..][..length], &|| T::NAME.to_owned());
        }
        // The same rows as columns, and backwards.
        let mut turned = vec![T::of(0.0); rows * length];
        for (i, &x) in elements.iter().enumerate() {
            turned[i % length * rows + i / length] = x;
        }
        let columns = Array::new(&turned, &[length as u64, rows as u64]).unwrap();
        assert_eq!(sums.reduce_axes(&columns, &[0]).unwrap(), results);
        let backwards = [-(length as i64), -1];
        let offset = (rows * length - 1) as u64;
        let shape = [rows as u64, length as u64];
        let array = Array::with_strides(&elements, &shape, &backwards, offset).unwrap();
        let mut last_first = sums.reduce_rows(&array).unwrap();
        last_first.reverse();
        assert_eq!(last_first, results);
    }
    for device in &devices() {
        check::<f32>(device);
        check::<f64>(device);
    }
}

#[test]
fn axes_of_any_order_and_stride() {
    let mut random = seed::random();
    let shape = [5usize, 6, 7, 8];
    for device in &devices() {
        let sums = device.row_reducer::<f32, _>(ReproducibleSum).unwrap();
        for (name, source) in sources::<f32>() {
            let elements: Vec<f32> =
                (0..shape.iter().product::<usize>()).map(|_| source(&mut random)).collect();
            let array = Array::new(&elements, &shape.map(|size| size as u64)).unwrap();
            for axes in [&[0isize, 2][..], &[1, 3], &[0, 1], &[2], &[], &[0, 1, 2, 3]] {
                let results = sums.reduce_axes(&array, axes).unwrap();
                let mut parts: Vec<Vec<f32>> = vec![Vec::new(); results.len()];
                for (i, &x) in elements.iter().enumerate() {
                    let (mut rest, mut place, mut step) = (i, 0, 1);
                    for axis in (0..4).rev() {
                        let index = rest % shape[axis];
                        rest /= shape[axis];
                        if !axes.contains(&(axis as isize)) {
                            place += index * step;
                            step *= shape[axis];
                        }
                    }
                    parts[place].push(x);
                }
                for (&sum, part) in results.iter().zip(&parts) {
                    check_sum(sum, part, &|| format!("{name}: {axes:?}"));
                }
            }
        }
    }
}

/// A sum that the first kernel cannot prove.
const HARD: [f32; 6] = [1e38, 1e-45, 3e-12, -1e38, 0.5, 1e20];

/// The hard sum comes out right in each of several calls, and so does an easy one between them. The
/// words that the first call leaves would spoil the second one.
#[test]
fn each_launch_of_a_graph_leaves_the_workspace_clean() {
    for device in &devices() {
        let length = 70_000;
        let hard: Vec<f32> = (0..2 * length).map(|i| HARD[i % 6] * (1.0 + i as f32)).collect();
        let easy: Vec<f32> = (0..2 * length).map(|i| i as f32).collect();
        let mut buffer = device.upload(&easy).unwrap();
        let mut output = device.alloc::<f32>(2).unwrap();
        let sums = device.row_reducer::<f32, _>(ReproducibleSum).unwrap();
        let (graph, pending) = device
            .capture(|stream| {
                let matrix = Array::new(&buffer, &[2, length as u64]).unwrap();
                sums.reduce_rows_into(&matrix, &mut output, stream)
            })
            .unwrap();
        let stream = device.stream().unwrap();
        for values in [&hard, &easy, &hard, &hard, &easy] {
            buffer.copy_from_host(values).unwrap();
            graph.launch(&stream).unwrap();
            stream.synchronize().unwrap();
            for (row, raw) in output.copy_to_host().unwrap().into_iter().enumerate() {
                let sum = pending.finish(raw).unwrap();
                check_sum(sum, &values[row * length..][..length], &|| format!("row {row}"));
            }
        }
    }
}

/// The number of instructions that the launches of a kernel have executed.
fn instructions(device: &Device, kernel: &str) -> u64 {
    let observations = device.take_observations();
    let of_kernel = observations.iter().filter(|observation| observation.kernel == kernel);
    of_kernel
        .map(|observation| {
            let Seen::Counted(profile) = &observation.seen else { panic!("the device counts") };
            profile.counters.warp_instructions
        })
        .sum()
}

/// The second launch of an easy sum ends at once, and that of a hard sum does not.
#[test]
fn only_hard_sums_are_made_again() {
    let device = Device::simulator_with(Instrument::Count);
    let count = |values: &[f32]| {
        let matrix = Array::new(values, &[1, values.len() as u64]).unwrap();
        let sum = device.reduce_rows(&matrix, ReproducibleSum).unwrap()[0];
        check_sum(sum, values, &|| format!("{values:?}"));
        instructions(&device, "rows_repair_f32")
    };
    let nothing_to_do = count(&[1.0, 2.0]);
    assert!(nothing_to_do > 0);
    for easy in [&[1e30f32, 1.0, -1e30][..], &[f32::MAX; 6], &[f32::INFINITY, 1.0], &[-0.0], &[]] {
        assert_eq!(count(easy), nothing_to_do, "{easy:?}");
    }
    assert!(count(&HARD) > 2 * nothing_to_do);
    // Notes do not stay.
    assert_eq!(count(&[1.0, 2.0]), nothing_to_do);
}

/// Results go to their places when hard sums have been made again.
#[test]
fn an_output_with_strides_gets_hard_sums() {
    for device in &devices() {
        let buffer = device.upload(&[HARD, [1.0; 6]].concat()).unwrap();
        let (mut scratch, stream) = (device.alloc(2).unwrap(), device.stream().unwrap());
        let mut target = device.upload(&[9.0f32; 5]).unwrap();
        let sums = device.row_reducer::<f32, _>(ReproducibleSum).unwrap().strided().unwrap();
        let output = StridedOutput::new(&mut target, &[3], 1);
        let matrix = Array::new(&buffer, &[2, 6]).unwrap();
        sums.reduce_axes_into(&matrix, &[1], &mut scratch, output, &stream).unwrap();
        stream.synchronize().unwrap();
        let results = target.copy_to_host().unwrap();
        check_sum(results[1], &HARD, &|| "strided".to_owned());
        assert_eq!((results[0], &results[2..]), (9.0, &[9.0, 9.0, 6.0][..]));
    }
}

#[test]
fn bad_input_is_refused_and_nothing_is_written() {
    for device in &devices() {
        let buffer = device.upload(&HARD).unwrap();
        let matrix = Array::new(&buffer, &[2, 3]).unwrap();
        let mut output = device.upload(&[7.0f32; 3]).unwrap();
        let (sums, stream) =
            (device.row_reducer::<f32, _>(ReproducibleSum).unwrap(), device.stream().unwrap());
        let error = sums.reduce_rows_into(&matrix, &mut output, &stream).unwrap_err();
        assert!(matches!(error, Error::Outputs { results: 2, len: 3 }), "{error}");
        stream.synchronize().unwrap();
        assert_eq!(output.copy_to_host().unwrap(), [7.0; 3]);
    }
}

/// The kernels under the simulator's checks, with sums that must be made again.
#[test]
fn no_check_finds_anything() {
    fn check<T: Element>(device: &Device)
    where
        ReproducibleSum: RowOperation<T, Output = T::Sum, RowRaw = T::Sum>,
    {
        let mut random = seed::random();
        for kind in [0, 1] {
            let source = sources::<T>()[kind].1;
            for (shape, axis) in
                [([300u64, 5], 1), ([2, 66_000], 1), ([3, 9000], 0), ([1000, 9], 0)]
            {
                let elements: Vec<T> =
                    (0..shape[0] * shape[1]).map(|_| source(&mut random)).collect();
                let array = Array::new(&elements, &shape).unwrap();
                let results = device.reduce_axes(&array, &[axis], ReproducibleSum).unwrap();
                let (height, width) = (shape[0] as usize, shape[1] as usize);
                for (i, &sum) in results.iter().enumerate() {
                    let (first, step) = if axis == 0 { (i, width) } else { (i * width, 1) };
                    let length = if axis == 0 { height } else { width };
                    let row: Vec<T> =
                        elements[first..].iter().step_by(step).take(length).copied().collect();
                    check_sum(sum, &row, &|| format!("{} of {shape:?}, {i}", T::NAME));
                }
                for observation in device.take_observations() {
                    let Seen::Checked(checked) = &observation.seen else { panic!("it checks") };
                    let is_clean = checked.reports.is_empty() && checked.fault.is_none();
                    assert!(is_clean, "{} of {shape:?}: {observation:?}", T::NAME);
                }
            }
        }
    }
    let device = Device::simulator_with(Instrument::Check);
    let old = device.with_class(DeviceClass::new(16, false, (7, 5))).unwrap();
    for device in [device, old] {
        check::<f16>(&device);
        check::<f32>(&device);
        check::<f64>(&device);
    }
}
