//! Graphs: a capture records some calls and refuses others, and a failure leaves nothing behind.

use std::{panic::AssertUnwindSafe, thread};

use warpfold::device::{Arg, Device, DeviceError, Stream};

use crate::{
    add_args, is_spoilt, kernel, shape,
    support::{Launch, Record, devices},
};

#[test]
fn a_graph_does_again_what_was_recorded() {
    for device in devices() {
        let add = kernel(&device, "add");
        let mut data = device.upload(&[1u32; 1000]).unwrap();
        let mut copy = device.upload(&[0u32; 1000]).unwrap();
        let mut filled = device.upload(&[0u8; 7]).unwrap();
        let graph = device
            .record(|stream| {
                for value in 1..=3 {
                    stream.start(&add, shape(4, 256), &add_args(&data, value))?;
                }
                stream.copy(data.view(..500), copy.view_mut(500..))?;
                stream.fill_bytes(filled.view_mut(1..3), 9)
            })
            .unwrap();
        assert_eq!(data.copy_to_host().unwrap(), [1; 1000], "nothing ran");
        assert_eq!(filled.copy_to_host().unwrap(), [0; 7]);

        let streams =
            [device.stream().unwrap(), device.own_stream().unwrap(), device.stream().unwrap()];
        for (round, stream) in (0..).zip(streams.iter().cycle().take(7)) {
            data.copy_from_host(&[round; 1000]).unwrap();
            graph.launch(stream).unwrap();
            graph.launch(stream).unwrap();
            assert_eq!(data.copy_to_host().unwrap(), [round + 12; 1000]);
            assert_eq!(copy.view(500..).copy_to_host().unwrap(), [round + 12; 500]);
            assert_eq!(copy.view(..500).copy_to_host().unwrap(), [0; 500]);
        }
        assert_eq!(filled.copy_to_host().unwrap(), [0, 9, 9, 0, 0, 0, 0]);
    }
}

#[test]
fn a_graph_of_nothing_does_nothing() {
    for device in devices() {
        let graph = device.record(|_| Ok::<(), DeviceError>(())).unwrap();
        graph.launch(&device.stream().unwrap()).unwrap();
        device.synchronize().unwrap();
    }
}

#[test]
fn launches_of_one_graph_come_one_after_another() {
    for device in devices() {
        let add = kernel(&device, "add");
        let data = device.upload(&[0u32; 1000]).unwrap();
        let graph =
            device.record(|stream| stream.start(&add, shape(4, 256), &add_args(&data, 1))).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let stream = device.stream().unwrap();
                    for _ in 0..25 {
                        graph.launch(&stream).unwrap();
                    }
                });
            }
        });
        assert_eq!(data.copy_to_host().unwrap(), [100; 1000]);
    }
}

#[test]
fn a_graph_keeps_what_it_needs() {
    for device in devices() {
        let data = device.upload(&[0u32; 10]).unwrap();
        let graph = device
            .record(|stream| {
                let add = kernel(&device, "add");
                stream.start(&add, shape(1, 32), &add_args(&data, 1))
            })
            .unwrap();
        let stream = device.stream().unwrap();
        drop(device);
        graph.launch(&stream).unwrap();
        drop(graph);
        drop(stream);
        assert_eq!(data.copy_to_host().unwrap(), [1; 10]);
    }
}

/// Every action that cannot be recorded is refused with the same sentence, and the capture goes on.
#[test]
fn what_would_happen_once_is_refused() {
    for device in devices() {
        let add = kernel(&device, "add");
        let mut data = device.upload(&[0u32; 10]).unwrap();
        let (other, event) = (device.stream().unwrap(), device.stream().unwrap().record().unwrap());
        let idle = device.record(|_| Ok::<(), DeviceError>(())).unwrap();
        let refused = |outcome: Result<(), DeviceError>, action: &str| {
            let message = outcome.unwrap_err().to_string();
            let why = "while a graph is captured: that would happen once, and not in each replay";
            assert_eq!(message, format!("cannot {action} {why}"));
        };
        let args = add_args(&data, 1);
        let graph = device.record(|stream| {
            stream.start(&add, shape(1, 32), &args)?;
            refused(device.alloc::<u8>(1).map(drop), "allocate memory");
            refused(device.alloc_pinned::<u8>(1).map(drop), "allocate memory");
            refused(device.upload(&[1u8]).map(drop), "allocate memory");
            refused(device.stream().map(drop), "open a stream");
            refused(data.copy_to_host().map(drop), "copy from the device");
            refused(data.copy_from_host(&[1; 10]), "copy to the device");
            refused(data.fill_bytes(1), "fill memory of the device");
            refused(device.synchronize(), "wait for the device");
            refused(stream.synchronize(), "wait for a stream");
            refused(other.synchronize(), "wait for a stream");
            refused(event.synchronize(), "wait for an event");
            refused(stream.record().map(drop), "record an event");
            refused(stream.wait_for(&other), "wait for another stream");
            refused(other.wait_for(stream), "record an event");
            refused(stream.wait_for_event(&event), "wait for another stream");
            refused(device.start(&add, shape(1, 32), &args), "launch on another stream");
            refused(idle.launch(stream), "launch a graph");
            refused(device.record(|_| Ok::<(), DeviceError>(())).map(drop), "open a stream");
            let mut values = [0; 10];
            // SAFETY: the call is refused, so nothing is copied.
            unsafe {
                refused(stream.copy_from_host(&values, &mut data), "copy to the device");
                refused(stream.copy_to_host(&data, &mut values), "copy from the device");
            }
            stream.start(&add, shape(1, 32), &args)
        });
        graph.unwrap().launch(&other).unwrap();
        assert_eq!(data.copy_to_host().unwrap(), [2; 10]);
    }
}

