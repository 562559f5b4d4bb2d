//! A device of a group is lost, or a kernel of it dies: an error names the device, and the other
//! devices work as before.

use std::{env, process::Command, time::Duration};

use warpfold::{Device, DeviceError, Error, Group, RawSlice, Sum, testing::Faults};

use crate::{
    gpus,
    groups::simulated,
    outputs,
    spoil::{spoil, start},
};

/// A number of elements for which each device needs several blocks.
const N: usize = 100_000;

/// Makes two calls with a new reducer, new streams and new memory.
fn two_calls(group: &Group) -> Result<(), Error> {
    let of_device = |shard: usize| {
        move |error: DeviceError| Error::Shard {
            shard,
            device: String::new(),
            cause: Box::new(error.into()),
        }
    };
    let shards = group.shard(&vec![1u32; N])?;
    let mut sum = group.all_reducer::<u32, _>(Sum)?;
    let streams = group.streams()?;
    let mut totals = Vec::new();
    for (shard, device) in group.devices().iter().enumerate() {
        totals.push(device.alloc::<u64>(1).map_err(of_device(shard))?);
    }
    for _ in 0..2 {
        sum.reduce_into(&shards, &mut totals, &streams)?;
        sum.check()?;
        for (shard, total) in totals.iter().enumerate() {
            assert_eq!(total.copy_to_host().map_err(of_device(shard))?, [N as u64]);
        }
    }
    Ok(())
}

fn is_loss(error: &Error) -> bool {
    matches!(error, Error::Shard { shard: 1, cause, .. }
        if matches!(**cause, Error::Device(DeviceError::Lost { .. })))
}

#[test]
fn a_lost_device_is_named_and_the_others_go_on() {
    let mut lost = 0;
    for k in 0.. {
        let first = Device::simulator();
        let group = Group::of(&[
            first.clone(),
            Device::simulator().with_faults(Faults::none().lost(k)).unwrap(),
            Device::simulator(),
        ])
        .unwrap();
        match two_calls(&group) {
            Ok(()) => break,
            Err(error) => assert!(is_loss(&error), "call {k}: {error:?}"),
        }
        lost += 1;
        assert!(is_loss(&two_calls(&group).unwrap_err()), "a lost device stays lost");
        let others = Group::of(&[first, group.devices()[2].clone()]).unwrap();
        two_calls(&others).unwrap();
    }
    assert!(lost > 10, "only {lost} calls have lost the device");
}

/// After a launch that faults, a simulator works as before, except for the dirty workspace.
#[test]
fn a_kernel_that_dies_half_way_does_not_spoil_the_next_call() {
    let group = simulated(3);
    let shards = group.shard(&vec![1u32; N]).unwrap();
    let streams = group.streams().unwrap();
    let mut totals = outputs::<u32, _>(&group, Sum);
    let mut sum = group.all_reducer::<u32, _>(Sum).unwrap();
    for _ in 0..2 {
        let error = spoil(&group.devices()[1], &streams[1]).unwrap_err().to_string();
        assert!(error.contains("trap"), "{error}");
        sum.reduce_into(&shards, &mut totals, &streams).unwrap();
        sum.check().unwrap();
        assert!(totals.iter().all(|total| total.copy_to_host().unwrap() == [N as u64]));

        // A kernel of a call dies, which leaves its words in the workspaces of all devices.
        let bad = shards.iter().enumerate().map(|(shard, buffer)| {
            let address = if shard == 1 { 1 << 40 } else { buffer.address() };
            // SAFETY: the buffers live. There is no memory at the other address, and the simulator
            // reports that.
            unsafe { RawSlice::<u32>::new(address, buffer.len()) }
        });
        let error = sum.reduce_into(bad, &mut totals, &streams).unwrap_err();
        assert!(matches!(error, Error::Shard { shard: 1, .. }), "{error:?}");
        sum.reduce_into(&shards, &mut totals, &streams).unwrap();
        sum.check().unwrap();
        assert!(totals.iter().all(|total| total.copy_to_host().unwrap() == [N as u64]));
    }
}

const LOSE: &str = "WARPFOLD_LOSE_A_GPU_OF_A_GROUP";

/// On a GPU a trap destroys the context of the process, so this test runs it in a process of its
/// own.
#[test]
fn a_gpu_of_a_group_is_lost_for_one_process() {
    let Some(group) = gpus() else { return };
    if env::var_os(LOSE).is_some() {
        return lose_a_gpu(&group);
    }
    let test = "lost::a_gpu_of_a_group_is_lost_for_one_process";
    let mut child = Command::new(env::current_exe().unwrap());
    let output = child.args(["--exact", test, "--nocapture"]).env(LOSE, "1").output().unwrap();
    let [out, err] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success() && out.contains("said so"), "{out}\n{err}");
    two_calls(&group).unwrap();
}

fn lose_a_gpu(group: &Group) {
    let shards = group.shard(&vec![1u32; N]).unwrap();
    let streams = group.streams().unwrap();
    let mut totals = outputs::<u32, _>(group, Sum);
    let limit = Duration::from_millis(200);
    let mut sum = group.all_reducer::<u32, _>(Sum).unwrap().with_timeout(limit);
    sum.reduce_into(&shards, &mut totals, &streams).unwrap();
    sum.check().unwrap();

    // The kernels of the other GPUs wait while this one is lost. The driver may take those to be
    // lost with it, because their memory is open to each other.
    let is_any_loss = |error: &Error| {
        matches!(error, Error::Shard { cause, .. }
            if matches!(**cause, Error::Device(DeviceError::Lost { .. })))
    };
    start(&group.devices()[1], &streams[1]).unwrap();
    let called = sum.reduce_into(&shards, &mut totals, &streams).map(|_| ());
    let error = called.and_then(|()| sum.check()).unwrap_err();
    assert!(
        is_any_loss(&error) || matches!(error, Error::Absent { waited: 0, absent: 1 }),
        "{error:?}"
    );
    let error = streams[1].synchronize().unwrap_err();
    assert!(matches!(error, DeviceError::Lost { .. }), "{error:?}");
    let error = two_calls(group).unwrap_err();
    assert!(is_any_loss(&error), "{error:?}");

    // They never only seem to work.
    let others: Vec<_> = [&group.devices()[..1], &group.devices()[2..]].concat();
    match two_calls(&Group::of(&others).unwrap()) {
        Ok(()) => println!("the other GPUs go on, and said so"),
        Err(error) => println!("the other GPUs are lost, and said so: {error}"),
    }
}
