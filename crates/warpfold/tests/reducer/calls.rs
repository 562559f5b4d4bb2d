//! The ways to call a reduction (waiting, into memory, on streams, in graphs, from threads), and
//! the calls that are refused.

use std::{collections::HashSet, thread};

use half::{bf16, f16};
use warpfold::{
    All, Any, ArgMin, BitAnd, BitOr, BitXor, CheckedSum, CompensatedSum, CountNan, CountNonzero,
    Device, DeviceError, Dot, Error, ExpSum, Item, LogSumExp, Max, MaxAbs, Min, MinMax, Minimum,
    Moments, NanMean, NanSum, Norm2, Operation, Product, RawSlice, Reducer, SoftmaxStats,
    SquaredDistance, Sum, SumAbs, SumSquares, WideSum, WrappingSum, device::DeviceKind,
    reducer::Statistics, testing::Faults,
};

use crate::support::{devices, skip};

#[test]
fn reducers_go_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Reducer<f32, Sum>>();
    check::<Reducer<i128, ArgMin>>();
    check::<Reducer<f16, Dot>>();
    check::<Error>();
}

#[test]
fn nothing_has_a_sum_but_no_minimum() {
    for device in devices() {
        let none = device.alloc::<f32>(0).unwrap();
        let some = device.upload(&[1.0f32]).unwrap();
        let (empty, view) = (&none, some.view(1..));
        assert_eq!(device.reduce(empty, Sum).unwrap().to_bits(), 0);
        assert_eq!(device.reduce(view, Product).unwrap(), 1.0);
        assert_eq!(device.reduce(empty, CompensatedSum).unwrap(), 0.0);
        assert_eq!(device.reduce(empty, WideSum).unwrap(), 0.0);
        assert_eq!(device.reduce(empty, SumAbs).unwrap(), 0.0);
        assert_eq!(device.reduce(empty, SumSquares).unwrap(), 0.0);
        assert_eq!(device.reduce(empty, Norm2).unwrap(), 0.0);
        assert_eq!(device.reduce(empty, MaxAbs).unwrap(), 0.0);
        assert_eq!(device.reduce(empty, NanSum).unwrap().to_bits(), 0);
        assert!(device.reduce(empty, NanMean).unwrap().is_nan());
        assert_eq!(device.reduce(empty, CountNan).unwrap(), 0);
        assert_eq!(device.reduce(empty, LogSumExp).unwrap(), f32::NEG_INFINITY);
        let of_nothing = ExpSum { max: f32::NEG_INFINITY, sum: 0.0 };
        assert_eq!(device.reduce(empty, SoftmaxStats).unwrap(), of_nothing);
        assert_eq!(device.reduce((empty, view), Dot).unwrap(), 0.0);
        assert_eq!(device.reduce((view, empty), SquaredDistance).unwrap(), 0.0);
        assert_eq!(device.reduce(empty, CountNonzero).unwrap(), 0);
        assert!(!device.reduce(empty, Any).unwrap());
        assert!(device.reduce(empty, All).unwrap());
        let empty: &[u16] = &[];
        assert_eq!(device.reduce(empty, WrappingSum).unwrap(), 0);
        assert_eq!(device.reduce(empty, CheckedSum).unwrap(), 0);
        assert_eq!(device.reduce(empty, BitAnd).unwrap(), u16::MAX);
        assert_eq!(device.reduce(empty, BitOr).unwrap(), 0);
        assert_eq!(device.reduce(empty, BitXor).unwrap(), 0);

        let refused = |result: Result<(), Error>, op: &str| match result {
            Err(error @ Error::Empty { .. }) => {
                assert_eq!(error.to_string(), format!("the {op} of no elements is not defined"));
            }
            other => panic!("{op}: {other:?}"),
        };
        refused(device.reduce(empty, Min).map(drop), "minimum");
        refused(device.reduce(empty, Max).map(drop), "maximum");
        refused(device.reduce(empty, Minimum).map(drop), "minimum");
        refused(device.reduce(empty, MinMax).map(drop), "minimum and maximum");
        refused(device.reduce(empty, ArgMin).map(drop), "index of the minimum");
        refused(device.reduce(empty, Moments).map(drop), "mean");
        let min = device.reducer::<f32, _>(Min).unwrap();
        let mut out = device.alloc(1).unwrap();
        refused(min.reduce_into(view, &mut out, &device.stream().unwrap()).map(drop), "minimum");
    }
}

