//! Mutants of a production kernel, each of which is one edit of its PTX.

use std::collections::BTreeSet;

use bench::edit::{Edit, apply};
use simt::{Checked, Fault, Memory, Report};

/// The seeds of the orders in which the warps run.
pub(crate) const SEEDS: [Option<u64>; 3] = [None, Some(1), Some(2)];

/// What the checks find in one order of the warps, and whether the memory is right afterwards.
pub(crate) struct Outcome {
    classes: BTreeSet<&'static str>,
    text: String,
    is_right: bool,
}

impl Outcome {
    /// The outcome of a checked launch. `is_right` is asked only if the launch came to its end.
    pub(crate) fn new(checked: &Checked, is_right: impl FnOnce() -> bool) -> Self {
        Self::of(&checked.reports, checked.fault.as_deref(), is_right)
    }

    /// The outcome of a launch with these findings.
    pub(crate) fn of(
        reports: &[Report],
        fault: Option<&Fault>,
        is_right: impl FnOnce() -> bool,
    ) -> Self {
        let is_right = fault.is_none() && is_right();
        let reports = reports.iter().map(|report| (report.kind.name(), report.to_string()));
        let fault = fault.iter().map(|fault| (fault.kind.name(), fault.to_string()));
        let (classes, text): (_, Vec<_>) = reports.chain(fault).unzip();
        Self { classes, text: text.join("\n"), is_right }
    }

    /// Asserts that nothing was found, and that the memory is right. `what` was launched.
    pub(crate) fn assert_clean(&self, what: &str) {
        assert!(self.classes.is_empty(), "{what}:\n{}", self.text);
        assert!(self.is_right, "{what}: the results are wrong");
    }

    /// The outcome of two launches.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.classes.extend(other.classes);
        self.text += &other.text;
        self.is_right &= other.is_right;
        self
    }
}

/// Allocates memory with these bytes, and returns its address.
pub(crate) fn upload(memory: &Memory, bytes: &[u8]) -> u64 {
    let address = memory.alloc(bytes.len() as u64).unwrap();
    memory.write(address, bytes).unwrap();
    address
}

/// The first `len` values at an address.
pub(crate) fn read<T: bytemuck::Pod>(memory: &Memory, address: u64, len: usize) -> Vec<T> {
    let mut values = vec![T::zeroed(); len];
    memory.read(address, bytemuck::cast_slice_mut(&mut values)).unwrap();
    values
}

/// A mutant: its name, the class of the error, or "wrong" if only the memory tells, and the
/// instruction that is changed.
pub(crate) struct Mutant(
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) (&'static str, usize, usize),
    pub(crate) &'static str,
);

/// The PTX for sm_90 of a production kernel, which may be the second one of its module.
pub(crate) fn ptx(entry: &str) -> String {
    let mut kernels = warpfold::testing::kernels();
    let kernel = kernels
        .find(|kernel| kernel.name() == entry || kernel.single((9, 0)) == Some(entry))
        .unwrap_or_else(|| panic!("there is no kernel {entry}"));
    kernel.text((9, 0)).unwrap()
}

/// Asserts that nothing is found in a kernel and that each of its mutants is found, in several
/// orders of the warps. `run` launches a PTX in the order of a seed.
pub(crate) fn all_are_found(
    entry: &str,
    mutants: &[Mutant],
    run: impl Fn(&str, Option<u64>) -> Outcome,
) {
    let ptx = ptx(entry);
    for seed in SEEDS {
        run(&ptx, seed).assert_clean(&format!("seed {seed:?}"));
    }
    let mut failures = Vec::new();
    for &Mutant(name, class, (find, nth, of), with) in mutants {
        let edit = Edit { find: find.into(), nth, of, with: with.into() };
        let mutant = apply(&ptx, entry, &[edit]).unwrap_or_else(|error| panic!("{name}: {error}"));
        for seed in SEEDS {
            let Outcome { classes, is_right, .. } = run(&mutant, seed);
            let is_found = if class == "wrong" { !is_right } else { classes.contains(class) };
            if !is_found {
                failures.push(format!("{name}, seed {seed:?}, is {classes:?} and not {class}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
