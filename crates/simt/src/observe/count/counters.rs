//! The counters and their names.

use std::ops::AddAssign;

use crate::registers::LANES;

macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $ty,)+
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: $name) {
                $(self.$field += other.$field;)+
            }
        }

        impl Weighted for $name {
            fn weighted(terms: &[(i128, Self)]) -> Option<Self> {
                Some(Self {
                    $($field: {
                        let of = |&(weight, counters): &(i128, Self)| (weight, counters.$field);
                        Weighted::weighted(&terms.iter().map(of).collect::<Vec<_>>())?
                    },)+
                })
            }
        }

        impl Entries for $name {
            fn push(&self, name: &str, entries: &mut Vec<(String, u64)>) {
                $(self.$field.push(&join(name, stringify!($field)), entries);)+
            }
        }
    };
}

/// A nested group of counters that lists the names and values of its counters.
trait Entries {
    fn push(&self, name: &str, entries: &mut Vec<(String, u64)>);
}

impl Entries for u64 {
    fn push(&self, name: &str, entries: &mut Vec<(String, u64)>) {
        entries.push((name.to_owned(), *self));
    }
}

/// A nested group of counters, or a counter, of which weighted sums can be made.
trait Weighted: Sized {
    fn weighted(terms: &[(i128, Self)]) -> Option<Self>;
}

impl Weighted for u64 {
    fn weighted(terms: &[(i128, Self)]) -> Option<Self> {
        let sum = terms.iter().try_fold(0_i128, |sum, &(weight, value)| {
            sum.checked_add(weight.checked_mul(value.into())?)
        });
        sum?.try_into().ok()
    }
}

fn join(outer: &str, inner: &str) -> String {
    if outer.is_empty() { inner.to_owned() } else { format!("{outer}.{inner}") }
}

counters! {
    /// Accesses to device memory of one kind.
    Traffic {
        /// Warp instructions in which at least one lane took part.
        requests: u64,
        /// Sectors of 32 bytes.
        sectors: u64,
        /// Bytes that the lanes accessed.
        bytes: u64,
    }
}

counters! {
    /// Accesses to device memory.
    Global {
        /// Loads (`ld`).
        load: Traffic,
        /// Stores (`st`).
        store: Traffic,
        /// Atomics (`atom`) whose result is used.
        atomic: Traffic,
        /// Reductions (`red`), and `atom` whose result nothing reads.
        reduction: Traffic,
    }
}

counters! {
    /// Accesses to shared memory of one kind.
    Banks {
        /// Warp instructions in which at least one lane took part.
        requests: u64,
        /// Wavefronts: how often the banks served a part of an access.
        wavefronts: u64,
        /// Wavefronts beyond those that an access without conflicts would take.
        bank_conflicts: u64,
        /// Bytes that the lanes accessed.
        bytes: u64,
    }
}

counters! {
    /// Accesses to shared memory.
    Shared {
        /// Loads (`ld`).
        load: Banks,
        /// Stores (`st`).
        store: Banks,
        /// Atomics and reductions (`atom` and `red`).
        atomic: Banks,
    }
}

counters! {
    /// Accesses to a space whose traffic is not modelled.
    Requests {
        /// Warp instructions in which at least one lane took part.
        requests: u64,
        /// Bytes that the lanes accessed.
        bytes: u64,
    }
}

counters! {
    /// Accesses to the threads' local memory.
    Local {
        /// Loads (`ld`).
        load: Requests,
        /// Stores (`st`).
        store: Requests,
    }
}

counters! {
    /// The interactions of the blocks of a cluster. Hardware sends these accesses from one
    /// multiprocessor to another; the cost of that is not modelled.
    Cluster {
        /// `barrier.cluster.arrive` and `barrier.cluster.wait`, by warps.
        barriers: u64,
        /// Loads (`ld`) from the shared memory of another block.
        load: Requests,
        /// Stores (`st`) to the shared memory of another block.
        store: Requests,
        /// Atomics and reductions (`atom` and `red`) in the shared memory of another block.
        atomic: Requests,
    }
}

