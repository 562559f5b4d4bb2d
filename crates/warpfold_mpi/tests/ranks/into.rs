//! What the ranks do in the cases of `reduce_into`.

use std::{process, thread, time::Duration};

use rand::Rng;
use warpfold::{
    ArgMax, Buffer, CheckedSum, CountWhere, Device, DeviceError, Dot, Error as LibraryError, Is,
    Max, Moments, ReproducibleSum, Sum, device::Stream, testing::Faults,
};
use warpfold_mpi::{Error, MpiCommunicator, MpiReducer, mpi};

use crate::cases::{cuts, random, world, world_of_gpus};

/// The numbers of elements of the whole array.
const SIZES: [usize; 10] = [1, 2, 31, 32, 33, 1023, 1024, 1025, 9999, 70_001];

pub(crate) fn results() {
    let ranks = world_of_gpus();
    let device = ranks.device();
    let mut random = random();
    let stream = device.stream().unwrap();
    let (mut total, mut best) = (device.alloc(1).unwrap(), device.alloc(1).unwrap());
    let (mut count, mut product) = (device.alloc(1).unwrap(), device.alloc(1).unwrap());
    let (mut digits, mut moments) = (device.alloc(1).unwrap(), device.alloc(1).unwrap());
    let mut most = device.alloc(1).unwrap();
    let sum = ranks.reducer::<i32, _>(Sum).unwrap();
    for n in SIZES {
        let cuts = cuts(&mut random, n, ranks.size());
        let mine = cuts[ranks.rank() as usize]..cuts[ranks.rank() as usize + 1];
        let words: Vec<i32> = (0..n).map(|_| random.random_range(-1000..1000)).collect();
        let buffer = device.upload(&words).unwrap();
        let part = buffer.view(mine.clone());

        let exact: i64 = words.iter().map(|&word| i64::from(word)).sum();
        let pending = sum.reduce_into(part, &mut total, &stream).unwrap();
        assert_eq!(total.copy_to_host().unwrap(), [exact], "{n}");
        assert_eq!(pending.finish(exact).unwrap(), exact);

        let largest = *words.iter().max().unwrap();
        let first = words.iter().position(|&word| word == largest).unwrap() as u64;
        let pending = ranks.reduce_into(part, ArgMax, &mut best, &stream).unwrap();
        let found = pending.finish(best.copy_to_host().unwrap()[0]).unwrap();
        assert_eq!((found.value, found.index), (largest, first), "{n}");
        ranks.reduce_into(part, Max, &mut most, &stream).unwrap();
        assert_eq!(most.copy_to_host().unwrap(), [largest]);

        let is_small = CountWhere(Is::Less(17));
        ranks.reduce_into(part, is_small, &mut count, &stream).unwrap();
        let small = words.iter().filter(|&&word| word < 17).count() as u64;
        assert_eq!(count.copy_to_host().unwrap(), [small]);

        ranks.reduce_into((part, part), Dot, &mut product, &stream).unwrap();
        let squares: i64 = words.iter().map(|&word| i64::from(word).pow(2)).sum();
        assert_eq!(product.copy_to_host().unwrap(), [squares]);

        // Eighths of such integers have exact sums, so that the mean is rounded once.
        let eighths: Vec<f64> = words.iter().map(|&word| f64::from(word) / 8.0).collect();
        let buffer = device.upload(&eighths[mine]).unwrap();
        let pending = ranks.reduce_into(&buffer, ReproducibleSum, &mut digits, &stream).unwrap();
        let found = pending.finish(digits.copy_to_host().unwrap()[0]).unwrap();
        assert_eq!(found.to_bits(), (exact as f64 / 8.0).to_bits(), "{n}");
        let pending = ranks.reduce_into(&buffer, Moments, &mut moments, &stream).unwrap();
        let found = pending.finish(moments.copy_to_host().unwrap()[0]).unwrap();
        assert_eq!(found.count, n as u64);
        assert!((found.mean() - exact as f64 / 8.0 / n as f64).abs() <= 1e-10, "{n}");
    }
}

