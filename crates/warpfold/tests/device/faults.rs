//! Planned failures: each happens at the planned call, gives a typed error, and leaks nothing.

use warpfold::{
    device::{Device, DeviceError},
    testing::Faults,
};

use crate::{
    add_args, kernel, shape,
    support::{Launch, Record, devices},
};

/// New devices with a plan of failures, which no other test uses at the same time.
fn failing(faults: Faults) -> impl Iterator<Item = Device> {
    devices().into_iter().map(move |device| device.with_faults(faults).unwrap())
}

#[test]
fn the_planned_allocation_fails() {
    for k in 0..4 {
        for device in failing(Faults::none().alloc(k)) {
            for call in 0..6 {
                let outcome = device.alloc::<u32>(10);
                match outcome {
                    Err(DeviceError::OutOfMemory { requested, free }) => {
                        assert_eq!((call, requested), (k, 40));
                        assert!(free > 40);
                    }
                    outcome => {
                        assert!(outcome.is_ok() && call != k, "allocation {call} of plan {k}");
                    }
                }
                assert_eq!(device.live_allocations(), 0);
            }
        }
        for device in failing(Faults::none().alloc(k)) {
            for call in 0..6 {
                match device.alloc_pinned::<u32>(10) {
                    Err(DeviceError::OutOfHostMemory { requested }) => {
                        assert_eq!((call, requested), (k, 40));
                    }
                    outcome => assert!(outcome.is_ok() && call != k),
                }
            }
            assert_eq!(device.live_allocations(), 0);
        }
    }
}

#[test]
fn empty_buffers_and_workspaces_are_counted_as_what_they_are() {
    for device in failing(Faults::none()) {
        let empty = (device.alloc::<u8>(0).unwrap(), device.alloc_pinned::<u8>(0).unwrap());
        assert_eq!(device.live_allocations(), 0);
        let stream = device.stream().unwrap();
        let graph = device.record(|_| Ok::<(), DeviceError>(())).unwrap();
        let pinned = device.alloc_pinned::<u8>(1).unwrap();
        assert_eq!(device.live_allocations(), 3);
        drop((empty, stream, graph, pinned));
        assert_eq!(device.live_allocations(), 0);
    }
}

#[test]
fn the_planned_launch_fails_and_does_nothing() {
    for device in failing(Faults::none().launch(2)) {
        let add = kernel(&device, "add");
        let stream = device.stream().unwrap();
        let data = device.upload(&[0u32; 10]).unwrap();
        device.start(&add, shape(1, 32), &add_args(&data, 1)).unwrap();
        stream.start(&add, shape(1, 32), &add_args(&data, 2)).unwrap();
        let error = stream.start(&add, shape(1, 32), &add_args(&data, 4)).unwrap_err();
        assert!(matches!(error, DeviceError::Driver { code: 701, .. }), "{error:?}");
        assert!(
            error.to_string().starts_with("cannot launch add: the CUDA driver returned 701"),
            "{error}"
        );
        stream.start(&add, shape(1, 32), &add_args(&data, 8)).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(data.copy_to_host().unwrap(), [11; 10]);
    }
}

#[test]
fn a_launch_that_fails_in_a_capture_fails_the_capture() {
    for k in 0..2 {
        for device in failing(Faults::none().launch(k)) {
            let add = kernel(&device, "add");
            let data = device.upload(&[0u32; 10]).unwrap();
            let capture = || {
                device.record(|stream| {
                    (0..2).try_for_each(|_| stream.start(&add, shape(1, 32), &add_args(&data, 1)))
                })
            };
            assert!(matches!(capture(), Err(DeviceError::Driver { code: 701, .. })));
            assert_eq!(device.live_allocations(), 1);
            capture().unwrap().launch(&device.stream().unwrap()).unwrap();
            assert_eq!(data.copy_to_host().unwrap(), [2; 10]);
        }
    }
    for device in failing(Faults::none().launch(0)) {
        let graph = device.record(|_| Ok::<(), DeviceError>(())).unwrap();
        let stream = device.stream().unwrap();
        let error = graph.launch(&stream).unwrap_err();
        assert!(matches!(error, DeviceError::Driver { code: 701, .. }), "{error:?}");
        graph.launch(&stream).unwrap();
    }
}

#[test]
fn the_planned_copy_fails_and_does_nothing() {
    for k in 0..4 {
        for device in failing(Faults::none().copy(k)) {
            let (mut one, mut two) =
                (device.alloc::<u8>(4).unwrap(), device.alloc::<u8>(4).unwrap());
            let outcomes = [
                one.fill_bytes(3),
                two.copy_from_host(&[1, 2, 3, 4]),
                one.copy_from(&two),
                one.copy_to_host().map(drop),
                two.copy_to_host().map(drop),
            ];
            for (call, outcome) in (0..).zip(outcomes) {
                match outcome {
                    Err(DeviceError::Driver { code: 999, .. }) => assert_eq!(call, k),
                    outcome => assert!(
                        outcome.is_ok() && call != k,
                        "copy {call} of plan {k}: {outcome:?}"
                    ),
                }
            }
        }
    }
}

