//! The bits of sums of floats: those of the documented order, and what they depend on.

use warpfold::{Sum, device::DeviceClass};

use super::{kinds_of_keys, support::devices, uniform, values};

/// Elements of a step, and steps of a tile.
const STEP: usize = 32;
const TILE: usize = 4 * STEP;
/// Warps of a block, if there are few bins.
const WARPS: usize = 8;
/// How many threads share the chunks of a bin among them.
const SLICES: usize = 16;

/// Values of which neighbours meet first.
fn tree(values: &[f32]) -> Option<f32> {
    let mut level = values.to_vec();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| pair.iter().copied().reduce(|a, b| a + b).unwrap())
            .collect();
    }
    level.first().copied()
}

/// The sum of a bin, in the documented order, if a warp has room for all bins. One block is enough
/// for four tiles to a warp. More values have as many chunks as have a tile to a warp, up to 128,
/// and then as many as have eight, up to 512.
fn sum(keys: &[u32], values: &[f32], bin: u32) -> f32 {
    let tiles = values.len().div_ceil(TILE);
    let chunks = match tiles.div_ceil(WARPS) {
        0..=4 => 1,
        of_one_tile => of_one_tile.min(128).max(tiles.div_ceil(8 * WARPS)).min(512),
    };
    let share = tiles.div_ceil(chunks * WARPS) * TILE;
    let at = |from: usize| from.min(values.len());
    let of_step = |from: usize| {
        let step = (at(from)..at(from + STEP)).filter(|&i| keys[i] == bin).map(|i| values[i]);
        tree(&step.collect::<Vec<_>>())
    };
    let of_warp = |warp: usize| {
        let steps = (warp * share..at((warp + 1) * share)).step_by(STEP);
        steps.filter_map(of_step).fold(0.0, |sum, step| sum + step)
    };
    let of_chunk = |chunk: usize| {
        let warps = (chunk * WARPS..(chunk + 1) * WARPS).map(of_warp);
        warps.reduce(|a, b| a + b).unwrap()
    };
    if chunks == 1 {
        return of_chunk(0);
    }
    let taken = chunks.div_ceil(SLICES);
    let of_slice = |slice: usize| {
        let chunks = slice * taken..((slice + 1) * taken).min(chunks);
        chunks.map(of_chunk).fold(0.0, |sum, chunk| sum + chunk)
    };
    (0..SLICES).map(of_slice).reduce(|a, b| a + b).unwrap()
}

fn bits(sums: &[f32]) -> Vec<u32> {
    sums.iter().map(|sum| sum.to_bits()).collect()
}

#[test]
fn sums_have_the_documented_order() {
    for device in devices() {
        for n in [0, 1, 33, 1025, 4096, 4097, 40_000, 300_001] {
            let bins = 10;
            let values = values(n);
            for (name, keys) in kinds_of_keys(n, bins).iter().take(if n > 100_000 { 1 } else { 6 })
            {
                let found = device.reduce_into_bins(keys, &values, bins, Sum).unwrap();
                let expected: Vec<f32> =
                    (0..bins as u32).map(|bin| sum(keys, &values, bin)).collect();
                assert_eq!(bits(&found), bits(&expected), "{name}");
            }
        }
    }
}

/// Neither the address, nor the device, nor the other bins change a bit, but the number of elements
/// and that of bins may.
#[test]
fn what_the_bits_depend_on() {
    let n = 30_000;
    let (keys, values) = (uniform(n, 50), values(n));
    for device in devices() {
        let first = bits(&device.reduce_into_bins(&keys, &values, 50, Sum).unwrap());
        let again = |keys: &[u32], values: &[f32]| {
            bits(&device.reduce_into_bins(keys, values, 50, Sum).unwrap())
        };
        assert_eq!(again(&keys, &values), first);
        // Other keys than 7 are shuffled.
        let others: Vec<u32> =
            keys.iter().map(|&key| if key == 7 { 7 } else { (key * 13 + 9) % 7 }).collect();
        assert_eq!(again(&others, &values)[7], first[7]);
        // The same elements, elsewhere in memory.
        for shift in 1..5 {
            let behind = |len| vec![0; len];
            let keys = [&behind(shift)[..], &keys].concat();
            let values = [&vec![0.0; shift][..], &values].concat();
            let (keys, values) = (device.upload(&keys).unwrap(), device.upload(&values).unwrap());
            let found =
                device.reduce_into_bins(keys.view(shift..), values.view(shift..), 50, Sum).unwrap();
            assert_eq!(bits(&found), first, "{shift}");
        }
        for multiprocessors in [1, 1000] {
            for generation in [(7, 5), (9, 0)] {
                let class = DeviceClass::new(multiprocessors, false, generation);
                let Ok(device) = device.with_class(class) else { continue };
                let found = device.reduce_into_bins(&keys, &values, 50, Sum).unwrap();
                assert_eq!(bits(&found), first, "{multiprocessors} of {generation:?}");
            }
        }
        // Moved by one place, elements meet in other steps.
        let moved = |elements: &[f32]| [&[0.0][..], elements].concat();
        let moved_keys = [&[0][..], &keys].concat();
        let found = again(&moved_keys, &moved(&values));
        assert_ne!(found, first, "the order of these values matters");
    }
}
