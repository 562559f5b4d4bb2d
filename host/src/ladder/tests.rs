use std::time::Duration;

use super::*;
use crate::{
    device::{Device, DeviceInfo, DeviceKind, Instrument},
    element::{Element, ElementType},
    experiment::{Runs, Times, test_device},
    input::Fill,
    launch::{DeviceLimits, PlanError, Request, plan},
    op::Op,
    ptx::PtxLibrary,
    reference::Reference,
    variant::Variant,
};

fn h100() -> DeviceInfo {
    DeviceInfo {
        name: "NVIDIA H100 80GB HBM3".into(),
        memory_bytes: 80 << 30,
        peak_bytes_per_second: Some(3e12),
        ..test_device(DeviceKind::Cuda)
    }
}

const WORK: Work =
    Work { op: Op::Sum, element: ElementType::I32, n: 1_000_000, fill: Fill::Random, seed: 1 };

fn measured(variant: Variant, micros: u64, result: i32) -> Rung {
    let contender = Contender::new(variant);
    let limits = DeviceLimits::new(&h100(), 1 << 30);
    let plan = plan(&contender.problem(&WORK), &contender.request, &limits).unwrap();
    let reference = Reference::new(&i32::values(vec![7]), Op::Sum, 0);
    let times = Times::new(&[Duration::from_micros(micros); 20]);
    let tuned = (variant == Variant::MultipleElements).then_some(1 << 24);
    let measured = Measured {
        plan,
        tuned,
        result: result.value(),
        reference,
        times,
        counted: None,
        not_counted: None,
    };
    Rung { variant, outcome: Ok(measured) }
}

fn refused(variant: Variant) -> Rung {
    let refusal = PlanError::Nothing { op: Op::Max };
    Rung { variant, outcome: Err(refusal.into()) }
}

/// A climb that looks as if it were measured on a GPU, so that nothing needs to run.
fn on_gpu(rungs: Vec<Rung>, asked: usize) -> Climb {
    Climb {
        device: h100(),
        planned_for: None,
        work: WORK,
        runs: Runs { warm_up: 3, timed: 20 },
        rungs,
        asked,
    }
}

