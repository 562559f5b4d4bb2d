//! Graphs of several devices that are recorded together.

use crate::device::{Device, DeviceError, Graph, Stream};

use super::super::{Error, Group, group::shard_error};

/// Work of all devices of a [`Group`] that [`Group::capture`] has recorded: one [`Graph`] for each
/// device. One call launches all of them, any number of times.
#[derive(Debug)]
pub struct GroupGraph {
    devices: Vec<Device>,
    graphs: Vec<Graph>,
}

impl Group {
    /// Records the work that `work` gives to the streams that it gets, one of each device, and
    /// returns the work as a [`GroupGraph`] together with the value that `work` returns.
    /// [`Device::capture`] says what can be recorded, and what this thread cannot do meanwhile.
    ///
    /// ```no_run
    /// use warpfold::{Group, Sum};
    ///
    /// let group = Group::all()?;
    /// let shards = group.shard(&vec![1.0f32; 1 << 20])?;
    /// let mut totals = Vec::new();
    /// for device in group.devices() {
    ///     totals.push(device.alloc(1)?);
    /// }
    /// let mut sum = group.all_reducer::<f32, _>(Sum)?;
    /// let (graph, pending) = group.capture(|streams| {
    ///     sum.reduce_into(&shards, &mut totals, streams.iter().copied())
    /// })?;
    ///
    /// let streams = group.streams()?;
    /// for _ in 0..10 {
    ///     graph.launch(&streams)?;
    /// }
    /// sum.check()?;
    /// assert_eq!(pending.finish(totals[0].copy_to_host()?[0])?, (1 << 20) as f32);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error that `work` returns, and those of [`Device::capture`]. Simulators refuse to record
    /// an [`AllReducer`](super::AllReducer), because a stream of the simulator runs its launches
    /// alone.
    pub fn capture<R, E: From<DeviceError>>(
        &self,
        work: impl FnOnce(&[&Stream]) -> Result<R, E>,
    ) -> Result<(GroupGraph, R), E> {
        let mut graphs = Vec::new();
        let returned = capture(self.devices(), &[], &mut graphs, Box::new(work))?;
        // The inner captures end first.
        graphs.reverse();
        Ok((GroupGraph { devices: self.devices().to_vec(), graphs }, returned))
    }
}

/// The work that a capture records, which needs one stream of each device.
type Work<'a, R, E> = Box<dyn FnOnce(&[&Stream]) -> Result<R, E> + 'a>;

/// Begins to capture on each of the devices, and calls `work` with the streams of earlier devices
/// and these.
fn capture<R, E: From<DeviceError>>(
    devices: &[Device],
    streams: &[&Stream],
    graphs: &mut Vec<Graph>,
    work: Work<'_, R, E>,
) -> Result<R, E> {
    let [first, others @ ..] = devices else { return work(streams) };
    let (graph, returned) =
        first.capture(|stream| capture(others, &[streams, &[stream]].concat(), graphs, work))?;
    graphs.push(graph);
    Ok(returned)
}

impl GroupGraph {
    /// The graph of each device, in the order of the devices.
    pub fn graphs(&self) -> &[Graph] {
        &self.graphs
    }

    /// Adds the recorded work to the streams, one of each device. The host does not wait.
    ///
    /// # Errors
    ///
    /// - [`Error::ShardCount`] if there are more or fewer streams than devices;
    /// - [`Error::Shard`] with the error of [`Graph::launch`] and the position of the device.
    ///   Devices before it have begun the work then, and wait for the others until their timeout.
    pub fn launch<'s>(&self, streams: impl IntoIterator<Item = &'s Stream>) -> Result<(), Error> {
        let streams: Vec<_> = streams.into_iter().collect();
        let (given, devices) = (streams.len(), self.graphs.len());
        if given != devices {
            return Err(Error::ShardCount { what: "streams", given, devices });
        }
        for (shard, (graph, stream)) in self.graphs.iter().zip(streams).enumerate() {
            graph
                .launch(stream)
                .map_err(|error| shard_error(shard, &self.devices[shard], error.into()))?;
        }
        Ok(())
    }
}