#[test]
fn nothing_is_reduced_into_memory_too() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let sum = device.reducer::<i32, _>(Sum).unwrap();
        let mut out = device.upload(&[7i64]).unwrap();
        sum.reduce_into(&device.alloc::<i32>(0).unwrap(), &mut out, &stream).unwrap();
        assert_eq!(out.copy_to_host().unwrap(), [0]);
        let product = device.reducer::<f64, _>(Product).unwrap();
        let mut out = device.upload(&[7.0f64]).unwrap();
        product.reduce_into(&device.alloc::<f64>(0).unwrap(), &mut out, &stream).unwrap();
        assert_eq!(out.copy_to_host().unwrap(), [1.0]);
    }
}

#[test]
fn inputs_of_every_kind_are_the_same() {
    for device in devices() {
        let values: Vec<f32> = (0..5000).map(|i| (i as f32).sin()).collect();
        let buffer = device.upload(&values).unwrap();
        let mut pinned = device.alloc_pinned(values.len()).unwrap();
        pinned.copy_from_slice(&values);
        let sum = device.reduce(&buffer, Sum).unwrap();
        let same = |other: f32| assert_eq!(other.to_bits(), sum.to_bits());
        same(device.reduce(buffer.view(..), Sum).unwrap());
        same(device.reduce(&buffer.view(..), Sum).unwrap());
        same(device.reduce(&values, Sum).unwrap());
        same(device.reduce(&values[..], Sum).unwrap());
        same(device.reduce(&pinned, Sum).unwrap());
        // SAFETY: the buffer lives as long as the slice.
        let raw = unsafe { RawSlice::<f32>::new(buffer.address(), buffer.len()) };
        same(device.reduce(raw, Sum).unwrap());
        let dot = device.reduce((&buffer, &buffer), Dot).unwrap();
        assert_eq!(device.reduce((&values, &pinned), Dot).unwrap().to_bits(), dot.to_bits());
        assert_eq!(device.reduce((raw, buffer.view(..)), Dot).unwrap().to_bits(), dot.to_bits());
        assert_eq!(device.reduce(&[1u8, 2, 3], Sum).unwrap(), 6);
    }
}

#[test]
fn memory_of_cust() {
    use cust::memory::{DeviceBuffer, DeviceSlice};

    // The simulator has no memory of other libraries, so this needs a GPU.
    for device in devices().into_iter().filter(|device| device.info().kind == DeviceKind::Cuda) {
        let values: Vec<u32> = (0..10_000).map(|i| i * i).collect();
        let sum = |values: &[u32]| values.iter().map(|&x| u64::from(x)).sum::<u64>();
        let buffer = DeviceBuffer::from_slice(&values).unwrap();
        assert_eq!(device.reduce(&buffer, Sum).unwrap(), sum(&values));
        let part: &DeviceSlice<u32> = &buffer[3..9_998];
        assert_eq!(device.reduce(part, Sum).unwrap(), sum(&values[3..9_998]));
        let dot = values.iter().map(|&x| u64::from(x) * u64::from(x)).fold(0, u64::wrapping_add);
        assert_eq!(device.reduce((&buffer, &values), Dot).unwrap(), dot);
        let simulator = Device::simulator();
        let refused = simulator.reduce(&buffer, Sum).unwrap_err();
        assert!(matches!(refused, Error::Device(DeviceError::OtherDevice(_))), "{refused}");
        // A capture refuses this memory, because a graph could not keep the memory of another
        // library alive.
        let mut output = device.alloc::<u64>(1).unwrap();
        let reducer = device.reducer::<u32, _>(Sum).unwrap();
        let refused =
            device.capture(|stream| reducer.reduce_into(&buffer, &mut output, stream)).unwrap_err();
        assert!(matches!(refused, Error::Device(DeviceError::Capturing { .. })), "{refused}");
    }
}

#[test]
fn pairs_that_lie_differently() {
    for device in devices() {
        let values: Vec<i16> = (0..3000).map(|i| (i * 31 % 1000) as i16).collect();
        let buffer = device.upload(&values).unwrap();
        for (from, to) in [(0, 1), (1, 0), (3, 5), (7, 7), (8, 0), (9, 2)] {
            let n = 2900;
            let (a, b) = (&values[from..from + n], &values[to..to + n]);
            let expected: i64 = a.iter().zip(b).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum();
            let pair = (buffer.view(from..from + n), buffer.view(to..to + n));
            assert_eq!(device.reduce(pair, Dot).unwrap(), expected, "{from} {to}");
        }
    }
}