/// The calls of a reducer follow each other without a pause, and with the other work of a stream.
/// The sum of floats is the left fold.
pub(crate) fn order() {
    let ranks = world_of_gpus();
    let device = ranks.device();
    let mut random = random();
    let alone = device.clone();
    let sum = ranks.reducer::<f32, _>(Sum).unwrap();
    let streams = [device.stream().unwrap(), device.stream().unwrap()];
    let (mut total, mut copies) = (device.alloc(1).unwrap(), device.alloc::<f32>(200).unwrap());
    let mut expected = Vec::new();
    for call in 0..200 {
        let n = random.random_range(0..300);
        let values: Vec<f32> = (0..n).map(|_| random.random_range(-1.0..1.0)).collect();
        let cuts = cuts(&mut random, n, ranks.size());
        let parts = || cuts.windows(2).map(|cut| &values[cut[0]..cut[1]]);
        let sums = parts().filter(|part| !part.is_empty());
        let folded = sums.map(|part| alone.reduce(part, Sum).unwrap()).reduce(|a, b| a + b);
        expected.push(folded.unwrap_or(0.0).to_bits());

        let stream = &streams[call % 2];
        let source = device.upload(parts().nth(ranks.rank() as usize).unwrap()).unwrap();
        let mut part = device.alloc(source.len()).unwrap();
        stream.copy(&source, &mut part).unwrap();
        sum.reduce_into(&part, &mut total, stream).unwrap();
        stream.fill_bytes(&mut part, 0xff).unwrap();
        stream.copy(&total, copies.view_mut(call..=call)).unwrap();
    }
    let found: Vec<_> = copies.copy_to_host().unwrap().into_iter().map(f32::to_bits).collect();
    assert_eq!(found, expected);
}

pub(crate) fn without_a_result() {
    let ranks = world();
    let device = ranks.device();
    let stream = device.stream().unwrap();
    let none = device.alloc::<f32>(0).unwrap();
    let mut output = device.upload(&[7.0f32]).unwrap();
    let error = ranks.reduce_into(&none, Max, &mut output, &stream).unwrap_err();
    assert!(matches!(error, Error::Warpfold(LibraryError::Empty { op: "maximum" })), "{error:?}");
    assert_eq!(output.copy_to_host().unwrap(), [7.0]);
    ranks.reduce_into(&none, Sum, &mut output, &stream).unwrap();
    assert_eq!(output.copy_to_host().unwrap()[0].to_bits(), 0);
    // One element on the last rank is enough.
    let one = device.upload(&[-3.5f32]).unwrap();
    let part = if ranks.rank() + 1 == ranks.size() { &one } else { &none };
    ranks.reduce_into(part, Max, &mut output, &stream).unwrap();
    assert_eq!(output.copy_to_host().unwrap(), [-3.5]);
    // The raw result of a sum that overflows is there.
    let part = device.upload(&[1i32 << 30, 1 << 30]).unwrap();
    let mut output = device.alloc(1).unwrap();
    let pending = ranks.reduce_into(&part, CheckedSum, &mut output, &stream).unwrap();
    let overflow = pending.finish(output.copy_to_host().unwrap()[0]);
    assert!(matches!(overflow, Err(LibraryError::Overflow { .. })), "{overflow:?}");
}

/// What is wrong on one rank, and how its error is known.
type Wrong = (fn(&Call<'_>) -> Error, fn(&LibraryError) -> bool);

/// What a rank calls `reduce_into` with.
struct Call<'a> {
    device: &'a Device,
    sum: &'a MpiReducer<'a, u32, Sum>,
    part: &'a Buffer<u32>,
    stream: &'a Stream,
}

impl Call<'_> {
    fn output(&self) -> Buffer<u64> {
        self.device.upload(&[7]).unwrap()
    }

    fn error(&self, output: &mut Buffer<u64>) -> Error {
        self.sum.reduce_into(self.part, output, self.stream).unwrap_err()
    }
}

