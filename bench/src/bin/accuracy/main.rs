//! Measures the errors and the times of sums of floats: the reducer's operations beside NumPy's
//! pairwise sum and CUB's, over numbers that are harder and harder to sum.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    thread,
    time::{Duration, SystemTime},
};

use anyhow::{Context, ensure};
use bench::{Times, gb_per_s, peers::PeerLibrary};
use clap::Parser;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use warpfold_lab::{
    cli,
    device::{Buffer, DeviceChoice, Stream},
    output::{Cell, Column, Document, Format, Table},
};

use data::{Data, Kind};
use method::{CUB, Method, Peer};

mod data;
mod method;

/// The number of measurements before the first one that counts; they warm up the device.
const WARM_UPS: usize = 3;

/// Compares several ways to sum floats by their errors and their times
#[derive(Parser)]
#[command(version)]
struct Args {
    /// How many numbers are summed
    #[arg(long, default_value_t = 100_000_000, value_parser = clap::value_parser!(u64).range(16..=1 << 31))]
    n: u64,

    /// Seed of the numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Number of measurements of each sum
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u64).range(1..))]
    samples: u64,

    /// The library that bench/peers/build.sh makes of CUB
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,

    /// The script bench/peers/numpy_sum.py, which is run with python3
    #[arg(long, value_name = "FILE")]
    numpy: Option<PathBuf>,

    /// The device that runs the kernels: auto, cuda or sim
    #[arg(long, default_value = "cuda")]
    device: DeviceChoice,

    /// Write all numbers to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Args::parse(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One way to sum one set of numbers.
struct Row {
    method: String,
    result: f64,
    /// The relative error, `|result - truth| / |truth|`.
    error: f64,
    /// Times on the device; for NumPy, the best of three on the host.
    times: Times,
    /// Whether the permuted numbers give the same bits.
    is_permutable: bool,
}

fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let n = args.n as usize;
    cli::choose_driver();
    let device = args.device.open()?;
    let stream = device.stream()?;
    let peers = args.peers.as_deref().map(PeerLibrary::open).transpose()?;
    let mut missing = Vec::new();
    let mut methods = method::all_ours(&device)?;
    match &peers {
        Some(peers) => {
            for (function, name) in CUB {
                match peers.function(function) {
                    Some(function) => {
                        methods.push(Box::new(Peer::new(&device, name, function, n)?));
                    }
                    None => missing.push(format!("This CUB has no {function}.")),
                }
            }
        }
        None => missing.push("CUB is missing: there is no --peers.".to_owned()),
    }
    if args.numpy.is_none() {
        missing.push("NumPy is missing: there is no --numpy.".to_owned());
    }

    let conditions = (2..=12).step_by(2).map(|exponent| Kind::Conditioned(10f64.powi(exponent)));
    let kinds: Vec<_> = [Kind::Uniform].into_iter().chain(conditions).chain([Kind::Wide]).collect();
    eprintln!("making {} times {n} numbers", kinds.len());
    // Threads make the numbers, because making them takes longer than summing.
    let data = thread::scope(|scope| {
        let makers: Vec<_> =
            kinds.iter().map(|&kind| scope.spawn(move || Data::new(kind, n, args.seed))).collect();
        makers
            .into_iter()
            .map(|maker| maker.join().expect("making numbers does not panic"))
            .collect::<Vec<_>>()
    });
    let mut sets = Vec::new();
    for data in data {
        let data = data?;
        eprintln!("summing numbers, {}", data.kind.name());
        let input = device.upload(&data.values)?;
        let permuted = device.upload(&data.permuted)?;
        let mut rows = Vec::new();
        for method in &methods {
            rows.push(measure(
                &**method,
                &stream,
                (&input, &permuted),
                data.truth,
                args.samples as usize,
            )?);
        }
        if let Some(script) = &args.numpy {
            match numpy(script, &data) {
                Ok(row) => rows.push(row),
                Err(error) => {
                    missing.push(format!("NumPy is missing, {}: {error:#}.", data.kind.name()));
                }
            }
        }
        sets.push((data.kind, data.condition, data.truth, rows));
    }

    let environment = [
        ("device", device.info().name.clone()),
        ("peers", peers.as_ref().map_or(Ok("none".to_owned()), PeerLibrary::versions)?),
        ("warpfold", env!("CARGO_PKG_VERSION").to_owned()),
        ("date", humantime::format_rfc3339_seconds(SystemTime::now()).to_string()),
        ("command", std::env::args().collect::<Vec<_>>().join(" ")),
    ];
    let environment: Vec<(String, String)> =
        environment.map(|(key, value)| (key.to_owned(), value)).to_vec();
    let mut document = Document {
        title: format!("Sums of {n} f32"),
        environment: environment.clone(),
        tables: sets.iter().map(|set| table(set, n)).collect(),
        ..Document::default()
    };
    if let Some(table) = document.tables.last_mut() {
        table.notes.extend(missing.iter().cloned());
    }
    document.write(Format::Table, out)?;
    if let Some(file) = &args.json {
        let environment: serde_json::Map<_, _> =
            environment.into_iter().map(|(key, value)| (key, Json::from(value))).collect();
        let sets: Vec<_> = sets.iter().map(json_of).collect();
        let document = json!({ "environment": environment, "n": n, "seed": args.seed, "missing": missing, "sets": sets });
        fs::write(file, serde_json::to_string_pretty(&document)? + "\n")
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    // This checks the operations that promise the same bits in every order.
    for (kind, _, truth, rows) in &sets {
        for row in rows.iter().filter(|row| row.method == "ReproducibleSum") {
            ensure!(row.is_permutable, "{}: ReproducibleSum depends on the order", kind.name());
            let is_rounded = row.result.to_bits() == f64::from(*truth as f32).to_bits();
            ensure!(
                is_rounded,
                "{}: ReproducibleSum is {:e} instead of {truth:e}",
                kind.name(),
                row.result
            );
        }
    }
    Ok(())
}

