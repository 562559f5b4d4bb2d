//! Arrays in files, the command over them, and what must come of it.

// Each test binary uses only a part of this file.
#![allow(dead_code)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use half::{bf16, f16};
use serde_json::Value;

use crate::program;

/// The text of an output, which is UTF-8.
pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// An array. `<V2` stands for `bf16`, which NumPy does not have.
pub(crate) struct Input {
    pub(crate) descr: &'static str,
    pub(crate) shape: Vec<usize>,
    /// In C order.
    pub(crate) elements: Vec<f64>,
    pub(crate) is_fortran: bool,
}

impl Input {
    /// An array of small numbers, which are exact in every type.
    pub(crate) fn new(descr: &'static str, shape: &[usize], is_fortran: bool) -> Self {
        let number = |k: usize| {
            let number = (k * 7 + k / 5 + 3) % 23;
            match &descr[1..2] {
                "b" => (number % 3).min(1) as f64,
                "u" => number as f64,
                "i" => number as f64 - 9.0,
                _ => (number as f64 - 9.0) / 4.0,
            }
        };
        let elements = (0..shape.iter().product()).map(number).collect();
        Self { descr, shape: shape.to_vec(), elements, is_fortran }
    }

    /// The indices of the element with this number in C order.
    pub(crate) fn indices(&self, mut number: usize) -> Vec<usize> {
        let mut indices = vec![0; self.shape.len()];
        for (index, &size) in indices.iter_mut().zip(&self.shape).rev() {
            *index = number % size;
            number /= size;
        }
        indices
    }

    /// The bytes of a .npy file.
    pub(crate) fn npy(&self) -> Vec<u8> {
        let mut elements = vec![Vec::new(); self.elements.len()];
        for (number, &x) in self.elements.iter().enumerate() {
            let place = if self.is_fortran {
                let indices = self.indices(number);
                indices.iter().zip(&self.shape).rev().fold(0, |sum, (i, size)| sum * size + i)
            } else {
                number
            };
            elements[place] = match self.descr {
                "|b1" | "|u1" => vec![x as u8],
                "|i1" => (x as i8).to_le_bytes().to_vec(),
                "<u2" => (x as u16).to_le_bytes().to_vec(),
                "<i4" => (x as i32).to_le_bytes().to_vec(),
                "<u4" => (x as u32).to_le_bytes().to_vec(),
                ">i4" => (x as i32).to_be_bytes().to_vec(),
                "<i8" => (x as i64).to_le_bytes().to_vec(),
                ">i8" => (x as i64).to_be_bytes().to_vec(),
                "<u8" => (x as u64).to_le_bytes().to_vec(),
                "<V2" => bf16::from_f64(x).to_le_bytes().to_vec(),
                "<f2" => f16::from_f64(x).to_le_bytes().to_vec(),
                "<f4" => (x as f32).to_le_bytes().to_vec(),
                "<f8" => x.to_le_bytes().to_vec(),
                other => panic!("{other} has no bytes here"),
            };
        }
        npy(self.descr, &self.shape, self.is_fortran, &elements.concat())
    }
}

/// The bytes of a .npy file with these bytes as its elements.
pub(crate) fn npy(descr: &str, shape: &[usize], is_fortran: bool, elements: &[u8]) -> Vec<u8> {
    let sizes: Vec<_> = shape.iter().map(|size| format!("{size},")).collect();
    let sizes = sizes.concat();
    let order = if is_fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({sizes}), }}");
    let header = format!("{header:117}\n");
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), elements]
        .concat()
}

/// A folder with files, in which the command runs.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("there is a folder for files"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("the file is written");
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.run_with(line, &[])
    }

    /// Runs the command with these words and this standard input.
    pub(crate) fn run_with(&self, line: &str, input: &[u8]) -> Output {
        program::run(self.0.path(), line.split_whitespace(), input)
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("stdout is one JSON object")
    }
}

/// Runs a command that must be refused: by one sentence, and nothing is printed as a result.
pub(crate) fn refused(folder: &Folder, line: &str, error: &str) {
    refused_with(folder, line, &[], error);
}

