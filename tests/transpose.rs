//! Tests of every transposition, width and tile over shapes at the edges, on every available
//! device. The results are compared with a reference in this file. The counters on the simulator
//! are compared with a model of warps and banks.

mod support;

use support::{devices, library};
use warpfold_lab::{
    device::{Device, DeviceKind, Instrument, Seen},
    experiment::{Runner, Runs},
    transpose::{ElementType, Matrix, Moves, Plan, Problem, Variant, plan},
};

/// One type for each width of elements.
const WIDTHS: [ElementType; 5] =
    [ElementType::U8, ElementType::F16, ElementType::F32, ElementType::U64, ElementType::U128];

/// Shapes that are empty, have one row or one column, are near the sides of tiles, or are not a
/// whole number of vectors.
const SHAPES: [(u64, u64); 17] = [
    (0, 5),
    (5, 0),
    (0, 0),
    (1, 1),
    (1, 100),
    (100, 1),
    (15, 17),
    (16, 16),
    (31, 33),
    (32, 32),
    (64, 128),
    (65, 63),
    (100, 36),
    (127, 129),
    (129, 127),
    (144, 8),
    (130, 136),
];

fn plan_of(variant: Variant, element: ElementType, extent: (u64, u64), tile: u32) -> Plan {
    let (rows, cols) = extent;
    plan(&Problem { variant, element, rows, cols }, Some(tile.into()), u64::MAX).unwrap()
}

/// The expected output for a matrix, computed element by element.
fn expected(matrix: &Matrix, moves: Moves) -> Vec<u8> {
    if moves == Moves::Copies {
        return matrix.bytes().to_vec();
    }
    let (rows, cols, size) = (matrix.rows(), matrix.cols(), matrix.element().size() as usize);
    let mut transposed = vec![0; matrix.bytes().len()];
    for (index, element) in matrix.bytes().chunks_exact(size).enumerate() {
        let (row, col) = (index / cols, index % cols);
        transposed[(col * rows + row) * size..][..size].copy_from_slice(element);
    }
    transposed
}

/// Runs a plan on all devices.
fn run(runners: &mut [(&Device, Runner)], plan: &Plan) {
    let Problem { variant, element, rows, cols } = plan.problem;
    let matrix = Matrix::generate(element, rows, cols, rows ^ cols << 7).unwrap();
    let expected = expected(&matrix, variant.facts().moves);
    for (device, runner) in runners {
        let case = format!("{} of {rows} x {cols} on {}", plan.kernel, device.info().name);
        let outcome = runner
            .transpose(plan, &matrix, Runs::ONCE, |_| ())
            .unwrap_or_else(|e| panic!("{case}: {e}"));
        assert!(outcome.result == expected, "{case}: wrong result");
        assert_eq!(outcome.times.len(), usize::from(rows * cols > 0), "{case}");
        assert_eq!(matrix.difference(variant.facts().moves, &outcome.result), None, "{case}");
    }
}

#[test]
fn every_variant_width_tile_and_shape_is_exact() {
    let (devices, library) = (devices(), library());
    let mut runners: Vec<_> =
        devices.iter().map(|device| (device, Runner::new(device, &library))).collect();
    let mut runs = 0;
    for variant in Variant::all() {
        for element in WIDTHS {
            for tile in variant.tiles(element) {
                for (rows, cols) in SHAPES {
                    let cols =
                        if variant.facts().moves == Moves::TransposesInPlace { rows } else { cols };
                    run(&mut runners, &plan_of(variant, element, (rows, cols), tile));
                    runs += 1;
                }
            }
        }
    }
    assert_eq!(runs, (10 * 2 + 1) * 5 * SHAPES.len());
}

/// These matrices have more tiles than a grid can have blocks along y.
#[test]
fn millions_of_rows_or_columns_are_not_too_many() {
    let (devices, library) = (devices(), library());
    let mut runners: Vec<_> =
        devices.iter().map(|device| (device, Runner::new(device, &library))).collect();
    for (variant, extent) in [
        (Variant::Copy, (1_048_600, 2)),
        (Variant::NaiveLoad, (1, 1_048_601)),
        (Variant::Padded, (1, 2_097_153)),
    ] {
        let plan = plan_of(variant, ElementType::U8, extent, 16);
        assert_eq!(plan.shape.map(|shape| shape.grid.z), Some(2));
        run(&mut runners, &plan);
    }
}