const WRONGS: [Wrong; 7] = [
    (
        |call| call.error(&mut call.device.alloc(2).unwrap()),
        |error| matches!(error, LibraryError::Output { len: 2 }),
    ),
    (
        |call| call.error(&mut call.device.alloc(0).unwrap()),
        |error| matches!(error, LibraryError::Output { len: 0 }),
    ),
    (
        |call| call.error(&mut Device::simulator().alloc(1).unwrap()),
        |error| is_other(error, "buffer"),
    ),
    (
        |call| {
            let part = Device::simulator().upload(&[1]).unwrap();
            Call { part: &part, ..*call }.error(&mut call.output())
        },
        |error| is_other(error, "buffer"),
    ),
    (
        |call| {
            let stream = Device::simulator().stream().unwrap();
            Call { stream: &stream, ..*call }.error(&mut call.output())
        },
        |error| is_other(error, "stream"),
    ),
    (
        // A stream that captures.
        |call| {
            let mut output = call.output();
            let mut error = None;
            let captured = call.device.capture(|stream| {
                error = Some(Call { stream, ..*call }.error(&mut output));
                Ok::<_, DeviceError>(())
            });
            captured.unwrap();
            assert_eq!(output.copy_to_host().unwrap(), [7]);
            error.unwrap()
        },
        |error| matches!(error, LibraryError::Device(DeviceError::Capturing { .. })),
    ),
    (
        // A stream that does not capture, while this thread captures on another one.
        |call| {
            let mut output = call.output();
            let mut error = None;
            let captured = call.device.capture(|_| {
                error = Some(call.error(&mut output));
                Ok::<_, DeviceError>(())
            });
            captured.unwrap();
            error.unwrap()
        },
        |error| matches!(error, LibraryError::Device(DeviceError::Capturing { .. })),
    ),
];

fn is_other(error: &LibraryError, what: &str) -> bool {
    matches!(error, LibraryError::Device(DeviceError::OtherDevice(other)) if *other == what)
}

/// Each rank in turn calls wrongly, rank 0 too. All get an error, and the next call works.
pub(crate) fn wrong_calls() {
    let ranks = world();
    let device = ranks.device();
    let stream = device.stream().unwrap();
    let part = device.upload(&[1u32, 2]).unwrap();
    let sum = ranks.reducer(Sum).unwrap();
    let call = Call { device, sum: &sum, part: &part, stream: &stream };
    for failing in 0..ranks.size() {
        for (wrong, is_right) in WRONGS {
            if ranks.rank() == failing {
                let error = wrong(&call);
                assert!(matches!(&error, Error::Warpfold(error) if is_right(error)), "{error:?}");
            } else {
                let mut output = call.output();
                let error = call.error(&mut output);
                assert!(matches!(error, Error::Rank { rank, .. } if rank == failing), "{error:?}");
                assert_eq!(output.copy_to_host().unwrap(), [7]);
            }
            let mut output = call.output();
            sum.reduce_into(&part, &mut output, &stream).unwrap();
            assert_eq!(output.copy_to_host().unwrap(), [3 * u64::from(ranks.size())]);
        }
    }
}

/// A device of one rank fails, before or after its partial result is on the host.
pub(crate) fn failed_copies() {
    let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).unwrap();
    let world = MpiCommunicator::over(&universe.world(), &Device::simulator()).unwrap();
    for failing in 0..world.size() {
        let is_failing = world.rank() == failing;
        let (mut before, mut after) = (0, 0);
        for number in 0.. {
            let mut device = Device::simulator();
            if is_failing {
                device = device.with_faults(Faults::none().copy(number)).unwrap();
            }
            let prepare = || -> Result<_, LibraryError> {
                let (part, output) = (device.upload(&[1u32, 2])?, device.upload(&[7u64])?);
                device.reducer::<u32, _>(Sum)?;
                Ok((part, output, device.stream()?))
            };
            let prepared = prepare();
            let reason = prepared.as_ref().err().map(ToString::to_string);
            let (Ok(()), Ok((part, mut output, stream))) = (world.agree(reason), prepared) else {
                continue;
            };
            let ranks = MpiCommunicator::over(&universe.world(), &device).unwrap();
            let called = ranks.reduce_into(&part, Sum, &mut output, &stream).map(drop);
            // How many ranks are not well.
            let ill = world.reduce(&[u32::from(called.is_err())], Sum).unwrap();
            if ill == 0 {
                break;
            }
            let total = 3 * u64::from(ranks.size());
            let expected = if called.is_ok() { total } else { 7 };
            assert_eq!(output.copy_to_host().unwrap(), [expected]);
            match called {
                Ok(()) => assert_eq!(ill, 1),
                Err(Error::Warpfold(LibraryError::Device(_))) if is_failing => {}
                Err(Error::Rank { rank, reason }) if !is_failing && rank == failing => {
                    assert!(reason.contains("cannot copy"), "{reason}");
                }
                Err(error) => panic!("{error:?}"),
            }
            if ill == 1 {
                after += 1;
            } else {
                assert_eq!(ill, u64::from(ranks.size()));
                before += 1;
            }
            ranks.reduce_into(&part, Sum, &mut output, &stream).unwrap();
            assert_eq!(output.copy_to_host().unwrap(), [total]);
        }
        assert_eq!((before, after), (1, 1));
    }
}