counters! {
    /// Asynchronous copies, each begun by one thread. Their reads and writes are counted nowhere
    /// else, because bulk copies do not pass through the pipes whose requests and sectors hardware
    /// counts as global and shared accesses.
    Copies {
        /// Copies that have begun.
        copies: u64,
        /// Bytes at the destinations of the copies.
        bytes: u64,
    }
}

counters! {
    /// Instructions on mbarriers, which are barriers in shared memory.
    Mbarriers {
        /// `mbarrier` instructions, by warps; a wait is counted when it is over.
        operations: u64,
    }
}

counters! {
    /// The counters of a launch, or of one of its instructions.
    ///
    /// Hardware counts requests, sectors, wavefronts and bank conflicts in the same way. All other
    /// figures are those of the PTX as written. They may differ on hardware, because ptxas may
    /// unroll, predicate, merge or remove instructions.
    Counters {
        /// Instructions of warps.
        warp_instructions: u64,
        /// Instructions of threads: each warp instruction counts once for each lane that took part.
        thread_instructions: u64,
        /// `bra` and `brx`, by warps.
        branches: u64,
        /// Branches that some lanes took and others did not.
        divergent_branches: u64,
        /// `bar` and `barrier`, by warps.
        barriers: u64,
        /// `bar.warp.sync`, by warps.
        warp_syncs: u64,
        /// `shfl.sync`, by warps.
        shuffles: u64,
        /// `vote`, `match`, `redux` and `elect`, by warps.
        votes: u64,
        /// `fence` and `membar`, by warps.
        fences: u64,
        /// Accesses to device memory.
        global: Global,
        /// Accesses to shared memory.
        shared: Shared,
        /// Accesses to local memory.
        local: Local,
        /// Accesses to constant memory.
        constant: Requests,
        /// Interactions of the blocks of a cluster.
        cluster: Cluster,
        /// `cp.async`, of 4 to 16 bytes each.
        async_copy: Copies,
        /// Bulk copies (`cp.async.bulk`).
        bulk: Copies,
        /// Instructions on mbarriers.
        mbarrier: Mbarriers,
    }
}

impl Counters {
    /// All figures with their names, such as `global.load.sectors`, in a fixed order.
    ///
    /// ```
    /// let entries = simt::Counters::default().entries();
    /// assert_eq!(entries[0], ("warp_instructions".to_owned(), 0));
    /// assert!(entries.iter().any(|(name, _)| name == "shared.store.bank_conflicts"));
    /// ```
    pub fn entries(&self) -> Vec<(String, u64)> {
        let mut entries = Vec::new();
        self.push("", &mut entries);
        entries
    }

    /// The sum of counters, each times a weight. If the counters of a launch are a polynomial in
    /// the size of its grid, such a sum of small launches gives the counters of a large one. `None`
    /// if a sum is negative, or too large for its counter.
    ///
    /// ```
    /// use simt::Counters;
    ///
    /// let [one, two] = [100, 160].map(|branches| Counters { branches, ..Counters::default() });
    /// let ten = Counters::weighted(&[(-8, one), (9, two)]);
    /// assert_eq!(ten.map(|counters| counters.branches), Some(640));
    /// assert_eq!(Counters::weighted(&[(-1, one)]), None);
    /// ```
    pub fn weighted(terms: &[(i128, Self)]) -> Option<Self> {
        Weighted::weighted(terms)
    }

    /// The share of lanes that took part in instructions, from 0 to 1; `None` if nothing ran.
    pub fn lane_efficiency(&self) -> Option<f64> {
        let lanes = self.warp_instructions * LANES as u64;
        (lanes > 0).then(|| self.thread_instructions as f64 / lanes as f64)
    }

    /// How many atomics and reductions ran, by warps.
    pub fn atomics(&self) -> u64 {
        self.global.atomic.requests + self.global.reduction.requests + self.shared.atomic.requests
    }

    /// How many bytes device memory moved, which is the size of all sectors.
    pub fn bytes_moved(&self) -> u64 {
        let Global { load, store, atomic, reduction } = self.global;
        32 * (load.sectors + store.sectors + atomic.sectors + reduction.sectors)
    }

    /// How many bank conflicts there were, of all kinds of access.
    pub fn bank_conflicts(&self) -> u64 {
        let Shared { load, store, atomic } = self.shared;
        load.bank_conflicts + store.bank_conflicts + atomic.bank_conflicts
    }
}