#[test]
fn a_gpus_ladder_reads_as_the_lectures() {
    let climb = on_gpu(
        vec![
            measured(Variant::Sequential, 40, 7),
            refused(Variant::FirstAdd),
            measured(Variant::WarpUnrolled, 20, 7),
            measured(Variant::MultipleElements, 8, 6),
        ],
        5,
    );
    let mut text = Vec::new();
    climb.document(false).write(crate::output::Format::Table, &mut text).unwrap();
    insta::assert_snapshot!(String::from_utf8(text).unwrap(), @r"
    The reduction ladder: sum of 1000000 i32 elements

    device     NVIDIA H100 80GB HBM3
    peak       3000.0 GB/s
    input      1000000 i32 elements, seed 1
    operation  sum
    runs       median of 20, after 3 to warm up

    The ladder

    | variant | name              |  time | bandwidth | of peak | step | cumulative | check   |
    |         |                   |  (us) |    (GB/s) |     (%) |  (x) |        (x) |         |
    |---------|-------------------|-------|-----------|---------|------|------------|---------|
    | 3       | sequential        | 40.00 |     100.0 |     3.3 |      |            | ok      |
    | 4       | first-add         |       |           |         |      |            | refused |
    | 5       | warp-unrolled     | 20.00 |     200.0 |     6.7 | 2.00 |       2.00 | ok      |
    | 7       | multiple-elements |  8.00 |     500.0 |    16.7 | 2.50 |       5.00 | WRONG   |

    The command was interrupted: 4 of 5 rungs were measured completely.
    The time is that of all launches, without copies. The bandwidth is the size of the input divided by
    this time.
    Variant 4 is refused: n = 0: max needs at least one element.
    Variant 7 has its tuned shape: grid 1056, block 256, by reduce tune with n = 16777216.
    Variant 7 is WRONG: it gave 6, and the reference is 7.
    The columns grid, block are not shown. The option --columns all shows them.
    ");
    assert_eq!(climb.wrong().unwrap().plan.problem.variant, Variant::MultipleElements);
}

#[test]
fn a_gpus_charts_have_the_peak_and_its_peers() {
    let document =
        on_gpu(vec![measured(Variant::Sequential, 40, 7), refused(Variant::FirstAdd)], 2)
            .document(true);
    let [chart] = &document.charts[..] else { panic!("{:?}", document.charts) };
    let references: Vec<_> =
        chart.references.iter().map(|reference| (&*reference.label, reference.value)).collect();
    assert_eq!(
        references,
        [("peak of the memory", 3000.0), ("CUB 3.0, n = 1 073 741 824", 3101.0)]
    );
    let [(_, gb_per_s)] = chart.series[0].points[..] else { panic!("{chart:?}") };
    assert!((gb_per_s - 100.0).abs() < 1e-9);
    assert_eq!(
        chart.description,
        "The sum of 1 000 000 i32 elements. It is 100.0 GB/s with each variant."
    );

    let sweep = [1, 2].map(|_| on_gpu(vec![measured(Variant::Sequential, 40, 7)], 1));
    let document = sweep_document(&sweep, 3).unwrap();
    let ids: Vec<_> = document.charts.iter().map(|chart| &*chart.id).collect();
    assert_eq!(ids, ["bandwidth", "time"]);
    assert_eq!(
        document.tables[0].notes[0],
        "The command was interrupted: 2 of 3 sizes were measured completely."
    );
    assert_eq!(document.charts[0].references.len(), 2);
    assert!(sweep_document(&[], 3).is_none());
}

#[test]
fn a_rung_with_fewer_runs_is_not_whole() {
    let mut climb =
        on_gpu(vec![measured(Variant::Sequential, 40, 7), refused(Variant::FirstAdd)], 2);
    assert!(!climb.is_cut_short());
    climb.runs.timed = 21;
    assert_eq!((climb.whole(), climb.is_cut_short()), (1, true));
}

/// The simulator that counts beside a device runs the same launches as the device.
#[test]
fn a_counter_beside_a_device_counts() {
    let (device, library) = (Device::simulator(), PtxLibrary::embedded().unwrap());
    let counter = Device::simulator_with(Instrument::Count);
    let contenders = [Variant::Global, Variant::Sequential].map(Contender::new);
    let counted = |bench: &mut Bench<'_>| {
        let climb = climb(
            bench,
            Work { n: 5000, ..WORK },
            &contenders,
            Runs { warm_up: 3, timed: 5 },
            &mut |_| (),
        )
        .unwrap();
        climb.measured().map(|measured| measured.counted).collect::<Vec<_>>()
    };
    let beside = counted(&mut Bench::new(&device, Some(&counter), &library));
    assert!(beside.iter().all(Option::is_some));
    assert_eq!(beside, counted(&mut Bench::new(&counter, None, &library)));
    assert_eq!(counted(&mut Bench::new(&device, None, &library)), [None, None]);
}

#[test]
fn what_none_can_do_is_refused_with_the_first_reason() {
    let (device, library) =
        (Device::simulator_with(Instrument::Count), PtxLibrary::embedded().unwrap());
    let mut bench = Bench::new(&device, None, &library);
    let mut refused = |n, block| {
        let request = Request { block: Some(block), ..Request::default() };
        let contenders = [Variant::WarpUnrolled, Variant::CompletelyUnrolled]
            .map(|variant| Contender { request, ..Contender::new(variant) });
        climb(&mut bench, Work { n, ..WORK }, &contenders, Runs::ONCE, &mut |_| ()).unwrap_err()
    };
    assert!(matches!(refused(0, 64), LadderError::Nothing));
    let reason = LadderError::Refused(Refusal::Plan(PlanError::Block {
        block: 32,
        variant: Variant::WarpUnrolled,
        min: 64,
        max: 1024,
    }));
    assert_eq!(refused(5, 32).to_string(), reason.to_string());
}
