//! Planned failures at every step of the production reducer: each gives a typed error and leaks
//! nothing, and the next call works. One test really loses a GPU.

#![allow(clippy::float_cmp, reason = "sums of these small integers are exact")]

#[path = "support/spoil.rs"]
mod spoil;
mod support;

use std::{env, process::Command};

use spoil::spoil;
use support::{Record, devices, skip};
use warpfold::{
    Array, Device, DeviceError, Dot, Error, Partial, ReproducibleSum, Sum, device::DeviceKind,
    testing::Faults,
};

/// A number of elements that needs several blocks.
const N: usize = 50_000;

fn values() -> Vec<f32> {
    (0..N).map(|i| (i % 7) as f32 - 3.0).collect()
}

fn total() -> f32 {
    values().iter().sum()
}

type Work = fn(&Device) -> Result<(), Error>;

/// Typical programs with their names. Each program gets only a device, and checks its result.
const WORKS: [(&str, Work); 8] = [
    ("a new reducer", |device| device.reducer::<f32, _>(Sum).map(drop)),
    ("a buffer", |device| {
        let buffer = device.upload(&values())?;
        assert_eq!(device.reduce(&buffer, Sum)?, total());
        Ok(())
    }),
    ("a pair", |device| {
        let buffer = device.upload(&values())?;
        let squares: f32 = values().iter().map(|x| x * x).sum();
        assert_eq!(device.reduce((&buffer, buffer.view(..)), Dot)?, squares);
        Ok(())
    }),
    ("a stream", |device| {
        let reducer = device.reducer::<f32, _>(Sum)?;
        let (buffer, mut outputs) = (device.upload(&values())?, device.alloc::<f32>(2)?);
        let stream = device.stream()?;
        reducer.reduce_into(&buffer, outputs.view_mut(..1), &stream)?;
        reducer.reduce_into(buffer.view(1..), outputs.view_mut(1..), &stream)?;
        stream.synchronize()?;
        assert_eq!(outputs.copy_to_host()?, [total(), total() - values()[0]]);
        Ok(())
    }),
    ("a stream, with the host in between", |device| {
        let reducer = device.reducer::<f32, _>(Sum)?;
        let (buffer, mut output) = (device.upload(&values())?, device.alloc::<f32>(1)?);
        let stream = device.stream()?;
        let twice = |part: Partial<f32, Sum>| Ok::<_, Error>(part.clone().append(part));
        reducer.reduce_into_with(&buffer, &mut output, &stream, twice)?;
        assert_eq!(output.copy_to_host()?, [2.0 * total()]);
        Ok(())
    }),
    ("a graph", |device| {
        let reducer = device.reducer::<f32, _>(Sum)?;
        let (buffer, mut output) = (device.upload(&values())?, device.alloc::<f32>(1)?);
        let graph = device.record(|stream| {
            reducer.reduce_into(&buffer, &mut output, stream)?;
            reducer.reduce_into(&buffer, &mut output, stream)
        })?;
        let stream = device.stream()?;
        graph.launch(&stream)?;
        graph.launch(&stream)?;
        stream.synchronize()?;
        assert_eq!(output.copy_to_host()?, [total()]);
        Ok(())
    }),
    ("exact sums of rows and segments, one of which is made again", |device| {
        let values = [1e38f32, 1e-45, 3e-12, -1e38, 0.5, 1e20, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let matrix = Array::new(&values, &[2, 6])?;
        assert_eq!(device.reduce_rows(&matrix, ReproducibleSum)?, [1e20, 21.0]);
        assert_eq!(device.reduce_segments(&values, &[0, 6, 12], ReproducibleSum)?, [1e20, 21.0]);
        // The word of the workspace that says that there is a mark is a slot of other kernels.
        let buffer = device.upload(&self::values())?;
        assert_eq!(device.reduce(&buffer, Sum)?, total());
        Ok(())
    }),
    ("the host, in chunks", |device| {
        let reducer = device.reducer::<f32, _>(Sum)?.with_memory_limit(N as u64);
        assert_eq!(reducer.reduce(&values())?, total());
        Ok(())
    }),
];

/// A kind of failure: its name, the plan that makes call `k` fail, and a check for its error.
type Kind = (&'static str, fn(u64) -> Faults, fn(&DeviceError) -> bool);

const KINDS: [Kind; 4] = [
    (
        "allocation",
        |k| Faults::none().alloc(k),
        |error| {
            matches!(error, DeviceError::OutOfMemory { .. } | DeviceError::OutOfHostMemory { .. })
        },
    ),
    (
        "launch",
        |k| Faults::none().launch(k),
        |error| matches!(error, DeviceError::Driver { code: 701, .. }),
    ),
    (
        "copy",
        |k| Faults::none().copy(k),
        |error| matches!(error, DeviceError::Driver { code: 999, .. }),
    ),
    ("device", |k| Faults::none().lost(k), |error| matches!(error, DeviceError::Lost { .. })),
];

fn open(kind: DeviceKind, faults: Faults) -> Device {
    let device = match kind {
        DeviceKind::Cuda => Device::cuda(0).unwrap(),
        DeviceKind::Simulator => Device::simulator(),
    };
    device.with_faults(faults).unwrap()
}

/// The number of allocations that a device keeps for later calls after this work.
fn kept(kind: DeviceKind, work: Work) -> u64 {
    let device = open(kind, Faults::none());
    work(&device).unwrap();
    let kept = device.live_allocations();
    work(&device).unwrap();
    assert_eq!(device.live_allocations(), kept, "a second time needs no more");
    kept
}

/// Runs the work with a failure of call 0, then of call 1, and so on, until the work has no such
/// call. Returns the number of failures.
fn fail_each(kind: DeviceKind, (what, work): (&str, Work), (failure, plan, is_it): Kind) -> u64 {
    let kept = kept(kind, work);
    let (mut failures, mut in_a_row) = (0, 0);
    // The work may succeed in spite of the failure, because the reducer may have another way if it
    // gets no page-locked memory or no memory for the whole input. So the loop ends only after
    // three successes in a row.
    for k in 0.. {
        let device = open(kind, plan(k));
        let context = format!("{what}, {failure} {k}, {kind:?}");
        let done = work(&device);
        let live = device.live_allocations();
        assert!(
            live <= kept,
            "{context}: {live} allocations are left, and without a failure {kept}"
        );
        match done {
            // The planned call never came, or the reducer has found another way.
            Ok(()) => in_a_row += 1,
            Err(Error::Device(error)) => {
                assert!(is_it(&error), "{context}: {error:?}");
                (failures, in_a_row) = (failures + 1, 0);
                if failure == "device" {
                    // The first work is left out, because making a known reducer again asks the
                    // device for nothing.
                    for (again, work) in &WORKS[1..] {
                        let error = work(&device).expect_err("a lost device stays lost");
                        let lost = matches!(error, Error::Device(DeviceError::Lost { .. }));
                        assert!(lost, "{context}, {again}: {error:?}");
                    }
                    assert!(
                        device.live_allocations() <= live,
                        "{context}: what is dropped is given back"
                    );
                } else {
                    work(&device)
                        .unwrap_or_else(|error| panic!("{context}: the next call gives {error}"));
                    assert_eq!(device.live_allocations(), kept, "{context}: after the next call");
                }
            }
            Err(error) => panic!("{context}: {error:?}"),
        }
        if in_a_row == 3 {
            break;
        }
    }
    failures
}

#[test]
fn each_call_may_fail() {
    for device in devices() {
        for work in WORKS {
            let failures = KINDS.map(|kind| fail_each(device.info().kind, work, kind));
            let [allocations, launches, copies, calls] = failures;
            assert!(allocations > 0 && calls >= allocations, "{}: {failures:?}", work.0);
            // A new reducer launches nothing and copies no results. It may still zero the
            // workspace, which counts as a copy.
            assert!(
                work.0 == "a new reducer" || (launches > 0 && copies > 0),
                "{}: {failures:?}",
                work.0
            );
        }
    }
}

/// After a launch that faults, the simulator works as before, except for the dirty workspace.
#[test]
fn a_launch_that_dies_half_way_does_not_spoil_the_next() {
    let device = Device::simulator();
    let reducer = device.reducer::<f32, _>(Sum).unwrap();
    let (buffer, mut output) = (device.upload(&values()).unwrap(), device.alloc::<f32>(1).unwrap());
    assert!(reducer.shape(&buffer).grid > 2, "several blocks leave words in the workspace");
    let stream = device.stream().unwrap();
    for _ in 0..2 {
        let error = spoil(&device, &stream).unwrap_err().to_string();
        assert!(error.contains("trap"), "{error}");
        for _ in 0..2 {
            reducer.reduce_into(&buffer, &mut output, &stream).unwrap();
            stream.synchronize().unwrap();
            assert_eq!(output.copy_to_host().unwrap(), [total()]);
        }
    }
    // Other streams have workspaces of their own.
    let error = spoil(&device, &stream).unwrap_err().to_string();
    assert!(error.contains("trap"), "{error}");
    assert_eq!(device.reduce(&buffer, Sum).unwrap(), total());
}

const LOSE: &str = "WARPFOLD_LOSE_THE_DEVICE";

/// On a GPU a trap destroys the context of the process, so this test runs it in a process of its
/// own.
#[test]
fn a_gpu_is_lost_for_one_process() {
    if env::var_os(LOSE).is_some() {
        return lose_the_device();
    }
    if devices().iter().all(|device| device.info().kind != DeviceKind::Cuda) {
        skip::test("there is no GPU to lose");
        return;
    }
    let test = "a_gpu_is_lost_for_one_process";
    let mut child = Command::new(env::current_exe().unwrap());
    let output = child.args(["--exact", test, "--nocapture"]).env(LOSE, "1").output().unwrap();
    let [out, err] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success() && out.contains("said so"), "{out}\n{err}");
    for device in devices() {
        for (what, work) in WORKS {
            work(&device).unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    }
}

fn lose_the_device() {
    let lost = |error: &Error| matches!(error, Error::Device(DeviceError::Lost { .. }));
    {
        let device = Device::cuda(0).unwrap();
        let buffer = device.upload(&values()).unwrap();
        assert_eq!(device.reduce(&buffer, Sum).unwrap(), total());
        let stream = device.stream().unwrap();
        let error = spoil(&device, &stream).map_err(Error::from).unwrap_err();
        assert!(lost(&error), "{error:?}");
        // Every call that uses the device reports the loss, on any thread.
        for (what, work) in &WORKS[1..] {
            let error = std::thread::scope(|scope| {
                scope.spawn(|| work(&device).unwrap_err()).join().unwrap()
            });
            assert!(lost(&error), "{what}: {error:?}");
        }
        assert!(lost(&buffer.copy_to_host().map_err(Error::from).unwrap_err()));
        assert!(lost(&stream.synchronize().map_err(Error::from).unwrap_err()));
    }
    // A driver may or may not give the process another context, but never one that only seems to
    // work.
    match Device::cuda(0) {
        Ok(device) => {
            for (what, work) in WORKS {
                work(&device).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
        }
        Err(error) => assert!(matches!(error, DeviceError::Lost { .. }), "{error:?}"),
    }
    println!("said so");
}
