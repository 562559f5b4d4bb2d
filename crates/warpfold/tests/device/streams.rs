//! Streams: the order of their work, their workspaces, and the calls that are refused.

use std::{collections::HashSet, ptr, thread, time::Duration};

use warpfold::device::{Arg, Device, DeviceError, DeviceKind, LaunchShape, Overlap, Stream};

use crate::{
    add_args, is_spoilt, kernel, shape,
    support::{Launch, Record, devices},
};

/// A number of elements for which a kernel takes a while, even on a GPU.
const MANY: usize = 1 << 18;

#[test]
fn plain_copies_wait_for_every_stream_and_every_stream_for_them() {
    for device in devices() {
        let add = kernel(&device, "add");
        let streams = [(); 3].map(|()| device.stream().unwrap());
        let mut data = [(); 3].map(|()| device.alloc::<u32>(MANY).unwrap());
        for round in 0..5 {
            for (stream, data) in streams.iter().zip(&mut data) {
                data.copy_from_host(&vec![round; MANY]).unwrap();
                for value in 1..=4 {
                    stream
                        .start(&add, shape(MANY as u32 / 256, 256), &add_args(data, value))
                        .unwrap();
                }
            }
            for data in &data {
                assert!(data.copy_to_host().unwrap() == vec![round + 10; MANY], "round {round}");
            }
        }
    }
}

#[test]
fn one_stream_waits_for_another() {
    for device in devices() {
        let add = kernel(&device, "add");
        let (producer, consumer) = (device.stream().unwrap(), device.stream().unwrap());
        let mut data = device.alloc::<u32>(MANY).unwrap();
        let mut copy = device.alloc::<u32>(MANY).unwrap();
        for round in 0..3 {
            producer.fill_bytes(&mut data, 0).unwrap();
            for _ in 0..20 {
                producer.start(&add, shape(MANY as u32 / 256, 256), &add_args(&data, 1)).unwrap();
            }
            if round == 0 {
                consumer.wait_for(&producer).unwrap();
            } else {
                let event = producer.record().unwrap();
                consumer.wait_for_event(&event).unwrap();
            }
            consumer.copy(&data, &mut copy).unwrap();
            producer.wait_for(&consumer).unwrap();
            producer.fill_bytes(&mut data, 0xff).unwrap();
            consumer.synchronize().unwrap();
            assert!(copy.copy_to_host().unwrap() == vec![20; MANY], "round {round}");
        }
    }
}

#[test]
fn the_devices_own_stream_is_one_of_them() {
    for device in devices() {
        let add = kernel(&device, "add");
        let data = device.upload(&vec![0u32; MANY]).unwrap();
        let own = device.own_stream().unwrap();
        for _ in 0..10 {
            device.start(&add, shape(MANY as u32 / 256, 256), &add_args(&data, 1)).unwrap();
            own.start(&add, shape(MANY as u32 / 256, 256), &add_args(&data, 2)).unwrap();
        }
        own.synchronize().unwrap();
        assert!(data.copy_to_host().unwrap() == vec![30; MANY]);
        assert_eq!(own.workspace(), device.own_stream().unwrap().workspace(), "it has one");
    }
}

#[test]
fn streams_of_many_threads_do_not_meet() {
    for device in devices() {
        let add = kernel(&device, "add");
        thread::scope(|scope| {
            for thread in 0..4 {
                let (device, add) = (&device, &add);
                scope.spawn(move || {
                    let stream = device.stream().unwrap();
                    let data = device.upload(&[thread; 1000]).unwrap();
                    for value in 0..25 {
                        stream.start(add, shape(4, 256), &add_args(&data, value)).unwrap();
                    }
                    assert_eq!(data.copy_to_host().unwrap(), [thread + 300; 1000]);
                });
            }
        });
    }
}

#[test]
fn what_threads_give_to_one_stream_comes_one_after_another() {
    for device in devices() {
        let (add, stream) = (kernel(&device, "add"), device.stream().unwrap());
        let data = device.upload(&[0u32; 1000]).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        stream.start(&add, shape(4, 256), &add_args(&data, 1)).unwrap();
                    }
                });
            }
        });
        assert_eq!(data.copy_to_host().unwrap(), [100; 1000]);
    }
}

#[test]
fn workspaces_are_zero_and_nobody_elses() {
    for device in devices() {
        let streams = [(); 3].map(|()| device.stream().unwrap());
        let own = device.own_stream().unwrap();
        let mut workspaces: HashSet<u64> =
            streams.iter().chain([&own]).map(Stream::workspace).collect();
        for stream in streams.iter().chain([&own]) {
            assert_eq!(stream.workspace() % 256, 0);
            assert!(!is_spoilt(&device, stream, stream.workspace()));
        }
        let graph = device.record(|stream| {
            workspaces.insert(stream.workspace());
            Ok::<(), DeviceError>(())
        });
        assert_eq!(workspaces.len(), 5);
        drop(graph.unwrap());
    }
}