#[test]
fn raw_results_lie_anywhere_and_wait_for_nobody() {
    for device in devices() {
        let values: Vec<f64> = (0..10_000).map(|i| f64::from(i) / 7.0).collect();
        let buffer = device.upload(&values).unwrap();
        let stream = device.stream().unwrap();
        let moments = device.reducer::<f64, _>(Moments).unwrap();
        let mut out = device.alloc::<Statistics>(3).unwrap();
        let pending = [(0, 10), (1, 9_999), (2, 1)].map(|(i, n)| {
            moments.reduce_into(buffer.view(1..=n), out.view_mut(i..=i), &stream).unwrap()
        });
        stream.synchronize().unwrap();
        let raws = out.copy_to_host().unwrap();
        for ((raw, n), pending) in raws.into_iter().zip([10u64, 9_999, 1]).zip(pending) {
            let expected = device.reduce(buffer.view(1..=n as usize), Moments).unwrap();
            assert_eq!(pending.finish(raw).unwrap(), expected);
            assert_eq!(expected.count, n);
        }
    }
}

/// A graph keeps the memory of the buffers that it reads and writes alive, but only as long as the
/// graph itself lives.
#[test]
fn a_graph_keeps_the_memory_that_it_uses() {
    for device in devices() {
        let sum = device.reducer::<u32, _>(Sum).unwrap();
        let stream = device.stream().unwrap();
        let without_graph = device.live_allocations();
        let source = device.upload(&vec![3u32; 50_000]).unwrap();
        let mut copy = device.alloc::<u32>(50_000).unwrap();
        let mut filled = device.alloc::<u8>(1000).unwrap();
        let mut total = device.alloc::<u64>(1).unwrap();
        let address = total.address();
        let (graph, pending) = device
            .capture(|stream| {
                stream.copy(&source, &mut copy)?;
                stream.fill_bytes(&mut filled, 7)?;
                sum.reduce_into(&copy, &mut total, stream)
            })
            .unwrap();
        drop((source, copy, filled, total));
        // The graph keeps four buffers and its workspace.
        assert_eq!(device.live_allocations(), without_graph + 5);

        // If the graph's memory had been freed, new buffers could get it, and the graph would
        // overwrite them.
        let others: Vec<_> =
            (0..8).map(|_| device.upload(&vec![0xa5u8; 250_000]).unwrap()).collect();
        graph.launch(&stream).unwrap();
        stream.synchronize().unwrap();
        for other in &others {
            assert!(other.copy_to_host().unwrap().iter().all(|&byte| byte == 0xa5));
        }
        // SAFETY: the graph keeps the output alive, and nothing writes to it now.
        let raw = unsafe { RawSlice::<u64>::new(address, 1) };
        assert_eq!(device.reduce(raw, Sum).unwrap(), 150_000);
        assert_eq!(pending.finish(150_000).unwrap(), 150_000);
        drop((others, graph));
        // The one allocation that is left is the output for sums of `u64`, which the device keeps
        // since the call above.
        assert_eq!(device.live_allocations(), without_graph + 1);
    }
}

#[test]
fn graphs_replay_reductions() {
    for device in devices() {
        let mut buffer = device.upload(&vec![1u32; 100_000]).unwrap();
        let (sum, max) =
            (device.reducer::<u32, _>(Sum).unwrap(), device.reducer::<u32, _>(Max).unwrap());
        let (mut total, mut greatest) =
            (device.alloc::<u64>(1).unwrap(), device.alloc::<u32>(1).unwrap());
        let (graph, _) = match device.capture(|stream| {
            sum.reduce_into(&buffer, &mut total, stream)?;
            max.reduce_into(buffer.view(1..), &mut greatest, stream)
        }) {
            Err(Error::Device(DeviceError::DriverLacks { function, .. })) => {
                skip::test(format_args!("the driver lacks {function}"));
                continue;
            }
            captured => captured.unwrap(),
        };
        let stream = device.stream().unwrap();
        for value in [1u32, 2, 70_000] {
            buffer.copy_from_host(&vec![value; 100_000]).unwrap();
            for _ in 0..3 {
                graph.launch(&stream).unwrap();
            }
            stream.synchronize().unwrap();
            assert_eq!(total.copy_to_host().unwrap(), [u64::from(value) * 100_000]);
            assert_eq!(greatest.copy_to_host().unwrap(), [value]);
        }
    }
}

