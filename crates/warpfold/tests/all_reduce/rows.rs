//! Rows and axes, beside those of one array that holds all shards.

use approx::assert_relative_eq;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use warpfold::{
    ArgMax, ArgMin, Array, BitXor, Buffer, CheckedSum, CountNonzero, Device, Dot, Error, Group,
    Item, Max, MinMax, Moments, Operation, ReproducibleSum, RowOperation, Sum, TopK,
    testing::Faults,
};

use crate::{gpus, gpus_with_nccl, seed, simulated};

/// Numbers of columns: one, some of a block, the edges of blocks, and some blocks.
const COLUMNS: [usize; 7] = [1, 2, 63, 64, 255, 257, 1000];

/// More columns than pass through mailboxes of simulators and of GPUs, whatever the results are.
/// There are whole tiles, and tiles of one result.
const MANY: [usize; 3] = [1025, 2048, 4097];
const MANY_OF_GPUS: [usize; 2] = [(1 << 19) + 1, 1 << 20];

/// Lengths of the shards along axis 0. Some are 0.
fn heights(random: &mut ChaCha8Rng, shards: usize) -> Vec<usize> {
    (0..shards).map(|_| random.random_range(0..6)).collect()
}

/// The results for each column of matrices that lie one below the other, on each device.
fn columns<T, O>(group: &Group, operation: O, parts: &[Vec<T>], width: usize) -> Vec<Vec<O::Output>>
where
    T: Item,
    O: RowOperation<T>,
{
    let streams = group.streams().unwrap();
    let shards: Vec<Buffer<T>> = group
        .devices()
        .iter()
        .zip(parts)
        .map(|(device, part)| device.upload(part).unwrap())
        .collect();
    let arrays: Vec<_> = shards
        .iter()
        .map(|shard| Array::new(shard, &[(shard.len() / width) as u64, width as u64]).unwrap())
        .collect();
    let mut results: Vec<_> =
        group.devices().iter().map(|device| device.alloc(width).unwrap()).collect();
    let mut all = group.all_row_reducer::<T, O>(operation, width as u32).unwrap();
    let mut pending = None;
    // The words of the calls before must not disturb the last one.
    for _ in 0..3 {
        pending = Some(all.reduce_axes_into(&arrays, &[0], &mut results, &streams).unwrap());
    }
    all.check().unwrap();
    let pending = pending.unwrap();
    let finish = |result: &Buffer<O::RowRaw>| {
        let raws = result.copy_to_host().unwrap();
        raws.into_iter().map(|raw| pending.finish(raw).unwrap()).collect()
    };
    results.iter().map(finish).collect()
}

/// The results of so many columns are those of one array.
fn same<T, O>(
    groups: &[Group],
    widths: &[usize],
    random: &mut ChaCha8Rng,
    operation: O,
    value: fn(&mut ChaCha8Rng) -> T,
) where
    T: Item,
    O: RowOperation<T, Output: PartialEq + std::fmt::Debug>,
{
    let one = Device::simulator();
    for group in groups {
        for &width in widths {
            let mut heights = heights(random, group.devices().len());
            heights[0] += 1;
            let parts: Vec<Vec<T>> = heights
                .iter()
                .map(|height| (0..height * width).map(|_| value(random)).collect())
                .collect();
            let whole = parts.concat();
            let shape = [(whole.len() / width) as u64, width as u64];
            let expected =
                one.reduce_axes(&Array::new(&whole, &shape).unwrap(), &[0], operation).unwrap();
            for result in columns(group, operation, &parts, width) {
                assert_eq!(result, expected, "{}, {width} columns, {heights:?}", O::NAME);
            }
        }
    }
}

fn groups() -> Vec<Group> {
    let mut groups: Vec<_> = [1, 2, 3, 8].map(simulated).into();
    groups.extend(gpus());
    groups.extend(gpus_with_nccl());
    groups
}

#[test]
fn results_without_an_order_are_those_of_one_array() {
    let (groups, mut random) = (groups(), seed::random());
    let random = &mut random;
    same::<i32, _>(&groups, &COLUMNS, random, Sum, Rng::random);
    same::<i64, _>(&groups, &COLUMNS, random, CheckedSum, |random| random.random_range(-9..9));
    same::<u8, _>(&groups, &COLUMNS, random, MinMax, Rng::random);
    same::<u16, _>(&groups, &COLUMNS, random, BitXor, Rng::random);
    same::<f32, _>(&groups, &COLUMNS, random, CountNonzero, |random| {
        random.random_range(0..2u8).into()
    });
    // Many are equal, so that the first one of all shards is looked for.
    same::<f32, _>(&groups, &COLUMNS, random, ArgMax, |random| random.random_range(0..4u8).into());
    same::<i128, _>(&groups, &COLUMNS, random, ArgMin, |random| random.random_range(0..3));
}

