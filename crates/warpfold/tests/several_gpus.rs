//! Two GPUs in one process: each works alone and beside the other, and refuses the objects of the
//! other.

mod support;

use std::thread;

use support::{Launch, skip};
use warpfold::{
    Buffer, Device, DeviceError, Dot, Error, Sum,
    device::{Arg, LaunchShape},
};

/// The first two GPUs of this machine, if it has two.
fn two() -> Option<[Device; 2]> {
    let mut gpus = Device::all().unwrap().into_iter();
    match [gpus.next(), gpus.next()] {
        [Some(first), Some(second)] => Some([first, second]),
        [first, _] => {
            skip::part(
                "all on two GPUs",
                format!("this machine has {}", usize::from(first.is_some())),
            );
            None
        }
    }
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, Error>, what: &str) {
    match result {
        Err(Error::Device(DeviceError::OtherDevice(refused))) => assert_eq!(refused, what),
        other => panic!("{other:?} instead of a refused {what}"),
    }
}

#[test]
fn ordinals_name_different_devices() {
    let Some([first, second]) = two() else { return };
    assert_eq!([first.info().ordinal, second.info().ordinal], [Some(0), Some(1)]);
    let count = Device::all().unwrap().len() as u32;
    let refused = Device::cuda(count).unwrap_err();
    assert!(matches!(refused, DeviceError::NoCuda { .. }), "{refused:?}");
    assert!(refused.to_string().contains(&format!("there is no device {count}")), "{refused}");
}

#[test]
fn what_another_gpu_made_is_refused() {
    let Some([first, second]) = two() else { return };
    let (ours, theirs) =
        (first.upload(&[1i32, 2, 3]).unwrap(), second.upload(&[4i32, 5, 6]).unwrap());
    is_refused(first.reduce(&theirs, Sum), "buffer");
    is_refused(first.reduce((&ours, &theirs), Dot), "buffer");
    let sum = first.reducer::<i32, _>(Sum).unwrap();
    let stream = first.stream().unwrap();
    is_refused(sum.reduce_into(&ours, &mut second.alloc(1).unwrap(), &stream), "buffer");
    is_refused(
        sum.reduce_into(&ours, &mut first.alloc(1).unwrap(), &second.stream().unwrap()),
        "kernel",
    );
    let fill = second
        .load("fill.ptx", include_str!("../src/device/fill.ptx"))
        .unwrap()
        .kernel("fill")
        .unwrap();
    let args = [Arg::Pointer(ours.address()), Arg::U32(1)];
    let refused = first.start(&fill, LaunchShape::linear(1, 3, 0), &args).unwrap_err();
    assert!(matches!(refused, DeviceError::OtherDevice("kernel")), "{refused:?}");
    assert!(first.owns(&ours) && !first.owns(&theirs));
    assert!(first.check_address(theirs.address()).is_err());
    assert_eq!([first.reduce(&ours, Sum).unwrap(), second.reduce(&theirs, Sum).unwrap()], [6, 15]);
}

/// Two threads use both GPUs in turn, so that both GPUs work at once, and a thread always changes
/// the current context.
#[test]
fn both_work_at_the_same_time() {
    let Some(gpus) = two() else { return };
    let buffers: Vec<Buffer<u32>> = gpus
        .iter()
        .zip(1..)
        .map(|(gpu, value)| gpu.upload(&vec![value; 1_000_003]).unwrap())
        .collect();
    thread::scope(|scope| {
        for shift in 0..2 {
            let (gpus, buffers) = (&gpus, &buffers);
            scope.spawn(move || {
                for round in 0..200 {
                    let which = (round + shift) % 2;
                    let total = gpus[which].reduce(&buffers[which], Sum).unwrap();
                    assert_eq!(total, (which as u64 + 1) * 1_000_003);
                }
            });
        }
    });
}
