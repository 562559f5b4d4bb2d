//! Several simulated devices, whose kernels wait for each other.

use simt::{Arg, LaunchConfig, Memory, Module, Together, check_together};

use super::shipped::Outcome;

/// The number of devices, each of which is a rank.
pub(crate) const RANKS: usize = 3;
/// The number of calls that each test makes.
const CALLS: usize = 3;

/// Eight arguments, of which as many count as there are ranks.
pub(crate) fn all(of: impl Fn(usize) -> Arg) -> impl Iterator<Item = Arg> {
    (0..8).map(move |rank| of(rank.min(RANKS - 1)))
}

/// The memories of the ranks.
pub(crate) struct Devices(Vec<Memory>);

impl Devices {
    pub(crate) fn new() -> Self {
        Self((0..RANKS).map(|_| Memory::checked(1 << 20)).collect())
    }

    /// Allocates so many bytes of a rank.
    pub(crate) fn alloc(&self, rank: usize, bytes: usize) -> u64 {
        self.0[rank].alloc(bytes as u64).unwrap()
    }

    /// Copies the bytes to memory of a rank.
    pub(crate) fn upload(&self, rank: usize, bytes: &[u8]) -> u64 {
        let address = self.alloc(rank, bytes.len());
        self.0[rank].write(address, bytes).unwrap();
        address
    }

    /// Copies the bytes to memory of a rank that the others use, too.
    pub(crate) fn share(&self, rank: usize, bytes: &[u8]) -> u64 {
        let others = (0..RANKS).filter(|&other| other != rank);
        let all: Vec<_> = [rank].into_iter().chain(others).map(|i| &self.0[i]).collect();
        let address = Memory::alloc_shared(&all, bytes.len() as u64).unwrap();
        self.0[rank].write(address, bytes).unwrap();
        address
    }

    /// A mailbox of so many words of 64 bits for each rank.
    pub(crate) fn mailboxes(&self, words: usize) -> Vec<u64> {
        (0..RANKS).map(|rank| self.share(rank, &vec![0; 8 * words])).collect()
    }

    /// So many pairs of words in the memory of a rank.
    pub(crate) fn pairs(&self, rank: usize, address: u64, count: usize) -> Vec<[u64; 2]> {
        let mut pairs = vec![[0; 2]; count];
        self.0[rank].read(address, bytemuck::cast_slice_mut(&mut pairs)).unwrap();
        pairs
    }

    /// Makes several calls of the kernel `name` in this PTX. `prepare` gives the arguments of all
    /// ranks for a call, and what `is_right` needs to say whether the memory is right after it.
    pub(crate) fn call<T>(
        &self,
        (name, ptx): (&str, &str),
        config: &LaunchConfig,
        prepare: impl Fn(usize) -> (Vec<Vec<Arg>>, T),
        is_right: impl Fn(usize, &T) -> bool,
    ) -> Outcome {
        let module = Module::from_ptx(name, ptx).unwrap();
        let kernel = module.kernel(name).unwrap();
        let mut outcome: Option<Outcome> = None;
        for call in 0..CALLS {
            let (args, prepared) = prepare(call);
            let launches: Vec<_> = self
                .0
                .iter()
                .zip(&args)
                .map(|(memory, args)| Together { kernel, config, args, memory })
                .collect();
            let checked = check_together(&launches).unwrap();
            let fault = checked.fault.as_ref().map(|(_, fault)| &**fault);
            let of_call = Outcome::of(&checked.reports, fault, || is_right(call, &prepared));
            outcome = Some(match outcome {
                Some(before) => before.and(of_call),
                None => of_call,
            });
            if fault.is_some() {
                break;
            }
        }
        outcome.expect("there are calls")
    }
}
