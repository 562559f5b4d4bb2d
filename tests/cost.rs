//! Tests of the estimated cost against an H100, and of what the profiles say about the next rung.

use std::{fs, path::Path};

use simt::occupancy::Gpu;
use warpfold_lab::{
    device::{Device, Instrument},
    element::ElementType,
    experiment::{Runner, Runs},
    input::generate,
    launch::{DeviceLimits, Problem, Request, plan},
    op::Op,
    profile::{Burden, Profiled, REMAINDER, Registers, SECTOR, Target, WAVEFRONT},
    ptx::PtxLibrary,
    variant::{Coverage, Variant},
};

/// A reduction on a simulator that counts, planned for an H100.
fn count(variant: Variant, n: u64, grid: Option<u64>) -> Profiled {
    let library = PtxLibrary::embedded().unwrap();
    let device = Device::simulator_with(Instrument::Count);
    let gpu: Gpu = "h100".parse().unwrap();
    let problem = Problem { variant, op: Op::Sum, element: ElementType::I32, n };
    let request = Request { grid, ..Request::default() };
    let mut runner = Runner::new(&device, &library);
    let limits = DeviceLimits {
        multiprocessors: gpu.multiprocessors,
        ..runner.limits(&problem, &request).unwrap()
    };
    let plan = plan(&problem, &request, &limits).unwrap();
    let values = generate(ElementType::I32, Op::Sum, n, 1).unwrap();
    runner.reduce(&plan, &values, Runs::ONCE, |_| ()).unwrap();
    let target = Target { gpu, registers: Registers::Given(32), static_shared_bytes: 0 };
    Profiled::new(plan, String::new(), target, device.take_observations()).unwrap()
}

/// Each rung spends more of what its successor takes away, and says so with the number.
#[test]
fn each_rung_names_what_the_next_one_takes_away() {
    let profiles: Vec<Profiled> =
        Variant::all().map(|variant| count(variant, 1 << 20, None)).collect();
    for pair in profiles.windows(2) {
        let [rung, next] = [0, 1].map(|index| pair[index].plan.problem.variant);
        let burden = Burden::of(rung).unwrap();
        let [before, after] = [0, 1].map(|index| burden.amount(&pair[index]));
        assert!(before > after, "{rung} to {next}: {burden:?} {before} and {after}");
        let sentence = pair[0].next_sentence();
        assert!(sentence.starts_with(&format!("Rung {next} takes away ")), "{sentence}");
        let number: String = sentence.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(number.contains(&before.to_string()), "{before}: {sentence}");
        assert!(sentence.ends_with('.') && sentence.matches(". ").count() == 0, "{sentence}");
    }
    assert_eq!(Burden::of(Variant::AtomicWarp), None);
    let last = profiles[profiles.len() - 1].next_sentence();
    assert!(last.starts_with("No rung follows: "), "{last}");

    // The two rungs whose instructions are the burden name the lines of the loop over the steps.
    for (variant, file, first, last) in
        [(Variant::FirstAdd, "reduce4.rs", 35, 41), (Variant::WarpUnrolled, "reduce5.rs", 34, 40)]
    {
        let sentence = profiles[variant as usize].next_sentence();
        let lines: Vec<u32> = sentence
            .split(&format!("{file}:"))
            .skip(1)
            .map(|rest| rest.split(' ').next().unwrap().parse().unwrap())
            .collect();
        let in_loop = lines.iter().filter(|line| (first..=last).contains(*line)).count();
        assert!(in_loop >= 2, "{sentence}");
    }
}

#[test]
fn what_does_not_occur_is_not_taken_away() {
    let sentence = count(Variant::Vectorized, 100, None).next_sentence();
    assert!(
        sentence.starts_with("What rung 10 takes away does not occur with n = 100"),
        "{sentence}"
    );
}

/// The time of all launches of each rung on an H100 at 2^28 elements of i32, in microseconds.
fn times() -> Vec<(Variant, f64)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../bench/results/2026-11-22-h100/lab.ladder-i32-2^28.md");
    let text = fs::read_to_string(file).unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.split('|').map(|cell| cell.replace(char::is_whitespace, "")).collect()
    };
    let rows = text.lines().map(cells).filter(|cells| cells.len() > 6);
    rows.filter_map(|cells| Some((cells[1].parse().ok()?, cells[5].parse().ok()?))).collect()
}

