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

        impl Entries for $name {
            fn push(&self, name: &str, entries: &mut Vec<(String, u64)>) {
                $(self.$field.push(&join(name, stringify!($field)), entries);)+
            }
        }
    };
}

/// The names of nested counters.
trait Entries {
    fn push(&self, name: &str, entries: &mut Vec<(String, u64)>);
}

impl Entries for u64 {
    fn push(&self, name: &str, entries: &mut Vec<(String, u64)>) {
        entries.push((name.to_owned(), *self));
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
        /// `ld`
        load: Traffic,
        /// `st`
        store: Traffic,
        /// `atom` whose result is used.
        atomic: Traffic,
        /// `red`, and `atom` whose result nothing reads.
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
        /// `ld`
        load: Banks,
        /// `st`
        store: Banks,
        /// `atom` and `red`
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
        /// `ld`
        load: Requests,
        /// `st`
        store: Requests,
    }
}

counters! {
    /// What the blocks of a cluster do with each other. Hardware sends these accesses from one
    /// multiprocessor to another; the cost of that is not modelled.
    Cluster {
        /// `barrier.cluster.arrive` and `barrier.cluster.wait`, by warps.
        barriers: u64,
        /// `ld` from shared memory of another block.
        load: Requests,
        /// `st` to shared memory of another block.
        store: Requests,
        /// `atom` and `red` in shared memory of another block.
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
    /// Barriers in shared memory.
    Mbarriers {
        /// `mbarrier` instructions, by warps; a wait is counted when it is over.
        operations: u64,
    }
}

counters! {
    /// The counters of a launch, or of one of its instructions.
    ///
    /// Hardware counts requests, sectors, wavefronts and bank conflicts in the same way. All other
    /// figures are those of the PTX as written: ptxas may unroll, predicate, merge or remove the
    /// instructions.
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
        /// Device memory.
        global: Global,
        /// Shared memory.
        shared: Shared,
        /// Local memory.
        local: Local,
        /// Constant memory.
        constant: Requests,
        /// Clusters.
        cluster: Cluster,
        /// `cp.async`, of 4 to 16 bytes each.
        async_copy: Copies,
        /// `cp.async.bulk`
        bulk: Copies,
        /// mbarriers.
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

    /// The share of lanes that took part in instructions, from 0 to 1; `None` if nothing ran.
    pub fn lane_efficiency(&self) -> Option<f64> {
        let lanes = self.warp_instructions * LANES as u64;
        (lanes > 0).then(|| self.thread_instructions as f64 / lanes as f64)
    }

    /// Atomics and reductions, by warps.
    pub fn atomics(&self) -> u64 {
        self.global.atomic.requests + self.global.reduction.requests + self.shared.atomic.requests
    }

    /// Bytes that device memory moved, which are all sectors.
    pub fn bytes_moved(&self) -> u64 {
        let Global { load, store, atomic, reduction } = self.global;
        32 * (load.sectors + store.sectors + atomic.sectors + reduction.sectors)
    }

    /// Bank conflicts of all kinds.
    pub fn bank_conflicts(&self) -> u64 {
        let Shared { load, store, atomic } = self.shared;
        load.bank_conflicts + store.bank_conflicts + atomic.bank_conflicts
    }
}
