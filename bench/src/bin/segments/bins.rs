//! Measures counts and sums of bins beside CUB's histogram and a kernel with one atomic addition
//! for each value.

use anyhow::{Context, ensure};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    BinKey, BinStatus, Sum,
    device::{Buffer, Graph, Pod},
};

use crate::measure::{Lab, Row, Values, compare, handle};

/// How keys are distributed over the bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// All bins are equally likely.
    Uniform,
    /// Nine keys of ten are bin 0, and the others are uniform.
    Skewed,
    /// All keys are bin 0.
    One,
}

/// What is done with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Keys of 8 bits are counted.
    CountBytes,
    /// Keys of 32 bits are counted.
    CountWords,
    /// Values of `f32` are summed by keys of 32 bits.
    Sum,
}

/// A case: what is done, the number of bins, and the keys.
pub(crate) type Case = (Work, usize, Keys);

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    let all = [Keys::Uniform, Keys::Skewed, Keys::One];
    let of = |work, bins: &'static [usize]| {
        bins.iter().flat_map(move |&bins| all.map(|keys| (work, bins, keys)))
    };
    of(Work::CountBytes, &[256])
        .chain(of(Work::CountWords, &[10, 256, 4096]))
        .chain(of(Work::Sum, &[10, 256, 4096]))
        .collect()
}

/// The name of a case.
pub(crate) fn name((work, bins, keys): Case) -> String {
    let what = match work {
        Work::CountBytes => "u8 count",
        Work::CountWords => "u32 count",
        Work::Sum => "f32 sum",
    };
    let keys = match keys {
        Keys::Uniform => "uniform",
        Keys::Skewed => "nine of ten the same",
        Keys::One => "all the same",
    };
    format!("{what} into {bins} bins, {keys}")
}

impl Lab {
    /// Measures a case. `values` are the summed ones.
    pub(crate) fn of_bins(&self, case: Case, values: &Values<f32>) -> anyhow::Result<Row> {
        let (work, bins, keys) = case;
        eprintln!("{}", name(case));
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let numbers: Vec<u32> = (0..self.n)
            .map(|_| match keys {
                Keys::One => 0,
                Keys::Skewed if random.random_range(0..10) > 0 => 0,
                Keys::Skewed | Keys::Uniform => random.random_range(0..bins as u32),
            })
            .collect();
        match work {
            Work::CountBytes => {
                let keys: Vec<u8> = numbers.iter().map(|&key| key as u8).collect();
                self.counts(case, &numbers, &self.device.upload(&keys)?, "cub_histogram_u8")
            }
            Work::CountWords => {
                self.counts(case, &numbers, &self.device.upload(&numbers)?, "cub_histogram_u32")
            }
            Work::Sum => self.sums(case, &numbers, values),
        }
    }

    fn counts<K: BinKey + Pod>(
        &self,
        case: Case,
        numbers: &[u32],
        keys: &Buffer<K>,
        cub: &str,
    ) -> anyhow::Result<Row> {
        let (name, bins, device) = (name(case), case.1, &self.device);
        let mut expected = vec![0u64; bins];
        for &key in numbers {
            expected[key as usize] += 1;
        }
        let (stream, counter) = (device.stream()?, device.bin_counter::<K>()?);
        let mut counts = device.alloc::<u64>(bins)?;
        let mut status = device.upload(&[BinStatus::default()])?;
        let ours = self.capture(|stream| {
            counter.count_into_bins_into(keys, &mut counts, &mut status, stream)?;
            Ok(())
        })?;
        let run = |graph: &Graph| {
            graph.launch(&stream)?;
            stream.synchronize()
        };
        run(&ours)?;
        ensure!(counts.copy_to_host()? == expected, "{name}: warpfold counts wrongly");
        let mut graphs = vec![ours];
        let (target, temp, theirs);
        if let Some(peers) = &self.peers {
            let read = (self.n * size_of::<K>()) as u64;
            target = device.alloc::<u8>(16)?;
            graphs.push(self.twin(peers, (keys.address(), read), (target.address(), 16))?);
            if let Some(cub) = peers.cub_histogram(cub, self.n as u64, bins as u64) {
                temp = device.alloc::<u8>(cub.temp_bytes()?)?;
                theirs = device.alloc::<u32>(bins)?;
                let cub = self.capture(|stream| {
                    // SAFETY: as for the twin. There is a count of 32 bits for each bin.
                    unsafe { cub.call(&temp, keys.address(), theirs.address(), handle(stream)?) }
                })?;
                run(&cub)?;
                let found = theirs.copy_to_host()?.into_iter().map(u64::from);
                ensure!(found.eq(expected.iter().copied()), "{name}: cub counts wrongly");
                graphs.push(cub);
            }
        }
        self.row(name, bins, (self.n * size_of::<K>()) as u64, &graphs, &stream)
    }

    fn sums(&self, case: Case, numbers: &[u32], values: &Values<f32>) -> anyhow::Result<Row> {
        let (name, bins, device) = (name(case), case.1, &self.device);
        let mut expected = vec![0u64; bins];
        for (&key, &value) in numbers.iter().zip(values.small()) {
            expected[key as usize] += u64::from(value);
        }
        let expected: Vec<f64> = expected.into_iter().map(|sum| sum as f64).collect();
        let keys = device.upload(numbers)?;
        let (stream, sums) = (device.stream()?, device.bin_reducer::<f32, _>(Sum)?);
        let mut results = device.alloc::<f32>(bins)?;
        let mut status = device.upload(&[BinStatus::default()])?;
        let ours = self.capture(|stream| {
            let results = results.view_mut(..);
            sums.reduce_into_bins_into(&keys, &values.input, results, &mut status, stream)?;
            Ok(())
        })?;
        let run = |graph: &Graph| -> anyhow::Result<Vec<f32>> {
            graph.launch(&stream)?;
            stream.synchronize()?;
            Ok(results.copy_to_host()?)
        };
        compare(&name, &run(&ours)?, &expected).context("warpfold")?;
        let bytes = 8 * self.n as u64;
        let mut graphs = vec![ours];
        let (piece, temp);
        if let Some(peers) = &self.peers {
            piece = device.alloc::<u8>(bytes as usize)?;
            graphs.push(self.twin(peers, (piece.address(), bytes), (results.address(), 16))?);
            if let Some(atomics) = peers.cub_keys("atomic_bins_sum_f32", self.n as u64) {
                temp = device.alloc::<u8>(1)?;
                let inputs = [keys.address(), values.input.address()];
                let outputs = [results.address(), bins as u64, 0];
                // The order of the additions changes from run to run, and additions of many numbers
                // to a large sum lose the smaller ones, so the results are not compared.
                graphs.push(self.capture(|stream| {
                    // SAFETY: as for the twin. There is a sum for each bin.
                    unsafe { atomics.call(&temp, inputs, outputs, handle(stream)?) }
                })?);
            }
        }
        let row = self.row(name, bins, bytes, &graphs, &stream)?;
        Ok(Row { peer_name: "atomics", ..row })
    }
}