/// As [`refused`], with this standard input.
pub(crate) fn refused_with(folder: &Folder, line: &str, input: &[u8], error: &str) {
    let output = folder.run_with(line, input);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{line}");
    let stderr = text(&output.stderr);
    assert!(stderr.contains(error), "{line}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{line}: {stderr}");
}

/// The result of an operation over a row, by a plain loop.
pub(crate) fn expected(operation: &str, row: &[f64]) -> f64 {
    let n = row.len() as f64;
    let first = |is_better: fn(f64, f64) -> bool| {
        (1..row.len()).fold(0, |best, k| if is_better(row[k], row[best]) { k } else { best })
    };
    let mean = row.iter().sum::<f64>() / n;
    match operation {
        "sum" | "wrapping-sum" | "compensated" | "wide" => row.iter().sum(),
        "nansum" => row.iter().filter(|x| !x.is_nan()).sum(),
        "mean" | "nanmean" => mean,
        "logsumexp" => row.iter().map(|x| x.exp()).sum::<f64>().ln(),
        "var" => row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n,
        "std" => expected("var", row).sqrt(),
        "min" => row[first(|x, best| x < best)],
        "max" | "maximum" => row[first(|x, best| x > best)],
        "argmin" => first(|x, best| x < best) as f64,
        "argmax" => first(|x, best| x > best) as f64,
        "count" => row.iter().filter(|&&x| x != 0.0).count() as f64,
        "any" => f64::from(row.iter().any(|&x| x != 0.0)),
        "norm1" => row.iter().map(|x| x.abs()).sum(),
        "sum-squares" => row.iter().map(|x| x * x).sum(),
        "norm2" => row.iter().map(|x| x * x).sum::<f64>().sqrt(),
        "max-abs" => row.iter().fold(0.0, |most, x| most.max(x.abs())),
        "bit-xor" => row.iter().fold(0, |bits, &x| bits ^ x as i64) as f64,
        other => panic!("{other} has no loop here"),
    }
}

/// A result in JSON as a number, and the element at an index.
fn number(result: &Value) -> (f64, Option<f64>) {
    match result {
        Value::Bool(truth) => (f64::from(*truth), None),
        Value::Object(indexed) => {
            (indexed["index"].as_f64().expect("an index"), indexed["element"].as_f64())
        }
        number => (number.as_f64().expect("a number"), None),
    }
}

/// Compares a result in JSON with that of a plain loop over the row.
pub(crate) fn compare(operation: &str, result: &Value, row: &[f64], what: &str) {
    if operation == "minmax" {
        compare("min", &result["min"], row, what);
        compare("max", &result["max"], row, what);
        return;
    }
    let (found, element) = number(result);
    let expected = expected(operation, row);
    let is_near = ["mean", "nanmean", "var", "std", "norm2", "logsumexp"].contains(&operation);
    let error = if is_near { 1e-6 * expected.abs().max(1.0) } else { 0.0 };
    assert!((found - expected).abs() <= error, "{what}: {found}, not {expected}");
    if let Some(element) = element {
        assert!((element - row[found as usize]).abs() <= 0.0, "{what}: {element}");
    }
}

/// The header of a .npy file that the command has saved, and its numbers.
pub(crate) fn saved(path: &Path) -> (String, Vec<f64>) {
    let bytes = fs::read(path).expect("the results are saved");
    let (header, elements) = bytes.split_at(128);
    let header = String::from_utf8_lossy(header).into_owned();
    let descr = header.split('\'').nth(3).expect("the header has a type").to_owned();
    let size: usize = descr[2..].parse().expect("a size");
    let numbers = elements.chunks_exact(size).map(|bytes| match descr.as_str() {
        "<f4" => f32::from_le_bytes(bytes.try_into().expect("4 bytes")).into(),
        "<f8" => f64::from_le_bytes(bytes.try_into().expect("8 bytes")),
        "<i8" => i64::from_le_bytes(bytes.try_into().expect("8 bytes")) as f64,
        "<u8" => u64::from_le_bytes(bytes.try_into().expect("8 bytes")) as f64,
        "|b1" | "|u1" => bytes[0].into(),
        other => panic!("{other} has no numbers here"),
    });
    let numbers = numbers.collect();
    (header, numbers)
}
