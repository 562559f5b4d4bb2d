//! Fast and precise functions: how fast, and how precise.

use super::{
    draw::{Section, work_cells, work_charts},
    error::AccessError,
    lab::Lab,
    sass::{self, Each},
    site::{Ran, Site},
    words::word,
};
use crate::{
    device::Arg,
    output::{Cell, Column, Table},
};

/// The largest error of the kernels' precise sine, in [`ulps`], for arguments up to 2^17.
pub const SIN_ULPS: f64 = 1.5;
/// The largest error of the kernels' precise exponential, in [`ulps`].
pub const EXP_ULPS: f64 = 1.0;

/// How many values a thread computes in a timed launch.
const TIMED_ROUNDS: u32 = 128;
/// How many values a thread computes in a counted launch.
const COUNTED_ROUNDS: u32 = 16;

/// The distance of `found` from `exact`, in units of the last place of an `f32` that is as large as
/// `exact`.
///
/// ```
/// use warpfold_lab::access::ulps;
/// assert_eq!(ulps(1.0 + f32::EPSILON, 1.0), 1.0);
/// assert_eq!(ulps(f32::from_bits(1), 0.0), 1.0);
/// ```
pub fn ulps(found: f32, exact: f64) -> f64 {
    // Zero has no exponent of its own, so it gets the exponent of the subnormal numbers.
    let exponent = (exact.abs().log2().floor() as i32).max(f32::MIN_EXP - 1);
    (f64::from(found) - exact).abs() / f64::from(exponent - 23).exp2()
}

/// The versions of a function.
const FAST: &str = "fast";
const PRECISE: &str = "precise";

#[derive(Clone, Copy)]
struct Function {
    name: &'static str,
    version: &'static str,
    kernel: &'static str,
    exact: fn(f64) -> f64,
    /// The arguments lie between `-most` and `most`.
    most: f32,
    /// The promise of `within`, in words.
    promise: &'static str,
    /// Whether an error is within the promised bound. The error is given in ulps and as an absolute
    /// value.
    within: fn(x: f32, ulps: f64, absolute: f64) -> bool,
}

const FUNCTIONS: [Function; 4] = [
    Function {
        name: "sin",
        version: FAST,
        kernel: "access_math_sin_fast",
        exact: f64::sin,
        most: std::f32::consts::PI,
        promise: "2^-20.5, absolute",
        // The PTX ISA, under "sin", promises this absolute error for arguments from -pi to pi.
        within: |_, _, absolute| absolute <= (-20.5_f64).exp2(),
    },
    Function {
        name: "sin",
        version: PRECISE,
        kernel: "access_math_sin_precise",
        exact: f64::sin,
        most: std::f32::consts::PI,
        promise: "1.5 ulp",
        within: |_, ulps, _| ulps <= SIN_ULPS,
    },
    Function {
        name: "exp",
        version: FAST,
        kernel: "access_math_exp_fast",
        exact: f64::exp,
        most: 10.0,
        promise: "2^-22 + abs(x) 2^-23, relative",
        // The PTX ISA, under "ex2", promises a relative error of 2^-22. The argument of ex2 is x
        // log2(e), and it has an error of its own: half an ulp from the constant and half an ulp
        // from the product, which together are |x| 2^-23 of the result. An ulp is at least 2^-24 of
        // the result.
        within: |x, ulps, _| {
            ulps <= (f64::from(x.abs()) * (-23_f64).exp2() + (-22_f64).exp2()) * 24_f64.exp2()
        },
    },
    Function {
        name: "exp",
        version: PRECISE,
        kernel: "access_math_exp_precise",
        exact: f64::exp,
        most: 10.0,
        promise: "1 ulp",
        within: |_, ulps, _| ulps <= EXP_ULPS,
    },
];

/// The largest errors over all arguments.
struct Errors {
    ulps: f64,
    absolute: f64,
}

