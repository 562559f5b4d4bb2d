//! Reductions whose result the host combines with that of other parts: `reduce_into_with`.

use std::cell::Cell;

use rand::Rng as _;
use warpfold::{
    ArgMax, CheckedSum, Device, DeviceError, Dot, Error, Max, Partial, ReproducibleSum, Sum, TopK,
    device::Stream, testing::Faults,
};

use crate::{cases::rng, support::devices};

/// The numbers of elements of a part.
const SIZES: [usize; 9] = [0, 1, 31, 32, 33, 1023, 1024, 1025, 50_001];

#[test]
fn the_whole_is_that_of_all_parts() {
    let mut random = rng();
    for device in devices() {
        let stream = device.stream().unwrap();
        let (sum, best) = (device.reducer(Sum).unwrap(), device.reducer::<i32, _>(ArgMax).unwrap());
        let exact = device.reducer::<f64, _>(ReproducibleSum).unwrap();
        let dot = device.reducer::<i32, _>(Dot).unwrap();
        let (mut total, mut top) = (device.alloc(1).unwrap(), device.alloc(1).unwrap());
        let (mut digits, mut product) = (device.alloc(1).unwrap(), device.alloc(1).unwrap());
        for n in SIZES {
            let words: Vec<i32> = (0..n + 3).map(|_| random.random::<i32>() >> 8).collect();
            let part = device.upload(&words[3..]).unwrap();
            let pending = sum
                .reduce_into_with(&part, &mut total, &stream, |own| {
                    assert_eq!(own.n(), n as u64);
                    Ok::<_, Error>(sum.partial(&words[..3])?.append(own))
                })
                .unwrap();
            let expected: i64 = words.iter().map(|&word| i64::from(word)).sum();
            assert_eq!(total.copy_to_host().unwrap(), [expected], "{n}");
            assert_eq!(pending.finish(expected).unwrap(), expected);

            // An index counts the elements in front of the part, too.
            let pending = best.reduce_into_with(&part, &mut top, &stream, |own| {
                Ok::<_, Error>(best.partial(&words[..3])?.append(own))
            });
            let found = pending.unwrap().finish(top.copy_to_host().unwrap()[0]).unwrap();
            let most = *words.iter().max().unwrap();
            let first = words.iter().position(|&word| word == most).unwrap() as u64;
            assert_eq!((found.value, found.index), (most, first), "{n}");

            // Halves of integers have an exact sum.
            let halves: Vec<f64> = words.iter().map(|&word| f64::from(word) / 2.0).collect();
            let part_of_halves = device.upload(&halves[3..]).unwrap();
            let pending = exact.reduce_into_with(&part_of_halves, &mut digits, &stream, |own| {
                Ok::<_, Error>(exact.partial(&halves[..3])?.append(own))
            });
            let found = pending.unwrap().finish(digits.copy_to_host().unwrap()[0]).unwrap();
            assert_eq!(found, expected as f64 / 2.0, "{n}");

            let pair = (&part, part.view(..));
            dot.reduce_into_with(pair, &mut product, &stream, Ok::<_, Error>).unwrap();
            let expected: i64 = words[3..].iter().map(|&word| i64::from(word).pow(2)).sum();
            assert_eq!(product.copy_to_host().unwrap(), [expected], "{n}");
        }
    }
}

#[test]
fn the_call_is_in_the_order_of_the_stream() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let sum = device.reducer::<u8, _>(Sum).unwrap();
        let mut part = device.alloc::<u8>(1 << 20).unwrap();
        let [mut totals, mut copies] = [0; 2].map(|_| device.upload(&[0u64; 3]).unwrap());
        for byte in [1u8, 3, 255] {
            stream.fill_bytes(&mut part, byte).unwrap();
            let output = totals.view_mut(1..2);
            sum.reduce_into_with(&part, output, &stream, Ok::<_, Error>).unwrap();
            stream.fill_bytes(&mut part, 0).unwrap();
            stream.copy(&totals, &mut copies).unwrap();
            assert_eq!(copies.copy_to_host().unwrap(), [0, u64::from(byte) << 20, 0]);
        }
    }
}