/// The counts of one rung that the cost is made of: instructions, remainders, wavefronts, sectors.
fn parts(profiled: &Profiled) -> [f64; 4] {
    let counters = &profiled.counters;
    let shared = &counters.shared;
    let sectors = counters.bytes_moved() / 32 + counters.bulk.bytes / 32;
    [
        counters.warp_instructions,
        profiled.wastes().divisions,
        shared.load.wavefronts + shared.store.wavefronts + shared.atomic.wavefronts,
        sectors,
    ]
    .map(|count| count as f64)
}

/// The estimate of a row over its time.
fn ratio((parts, time): &([f64; 4], f64), weights: [f64; 4]) -> f64 {
    parts.iter().zip(weights).map(|(part, weight)| part * weight).sum::<f64>() / time
}

/// The factor from slots to time that makes the squares of the relative errors least, and the root
/// of their mean.
fn fit(rows: &[([f64; 4], f64)], weights: [f64; 4]) -> (f64, f64) {
    let ratios: Vec<f64> = rows.iter().map(|row| ratio(row, weights)).collect();
    let factor = ratios.iter().sum::<f64>() / ratios.iter().map(|ratio| ratio * ratio).sum::<f64>();
    let squares: f64 = ratios.iter().map(|ratio| (ratio * factor - 1.0).powi(2)).sum();
    (factor, (squares / ratios.len() as f64).sqrt())
}

/// The errors that `host/src/profile/cost.rs` and the guide state, computed anew. A small n stands
/// for 2^28: a block of a rung that strides over the input gets as many elements as on the H100.
#[test]
fn the_weights_of_the_cost_fit_an_h100() {
    const N: u64 = 1 << 20;
    let mut rows = Vec::new();
    let mut cached = Vec::new();
    let mut names = Vec::new();
    for (variant, time) in times() {
        // 2^28 elements in 1056 blocks are about as many in each as 2^20 in 4.
        let strides = matches!(variant.facts().coverage, Coverage::GridStride(_));
        let grid = strides.then_some(if variant == Variant::Bulk { 2 } else { 4 });
        let row = (parts(&count(variant, N, grid)), time / ((1 << 28) / N) as f64);
        match variant {
            Variant::Naive | Variant::Global => cached.push(row),
            Variant::Cooperative => {}
            _ => {
                rows.push(row);
                names.push(variant);
            }
        }
    }
    assert_eq!((rows.len(), cached.len()), (15, 2));
    let weights = [1.0, REMAINDER as f64, WAVEFRONT as f64, SECTOR as f64];
    let (factor, error) = fit(&rows, weights);
    let off = |row| format!("{:.0} %", 100.0 * (factor * ratio(row, weights) - 1.0).abs());
    let worst = (0..rows.len())
        .max_by(|&a, &b| {
            let error = |row: usize| (factor * ratio(&rows[row], weights) - 1.0).abs();
            error(a).total_cmp(&error(b))
        })
        .unwrap();
    assert_eq!(format!("{:.0} %", 100.0 * error), "9 %");
    assert_eq!((names[worst], off(&rows[worst])), (Variant::WarpUnrolled, "20 %".into()));
    assert!(factor * ratio(&rows[worst], weights) > 1.0);

    // The weights that follow from peak rates alone are off by more.
    let (_, peak) = fit(&rows, [1.0, 0.0, 4.0, 8.0]);
    assert_eq!(format!("{:.0} %", 100.0 * peak), "20 %");
    // No other weights are better by more than a percent. All up to twice as large are tried, in
    // sixteen steps.
    let steps = |most: f64| (0..=16).map(move |step| most * f64::from(step) / 16.0);
    let mut best = error;
    for remainder in steps(40.0) {
        for wavefront in steps(8.0) {
            for sector in steps(28.0) {
                best = best.min(fit(&rows, [1.0, remainder, wavefront, sector]).1);
            }
        }
    }
    assert!(best > error - 0.01, "{best} and {error}");

    // The rungs in global memory: the simulator has no caches, so the estimate is too high for one,
    // and it knows no latency, so it is too low for the other.
    let [naive, global] = [&cached[0], &cached[1]];
    assert!(ratio(naive, weights) * factor > 1.0 && ratio(global, weights) * factor < 1.0);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("guide/src/whole-ladder.md")).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for claim in [
        "the estimate is off by 9 %".to_owned(),
        "rung 5, which is 20 % too high".to_owned(),
        format!("the estimate is {} too high and {} too low", off(naive), off(global)),
        format!("| sector of global memory | {SECTOR} |"),
        format!("| wavefront of shared memory | {WAVEFRONT} |"),
        format!("| integer remainder or division | {REMAINDER} more |"),
    ] {
        assert!(text.contains(&claim), "the guide does not say: {claim}");
    }
}