#[test]
fn a_workspace_that_a_fault_has_spoilt_is_zeroed() {
    // The fault would destroy the context of a GPU, so this runs on the simulator.
    let device = Device::simulator();
    let stream = device.stream().unwrap();
    let args = [Arg::Pointer(stream.workspace() + 4096)];
    for _ in 0..2 {
        let fault = stream.start(&kernel(&device, "spoil"), shape(1, 1), &args).unwrap_err();
        assert!(matches!(fault, DeviceError::Fault(_)), "{fault:?}");
        let other = device.stream().unwrap();
        assert!(
            is_spoilt(&device, &other, stream.workspace()),
            "nothing was launched on the stream since"
        );
        assert!(!is_spoilt(&device, &stream, stream.workspace()));
    }
}

#[test]
fn copies_to_and_from_the_host_run_beside_it() {
    for device in devices() {
        let (add, stream) = (kernel(&device, "add"), device.stream().unwrap());
        let mut pinned = device.alloc_pinned::<u32>(1000).unwrap();
        pinned.fill(5);
        let pageable = vec![6u32; 1000];
        let mut data = device.alloc::<u32>(2000).unwrap();
        let mut results = (device.alloc_pinned::<u32>(1000).unwrap(), vec![0u32; 1000]);
        // SAFETY: nobody touches or drops the memory before the stream is done.
        unsafe {
            stream.copy_from_host(&pinned, data.view_mut(..1000)).unwrap();
            stream.copy_from_host(&pageable, data.view_mut(1000..)).unwrap();
            stream.start(&add, shape(8, 256), &add_args(&data, 1)).unwrap();
            stream.copy_to_host(data.view(..1000), &mut results.0).unwrap();
            stream.copy_to_host(data.view(1000..), &mut results.1).unwrap();
            stream.copy_to_host(data.view(..0), &mut []).unwrap();
        }
        stream.synchronize().unwrap();
        assert_eq!(*results.0, [6; 1000]);
        assert_eq!(results.1, [7; 1000]);
    }
}

#[test]
fn dropping_a_stream_waits_for_it() {
    for device in devices() {
        let add = kernel(&device, "add");
        let data = device.upload(&vec![0u32; MANY]).unwrap();
        for _ in 0..5 {
            let stream = device.stream().unwrap();
            for _ in 0..10 {
                stream.start(&add, shape(MANY as u32 / 256, 256), &add_args(&data, 1)).unwrap();
            }
        }
        assert!(data.copy_to_host().unwrap() == vec![50; MANY]);
        assert_eq!(device.live_allocations(), 1);
    }
}

#[test]
fn events_tell_the_time_between_them() {
    for device in devices() {
        let (add, stream) = (kernel(&device, "add"), device.stream().unwrap());
        let data = device.upload(&vec![0u32; MANY]).unwrap();
        for _ in 0..2 {
            let start = stream.record().unwrap();
            stream.start(&add, shape(MANY as u32 / 256, 256), &add_args(&data, 1)).unwrap();
            let end = stream.record().unwrap();
            end.synchronize().unwrap();
            assert!(end.elapsed_since(&start).unwrap() > Duration::ZERO);
        }
        let time = stream
            .time(|| stream.start(&add, shape(MANY as u32 / 256, 256), &add_args(&data, 1)))
            .unwrap();
        assert!(time > Duration::ZERO);
        let failed: Result<_, DeviceError> =
            stream.time(|| Err::<(), _>(DeviceError::OtherDevice("buffer")));
        assert!(matches!(failed, Err(DeviceError::OtherDevice("buffer"))));
        assert!(data.copy_to_host().unwrap() == vec![3; MANY]);
    }
}

#[test]
fn streams_take_only_their_own_devices_things() {
    let other = Device::simulator();
    let theirs = other.stream().unwrap();
    for device in devices() {
        let stream = device.stream().unwrap();
        let (mut data, mut foreign) =
            (device.alloc::<u32>(4).unwrap(), other.alloc::<u32>(4).unwrap());
        let refused = |outcome: Result<(), DeviceError>| outcome.unwrap_err().to_string();
        let mut values = [0; 4];
        assert_eq!(
            refused(stream.start(&kernel(&other, "nothing"), shape(1, 1), &[])),
            "this kernel belongs to another device"
        );
        let buffer = "this buffer belongs to another device";
        assert_eq!(refused(stream.copy(&data, &mut foreign)), buffer);
        assert_eq!(refused(stream.copy(&foreign, &mut data)), buffer);
        assert_eq!(refused(stream.fill_bytes(&mut foreign, 0)), buffer);
        // SAFETY: the call is refused, so nothing is copied.
        unsafe {
            assert_eq!(refused(stream.copy_from_host(&values, &mut foreign)), buffer);
            assert_eq!(refused(stream.copy_to_host(&foreign, &mut values)), buffer);
        }
        assert_eq!(refused(stream.wait_for(&theirs)), "this stream belongs to another device");
        let event = theirs.record().unwrap();
        let message = "this event belongs to another device";
        assert_eq!(refused(stream.wait_for_event(&event)), message);
        assert_eq!(refused(stream.record().unwrap().elapsed_since(&event).map(drop)), message);
        let lengths = stream.copy(data.view(..2), &mut device.alloc::<u32>(3).unwrap());
        assert_eq!(refused(lengths), "cannot copy 2 values into a buffer of 3");
        let shape = LaunchShape::linear(0, 32, 0);
        assert_eq!(
            refused(stream.start(&kernel(&device, "nothing"), shape, &[])),
            "cannot launch nothing: grid is 0, and 1 to 2147483647 are allowed"
        );
        data.fill_bytes(1).unwrap();
        assert_eq!(data.copy_to_host().unwrap(), [0x0101_0101; 4], "the refusals did no harm");
    }
}