#[test]
fn no_elements_at_all_are_the_identity_or_an_error() {
    for device in devices() {
        let (none, stream) = (device.alloc::<f32>(0).unwrap(), device.stream().unwrap());
        let mut output = device.upload(&[7.0f32]).unwrap();
        let max = device.reducer::<f32, _>(Max).unwrap();
        let empty = max.reduce_into_with(&none, &mut output, &stream, Ok::<_, Error>);
        assert!(matches!(empty, Err(Error::Empty { op: "maximum" })), "{empty:?}");
        assert_eq!(output.copy_to_host().unwrap(), [7.0]);
        let sum = device.reducer::<f32, _>(Sum).unwrap();
        let pending = sum.reduce_into_with(&none, &mut output, &stream, Ok::<_, Error>).unwrap();
        let raw = output.copy_to_host().unwrap()[0];
        assert_eq!(raw.to_bits(), 0);
        assert_eq!(pending.finish(raw).unwrap().to_bits(), 0);
    }
}

#[test]
fn what_the_whole_does_not_allow_is_an_error() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let part = device.upload(&[i32::MAX, 1]).unwrap();
        let checked = device.reducer::<i32, _>(CheckedSum).unwrap();
        let mut output = device.alloc(1).unwrap();
        let pending = checked.reduce_into_with(&part, &mut output, &stream, Ok::<_, Error>);
        let raw = output.copy_to_host().unwrap()[0];
        assert!(matches!(pending.unwrap().finish(raw), Err(Error::Overflow { .. })));
        // The part alone is short enough.
        let top = device.reducer::<i32, _>(TopK::<2>).unwrap();
        let mut output = device.alloc(1).unwrap();
        let long = top.reduce_into_with(&part, &mut output, &stream, |own| {
            let many = Partial::from_raw(own.raw(), u64::MAX - 2);
            Ok::<_, Error>(own.append(many))
        });
        assert!(matches!(long, Err(Error::TooLong { n, .. }) if n == u64::MAX), "{long:?}");
    }
}

/// The error of a program that combines.
#[derive(Debug, PartialEq)]
enum Mine {
    Stopped,
    Warpfold(String),
}

impl From<Error> for Mine {
    fn from(error: Error) -> Self {
        Self::Warpfold(error.to_string())
    }
}

#[test]
fn an_error_of_the_closure_is_returned() {
    for device in devices() {
        let (part, stream) = (device.upload(&[1u32, 2]).unwrap(), device.stream().unwrap());
        let mut output = device.upload(&[7u64]).unwrap();
        let sum = device.reducer::<u32, _>(Sum).unwrap();
        let stopped = sum.reduce_into_with(&part, &mut output, &stream, |_| Err(Mine::Stopped));
        assert_eq!(stopped.unwrap_err(), Mine::Stopped);
        assert_eq!(output.copy_to_host().unwrap(), [7]);
        let mut two = device.alloc::<u64>(2).unwrap();
        let refused = sum.reduce_into_with(&part, &mut two, &stream, |_| Err(Mine::Stopped));
        let text = "the result is 1 value, and the output has 2".to_owned();
        assert_eq!(refused.unwrap_err(), Mine::Warpfold(text));
        sum.reduce_into_with(&part, &mut output, &stream, Ok::<_, Mine>).unwrap();
        assert_eq!(output.copy_to_host().unwrap(), [3]);
    }
}

