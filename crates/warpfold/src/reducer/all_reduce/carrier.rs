//! What carries raw results from device to device.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::device::{
    Device, DeviceError, Link, Stream, nccl,
    peers::{FailedAt, link, reach_each_other},
};

use super::{
    super::{Error, Group, group::shard_error},
    call::{Call, Launch},
    gathered::Gathered,
    kernels::Exchange,
    mailboxes::Mailboxes,
};

/// What carries results from device to device in a [`Group`] whose devices each get the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// The kernels use the memory of the other devices. This is the fastest way, and graphs can
    /// capture it.
    Peers,
    /// NCCL gathers the results on each device, and a kernel combines them there. GPUs need no
    /// access to each other's memory. The library `libnccl.so.2`, of version 2.18 or later, is
    /// looked for when the process needs it first. A call takes longer, and graphs cannot capture
    /// it. A time limit does not apply, because NCCL has none.
    Nccl,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Peers => "memory of peers",
            Self::Nccl => "NCCL",
        })
    }
}

impl Group {
    /// How the kernels of device `from` reach the memory of device `to`; the numbers are those of
    /// [`devices`](Self::devices). `None` if both are the same device.
    ///
    /// ```
    /// use warpfold::{Device, Group, device::Link};
    ///
    /// let group = Group::of(&[Device::simulator(), Device::simulator()])?;
    /// assert_eq!(group.link(0, 1)?, Some(Link::Simulated));
    /// assert_eq!(group.link(1, 1)?, None);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Device`] with an error of the driver.
    ///
    /// # Panics
    ///
    /// If the group has no device of one of the numbers.
    pub fn link(&self, from: usize, to: usize) -> Result<Option<Link>, Error> {
        let [device, peer] = [from, to].map(|number| &self.devices()[number]);
        if from == to { Ok(None) } else { Ok(Some(link(device, peer)?)) }
    }

    /// What carries results between the devices: the transport that
    /// [`with_transport`](Self::with_transport) has set, or the memory of peers, or else NCCL.
    ///
    /// ```
    /// use warpfold::{Device, Group, Transport};
    ///
    /// let group = Group::of(&[Device::simulator(), Device::simulator()])?;
    /// assert_eq!(group.transport()?, Transport::Peers);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::NotPeers`] if a device cannot use the memory of another one, and there is no
    ///   NCCL;
    /// - [`Error::NoNccl`] if the set transport is NCCL, and there is none;
    /// - [`Error::Shard`] with an error of the driver and the position of the device.
    pub fn transport(&self) -> Result<Transport, Error> {
        let (devices, chosen) = (self.devices(), self.chosen);
        let reason = || nccl::unavailable(devices);
        if chosen == Some(Transport::Nccl) {
            return match reason() {
                None => Ok(Transport::Nccl),
                Some(reason) => Err(Error::NoNccl { reason }),
            };
        }
        let apart = reach_each_other(devices).map_err(|failed| {
            shard_error(failed.number, &devices[failed.number], (*failed.error).into())
        })?;
        match (apart, chosen) {
            (None, _) => Ok(Transport::Peers),
            (Some([from, to]), Some(_)) => {
                Err(Error::NotPeers { from, to, nccl: "it was not to be used".to_owned() })
            }
            (Some([from, to]), None) => match reason() {
                None => Ok(Transport::Nccl),
                Some(nccl) => Err(Error::NotPeers { from, to, nccl }),
            },
        }
    }
}

/// The turns of threads that give work to several devices.
static TURNS: Mutex<()> = Mutex::new(());

/// The transport of an exchanger, with its memory and kernels.
#[derive(Debug)]
pub(super) enum Carrier {
    Peers(Mailboxes),
    Nccl(Gathered),
}

impl Carrier {
    /// Prepares the devices for calls with up to `most` raw results of `bytes` bytes.
    pub(super) fn new(
        group: &Group,
        exchange: Exchange,
        bytes: usize,
        most: u32,
    ) -> Result<Self, Error> {
        let devices = group.devices();
        match group.transport()? {
            Transport::Peers => Mailboxes::new(devices, exchange, bytes, most).map(Self::Peers),
            Transport::Nccl => {
                let communicators = group.communicators.clone();
                Gathered::new(devices, communicators, exchange, bytes, most).map(Self::Nccl)
            }
        }
    }

    /// The address of the raw results of a device's shard.
    pub(super) fn raws(&self, rank: usize) -> u64 {
        match self {
            Self::Peers(mailboxes) => mailboxes.raws(rank),
            Self::Nccl(gathered) => gathered.raws(rank),
        }
    }

    /// Lets the graph that the stream records, if any, keep the memory alive.
    pub(super) fn retain_by(&self, stream: &Stream) {
        match self {
            Self::Peers(mailboxes) => mailboxes.retain_by(stream),
            // Streams that record are refused.
            Self::Nccl(_) => {}
        }
    }

    /// Makes the memory that of devices that have made no call, after all earlier work of the
    /// devices.
    pub(super) fn clear(&self) -> Result<(), FailedAt> {
        match self {
            Self::Peers(mailboxes) => mailboxes.clear(),
            Self::Nccl(_) => Ok(()),
        }
    }

    /// Waits for all work of this device, and returns the device for which it has waited in vain.
    pub(super) fn absent(
        &self,
        device: &Device,
        rank: usize,
    ) -> Result<Option<usize>, DeviceError> {
        match self {
            Self::Peers(mailboxes) => mailboxes.absent(rank),
            Self::Nccl(_) => device.synchronize().map(|()| None),
        }
    }

    /// Adds the work that combines the raw results of a call, which earlier launches of the streams
    /// leave, and writes them to the outputs. `own` is that of [`Mailboxes::launch`], and empty if
    /// there are no mailboxes.
    pub(super) fn launch(
        &self,
        call: &Call<'_>,
        own: Vec<Option<Launch<'_>>>,
    ) -> Result<(), FailedAt> {
        // All devices get the work of several threads in the same order. Otherwise the work of each
        // thread could wait on one device for that of the other, for example behind a copy, which
        // waits for all streams of its device.
        let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
        match self {
            Self::Peers(mailboxes) => mailboxes.launch(call, own),
            Self::Nccl(gathered) => gathered.launch(call),
        }
    }

    /// The mailboxes, if the devices use each other's memory.
    pub(super) fn mailboxes(&self) -> Option<&Mailboxes> {
        match self {
            Self::Peers(mailboxes) => Some(mailboxes),
            Self::Nccl(_) => None,
        }
    }

    /// Sets how long a kernel waits for the results of another device.
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        match self {
            Self::Peers(mailboxes) => mailboxes.timeout = timeout,
            Self::Nccl(_) => {}
        }
    }
}