#[test]
fn other_threads_and_streams_go_on_during_a_capture() {
    for device in devices() {
        let add = kernel(&device, "add");
        let (data, beside) =
            (device.upload(&[0u32; 10]).unwrap(), device.upload(&[0u32; 10]).unwrap());
        let stream = device.stream().unwrap();
        let spare = device.upload(&[0u32; 10]).unwrap();
        let graph = device.record(|captured| {
            captured.start(&add, shape(1, 32), &add_args(&data, 1))?;
            stream.start(&add, shape(1, 32), &add_args(&beside, 5))?;
            // Memory may be freed during a capture, because any drop may do so.
            drop(spare);
            thread::scope(|scope| {
                scope.spawn(|| {
                    assert_eq!(beside.copy_to_host().unwrap(), [5; 10]);
                    let values: Vec<u32> = (0..1000).collect();
                    let copied = device.upload(&values).unwrap();
                    device.start(&add, shape(4, 256), &add_args(&copied, 0)).unwrap();
                    device.synchronize().unwrap();
                    assert_eq!(copied.copy_to_host().unwrap(), values);
                    let theirs = device
                        .record(|stream| stream.start(&add, shape(1, 32), &add_args(&beside, 2)));
                    theirs.unwrap().launch(&stream).unwrap();
                    // A launch on the captured stream is recorded, whichever handle it comes
                    // through.
                    captured.start(&add, shape(1, 32), &add_args(&data, 1)).unwrap();
                });
            });
            captured.start(&add, shape(1, 32), &add_args(&data, 1))
        });
        let graph = graph.unwrap();
        assert_eq!(data.copy_to_host().unwrap(), [0; 10]);
        graph.launch(&stream).unwrap();
        assert_eq!(data.copy_to_host().unwrap(), [3; 10]);
        assert_eq!(beside.copy_to_host().unwrap(), [7; 10]);
    }
}

#[test]
fn a_capture_that_fails_leaves_nothing_behind() {
    for device in devices() {
        let add = kernel(&device, "add");
        let data = device.upload(&[0u32; 10]).unwrap();
        let before = device.live_allocations();
        let give = |stream: &Stream| stream.start(&add, shape(1, 32), &add_args(&data, 1));
        for _ in 0..3 {
            let failed = device.record(|stream| {
                give(stream)?;
                Err::<(), _>(DeviceError::OtherDevice("mind"))
            });
            assert_eq!(failed.unwrap_err().to_string(), "this mind belongs to another device");
            let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
                device.record(|stream| {
                    give(stream)?;
                    std::panic::resume_unwind(Box::new("on purpose"));
                    #[expect(unreachable_code, reason = "it has a type")]
                    Ok::<(), DeviceError>(())
                })
            }));
            assert!(panicked.is_err());
            assert_eq!(device.live_allocations(), before);
        }
        device.record(give).unwrap().launch(&device.stream().unwrap()).unwrap();
        assert_eq!(data.copy_to_host().unwrap(), [1; 10]);
        assert_eq!(device.live_allocations(), before);
    }
}

#[test]
fn a_graph_is_launched_on_its_own_device() {
    let other = Device::simulator().stream().unwrap();
    for device in devices() {
        let graph = device.record(|_| Ok::<(), DeviceError>(())).unwrap();
        let refused = graph.launch(&other).unwrap_err();
        assert_eq!(refused.to_string(), "this graph belongs to another device");
    }
}

#[test]
fn a_graphs_workspace_that_a_fault_has_spoilt_is_zeroed() {
    // The fault would destroy the context of a GPU, so this runs on the simulator.
    let device = Device::simulator();
    let (spoil, find) = (kernel(&device, "spoil"), kernel(&device, "find"));
    let found = device.upload(&[0u32]).unwrap();
    let mut workspace = 0;
    let graph = device
        .record(|stream| {
            workspace = stream.workspace();
            let args = [Arg::Pointer(workspace), Arg::U64(1), Arg::Pointer(found.address())];
            stream.start(&find, shape(1, 1), &args)?;
            stream.start(&spoil, shape(1, 1), &[Arg::Pointer(workspace)])
        })
        .unwrap();
    let stream = device.stream().unwrap();
    for _ in 0..3 {
        let fault = graph.launch(&stream).unwrap_err();
        assert!(matches!(fault, DeviceError::Fault(_)), "{fault:?}");
        assert!(is_spoilt(&device, &stream, workspace));
    }
    assert_eq!(found.copy_to_host().unwrap(), [0], "each launch found it clean");
}