/// Tests matrices of 4000 and 4096 rows and columns: all variants on a GPU, and some on the
/// simulator.
#[test]
fn the_lectures_sizes_are_exact() {
    let (devices, library) = (devices(), library());
    for device in &devices {
        let mut runners = [(device, Runner::new(device, &library))];
        let variants: Vec<_> = match device.info().kind {
            DeviceKind::Cuda => {
                Variant::all().flat_map(|variant| [(variant, 4000), (variant, 4096)]).collect()
            }
            DeviceKind::Simulator => {
                vec![(Variant::Padded, 4000), (Variant::Best, 4000), (Variant::Best, 4096)]
            }
        };
        for (variant, n) in variants {
            let tile = variant.tiles(ElementType::F32).pop().unwrap();
            run(&mut runners, &plan_of(variant, ElementType::F32, (n, n), tile));
        }
    }
}

/// The average sectors of each load and store, and the average wavefronts of each load and store of
/// shared memory, each as `(load, store)`.
type Counted = ((f64, f64), (f64, f64));

/// The counters of a variant for 256 x 256 elements.
fn count(variant: Variant, element: ElementType, tile: u32) -> Counted {
    let (device, library) = (Device::simulator_with(Instrument::Count), library());
    let plan = plan_of(variant, element, (256, 256), tile);
    let matrix = Matrix::generate(element, 256, 256, 1).unwrap();
    Runner::new(&device, &library).transpose(&plan, &matrix, Runs::ONCE, |_| ()).unwrap();
    let Some(Seen::Counted(profile)) = device.take_observations().pop().map(|seen| seen.seen)
    else {
        panic!("{}: nothing was counted", plan.kernel)
    };
    let (global, shared) = (profile.counters.global, profile.counters.shared);
    let per = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    for traffic in [global.load, global.store] {
        assert_eq!(traffic.bytes, 256 * 256 * u64::from(element.size()), "{}", plan.kernel);
    }
    (
        (
            per(global.load.sectors, global.load.requests),
            per(global.store.sectors, global.store.requests),
        ),
        (
            per(shared.load.wavefronts, shared.load.requests),
            per(shared.store.wavefronts, shared.store.requests),
        ),
    )
}

/// Tests the figures on which the lecture relies, for floats and tiles of 32. A row of a warp is 4
/// sectors, and a column is 32. A column of a tile lies in one bank, or in 32 if the layout avoids
/// conflicts.
#[test]
fn floats_in_tiles_of_32_count_as_the_lecture_says() {
    for (variant, expected) in [
        (Variant::Copy, ((4.0, 4.0), (0.0, 0.0))),
        (Variant::StridedCopy, ((32.0, 32.0), (0.0, 0.0))),
        (Variant::SharedCopy, ((4.0, 4.0), (1.0, 1.0))),
        (Variant::NaiveStore, ((4.0, 32.0), (0.0, 0.0))),
        (Variant::NaiveLoad, ((32.0, 4.0), (0.0, 0.0))),
        (Variant::Tiled, ((4.0, 4.0), (32.0, 1.0))),
        (Variant::Padded, ((4.0, 4.0), (1.0, 1.0))),
        (Variant::Swizzled, ((4.0, 4.0), (1.0, 1.0))),
        (Variant::Diagonal, ((4.0, 4.0), (1.0, 1.0))),
        (Variant::InPlace, ((4.0, 4.0), (1.0, 1.0))),
    ] {
        assert_eq!(count(variant, ElementType::F32, 32), expected, "{variant}");
    }
}

/// The accesses of the best variant are as wide as they can be. With 16 bytes for each lane, a
/// request takes 16 sectors, and there are no conflicts. Elements of one byte move in vectors of 8
/// bytes.
#[test]
fn vectors_fill_their_sectors_and_banks() {
    for (element, sectors, wavefronts) in [
        (ElementType::F16, 16.0, 4.0),
        (ElementType::F32, 16.0, 4.0),
        (ElementType::U64, 16.0, 4.0),
        (ElementType::U128, 16.0, 4.0),
        (ElementType::U8, 8.0, 2.0),
    ] {
        let tile = Variant::Best.tiles(element)[0];
        let expected = ((sectors, sectors), (wavefronts, wavefronts));
        assert_eq!(count(Variant::Best, element, tile), expected, "{element}");
    }
}

