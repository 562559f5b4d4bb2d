//! Graphs of several devices.

use std::time::Duration;

use warpfold::{DeviceError, Error, Group, Max, Sum};

use crate::{gpus, outputs, simulated};

/// What a graph of other work does on each device, twice.
fn fill(group: &Group) {
    let mut buffers: Vec<_> =
        group.devices().iter().map(|device| device.upload(&[1u8; 100]).unwrap()).collect();
    let (graph, number) = group
        .capture(|streams| {
            for (stream, buffer) in streams.iter().zip(&mut buffers) {
                stream.fill_bytes(buffer, 9)?;
            }
            Ok::<_, DeviceError>(streams.len())
        })
        .unwrap();
    assert_eq!((number, graph.graphs().len()), (group.devices().len(), group.devices().len()));
    assert!(buffers.iter().all(|buffer| buffer.copy_to_host().unwrap() == [1; 100]));
    let streams = group.streams().unwrap();
    graph.launch(&streams).unwrap();
    assert!(buffers.iter().all(|buffer| buffer.copy_to_host().unwrap() == [9; 100]));
    let error = graph.launch(&streams[1..]).unwrap_err();
    assert!(matches!(error, Error::ShardCount { what: "streams", .. }), "{error:?}");
}

#[test]
fn a_graph_holds_the_work_of_each_device() {
    fill(&simulated(3));
    if let Some(group) = gpus() {
        fill(&group);
    }
}

/// A stream of the simulator runs its launches alone, so that a graph cannot hold kernels that wait
/// for those of another graph.
#[test]
fn simulators_refuse_to_record_an_exchange() {
    let group = simulated(2);
    let shards = group.shard(&[1u32; 100]).unwrap();
    let mut totals = outputs::<u32, _>(&group, Sum);
    let mut sum = group.all_reducer::<u32, _>(Sum).unwrap();
    let error = group
        .capture(|streams| sum.reduce_into(&shards, &mut totals, streams.iter().copied()))
        .unwrap_err();
    let Error::Shard { cause, .. } = error else { panic!("{error:?}") };
    assert!(matches!(*cause, Error::Device(DeviceError::Capturing { .. })), "{cause:?}");
    let streams = group.streams().unwrap();
    sum.reduce_into(&shards, &mut totals, &streams).unwrap();
    assert!(totals.iter().all(|total| total.copy_to_host().unwrap() == [100]));
}

/// Each launch of the graphs reduces what the shards hold then, and launches that follow each other
/// at once do not meet each other's words.
#[test]
fn graphs_are_launched_again_and_again() {
    let Some(group) = gpus() else { return };
    let n = 100_000;
    let mut shards = group.shard(&vec![1i32; n]).unwrap();
    let mut totals = outputs::<i32, _>(&group, Sum);
    let mut greatest = outputs::<i32, _>(&group, Max);
    let mut sum = group.all_reducer::<i32, _>(Sum).unwrap();
    let mut max = group.all_reducer::<i32, _>(Max).unwrap();
    let (graph, ()) = group
        .capture(|streams| {
            sum.reduce_into(&shards, &mut totals, streams.iter().copied())?;
            max.reduce_into(&shards, &mut greatest, streams.iter().copied())?;
            Ok::<_, Error>(())
        })
        .unwrap();
    let streams = group.streams().unwrap();
    for value in 0..20 {
        for shard in &mut shards {
            shard.copy_from_host(&vec![value; shard.len()]).unwrap();
        }
        // The last of many launches counts.
        for _ in 0..50 {
            graph.launch(&streams).unwrap();
        }
        sum.check().unwrap();
        max.check().unwrap();
        for (total, greatest) in totals.iter().zip(&greatest) {
            assert_eq!(total.copy_to_host().unwrap(), [n as i64 * i64::from(value)]);
            assert_eq!(greatest.copy_to_host().unwrap(), [value]);
        }
    }
    // A plain call goes on where the graphs have ended.
    sum.reduce_into(&shards, &mut totals, &streams).unwrap();
    sum.check().unwrap();
    assert_eq!(totals[1].copy_to_host().unwrap(), [n as i64 * 19]);
}

/// A device whose peers do not come gives up, leaves its output alone and is named.
#[test]
fn a_device_that_does_not_come_is_named() {
    let Some(group) = gpus() else { return };
    let shards = group.shard(&[1u32; 1000]).unwrap();
    let mut totals = outputs::<u32, _>(&group, Sum);
    for total in &mut totals {
        total.copy_from_host(&[7]).unwrap();
    }
    let mut sum = group.all_reducer::<u32, _>(Sum).unwrap().with_timeout(Duration::from_millis(50));
    let (graph, _) = group
        .capture(|streams| sum.reduce_into(&shards, &mut totals, streams.iter().copied()))
        .unwrap();
    let streams = group.streams().unwrap();
    graph.graphs()[1].launch(&streams[1]).unwrap();
    let error = sum.check().unwrap_err();
    assert!(matches!(error, Error::Absent { waited: 1, absent: 0 }), "{error:?}");
    assert_eq!(totals[1].copy_to_host().unwrap(), [7]);
    // Later launches end at once, or after their own time, and the error stays.
    graph.launch(&streams).unwrap();
    let error = sum.check().unwrap_err();
    assert!(matches!(error, Error::Absent { .. }), "{error:?}");
    // A new one works.
    let mut sum = group.all_reducer::<u32, _>(Sum).unwrap();
    sum.reduce_into(&shards, &mut totals, &streams).unwrap();
    sum.check().unwrap();
    assert!(totals.iter().all(|total| total.copy_to_host().unwrap() == [1000]));
}
