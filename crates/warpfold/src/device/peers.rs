//! Memory that kernels of several devices use, and launches of kernels that wait for each other.

use std::{fmt, ptr, sync::Arc};

use super::{
    Arg, Core, Device, DeviceError, Kernel, LaunchShape, Stream, allocation::Allocation,
    backend::BackendLaunch, faults::Call, stream::Queue,
};

/// The error of one of several devices or launches.
#[derive(Debug)]
pub(crate) struct FailedAt {
    /// The position of the device or launch.
    pub(crate) number: usize,
    pub(crate) error: Box<DeviceError>,
}

impl FailedAt {
    /// Makes an error that of number `number`.
    pub(crate) fn number(number: usize) -> impl FnOnce(DeviceError) -> Self {
        move |error| Self { number, error: Box::new(error) }
    }
}

/// How the kernels of a device reach the memory of another device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Link {
    /// Through NVLink, or whatever else lets them use atomic operations there.
    NvLink,
    /// Through PCIe.
    Pcie,
    /// Both devices are simulators of this process.
    Simulated,
    /// They cannot reach it.
    Apart,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NvLink => "NVLink",
            Self::Pcie => "PCIe",
            Self::Simulated => "simulated",
            Self::Apart => "apart",
        })
    }
}

/// How the kernels of `device` reach the memory of `peer`, which is another device. The first call
/// opens the memory of `peer` to them.
pub(crate) fn link(device: &Device, peer: &Device) -> Result<Link, DeviceError> {
    let [core, peer] = [device, peer].map(|device| &device.shared.core);
    core.enter(Call::Other, || "open the memory of a peer".to_owned())?;
    core.backend.reach(&*peer.backend)
}

/// Whether the kernels of each of these devices can use the memory of all others. If not, the
/// result names two devices of which the first cannot use the memory of the second. The first call
/// opens the memory of the devices to each other.
pub(crate) fn reach_each_other(devices: &[Device]) -> Result<Option<[usize; 2]>, FailedAt> {
    for (from, device) in devices.iter().enumerate() {
        for (to, peer) in devices.iter().enumerate().filter(|&(to, _)| to != from) {
            if link(device, peer).map_err(FailedAt::number(from))? == Link::Apart {
                return Ok(Some([from, to]));
            }
        }
    }
    Ok(None)
}

/// Memory of several devices that the kernels of all of them use: one part for each device. It is
/// freed when the last owner is gone. A graph that uses one part owns all of them, because its
/// kernels write to the other parts.
#[derive(Clone, Debug)]
pub(crate) struct PeerMemory {
    parts: Arc<[Arc<Allocation>]>,
    /// The size of a part.
    bytes: u64,
}

impl PeerMemory {
    /// Allocates `bytes` for each device. Every byte is 0. The devices
    /// [reach each other](reach_each_other).
    pub(crate) fn zeroed(devices: &[Device], bytes: u64) -> Result<Self, FailedAt> {
        let cores: Vec<&Arc<Core>> = devices.iter().map(|device| &device.shared.core).collect();
        let parts = cores.iter().enumerate().map(|(part, core)| {
            let all = cores.iter().enumerate();
            let peers: Vec<_> =
                all.filter(|&(other, _)| other != part).map(|(_, &core)| core).collect();
            Allocation::for_peers(core, &peers, bytes).map_err(FailedAt::number(part))
        });
        let memory = Self { parts: parts.collect::<Result<_, _>>()?, bytes };
        memory.clear()?;
        Ok(memory)
    }

    /// The address of a device's part.
    pub(crate) fn address(&self, device: usize) -> u64 {
        self.parts[device].address()
    }

    /// The 64 bits at an offset in bytes of a device's part, after all earlier work of the device.
    pub(crate) fn word(&self, device: usize, offset: u64) -> Result<u64, DeviceError> {
        let mut bytes = [0; 8];
        let part = &self.parts[device];
        part.core().read(part.address() + offset, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Makes every byte 0, after all earlier work of the devices.
    pub(crate) fn clear(&self) -> Result<(), FailedAt> {
        self.parts.iter().enumerate().try_for_each(|(number, part)| {
            part.core().fill(part.address(), self.bytes, 0).map_err(FailedAt::number(number))
        })
    }

    /// Lets the graph that the stream records, if any, keep all parts alive.
    pub(crate) fn retain_by(&self, stream: &Stream) {
        for part in &*self.parts {
            stream.queue.retain(part);
        }
    }
}

/// One of several launches of [`launch_together`].
pub(crate) struct Together<'a> {
    pub(crate) stream: &'a Stream,
    pub(crate) kernel: &'a Kernel,
    pub(crate) shape: LaunchShape,
    pub(crate) args: &'a [Arg],
}

/// Launches kernels of different devices, which may wait for each other. An error names the launch
/// that failed. Launches before it may have begun then.
///
/// # Safety
///
/// The contract of [`Device::launch`] holds for each launch, with the memory of all these devices.
pub(crate) unsafe fn launch_together(together: &[Together<'_>]) -> Result<(), FailedAt> {
    for (number, &Together { stream, kernel, shape, args }) in together.iter().enumerate() {
        let core = &stream.queue.core;
        let check = || {
            core.check_launchable(kernel, shape, args)?;
            #[cfg(feature = "cudarc")]
            stream.queue.refuse_foreign_capture("launch a kernel")?;
            core.enter(Call::Launch, || format!("launch {}", kernel.name()))?;
            stream.queue.note_kernel(kernel);
            Ok(())
        };
        check().map_err(FailedAt::number(number))?;
    }
    let Some(first) = together.first() else { return Ok(()) };
    let launches: Vec<_> = together
        .iter()
        .map(|&Together { stream, kernel, shape, args }| BackendLaunch {
            stream: &*stream.queue.stream,
            kernel: &kernel.loaded,
            shape,
            args,
        })
        .collect();
    // Each thread takes the locks of the workspaces in the same order, so that no two wait for each
    // other.
    let mut queues: Vec<(usize, &Queue)> =
        together.iter().map(|launch| &*launch.stream.queue).enumerate().collect();
    queues.sort_by_key(|&(_, queue)| ptr::from_ref(queue));
    queues.dedup_by_key(|&mut (_, queue)| ptr::from_ref(queue));
    on_clean_workspaces(&queues, &mut || {
        // SAFETY: the caller's promise.
        unsafe { first.stream.queue.stream.launch_together(&launches) }
    })
}

/// Calls `launch` while the workspaces of all queues, each of which has the number of its launch,
/// are clean.
fn on_clean_workspaces(
    queues: &[(usize, &Queue)],
    launch: &mut dyn FnMut() -> Result<(), FailedAt>,
) -> Result<(), FailedAt> {
    let Some((&(number, queue), rest)) = queues.split_first() else { return launch() };
    queue.on_clean_workspace(FailedAt::number(number), || on_clean_workspaces(rest, launch))
}