/// The number of wavefronts of a warp whose lanes access `size` bytes at these byte offsets. Banks
/// are 4 bytes wide, and a wavefront serves one word of each bank. An access of 8 bytes is served
/// by halves of the warp, and one of 16 bytes by quarters.
fn wavefronts(size: u32, offsets: &[u32]) -> u32 {
    let lanes = if size <= 4 { 32 } else { 128 / size as usize };
    let of_group = |group: &[u32]| {
        let mut words: Vec<u32> =
            group.iter().flat_map(|offset| (offset / 4)..=((offset + size - 1) / 4)).collect();
        words.sort_unstable();
        words.dedup();
        (0..32)
            .map(|bank| words.iter().filter(|&&word| word % 32 == bank).count() as u32)
            .max()
            .unwrap_or(0)
    };
    offsets.chunks(lanes).map(of_group).sum()
}

/// The average wavefronts of a load and of a store of a tile, computed from the definition of its
/// layout: `place` gives the position of the element of this row and column.
fn model(size: u32, tile: u32, place: impl Fn(u32, u32) -> u32) -> (f64, f64) {
    let (mut loads, mut stores, mut requests) = (0, 0, 0);
    for first in (0..tile * tile).step_by(32) {
        let lanes = || (first..first + 32).map(|lane| (lane / tile, lane % tile));
        let offsets = |place: &dyn Fn((u32, u32)) -> u32| {
            lanes().map(|at| size * place(at)).collect::<Vec<_>>()
        };
        stores += wavefronts(size, &offsets(&|(y, x)| place(y, x)));
        loads += wavefronts(size, &offsets(&|(y, x)| place(x, y)));
        requests += 1;
    }
    (f64::from(loads) / f64::from(requests), f64::from(stores) / f64::from(requests))
}

#[test]
fn conflicts_are_those_of_the_model() {
    for element in WIDTHS {
        let size = element.size();
        // The padding is one word, or one element if that is larger.
        let padding = (4 / size).max(1);
        for tile in [16, 32] {
            let plain = model(size, tile, |y, x| y * tile + x);
            let padded = model(size, tile, |y, x| y * (tile + padding) + x);
            let swizzled = model(size, tile, |y, x| y * tile + (x ^ y));
            for (variant, expected) in [
                (Variant::Tiled, plain),
                (Variant::Padded, padded),
                (Variant::Diagonal, padded),
                (Variant::InPlace, padded),
                (Variant::Swizzled, swizzled),
            ] {
                let (_, counted) = count(variant, element, tile);
                assert_eq!(counted, expected, "{variant}, {element}, tile {tile}");
            }
            let smooth = f64::from((size / 4).max(1));
            assert_eq!(swizzled, (smooth, smooth), "{element}, tile {tile}");
            if (size, tile) == (4, 16) {
                // A warp covers two rows. No padding separates the banks of two rows and also those
                // of two columns.
                assert_eq!((plain.0, padded), (8.0, (2.0, 2.0)));
            } else {
                assert_eq!(padded, (smooth, smooth), "{element}, tile {tile}");
            }
        }
        // All lanes that are served together use one bank. If elements are smaller than a word,
        // they use as many banks as a word has elements.
        let expected = (f64::from(32.min(8 * size)), f64::from((size / 4).max(1)));
        assert_eq!(model(size, 32, |y, x| y * 32 + x), expected, "{element}");
    }
}

/// If the extents of a matrix are not multiples of a vector, it is moved element by element, but
/// still along the rows.
#[test]
fn odd_extents_are_coalesced_too() {
    let (device, library) = (Device::simulator_with(Instrument::Count), library());
    let plan = plan_of(Variant::Best, ElementType::F32, (127, 129), 64);
    let matrix = Matrix::generate(ElementType::F32, 127, 129, 1).unwrap();
    Runner::new(&device, &library).transpose(&plan, &matrix, Runs::ONCE, |_| ()).unwrap();
    let Some(Seen::Counted(profile)) = device.take_observations().pop().map(|seen| seen.seen)
    else {
        panic!("nothing was counted")
    };
    for traffic in [profile.counters.global.load, profile.counters.global.store] {
        // A row may begin anywhere in a sector.
        assert!(traffic.sectors <= 5 * traffic.requests, "{traffic:?}");
    }
}

#[test]
fn a_plan_is_for_one_matrix() {
    let (device, library) = (Device::simulator_with(Instrument::Count), library());
    let plan = plan_of(Variant::Padded, ElementType::F32, (2, 3), 32);
    let matrix = Matrix::generate(ElementType::F32, 3, 2, 1).unwrap();
    let error =
        Runner::new(&device, &library).transpose(&plan, &matrix, Runs::ONCE, |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "the plan is for 2 x 3 f32 elements, not for 3 x 2 f32");
}