#[test]
fn a_stream_without_its_workspace_is_not_made() {
    for faults in [Faults::none().alloc(0), Faults::none().copy(0)] {
        for device in failing(faults) {
            assert!(device.stream().is_err());
            assert_eq!(device.live_allocations(), 0);
            assert!(device.stream().is_ok());
        }
        for device in failing(faults) {
            assert!(device.own_stream().is_err());
            assert_eq!(device.live_allocations(), 0);
            assert!(device.own_stream().is_ok());
        }
        for device in failing(faults) {
            assert!(device.record(|_| Ok::<(), DeviceError>(())).is_err());
            assert_eq!(device.live_allocations(), 0);
            assert!(device.record(|_| Ok::<(), DeviceError>(())).is_ok());
        }
    }
}

/// A program that uses every kind of call.
fn program(device: &Device) -> Result<Vec<u32>, DeviceError> {
    let add = device.load("test.ptx", crate::PTX)?.kernel("add")?;
    let stream = device.stream()?;
    let data = device.upload(&[1u32; 100])?;
    let mut copy = device.alloc::<u32>(100)?;
    stream.start(&add, shape(1, 128), &add_args(&data, 1))?;
    let graph = device.record(|stream| stream.start(&add, shape(1, 128), &add_args(&data, 2)))?;
    graph.launch(&stream)?;
    let second = device.stream()?;
    second.wait_for(&stream)?;
    second.copy(&data, &mut copy)?;
    second.time(|| second.fill_bytes(copy.view_mut(..1), 0))?;
    device.synchronize()?;
    device.free_memory()?;
    copy.copy_to_host()
}

#[test]
fn a_lost_device_says_so_until_it_is_opened_anew() {
    let mut right = vec![4; 100];
    right[0] = 0;
    for opened in devices() {
        let mut lost = 0;
        for k in 0.. {
            let device = opened.clone().with_faults(Faults::none().lost(k)).unwrap();
            match program(&device) {
                Ok(values) => {
                    assert_eq!(values, right);
                    break;
                }
                Err(DeviceError::Lost { code: 719, .. }) => lost += 1,
                Err(error) => panic!("{error:?}"),
            }
            assert_eq!(device.live_allocations(), 0, "lost at call {k}");
            assert!(matches!(program(&device), Err(DeviceError::Lost { .. })));
            assert!(matches!(device.alloc::<u8>(1), Err(DeviceError::Lost { .. })));
            assert!(matches!(device.alloc_pinned::<u8>(1), Err(DeviceError::Lost { .. })));
            assert!(matches!(device.free_memory(), Err(DeviceError::Lost { .. })));
            assert!(matches!(device.synchronize(), Err(DeviceError::Lost { .. })));
        }
        assert!(lost > 15, "each call counts: {lost}");
        assert_eq!(program(&opened).unwrap(), right, "without the plan it is as it was");
    }
}

#[test]
fn each_single_failure_is_typed_and_leaks_nothing() {
    let plans: [fn(u64) -> Faults; 3] =
        [|k| Faults::none().alloc(k), |k| Faults::none().launch(k), |k| Faults::none().copy(k)];
    for opened in devices() {
        for plan in plans {
            let mut failed = 0;
            for k in 0.. {
                let device = opened.clone().with_faults(plan(k)).unwrap();
                match program(&device) {
                    Ok(_) => break,
                    Err(DeviceError::OutOfMemory { .. } | DeviceError::Driver { .. }) => {
                        failed += 1;
                    }
                    Err(error) => panic!("{error:?}"),
                }
                assert_eq!(device.live_allocations(), 0, "{:?}", plan(k));
                assert_eq!(program(&device).unwrap()[1], 4, "{:?}: the next one works", plan(k));
            }
            assert!(failed > 0);
        }
    }
}

#[test]
fn a_device_with_a_plan_is_another_device() {
    for device in devices() {
        let data = device.upload(&[1u8]).unwrap();
        let planned = device.clone().with_faults(Faults::none()).unwrap();
        assert!(!planned.owns(&data));
        assert_eq!(planned.info(), device.info());
        let error = planned.start(&kernel(&device, "nothing"), shape(1, 1), &[]).unwrap_err();
        assert_eq!(error.to_string(), "this kernel belongs to another device");
    }
}