#[test]
fn wrong_calls_are_refused_before_anything_is_combined() {
    for device in devices() {
        let (part, stream) = (device.upload(&[1u32, 2]).unwrap(), device.stream().unwrap());
        let mut output = device.upload(&[7u64]).unwrap();
        let sum = device.reducer::<u32, _>(Sum).unwrap();
        let other = Device::simulator();
        let (their_part, their_stream) = (other.upload(&[1u32]).unwrap(), other.stream().unwrap());
        let mut their_output = other.alloc::<u64>(1).unwrap();
        let is_combined = Cell::new(false);
        let combine = |own| {
            is_combined.set(true);
            Ok::<_, Error>(own)
        };
        let is_other = |error: &Error, what| match error {
            Error::Device(DeviceError::OtherDevice(other)) => *other == what,
            _ => false,
        };
        let error = sum.reduce_into_with(&their_part, &mut output, &stream, combine).unwrap_err();
        assert!(is_other(&error, "buffer"), "{error:?}");
        let error = sum.reduce_into_with(&part, &mut their_output, &stream, combine).unwrap_err();
        assert!(is_other(&error, "buffer"), "{error:?}");
        let error = sum.reduce_into_with(&part, &mut output, &their_stream, combine).unwrap_err();
        assert!(is_other(&error, "stream"), "{error:?}");
        for len in [0, 2] {
            let mut wrong = device.alloc::<u64>(len).unwrap();
            let error = sum.reduce_into_with(&part, &mut wrong, &stream, combine).unwrap_err();
            assert!(matches!(error, Error::Output { len: found } if found == len as u64));
        }
        let dot = device.reducer::<u32, _>(Dot).unwrap();
        let mut product = device.alloc::<u64>(1).unwrap();
        let pair = (&part, part.view(1..));
        let error = dot.reduce_into_with(pair, &mut product, &stream, Ok::<_, Error>).unwrap_err();
        assert!(matches!(error, Error::Lengths { first: 2, second: 1 }), "{error:?}");

        // On the stream that captures, and on another one of the same device.
        let captured = |choose: &dyn Fn(&Stream) -> bool, output: &mut _| {
            device.capture(|captured| {
                let stream = if choose(captured) { captured } else { &stream };
                sum.reduce_into_with(&part, output, stream, combine)
            })
        };
        for is_captured in [true, false] {
            let error = captured(&|_| is_captured, &mut output).unwrap_err();
            let Error::Device(DeviceError::Capturing { action }) = error else {
                panic!("{error:?}")
            };
            assert_eq!(action, "combine partial results on the host");
        }
        assert!(!is_combined.get());
        assert_eq!(output.copy_to_host().unwrap(), [7]);
        sum.reduce_into_with(&part, &mut output, &stream, combine).unwrap();
        assert!(is_combined.get());
        assert_eq!(output.copy_to_host().unwrap(), [3]);
    }
}

/// The first copy of the call brings the partial result to the host, and the second one the raw
/// result to the output.
#[test]
fn a_failed_copy_is_an_error_before_or_after_the_closure() {
    for number in 0..devices().len() {
        let mut seen = Vec::new();
        for failing in 0.. {
            let device = devices().swap_remove(number);
            let device = device.with_faults(Faults::none().copy(failing)).unwrap();
            let prepare = || -> Result<_, Error> {
                let stream = device.stream()?;
                let (part, output) = (device.upload(&[1u32, 2])?, device.upload(&[7u64])?);
                Ok((device.reducer::<u32, _>(Sum)?, part, output, stream))
            };
            let Ok((sum, part, mut output, stream)) = prepare() else { continue };
            let mut is_combined = false;
            let called = sum.reduce_into_with(&part, &mut output, &stream, |own| {
                is_combined = true;
                Ok::<_, Error>(own)
            });
            if called.is_ok() {
                break;
            }
            assert!(matches!(called, Err(Error::Device(DeviceError::Driver { .. }))), "{called:?}");
            seen.push(is_combined);
            assert_eq!(output.copy_to_host().unwrap(), [7]);
            sum.reduce_into_with(&part, &mut output, &stream, Ok::<_, Error>).unwrap();
            assert_eq!(output.copy_to_host().unwrap(), [3]);
        }
        assert_eq!(seen, [false, true]);
    }
}