#[test]
fn many_results_are_combined_where_they_lie() {
    let mut random = seed::random();
    for (groups, widths) in [
        ([1, 2, 3, 8].map(simulated).into(), &MANY[..]),
        (gpus().into_iter().chain(gpus_with_nccl()).collect(), &MANY_OF_GPUS),
    ] {
        let (groups, random): (Vec<Group>, _) = (groups, &mut random);
        same::<u8, _>(&groups, widths, random, Max, Rng::random);
        same::<u16, _>(&groups, widths, random, BitXor, Rng::random);
        // The sums are exact.
        same::<f32, _>(&groups, widths, random, Sum, |random| random.random_range(0..9u8).into());
        same::<i32, _>(&groups, widths, random, Sum, Rng::random);
        same::<f64, _>(&groups, widths, random, MinMax, Rng::random);
        same::<i128, _>(&groups, widths, random, CheckedSum, |random| random.random_range(-9..9));
        same::<f32, _>(&groups, widths, random, ArgMax, |random| {
            random.random_range(0..4u8).into()
        });
        same::<i128, _>(&groups, widths, random, ArgMin, |random| random.random_range(0..3));
    }
}

#[test]
fn sums_of_floats_are_near_those_of_one_array() {
    let (groups, mut random) = (groups(), seed::random());
    for group in &groups {
        let width = 300;
        let mut heights = heights(&mut random, group.devices().len());
        heights[0] += 1;
        let parts: Vec<Vec<f64>> = heights
            .into_iter()
            .map(|height| (0..height * width).map(|_| random.random_range(-1.0..1.0)).collect())
            .collect();
        let column = |i: usize| -> Vec<f64> {
            parts.iter().flat_map(|part| part.iter().skip(i).step_by(width)).copied().collect()
        };
        let (sums, moments) =
            (columns(group, Sum, &parts, width), columns(group, Moments, &parts, width));
        for (sums, moments) in sums.iter().zip(&moments) {
            assert_eq!(
                sums,
                &columns(group, Sum, &parts, width)[0],
                "the same bits on each device"
            );
            for (i, (&sum, moments)) in sums.iter().zip(moments).enumerate() {
                let column = column(i);
                assert_relative_eq!(sum, column.iter().sum(), epsilon = 1e-12);
                assert_eq!(moments.count, column.len() as u64);
                let mean = column.iter().sum::<f64>() / column.len() as f64;
                assert_relative_eq!(moments.mean(), mean, epsilon = 1e-12);
            }
        }
    }
}