/// Measures one method: computes the sum, computes the sum of the permuted numbers too, and times
/// single calls.
fn measure(
    method: &dyn Method,
    stream: &Stream,
    (input, permuted): (&Buffer<f32>, &Buffer<f32>),
    truth: f64,
    samples: usize,
) -> anyhow::Result<Row> {
    let sum = |input: &Buffer<f32>| -> anyhow::Result<f64> {
        method.start(input, stream)?;
        stream.synchronize()?;
        method.result(input.len())
    };
    let result = sum(input)?;
    let is_permutable = sum(permuted)?.to_bits() == result.to_bits();
    let mut times = Vec::new();
    for sample in 0..WARM_UPS + samples {
        let time = stream.time(|| method.start(input, stream))?;
        if sample >= WARM_UPS {
            times.push(time);
        }
    }
    let error = (result - truth).abs() / truth.abs();
    Ok(Row {
        method: method.name().to_owned(),
        result,
        error,
        times: Times::of(times),
        is_permutable,
    })
}

/// The JSON that `numpy_sum.py` prints.
#[derive(Deserialize)]
struct NumpySum {
    sum: f64,
    seconds: f64,
    version: String,
}

/// NumPy's sum, on the host.
fn numpy(script: &Path, data: &Data) -> anyhow::Result<Row> {
    let sum = |values: &[f32]| -> anyhow::Result<NumpySum> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("numbers.bin");
        File::create(&file)?.write_all(bytemuck::cast_slice(values))?;
        let output = Command::new("python3")
            .arg(script)
            .arg(&file)
            .output()
            .context("python3 cannot be run")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{}",
            errors.lines().last().unwrap_or("numpy_sum.py failed")
        );
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let first = sum(&data.values)?;
    let is_permutable = sum(&data.permuted)?.sum.to_bits() == first.sum.to_bits();
    Ok(Row {
        method: format!("NumPy {} (pairwise, on the host)", first.version),
        result: first.sum,
        error: (first.sum - data.truth).abs() / data.truth.abs(),
        times: Times::of(vec![Duration::from_secs_f64(first.seconds)]),
        is_permutable,
    })
}