#[test]
fn a_capture_refuses_to_wait() {
    for device in devices() {
        let buffer = device.upload(&[1i32, 2, 3]).unwrap();
        let sum = device.reducer::<i32, _>(Sum).unwrap();
        let refused = device.capture(|_| sum.reduce(&buffer).map(drop));
        assert!(
            matches!(
                refused,
                Err(Error::Device(DeviceError::Capturing { .. } | DeviceError::DriverLacks { .. }))
            ),
            "{refused:?}"
        );
        assert_eq!(sum.reduce(&buffer).unwrap(), 6);
    }
}

#[test]
fn streams_and_threads_do_not_disturb_each_other() {
    for device in devices() {
        let sum = device.reducer::<u32, _>(Sum).unwrap();
        thread::scope(|scope| {
            for seed in 1..=4u32 {
                let (device, sum) = (&device, sum.clone());
                scope.spawn(move || {
                    let values: Vec<u32> = (0..50_000)
                        .map(|i: u32| i.wrapping_mul(2_654_435_761).wrapping_add(seed))
                        .collect();
                    let expected: u64 = values.iter().map(|&x| u64::from(x)).sum();
                    let buffer = device.upload(&values).unwrap();
                    let (stream, mut out) =
                        (device.stream().unwrap(), device.alloc::<u64>(1).unwrap());
                    for _ in 0..5 {
                        sum.reduce_into(&buffer, &mut out, &stream).unwrap();
                        assert_eq!(sum.reduce(&buffer).unwrap(), expected);
                        assert_eq!(
                            device.reduce(&buffer, Max).unwrap(),
                            *values.iter().max().unwrap()
                        );
                        stream.synchronize().unwrap();
                        assert_eq!(out.copy_to_host().unwrap(), [expected]);
                    }
                });
            }
        });
    }
}

#[test]
fn a_call_comes_after_what_the_device_was_given() {
    for device in devices() {
        let mut buffer = device.upload(&[1u8; 1000]).unwrap();
        for value in 0..10u8 {
            buffer.fill_bytes(value).unwrap();
            assert_eq!(device.reduce(&buffer, Sum).unwrap(), 1000 * u64::from(value));
        }
    }
}

#[test]
fn a_result_is_the_same_bits_each_time() {
    for device in devices() {
        let values: Vec<f32> = (0..300_000).map(|i| (i as f32 * 0.7).sin() * 1e3).collect();
        let buffer = device.upload(&values).unwrap();
        let sum = device.reducer::<f32, _>(Sum).unwrap();
        let bits: HashSet<u32> = (0..5).map(|_| sum.reduce(&buffer).unwrap().to_bits()).collect();
        assert_eq!(bits.len(), 1);
        assert_eq!(sum.reduce(&values).unwrap().to_bits(), sum.reduce(&buffer).unwrap().to_bits());
    }
}

#[test]
fn a_kernel_is_loaded_once() {
    for device in devices() {
        let before = device.live_allocations();
        assert_eq!(device.reduce(&[1i32, 2], Sum).unwrap(), 3);
        let after = device.live_allocations();
        for _ in 0..5 {
            assert_eq!(device.reduce(&[1i32, 2], Sum).unwrap(), 3);
            let _reducer = device.reducer::<i32, _>(Sum).unwrap();
        }
        assert_eq!(device.live_allocations(), after, "{before} before the first");
    }
}

