//! Ranks that meet by MPI, for [`warpfold::Ranks`].

use std::time::Duration;

use warpfold::{Rendezvous, RendezvousError};

use crate::{communicator::MpiCommunicator, error::Error};

/// All ranks of the communicator meet. Bytes go through rank 0.
///
/// ```no_run
/// use warpfold::{Device, Ranks, Sum};
/// use warpfold_mpi::MpiCommunicator;
///
/// let communicator = MpiCommunicator::world_on(Device::cuda)?;
/// let device = communicator.device();
/// let ranks = Ranks::join(device, &communicator)?;
/// let (part, mut total, stream) =
///     (device.upload(&[1.0f32, 2.0])?, device.alloc(1)?, device.stream()?);
/// let mut sum = ranks.all_reducer::<f32, _>(Sum, part.len())?;
/// // The host does not wait, unless the transport is the host.
/// let pending = sum.reduce_into(&part, &mut total, &stream)?;
/// sum.check()?;
/// println!("{} by {}", pending.finish(total.copy_to_host()?[0])?, ranks.transport());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Rendezvous for &MpiCommunicator {
    fn rank(&self) -> u32 {
        MpiCommunicator::rank(self)
    }

    fn ranks(&self) -> u32 {
        self.size()
    }

    fn timeout(&self) -> Duration {
        MpiCommunicator::timeout(self)
    }

    fn all_gather(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, RendezvousError> {
        self.gather_bytes(bytes).map_err(|error| match error {
            Error::Missing { rank, waited } => RendezvousError::Missing { rank, waited },
            Error::Poisoned => RendezvousError::Broken,
            Error::Message { rank } => RendezvousError::Foreign { from: format!("rank {rank}") },
            other => RendezvousError::Other(Box::new(other)),
        })
    }
}