#[test]
fn a_stream_of_other_code_is_adopted() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let Some(raw) = stream.raw() else {
            assert_eq!(device.info().kind, DeviceKind::Simulator);
            // SAFETY: null is the legacy stream.
            let refused = unsafe { device.adopt_stream(ptr::null_mut()) }.unwrap_err();
            assert_eq!(
                refused.to_string(),
                "cannot adopt a CUDA stream: this device is the simulator"
            );
            continue;
        };
        let (add, data) = (kernel(&device, "add"), device.upload(&vec![0u32; MANY]).unwrap());
        for raw in [raw, ptr::null_mut()] {
            // SAFETY: the pointer is a stream of this device that is dropped after the adopted one,
            // or the legacy stream.
            let adopted = unsafe { device.adopt_stream(raw) }.unwrap();
            assert_eq!(adopted.raw(), Some(raw));
            assert_ne!(adopted.workspace(), stream.workspace());
            assert!(!is_spoilt(&device, &adopted, adopted.workspace()));
            for _ in 0..10 {
                stream.start(&add, shape(MANY as u32 / 256, 256), &add_args(&data, 1)).unwrap();
                adopted.start(&add, shape(MANY as u32 / 256, 256), &add_args(&data, 2)).unwrap();
            }
            adopted.synchronize().unwrap();
        }
        stream.synchronize().unwrap();
        assert!(data.copy_to_host().unwrap() == vec![60; MANY]);
    }
}

/// The kernel `add`, written so that it may begin before the launch in front of it has ended.
const OVERLAPPING: &str = "
.version 7.8
.target sm_90
.address_size 64

.visible .entry add(.param .u64 data, .param .u32 value, .param .u64 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;

    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [value];
    ld.param.u64 %rd2, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r2, %r2, %r3, %r4;
    cvt.u64.u32 %rd3, %r2;
    griddepcontrol.wait;
    griddepcontrol.launch_dependents;
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra $done;
    shl.b64 %rd4, %rd3, 2;
    add.s64 %rd5, %rd1, %rd4;
    ld.global.u32 %r5, [%rd5];
    add.s32 %r5, %r5, %r1;
    st.global.u32 [%rd5], %r5;
$done:
    ret;
}
";

#[test]
fn launches_that_overlap_wait_where_they_say() {
    for device in devices() {
        if device.info().compute_capability < (9, 0) {
            continue;
        }
        let add = device.load("overlapping.ptx", OVERLAPPING).unwrap().kernel("add").unwrap();
        let stream = device.stream().unwrap();
        let data = device.upload(&vec![0u32; MANY]).unwrap();
        let plain = shape(MANY as u32 / 256, 256);
        let overlapping = LaunchShape { overlap: Overlap::Always, ..plain };
        for _ in 0..20 {
            stream.start(&add, overlapping, &add_args(&data, 1)).unwrap();
        }
        assert!(data.copy_to_host().unwrap() == vec![20; MANY]);
        let graph = device.record(|stream| {
            (0..5).try_for_each(|_| stream.start(&add, overlapping, &add_args(&data, 1)))
        });
        let graph = graph.unwrap();
        for _ in 0..4 {
            graph.launch(&stream).unwrap();
        }
        assert!(data.copy_to_host().unwrap() == vec![40; MANY]);
        // Each choice behind each other one.
        let choices = [Overlap::Never, Overlap::InSequence, Overlap::Always];
        let graph = device.record(|stream| {
            for (before, after) in choices.iter().flat_map(|one| choices.map(|other| (*one, other)))
            {
                for overlap in [before, after] {
                    let shape = LaunchShape { overlap, ..plain };
                    stream.start(&add, shape, &add_args(&data, 1))?;
                }
            }
            Ok::<_, DeviceError>(())
        });
        graph.unwrap().launch(&stream).unwrap();
        assert!(data.copy_to_host().unwrap() == vec![58; MANY]);
    }
}