pub(super) fn math(lab: &mut Lab<'_>) -> Result<Section, AccessError> {
    let (sizes, is_timed) = (lab.sizes_of(1 << 20, 1 << 12), lab.is_timed());
    let mut columns = vec![
        Column::new("function", "function"),
        Column::new("version", "version"),
        Column::new("sass_instructions", "SASS instructions each"),
        Column::new("instructions", "PTX instructions each"),
        Column::new("promised_error", "promised error"),
        Column::new("max_ulp", "largest error").in_unit("ulp"),
        Column::new("max_error", "largest error, absolute"),
    ];
    if is_timed {
        columns.push(Column::new("us", "time").in_unit("us"));
        columns.push(Column::new("gvalues_per_s", "values").in_unit("10^9/s"));
    }
    let mut machine = Vec::new();
    let mut table = Table::new("math", "Fast and precise functions", columns);
    lab.rows(
        FUNCTIONS,
        |function| format!("{}, {}", function.name, function.version),
        |lab, function| {
            let timed = lab.is_timed();
            let mut errors = None;
            let ran = {
                let errors = std::cell::RefCell::new(&mut errors);
                lab.measure(sizes, |site, n| {
                    let (ran, found) = math_run(site, n, function)?;
                    // The GPU, if there is one, runs after the simulator, so its errors are the
                    // ones that stay.
                    **errors.borrow_mut() = Some(found);
                    Ok(ran)
                })?
            };
            // The simulator computes the approximations of the special function units in f64, so
            // their errors there are not those of a GPU.
            let errors = errors.filter(|_| timed || function.version != FAST);
            let each = lab.machine_instructions(function.kernel).map(Each::with_call);
            machine.push((function.name, function.version, each));
            let done = sizes.counted.div_ceil(32) * u64::from(COUNTED_ROUNDS);
            let mut row = vec![
                function.name.into(),
                function.version.into(),
                sass::cell(each),
                Cell::number(ran.counters.warp_instructions as f64 / done as f64, 2),
                function.promise.into(),
                errors.as_ref().map_or(Cell::Missing, |errors| Cell::number(errors.ulps, 2)),
                errors.map_or(Cell::Missing, |errors| Cell::number(errors.absolute, 10)),
            ];
            if timed {
                row.extend(work_cells(ran.time, sizes.timed * u64::from(TIMED_ROUNDS)));
            }
            table.push(row);
            Ok(())
        },
    )?;
    table.notes.push(lab.sizes_note("arguments", sizes.counted, sizes.timed));
    table.notes.push("The sine has arguments from -pi to pi, and the exponential from -10 to 10. Errors are differences from results in f64.".into());
    if !is_timed {
        table.notes.push(
            "The simulator computes sin.approx and ex2.approx in f64, so their errors are left out here. The promised errors are those \
             of the PTX ISA for the fast functions, and those of this repository's tests for the precise ones."
                .into(),
        );
    }
    table.notes.push(lab.machine_note());
    let lesson = lesson(&machine);
    table.notes.extend(lesson.clone());
    let speed = is_timed
        .then_some(("values", "The fast versions are several times as fast as the precise ones."));
    let charts = work_charts(
        &table,
        "Fast and precise functions",
        "function",
        speed,
        lesson.as_deref().unwrap_or("The machine instructions of each function."),
    );
    Ok(Section { tables: vec![table], charts })
}

/// What the slide says, with the numbers of this table.
fn lesson(machine: &[(&str, &str, Option<f64>)]) -> Option<String> {
    let each = |name: &str, version: &str| {
        machine.iter().find(|it| (it.0, it.1) == (name, version)).and_then(|it| it.2)
    };
    Some(format!(
        "The fast sine takes {:.1} machine instructions and the precise one {:.1}; the fast exponential takes {:.1} and the precise \
         one {:.1}.",
        each("sin", FAST)?,
        each("sin", PRECISE)?,
        each("exp", FAST)?,
        each("exp", PRECISE)?
    ))
}

fn math_run(site: &mut Site<'_>, n: u64, function: Function) -> Result<(Ran, Errors), AccessError> {
    // The arguments are spread evenly, because `word` multiplies the index by 2^32 over the golden
    // ratio.
    let argument =
        |i| (f64::from(word(i, site.seed)) / 2.0_f64.powi(31) - 1.0) * f64::from(function.most);
    let arguments: Vec<f32> = (0..n as u32).map(|i| argument(i) as f32).collect();
    let (input, output) =
        (site.device.upload(&arguments)?, site.device.alloc::<f32>(arguments.len())?);
    let rounds = if site.is_timed() { TIMED_ROUNDS } else { COUNTED_ROUNDS };
    let args = [
        Arg::Pointer(input.address()),
        Arg::Pointer(output.address()),
        Arg::U64(n),
        Arg::U32(rounds),
        Arg::U32(0.0_f32.to_bits()),
    ];
    let ran = site.run(function.kernel, Site::shape_of_threads(n, 0), &args)?;
    let mut errors = Errors { ulps: 0.0, absolute: 0.0 };
    for (i, (&x, &found)) in arguments.iter().zip(&output.copy_to_host()?).enumerate() {
        let exact = (function.exact)(x.into());
        let (ulps, absolute) = (ulps(found, exact), (f64::from(found) - exact).abs());
        // A NaN fails this test, because every comparison with a NaN is false.
        if !(function.within)(x, ulps, absolute) {
            return Err(AccessError::Wrong {
                kernel: function.kernel.to_owned(),
                parameter: format!("x = {x:?}"),
                place: format!("element {i}"),
                found: format!("{found:?}"),
                expected: format!("near {exact:?}"),
            });
        }
        errors.ulps = errors.ulps.max(ulps);
        errors.absolute = errors.absolute.max(absolute);
    }
    Ok((ran, errors))
}
