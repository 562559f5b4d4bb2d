//! Rows and axes of which each rank has a part, beside those of one array that holds all shards.

use bytemuck::{bytes_of, cast_slice};
use rand::{Rng, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    ArgMax, ArgMin, Array, BitXor, CheckedSum, CountNonzero, Device, Dot, Error, Group, Item, Max,
    MinMax, RankError, RankTransport, Ranks, ReproducibleSum, RowOperation, Sum, TopK,
    testing::Faults,
};

use crate::{
    meet::{Any, Place},
    seed,
};

/// Numbers of columns: none, one, some of a block, the edges of blocks, and some blocks.
pub(crate) const COLUMNS: [usize; 6] = [0, 1, 63, 64, 257, 1000];

/// The lengths of the shards along axis 0. Some are 0, and the first one is not.
fn heights(random: &mut ChaCha8Rng, ranks: u32) -> Vec<usize> {
    (0..ranks).map(|rank| random.random_range(0..6) + usize::from(rank == 0)).collect()
}

/// The results for each column of matrices that lie one below the other are those of one matrix.
fn same<T, O>(
    ranks: &Ranks<Any>,
    widths: &[usize],
    random: &mut ChaCha8Rng,
    operation: O,
    value: fn(&mut ChaCha8Rng) -> T,
) where
    T: Item,
    O: RowOperation<T, Output: PartialEq + std::fmt::Debug>,
{
    let (device, one) = (ranks.device(), Device::simulator());
    let stream = device.stream().unwrap();
    for &width in widths {
        let heights = heights(random, ranks.ranks());
        let parts: Vec<Vec<T>> = heights
            .iter()
            .map(|height| (0..height * width).map(|_| value(random)).collect())
            .collect();
        let whole = parts.concat();
        let shape = |rows: usize| [rows as u64, width as u64];
        let expected = one
            .reduce_axes(
                &Array::new(&whole, &shape(heights.iter().sum())).unwrap(),
                &[0],
                operation,
            )
            .unwrap();

        let rank = ranks.rank() as usize;
        let shard = device.upload(&parts[rank]).unwrap();
        let array = Array::new(&shard, &shape(heights[rank])).unwrap();
        let mut results = device.alloc(width).unwrap();
        let mut all =
            ranks.all_row_reducer::<T, O>(operation, width as u32, heights[rank]).unwrap();
        assert_eq!(all.transport(), ranks.transport());
        let mut pending = None;
        // The words of the calls before must not disturb the last one.
        for _ in 0..3 {
            pending = Some(all.reduce_axes_into(&array, &[0], &mut results, &stream).unwrap());
        }
        all.check().unwrap();
        let raws = results.copy_to_host().unwrap();
        let found: Vec<_> =
            raws.into_iter().map(|raw| pending.unwrap().finish(raw).unwrap()).collect();
        assert_eq!(found, expected, "{}, {width} columns, {heights:?}", O::NAME);
    }
}

/// Results of many kinds, which do not depend on the order.
pub(crate) fn columns(ranks: &Ranks<Any>, widths: &[usize], random: &mut ChaCha8Rng) {
    same::<u8, _>(ranks, widths, random, MinMax, Rng::random);
    same::<u16, _>(ranks, widths, random, BitXor, Rng::random);
    same::<f32, _>(ranks, widths, random, CountNonzero, |random| {
        random.random_range(0..2u8).into()
    });
    same::<i64, _>(ranks, widths, random, CheckedSum, |random| random.random_range(-9..9));
    // The sums are exact.
    same::<f32, _>(ranks, widths, random, Sum, |random| random.random_range(0..9u8).into());
    // Many are equal, so that the first one of all shards is looked for.
    same::<f32, _>(ranks, widths, random, ArgMax, |random| random.random_range(0..4u8).into());
    same::<i128, _>(ranks, widths, random, ArgMin, |random| random.random_range(0..3));
}

/// Pairs of rows, which have another length on each rank.
pub(crate) fn pairs(ranks: &Ranks<Any>) {
    let (device, rank) = (ranks.device(), i64::from(ranks.rank()));
    let length = 2 + rank as usize;
    let values: Vec<i32> = (0..6 * length as i32).collect();
    let buffer = device.upload(&values).unwrap();
    let array = Array::new(&buffer, &[2, 3, length as u64]).unwrap();
    let (mut results, stream) = (device.alloc(6).unwrap(), device.stream().unwrap());
    let mut dot = ranks.all_row_reducer::<i32, _>(Dot, 6, length).unwrap();
    dot.reduce_axes_into((&array, &array), &[-1], &mut results, &stream).unwrap();
    dot.check().unwrap();
    let expected: Vec<i64> = (0..6)
        .map(|row| {
            let of_rank = |rank: i64| {
                let length = 2 + rank;
                (row * length..(row + 1) * length).map(|x| x * x).sum::<i64>()
            };
            (0..i64::from(ranks.ranks())).map(of_rank).sum()
        })
        .collect();
    assert_eq!(results.copy_to_host().unwrap(), expected);
}

