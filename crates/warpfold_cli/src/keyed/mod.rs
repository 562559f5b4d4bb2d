//! Reductions by key: one result for each run of equal neighbouring keys, or for each bin.

mod bins;
mod exact;
mod keys;
mod runs;

use std::{borrow::Cow, cell::OnceCell, ffi::OsStr};

use anyhow::anyhow;
use warpfold::{BinOperation, Device, Error, SegmentOperation, reducer::Item};
use warpfold_tools::terminal::{Failure, refused};

use crate::{answer::Answer, meaning::Meaning, parts::PartBench};

pub(crate) use exact::exact_sum;
pub(crate) use keys::{Bits, Keys};

/// The keys of an array, and what is reduced by them.
#[derive(Debug)]
pub(crate) struct Keyed {
    pub(crate) keys: Keys,
    /// The number of bins, or `None` if each run of equal neighbours is reduced.
    pub(crate) bins: Option<usize>,
    /// What the device has found.
    found: OnceCell<Groups>,
    /// The positions of the elements of each bin, as the CPU finds them.
    positions: OnceCell<Vec<Vec<usize>>>,
}

/// The runs, or the bins.
#[derive(Debug, PartialEq)]
struct Groups {
    /// The key of each group.
    keys: Vec<i128>,
    /// Where each run begins, or how many values come before each bin if they are sorted; and
    /// behind these the number of all values.
    starts: Vec<usize>,
}

impl Groups {
    /// Groups of these keys and so many elements.
    fn new(keys: Vec<i128>, counts: impl Iterator<Item = usize>) -> Self {
        let starts = std::iter::once(0).chain(counts.scan(0, |end, count| {
            *end += count;
            Some(*end)
        }));
        Self { starts: starts.collect(), keys }
    }
}

impl Keyed {
    /// Reads the keys from a file. The device finds out whether they are bins.
    pub(crate) fn open(file: &OsStr, bins: Option<usize>) -> Result<Self, Failure> {
        let keys = Keys::open("--by-key ", file)?;
        if bins.is_some() {
            keys.check_bins("--by-key ")?;
        }
        Ok(Self { keys, bins, found: OnceCell::new(), positions: OnceCell::new() })
    }

    /// Refuses keys that are not as many as the elements of the array.
    pub(crate) fn check_len(&self, array: &str, elements: usize) -> Result<(), Failure> {
        let keys = self.keys.len();
        if keys == elements {
            return Ok(());
        }
        Err(refused(anyhow!(
            "--by-key {}: there are {keys} keys, and {array} has {elements} elements",
            self.keys.name
        )))
    }

    /// What the device has found.
    fn found(&self) -> &Groups {
        self.found.get().expect("the answers come first")
    }

    /// The number of runs or bins, after the device has found them.
    pub(crate) fn count(&self) -> usize {
        self.found().keys.len()
    }

    /// The key of a run, or the number of a bin.
    pub(crate) fn key(&self, group: usize) -> i128 {
        self.found().keys[group]
    }

    /// The number of elements of a run or bin.
    pub(crate) fn length(&self, group: usize) -> u64 {
        let starts = &self.found().starts;
        (starts[group + 1] - starts[group]) as u64
    }

    /// Whether the device has found the groups that the CPU finds.
    pub(crate) fn is_right(&self) -> bool {
        let groups = if let Some(bins) = self.bins {
            let numbers = (0..bins).map(|bin| bin as i128).collect();
            Groups::new(numbers, self.positions(bins).iter().map(Vec::len))
        } else {
            let keys: Vec<i128> = (0..self.keys.len()).map(|i| self.keys.number(i)).collect();
            let runs = || keys.chunk_by(|a, b| a == b);
            Groups::new(runs().map(|run| run[0]).collect(), runs().map(<[_]>::len))
        };
        groups == *self.found()
    }

    /// The positions of the elements of each bin.
    fn positions(&self, bins: usize) -> &[Vec<usize>] {
        self.positions.get_or_init(|| {
            let mut positions = vec![Vec::new(); bins];
            for i in 0..self.keys.len() {
                // The device has found no key that is no bin.
                positions[self.keys.number(i) as usize].push(i);
            }
            positions
        })
    }

    /// The elements of a run or bin.
    pub(crate) fn elements<'a, T: Copy>(&self, group: usize, elements: &'a [T]) -> Cow<'a, [T]> {
        if let Some(bins) = self.bins {
            return self.positions(bins)[group].iter().map(|&i| elements[i]).collect();
        }
        let starts = &self.found().starts;
        Cow::Borrowed(&elements[starts[group]..starts[group + 1]])
    }

    /// An answer of the device as one of the elements of the group alone: the index counts from the
    /// first of these. That of a run does so already.
    pub(crate) fn within(&self, group: usize, answer: &Answer) -> Answer {
        match (self.bins, answer) {
            (Some(bins), Answer::Indexed { index, value }) => {
                let positions = &self.positions(bins)[group];
                // An element of another bin is none of these, so the answer stays wrong.
                let index = positions.binary_search(&(*index as usize)).unwrap_or(usize::MAX);
                Answer::Indexed { index: index as u64, value: value.clone() }
            }
            _ => answer.clone(),
        }
    }

    /// What is reduced, as a sentence has it.
    pub(crate) fn described(&self) -> String {
        let (count, name) = (self.count(), &self.keys.name);
        match self.bins {
            Some(_) => format!("in {count} bin(s) (keys: {name})"),
            None => format!("in {count} run(s) of equal keys (keys: {name})"),
        }
    }
}

/// Opens a bench that reduces an array into bins.
pub(crate) fn bench_of_bins<'a, T: Item, O: BinOperation<T>>(
    device: &Device,
    reduction: O,
    elements: &[T],
    keyed: &'a Keyed,
    meaning: &'a Meaning<O::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error> {
    let bins = keyed.bins.expect("the arguments ask for bins");
    match &keyed.keys.bits {
        Bits::One(keys) => bins::open(device, reduction, elements, (keyed, keys, bins), meaning),
        Bits::Two(keys) => bins::open(device, reduction, elements, (keyed, keys, bins), meaning),
        Bits::Four(keys) => bins::open(device, reduction, elements, (keyed, keys, bins), meaning),
        Bits::Eight(keys) => bins::open(device, reduction, elements, (keyed, keys, bins), meaning),
    }
}

/// Opens a bench that reduces the runs of an array. All operations have runs, and each size of keys
/// is one more bench of each operation and type. So that the command compiles in less time, short
/// keys become keys of 32 bits.
pub(crate) fn bench_of_runs<'a, T: Item, O: SegmentOperation<T>>(
    device: &Device,
    reduction: O,
    elements: &[T],
    keyed: &'a Keyed,
    meaning: &'a Meaning<O::Output>,
) -> Result<Box<dyn PartBench + 'a>, Error> {
    let of_words = |keys: &[u32]| runs::open(device, reduction, elements, (keyed, keys), meaning);
    match &keyed.keys.bits {
        Bits::One(keys) => of_words(&keys.iter().copied().map(u32::from).collect::<Vec<_>>()),
        Bits::Two(keys) => of_words(&keys.iter().copied().map(u32::from).collect::<Vec<_>>()),
        Bits::Four(keys) => of_words(keys),
        Bits::Eight(keys) => runs::open(device, reduction, elements, (keyed, keys), meaning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_begin_where_the_ones_before_end() {
        let groups = Groups::new(vec![4, 2, 4], [3, 1, 2].into_iter());
        assert_eq!(groups.starts, [0, 3, 4, 6]);
        assert_eq!(Groups::new(Vec::new(), std::iter::empty()).starts, [0]);
    }
}