fn table((kind, condition, truth, rows): &(Kind, f64, f64, Vec<Row>), n: usize) -> Table {
    let columns = vec![
        Column::new("method", "method"),
        Column::new("result", "sum"),
        Column::new("error", "relative error"),
        Column::new("us", "time").in_unit("us"),
        Column::new("gb_per_s", "rate").in_unit("GB/s"),
        Column::new("ratio", "time over Sum's"),
        Column::new("permuted", "permuted"),
    ];
    let title = format!("{}: condition number {condition:.2e}, sum {truth:e}", kind.name());
    let mut table = Table::new(kind.name(), title, columns);
    let us = |row: &Row| row.times.median.as_secs_f64() * 1e6;
    for row in rows {
        table.push([
            Cell::Text(row.method.clone()),
            Cell::Text(format!("{:e}", row.result)),
            Cell::Text(format!("{:.1e}", row.error)),
            Cell::number(us(row), 1),
            Cell::number(gb_per_s(4 * n as u64, row.times.median), 0),
            Cell::number(us(row) / us(&rows[0]), 3),
            if row.is_permutable { "same bits" } else { "other bits" }.into(),
        ]);
    }
    table
}

fn json_of((kind, condition, truth, rows): &(Kind, f64, f64, Vec<Row>)) -> Json {
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    let rows = rows.iter().map(|row| {
        // JSON has no infinities, so they are written as strings.
        let number =
            |value: f64| if value.is_finite() { json!(value) } else { json!(value.to_string()) };
        json!({
            "method": row.method, "result": number(row.result), "relative_error": number(row.error),
            "median_us": us(row.times.median),
            "quartiles_us": [us(row.times.lower_quartile), us(row.times.upper_quartile)],
            "same_bits_permuted": row.is_permutable,
        })
    });
    json!({ "numbers": kind.name(), "condition": condition, "truth": truth, "rows": rows.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sums_are_compared_on_the_simulator() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("accuracy.json");
        let line = ["accuracy", "--n", "4000", "--samples", "1", "--device", "sim", "--json"];
        let args = Args::parse_from(line.into_iter().map(Path::new).chain([file.as_path()]));
        let mut out = Vec::new();
        run(&args, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.contains("CUB is missing: there is no --peers.") && out.contains("2^-100 to 2^100"),
            "{out}"
        );

        let json: Json = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let sets = json["sets"].as_array().unwrap();
        assert_eq!(sets.len(), 8);
        for set in sets {
            let error = |method: &str| {
                let rows = set["rows"].as_array().unwrap();
                let row = rows.iter().find(|row| row["method"] == method).unwrap();
                assert!(row["median_us"].as_f64().unwrap() > 0.0);
                row["relative_error"].as_f64().unwrap()
            };
            // Half a unit in the last place of an `f32`.
            assert!(error("ReproducibleSum") <= f64::from(f32::EPSILON) / 2.0, "{set}");

            let condition = set["condition"].as_f64().unwrap();
            assert!(error("CompensatedSum") <= 1e-6 + 1e-12 * condition, "{set}");
            assert!(error("WideSum") <= 1e-12 * condition, "{set}");
            assert!(error("Sum") <= 1e-4 * condition, "{set}");
        }
        // The hardest set: an `f32` sum has no correct digit.
        let hardest = &sets[6]["rows"][0];
        assert_eq!(
            (hardest["method"].as_str(), sets[6]["numbers"].as_str()),
            (Some("Sum"), Some("condition 1e12"))
        );
        assert!(hardest["relative_error"].as_f64().unwrap() > 1.0, "{hardest}");
        assert_eq!(hardest["same_bits_permuted"], false);
    }
}