/// More ranks than a kernel combines at once are among these.
#[test]
fn results_are_those_of_one_array() {
    let seed: u64 = seed::random().random();
    for count in [1, 2, 3, 4, 9, 17] {
        let place = if count % 2 == 0 { Place::folder() } else { Place::tcp() };
        place.all(count, |_, meeting| {
            let ranks = Ranks::join(&Device::simulator(), meeting).unwrap();
            assert_eq!(ranks.transport(), RankTransport::Host);
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let widths = if count > 4 { &COLUMNS[..4] } else { &COLUMNS };
            columns(&ranks, widths, &mut random);
            pairs(&ranks);
        });
    }
}

/// Also where the order matters.
#[test]
fn bits_are_those_of_a_group() {
    let mut random = seed::random();
    for count in 2..=4u32 {
        let (height, width) = (3usize, 300usize);
        let parts: Vec<Vec<f32>> = (0..count)
            .map(|_| (0..height * width).map(|_| random.random_range(-1.0..1.0)).collect())
            .collect();
        let shape = [height as u64, width as u64];
        let found = Place::tcp().all(count, |rank, meeting| {
            let device = Device::simulator();
            let ranks = Ranks::join(&device, meeting).unwrap();
            let shard = device.upload(&parts[rank as usize]).unwrap();
            let (mut sums, stream) = (device.alloc(width).unwrap(), device.stream().unwrap());
            let mut sum = ranks.all_row_reducer::<f32, _>(Sum, width as u32, height).unwrap();
            let array = Array::new(&shard, &shape).unwrap();
            sum.reduce_axes_into(&array, &[0], &mut sums, &stream).unwrap();
            sums.copy_to_host().unwrap()
        });
        let devices: Vec<_> = (0..count).map(|_| Device::simulator()).collect();
        let group = Group::of(&devices).unwrap();
        let shards: Vec<_> =
            devices.iter().zip(&parts).map(|(device, part)| device.upload(part).unwrap()).collect();
        let arrays: Vec<_> =
            shards.iter().map(|shard| Array::new(shard, &shape).unwrap()).collect();
        let mut sums: Vec<_> = devices.iter().map(|device| device.alloc(width).unwrap()).collect();
        let mut all = group.all_row_reducer::<f32, _>(Sum, width as u32).unwrap();
        let streams = group.streams().unwrap();
        all.reduce_axes_into(&arrays, &[0], &mut sums, &streams).unwrap();
        let expected = sums[0].copy_to_host().unwrap();
        for found in found {
            assert_eq!(cast_slice::<_, u8>(&found), cast_slice::<_, u8>(&expected));
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error_of_all() {
    Place::tcp().all(3, |rank, meeting| {
        let device = Device::simulator();
        let ranks = Ranks::join(&device, meeting).unwrap();
        let is_other = rank == 1;
        // What cannot be combined.
        let error = ranks.all_row_reducer::<f32, _>(ReproducibleSum, 2, 3).unwrap_err();
        assert!(matches!(error, RankError::Reduction(Error::NotExchanged { .. })), "{error:?}");
        let error = ranks.all_row_reducer::<f32, _>(TopK::<2>, 2, 3).unwrap_err();
        assert!(matches!(error, RankError::Reduction(Error::NotExchanged { .. })), "{error:?}");
        // Another number of rows, and rows without a result.
        let rows = if is_other { 5 } else { 2 };
        let error = ranks.all_row_reducer::<f32, _>(Max, rows, 3).unwrap_err();
        let RankError::Calls { rank: 1, theirs, ours } = &error else { panic!("{error:?}") };
        assert!(theirs.contains("5 rows") && ours.contains("2 rows"), "{error}");
        let error = ranks.all_row_reducer::<f32, _>(Max, 2, 0).unwrap_err();
        assert!(matches!(error, RankError::Reduction(Error::Empty { .. })), "{error:?}");
        let error = ranks.all_row_reducer::<f32, _>(Max, 2, usize::MAX).unwrap_err();
        assert!(matches!(error, RankError::Reduction(Error::TooLong { .. })), "{error:?}");

        // A call that only one of the ranks cannot make.
        let shard = device.upload(&[1.0f32; 12]).unwrap();
        let stream = device.stream().unwrap();
        let mut sum = ranks.all_row_reducer::<f32, _>(Sum, 2, 3).unwrap();
        let mut call = |shape: [u64; 2], axis: isize, places: usize| {
            let (shape, axis, places) =
                if is_other { (shape, axis, places) } else { ([2, 3], 1, 2) };
            let mut sums = device.upload(&vec![7.0f32; places]).unwrap();
            let elements = (shape[0] * shape[1]) as usize;
            let array = Array::new(shard.view(..elements), &shape).unwrap();
            let done = sum.reduce_axes_into(&array, &[axis], &mut sums, &stream);
            (done.map(drop), sums.copy_to_host().unwrap())
        };
        for (shape, axis, places, reason) in [
            ([3, 3], 1, 3, "the shard has 3 rows, and this reducer was made for 2"),
            ([2, 4], 1, 2, "the shard has 4 elements, and this reducer was made for 3"),
            ([2, 3], 2, 2, "axis 2"),
            ([2, 3], 1, 3, "3"),
        ] {
            let (done, sums) = call(shape, axis, places);
            let error = done.unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
            assert_eq!(matches!(error, RankError::Rank { rank: 1, .. }), !is_other, "{error:?}");
            assert_eq!(sums, vec![7.0; sums.len()], "the output is left alone");
            // The next call works.
            let (done, sums) = call([2, 3], 1, 2);
            done.unwrap();
            assert_eq!(sums, [9.0, 9.0]);
        }
    });
}

#[test]
fn a_failed_device_is_told_to_all() {
    for failing in 0..2 {
        Place::tcp().all(2, |rank, meeting| {
            let mut device = Device::simulator();
            let is_failing = rank == failing;
            if is_failing {
                device = device.with_faults(Faults::none().alloc(0).launch(0)).unwrap();
            }
            let ranks = Ranks::join(&device, meeting).unwrap();
            let expect = |error: RankError| {
                let is_own = matches!(error, RankError::Reduction(Error::Device(_)));
                let is_told = matches!(error, RankError::Rank { rank, .. } if rank == failing);
                assert_eq!((is_own, is_told), (is_failing, !is_failing), "{error:?}");
            };
            expect(ranks.all_row_reducer::<u32, _>(Sum, 2, 3).unwrap_err());
            let mut sum = ranks.all_row_reducer::<u32, _>(Sum, 2, 3).unwrap();
            let shard = device.upload(&[1u32; 6]).unwrap();
            let array = Array::new(&shard, &[2, 3]).unwrap();
            let (mut sums, stream) = (device.upload(&[7, 7]).unwrap(), device.stream().unwrap());
            expect(sum.reduce_axes_into(&array, &[1], &mut sums, &stream).unwrap_err());
            assert_eq!(sums.copy_to_host().unwrap(), [7, 7]);
            sum.reduce_axes_into(&array, &[1], &mut sums, &stream).unwrap();
            assert_eq!(sums.copy_to_host().unwrap(), [6, 6]);
        });
    }
}

/// A graph captures calls if the memory of peers carries the results.
pub(crate) fn graphs(ranks: &Ranks<Any>) {
    let device = ranks.device();
    let mut shard = device.upload(&[0u32; 3000]).unwrap();
    let mut sums = device.alloc(1000).unwrap();
    let mut sum = ranks.all_row_reducer::<u32, _>(Sum, 1000, 3).unwrap();
    let captured = device.capture(|stream| {
        let array = Array::new(&shard, &[3, 1000]).unwrap();
        for _ in 0..2 {
            match sum.reduce_axes_into(&array, &[0], &mut sums, stream) {
                Ok(_) => {}
                Err(RankError::Reduction(Error::Device(error))) => return Err(error),
                Err(error) => panic!("{error:?}"),
            }
        }
        Ok(())
    });
    if ranks.transport() != RankTransport::Peers {
        assert!(captured.is_err(), "a library or the host takes part");
        return;
    }
    let (graph, ()) = captured.unwrap();
    drop(sum);
    let stream = device.stream().unwrap();
    for value in 1..=3u32 {
        shard.copy_from_host(&vec![value + ranks.rank(); 3000]).unwrap();
        graph.launch(&stream).unwrap();
        let expected: u64 = (0..ranks.ranks()).map(|rank| u64::from(3 * (value + rank))).sum();
        assert!(sums.copy_to_host().unwrap().iter().all(|&sum| sum == expected));
    }
}

/// Bits of one number, so that sums of many ranks show their order.
#[test]
fn many_ranks_are_combined_in_their_order() {
    let count = 20;
    let value = |rank: u32| 0.1f32 * rank as f32;
    let expected = (0..count).map(value).reduce(|a, b| a + b).unwrap();
    Place::tcp().all(count, |rank, meeting| {
        let device = Device::simulator();
        let ranks = Ranks::join(&device, meeting).unwrap();
        let shard = device.upload(&[value(rank)]).unwrap();
        let (mut sums, stream) = (device.alloc(1).unwrap(), device.stream().unwrap());
        let mut sum = ranks.all_row_reducer::<f32, _>(Sum, 1, 1).unwrap();
        sum.reduce_axes_into(&Array::new(&shard, &[1, 1]).unwrap(), &[1], &mut sums, &stream)
            .unwrap();
        assert_eq!(bytes_of(&sums.copy_to_host().unwrap()[0]), bytes_of(&expected));
    });
}