#[test]
fn a_device_goes_with_its_last_handle() {
    let device = Device::simulator();
    // This is a second device on the same memory.
    let observer = device.clone().with_faults(Faults::none()).unwrap();
    let free = observer.free_memory().unwrap();
    let buffer = device.upload(&[1u64, 2]).unwrap();
    assert_eq!(device.reduce(&buffer, Sum).unwrap(), 3);
    let reducer = device.reducer::<u64, _>(Max).unwrap();
    assert!(observer.free_memory().unwrap() < free);
    drop((buffer, device));
    assert_eq!(reducer.reduce(&[5u64, 7]).unwrap(), 7, "a reducer is a handle as well");
    drop(reducer);
    assert_eq!(observer.free_memory().unwrap(), free);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (device, other) = (Device::simulator(), Device::simulator());
    let (ours, theirs) =
        (device.upload(&[1i32, 2, 3]).unwrap(), other.upload(&[1i32, 2, 3]).unwrap());
    let message = |result: Result<i64, Error>| result.unwrap_err().to_string();
    assert_eq!(message(device.reduce(&theirs, Sum)), "this buffer belongs to another device");
    assert_eq!(
        message(device.reduce((&ours, &theirs), Dot)),
        "this buffer belongs to another device"
    );
    assert_eq!(
        message(device.reduce((&ours, ours.view(1..)), Dot)),
        "the first input has 3 elements and the second 2: both must have the same number"
    );
    assert!(matches!(
        device.reduce((&[1.0f32][..], &[0.0; 0][..]), Dot),
        Err(Error::Lengths { first: 1, second: 0 })
    ));

    let sum = device.reducer::<i32, _>(Sum).unwrap();
    let stream = device.stream().unwrap();
    let into = |out: &mut warpfold::Buffer<i64>, stream: &warpfold::Stream| {
        sum.reduce_into(&ours, out, stream).unwrap_err().to_string()
    };
    assert_eq!(
        into(&mut device.alloc(2).unwrap(), &stream),
        "the result is 1 value, and the output has 2"
    );
    assert_eq!(
        into(&mut other.alloc(1).unwrap(), &stream),
        "this buffer belongs to another device"
    );
    assert_eq!(
        into(&mut device.alloc(1).unwrap(), &other.stream().unwrap()),
        "this kernel belongs to another device"
    );
    // SAFETY: nobody reads the elements, because the call refuses so many elements.
    let long = unsafe { RawSlice::<u32>::new(ours.address(), (1 << 32) + 1) };
    assert_eq!(
        device.reduce(long, CheckedSum).unwrap_err().to_string(),
        "a checked sum of u32 takes at most 4294967296 elements at once, not 4294967297"
    );
}

/// Tests indices of 33 bits, where the 32-bit numbers by which blocks order their elements repeat,
/// and the last indices of 32 bits.
#[test]
fn indices_may_have_more_than_32_bits() {
    const LIMIT: usize = 1 << 32;
    for device in devices().into_iter().filter(|device| device.info().kind == DeviceKind::Cuda) {
        let mut elements = match device.alloc::<i8>(LIMIT + 1000) {
            Ok(elements) => elements,
            Err(error) => {
                skip::test(format_args!("2^32 elements: {error}"));
                continue;
            }
        };
        let mut check = |from: usize, n: usize, least: &[usize]| {
            elements.fill_bytes(5).unwrap();
            for &index in least {
                elements.view_mut(from + index..=from + index).copy_from_host(&[-3]).unwrap();
            }
            let found = device.reduce(elements.view(from..from + n), ArgMin).unwrap();
            assert_eq!(
                (found.value, found.index),
                (-3, least[0] as u64),
                "{n} from {from}, and the minimum at {least:?}"
            );
        };
        for from in [0, 1, 13] {
            check(from, LIMIT + 900, &[LIMIT + 7]);
            check(from, LIMIT + 900, &[LIMIT + 7, LIMIT + 899]);
            check(from, LIMIT + 900, &[12, LIMIT + 12]);
            check(from, LIMIT + 900, &[LIMIT - 1, LIMIT]);
            check(from, LIMIT, &[LIMIT - 1]);
            check(from, LIMIT - 1, &[LIMIT - 2]);
        }
    }
}

/// Every kernel that an operation names exists.
#[test]
fn every_operation_has_its_kernel() {
    fn check<T: Item, O: Operation<T> + Default>(device: &Device) {
        let reducer = device
            .reducer::<T, _>(O::default())
            .unwrap_or_else(|error| panic!("{} of {}: {error}", O::NAME, T::NAME));
        assert!(reducer.kernel().name().starts_with("reduce_"));
    }
    macro_rules! check {
        ($device:expr, [$($op:ident)*] $types:tt) => { $(check!(@ $device, $op $types);)* };
        (@ $device:expr, $op:ident [$($t:ident)*]) => { $(check::<$t, warpfold::$op>($device);)* };
    }
    for device in devices() {
        check!(&device, [Sum Product Min Max Minimum Maximum MinMax ArgMin ArgMax ArgMinimum ArgMaximum CountNonzero Any All SumAbs
            SumSquares MaxAbs Dot SquaredDistance Moments] [i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 f16 bf16 f32 f64]);
        check!(&device, [WrappingSum CheckedSum BitAnd BitOr BitXor] [i8 u8 i16 u16 i32 u32 i64 u64 i128 u128]);
        check!(&device, [Norm2] [i8 u8 i16 u16 f16 bf16 f32 f64]);
        check!(&device, [CompensatedSum LogSumExp SoftmaxStats NanSum NanMean CountNan] [f16 bf16 f32 f64]);
        check!(&device, [WideSum] [f16 bf16 f32]);
    }
}