/// Ranks that reduce into memory and ranks that get the result on the host find together, but
/// those that call another operation do not.
pub(crate) fn other_calls() {
    let ranks = world();
    let device = ranks.device();
    let (part, stream) = (device.upload(&[1u32, 2]).unwrap(), device.stream().unwrap());
    let mut output = device.alloc(1).unwrap();
    let total = if ranks.rank().is_multiple_of(2) {
        ranks.reduce(&[1u32, 2], Sum).unwrap()
    } else {
        let pending = ranks.reduce_into(&part, Sum, &mut output, &stream).unwrap();
        pending.finish(output.copy_to_host().unwrap()[0]).unwrap()
    };
    assert_eq!(total, 3 * u64::from(ranks.size()));

    let mut most = device.upload(&[7u32]).unwrap();
    let mut output = device.upload(&[7u64]).unwrap();
    let error = if ranks.rank() == 1 {
        ranks.reduce_into(&part, Max, &mut most, &stream).unwrap_err()
    } else {
        ranks.reduce_into(&part, Sum, &mut output, &stream).unwrap_err()
    };
    let Error::Calls { rank: 1, ours, theirs } = &error else { panic!("{error:?}") };
    assert!(ours.contains("sum of u32") && theirs.contains("maximum of u32"), "{error}");
    assert_eq!(most.copy_to_host().unwrap(), [7]);
    assert_eq!(output.copy_to_host().unwrap(), [7]);
    ranks.reduce_into(&part, Sum, &mut output, &stream).unwrap();
    assert_eq!(output.copy_to_host().unwrap(), [3 * u64::from(ranks.size())]);
}

/// Rank 2 does not call.
pub(crate) fn missing() {
    let ranks = world().with_timeout(Duration::from_millis(1500));
    let device = ranks.device();
    let (part, stream) = (device.upload(&[1u8]).unwrap(), device.stream().unwrap());
    let mut output = device.alloc(1).unwrap();
    ranks.reduce_into(&part, Sum, &mut output, &stream).unwrap();
    let total = u64::from(ranks.size());
    assert_eq!(output.copy_to_host().unwrap(), [total]);
    if ranks.rank() == 2 {
        thread::sleep(Duration::from_secs(100));
    }
    let more = device.upload(&[5u8]).unwrap();
    let error = ranks.reduce_into(&more, Sum, &mut output, &stream).unwrap_err();
    assert!(matches!(error, Error::Missing { rank: 2, .. }), "{error:?}");
    let error = ranks.reduce_into(&more, Sum, &mut output, &stream).unwrap_err();
    assert!(matches!(error, Error::Poisoned), "{error:?}");
    assert_eq!(output.copy_to_host().unwrap(), [total]);
}

/// Rank 1 is killed while it waits in the call for rank 2, which does not come.
pub(crate) fn killed() {
    let ranks = world();
    let device = ranks.device();
    let (part, stream) = (device.upload(&[1u8]).unwrap(), device.stream().unwrap());
    let mut output = device.alloc(1).unwrap();
    ranks.reduce_into(&part, Sum, &mut output, &stream).unwrap();
    match ranks.rank() {
        1 => {
            thread::spawn(|| {
                thread::sleep(Duration::from_millis(300));
                process::abort();
            });
        }
        2 => thread::sleep(Duration::from_secs(100)),
        _ => {}
    }
    let _ = ranks.reduce_into(&part, Sum, &mut output, &stream);
    unreachable!("the launcher has ended this rank");
}
