//! Tests that a flag, such as one that Ctrl-C sets, ends the simulator's work.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use support::library;
use warpfold_lab::{
    device::Device,
    element::{ElementType, Values},
    launch::{DeviceLimits, Problem, Request, plan},
    op::Op,
    reduce::{RunError, Runner, Runs},
    variant::Variant,
};

mod support;

#[test]
fn a_flag_ends_the_simulators_work() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    let device = Device::simulator();
    device.interrupt_by(&FLAG);
    let library = library();
    let problem = Problem {
        variant: Variant::Sequential,
        op: Op::Sum,
        element: ElementType::I32,
        n: 100_000,
    };
    let plan =
        plan(&problem, &Request::default(), &DeviceLimits::new(device.info(), 1 << 30)).unwrap();
    let values = Values::I32(vec![1; 100_000]);
    let runs = Runs { warm_up: 1, timed: 10 };
    let reduce = |stop_in: u32| {
        FLAG.store(false, Relaxed);
        // The next launch is stopped in its middle, so its output is not the result.
        let stop = |run| FLAG.store(run == stop_in, Relaxed);
        Runner::new(&device, &library).reduce(&plan, &values, runs, stop)
    };
    for stop_in in 2..11 {
        let outcome = reduce(stop_in).unwrap();
        assert_eq!(
            (outcome.times.len() as u32, outcome.result.to_string()),
            (stop_in - 1, "100000".into())
        );
    }
    assert_eq!(reduce(11).unwrap().times.len(), 10);
    for stop_in in [0, 1] {
        assert!(matches!(reduce(stop_in), Err(RunError::Interrupted)));
    }
    assert!(device.is_interrupted());
}
