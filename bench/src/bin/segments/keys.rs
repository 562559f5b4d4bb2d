//! Measures sums of runs of equal neighbouring keys beside CUB's reduction by key.

use anyhow::{Context, ensure};
use warpfold::{SegmentOperation, Sum, device::Graph};

use crate::{
    cases::Lengths,
    measure::{Lab, Number, Raw, Row, Value, Values, Way, compare, handle},
};

impl Lab {
    /// Measures the sums of runs of these lengths. A segment without elements has no key.
    pub(crate) fn by_keys<T: Value>(
        &self,
        lengths: Lengths,
        values: &Values<T>,
    ) -> anyhow::Result<Row>
    where
        Sum: SegmentOperation<T, RowRaw: Number>,
    {
        let name = Way::Keys.name::<T>(lengths);
        eprintln!("{name}");
        let (device, input, n) = (&self.device, &values.input, self.n);
        let (stream, sums) = (device.stream()?, device.key_reducer::<u32, T, _>(Sum)?);
        let mut boundaries = lengths.offsets(n);
        boundaries.dedup();
        let runs = boundaries.len() - 1;
        let expected = values.sums(&boundaries);
        // Random keys, of which neighbours differ.
        let key = |run: usize| (run as u32).wrapping_mul(0x9e37_79b9);
        let unique: Vec<u32> = (0..runs).map(key).collect();
        let keys: Vec<u32> = boundaries
            .windows(2)
            .zip(&unique)
            .flat_map(|(pair, &key)| (pair[0]..pair[1]).map(move |_| key))
            .collect();
        let keys = device.upload(&keys)?;
        // There is room for as many runs as there are keys. The twin writes multiples of 16 bytes.
        let mut results = device.alloc::<Raw<T>>(n + 16)?;
        let mut found_keys = device.alloc::<u32>(n)?;
        let mut offsets = device.alloc::<u32>(n + 1)?;
        let mut count = device.alloc::<u64>(1)?;
        let ours = self.capture(|stream| {
            let results = results.view_mut(..n);
            sums.reduce_by_key_into(
                &keys,
                input,
                &mut found_keys,
                results,
                &mut offsets,
                &mut count,
                stream,
            )?;
            Ok(())
        })?;
        let check = |graph: &Graph| {
            graph.launch(&stream)?;
            stream.synchronize()?;
            ensure!(count.copy_to_host()? == [runs as u64], "{name}: the number of runs");
            ensure!(found_keys.view(..runs).copy_to_host()? == unique, "{name}: the keys");
            compare(&name, &results.view(..runs).copy_to_host()?, &expected)
        };
        check(&ours).context("warpfold")?;

        let read = (n * (size_of::<T>() + 4)) as u64;
        let written = (runs * (size_of::<Raw<T>>() + 4)) as u64;
        let mut graphs = vec![ours];
        let (piece, target, temp);
        if let Some(peers) = &self.peers {
            // The twin reads keys and values as one piece, and writes keys and results as one.
            piece = device.alloc::<u8>(read as usize)?;
            target = device.alloc::<u8>(written as usize + 16)?;
            graphs.push(self.twin(peers, (piece.address(), read), (target.address(), written))?);
            let outputs = [results.address(), found_keys.address(), count.address()];
            if let Some(cub) = peers.cub_keys(&format!("cub_keys_sum_{}", T::NAME), n as u64) {
                temp = device.alloc::<u8>(cub.temp_bytes()?)?;
                let inputs = [keys.address(), input.address()];
                let cub = self.capture(|stream| {
                    // SAFETY: as for the twin. There is room for each output of CUB.
                    unsafe { cub.call(&temp, inputs, outputs, handle(stream)?) }
                })?;
                check(&cub).context("cub")?;
                graphs.push(cub);
            }
        }
        self.row(name, runs, read + written, &graphs, &stream)
    }
}