#[test]
fn pairs_and_other_axes() {
    for group in groups().into_iter().filter(|group| group.devices().len() == 2) {
        let [first, second] = [&group.devices()[0], &group.devices()[1]];
        let streams = group.streams().unwrap();
        let values: Vec<i32> = (0..24).collect();
        let buffers = [first.upload(&values).unwrap(), second.upload(&values[..12]).unwrap()];
        let arrays = [
            Array::new(&buffers[0], &[2, 3, 4]).unwrap(),
            Array::new(&buffers[1], &[2, 3, 2]).unwrap(),
        ];
        // Rows along the last axis, which has another length on each device.
        let mut results = [first.alloc(6).unwrap(), second.alloc(6).unwrap()];
        let mut sum = group.all_row_reducer::<i32, _>(Sum, 6).unwrap();
        sum.reduce_axes_into(&arrays, &[-1], &mut results, &streams).unwrap();
        sum.check().unwrap();
        let expected: Vec<i64> = (0..6).map(|row| (16 * row + 6) + (4 * row + 1)).collect();
        assert!(results.iter().all(|result| result.copy_to_host().unwrap() == expected));

        let mut dot = group.all_row_reducer::<i32, _>(Dot, 6).unwrap();
        let pairs = arrays.iter().zip(&arrays);
        dot.reduce_axes_into(pairs, &[2], &mut results, &streams).unwrap();
        dot.check().unwrap();
        let squares = |range: std::ops::Range<i64>| range.map(|x| x * x).sum::<i64>();
        let expected: Vec<i64> = (0..6)
            .map(|row| squares(4 * row..4 * row + 4) + squares(2 * row..2 * row + 2))
            .collect();
        assert!(results.iter().all(|result| result.copy_to_host().unwrap() == expected));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let group = simulated(2);
    let [first, second] = [&group.devices()[0], &group.devices()[1]];
    let streams = group.streams().unwrap();
    let error = group.all_row_reducer::<f32, _>(ReproducibleSum, 9).unwrap_err();
    assert!(
        matches!(error, Error::NotExchanged { op, .. } if op == <ReproducibleSum as Operation<f32>>::NAME)
    );
    let error = group.all_row_reducer::<f32, _>(TopK::<2>, 9).unwrap_err();
    assert!(matches!(error, Error::NotExchanged { .. }), "{error:?}");

    let mut max = group.all_row_reducer::<f32, _>(Max, 5).unwrap();
    let buffers = [first.upload(&[1.0f32; 12]).unwrap(), second.upload(&[2.0f32; 12]).unwrap()];
    let mut results = [first.alloc(4).unwrap(), second.alloc(4).unwrap()];
    let mut call = |shapes: [[u64; 2]; 2], axis| {
        let arrays = [Array::new(&buffers[0], &shapes[0])?, Array::new(&buffers[1], &shapes[1])?];
        max.reduce_axes_into(&arrays, &[axis], &mut results, &streams).map(|_| ())
    };
    let error = call([[3, 4], [4, 3]], 0).unwrap_err();
    assert!(matches!(error, Error::ShardRows { shard: 1, results: 3, first: 4 }), "{error:?}");
    let error = call([[2, 6], [2, 6]], 0).unwrap_err();
    assert!(matches!(error, Error::MostRows { rows: 6, most: 5 }), "{error:?}");
    let error = call([[3, 4], [3, 4]], 2).unwrap_err();
    assert!(matches!(error, Error::Shard { shard: 0, .. }), "{error:?}");
    let Error::Shard { shard: 0, cause, .. } = call([[4, 3], [4, 3]], 0).unwrap_err() else {
        panic!("the outputs are too long")
    };
    assert!(matches!(*cause, Error::Outputs { results: 3, len: 4 }), "{cause:?}");
    call([[3, 4], [3, 4]], 0).unwrap();
    assert!(results.iter().all(|result| result.copy_to_host().unwrap() == [2.0; 4]));

    // No rows, and rows without elements.
    let mut none = [first.alloc(0).unwrap(), second.alloc(0).unwrap()];
    let empty = [first.alloc::<f32>(0).unwrap(), second.alloc(0).unwrap()];
    let arrays = [Array::new(&empty[0], &[3, 0]).unwrap(), Array::new(&empty[1], &[2, 0]).unwrap()];
    max.reduce_axes_into(&arrays, &[0], &mut none, &streams).unwrap();
    let arrays = [Array::new(&empty[0], &[0, 4]).unwrap(), Array::new(&empty[1], &[0, 4]).unwrap()];
    let error = max.reduce_axes_into(&arrays, &[0], &mut results, &streams).unwrap_err();
    assert!(matches!(error, Error::Empty { .. }), "{error:?}");
    let mut sum = group.all_row_reducer::<f32, _>(Sum, 4).unwrap();
    sum.reduce_axes_into(&arrays, &[0], &mut results, &streams).unwrap();
    assert!(results.iter().all(|result| result.copy_to_host().unwrap() == [0.0; 4]));
}

#[test]
fn the_call_after_a_failed_one_works() {
    let failing = Device::simulator().with_faults(Faults::none().launch(1)).unwrap();
    let group = Group::of(&[Device::simulator(), failing]).unwrap();
    let streams = group.streams().unwrap();
    let buffers: Vec<_> =
        group.devices().iter().map(|device| device.upload(&[1i32; 8]).unwrap()).collect();
    let arrays: Vec<_> =
        buffers.iter().map(|buffer| Array::new(buffer, &[2, 4]).unwrap()).collect();
    let mut results: Vec<_> =
        group.devices().iter().map(|device| device.alloc(4).unwrap()).collect();
    let mut sum = group.all_row_reducer::<i32, _>(Sum, 4).unwrap();
    // The second launch of the device is that of the exchange.
    let error = sum.reduce_axes_into(&arrays, &[0], &mut results, &streams).unwrap_err();
    assert!(matches!(error, Error::Shard { shard: 1, .. }), "{error:?}");
    sum.reduce_axes_into(&arrays, &[0], &mut results, &streams).unwrap();
    sum.check().unwrap();
    assert!(results.iter().all(|result| result.copy_to_host().unwrap() == [4; 4]));
}
