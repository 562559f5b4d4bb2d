//! Planned failures, for tests of how a program reacts when a device fails.
//!
//! Every call of a device first asks the device's injector, if it has one, whether the call fails
//! ([`Injector::enter`]). Without the feature `testing` no injector can exist, so this costs
//! nothing.

use super::DeviceError;

#[cfg(feature = "testing")]
pub use planned::Faults;
pub(super) use planned::Injector;

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Alloc,
    Launch,
    Copy,
    Other,
}

/// Replaces the injector in builds without the feature `testing`.
#[cfg(not(feature = "testing"))]
mod planned {
    use super::{Call, DeviceError};

    #[derive(Debug)]
    pub(in crate::device) enum Injector {}

    impl Injector {
        pub(in crate::device) fn enter(
            &self,
            _call: Call,
            _action: impl FnOnce() -> String,
        ) -> Result<(), DeviceError> {
            match *self {}
        }
    }
}

#[cfg(feature = "testing")]
mod planned {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::{super::ErrorText, Call, DeviceError};

    /// A plan that says which calls of a device fail. Each kind of call is counted separately, from
    /// 0. The count begins when [`Device::with_faults`](crate::Device::with_faults) installs the
    /// plan.
    ///
    /// ```
    /// use warpfold::{Device, DeviceError, testing::Faults};
    ///
    /// let device = Device::simulator().with_faults(Faults::none().alloc(1))?;
    /// let first = device.alloc::<u32>(10)?;
    /// let error = device.alloc::<u32>(10).unwrap_err();
    /// assert!(matches!(error, DeviceError::OutOfMemory { requested: 40, .. }));
    /// let third = device.alloc::<u32>(10)?;
    /// assert_eq!(device.live_allocations(), 2);
    /// # Ok::<(), DeviceError>(())
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Faults {
        alloc: Option<u64>,
        launch: Option<u64>,
        copy: Option<u64>,
        lost: Option<u64>,
    }

    impl Faults {
        /// The plan in which no call fails.
        pub const fn none() -> Self {
            Self { alloc: None, launch: None, copy: None, lost: None }
        }

        /// Allocation `k`, of device memory or of page-locked host memory, fails with
        /// [`DeviceError::OutOfMemory`] or [`DeviceError::OutOfHostMemory`]. The next one works
        /// again.
        #[must_use]
        pub const fn alloc(self, k: u64) -> Self {
            Self { alloc: Some(k), ..self }
        }

        /// Launch `k`, of a kernel or of a graph, does nothing and fails with
        /// [`DeviceError::Driver`], `CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`. The next one works again.
        #[must_use]
        pub const fn launch(self, k: u64) -> Self {
            Self { launch: Some(k), ..self }
        }

        /// Copy or fill `k` does nothing and fails with [`DeviceError::Driver`],
        /// `CUDA_ERROR_UNKNOWN`. The next one works again.
        #[must_use]
        pub const fn copy(self, k: u64) -> Self {
            Self { copy: Some(k), ..self }
        }

        /// The device is lost at call `k` of any kind: this call and all later ones fail with
        /// [`DeviceError::Lost`]. Dropped objects still free their memory.
        #[must_use]
        pub const fn lost(self, k: u64) -> Self {
            Self { lost: Some(k), ..self }
        }
    }

    /// A plan, and the number of calls so far.
    #[derive(Debug)]
    pub(in crate::device) struct Injector {
        plan: Faults,
        allocs: AtomicU64,
        launches: AtomicU64,
        copies: AtomicU64,
        calls: AtomicU64,
    }

    impl Injector {
        pub(in crate::device) const fn new(plan: Faults) -> Self {
            Self {
                plan,
                allocs: AtomicU64::new(0),
                launches: AtomicU64::new(0),
                copies: AtomicU64::new(0),
                calls: AtomicU64::new(0),
            }
        }

        /// Counts the call, and returns an error if the plan says that it fails. An out-of-memory
        /// error carries no sizes here, because the caller knows them and fills them in.
        pub(in crate::device) fn enter(
            &self,
            call: Call,
            action: impl FnOnce() -> String,
        ) -> Result<(), DeviceError> {
            let number = self.calls.fetch_add(1, Relaxed);
            if self.plan.lost.is_some_and(|k| number >= k) {
                let text = text("CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure, injected");
                return Err(DeviceError::Lost { action: action(), code: 719, text });
            }
            let (counter, k) = match call {
                Call::Alloc => (&self.allocs, self.plan.alloc),
                Call::Launch => (&self.launches, self.plan.launch),
                Call::Copy => (&self.copies, self.plan.copy),
                Call::Other => return Ok(()),
            };
            if Some(counter.fetch_add(1, Relaxed)) != k {
                return Ok(());
            }
            let (code, text) = match call {
                Call::Alloc => return Err(DeviceError::OutOfMemory { requested: 0, free: 0 }),
                Call::Launch => (
                    701,
                    text(
                        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
                        "too many resources requested for launch, injected",
                    ),
                ),
                Call::Copy | Call::Other => {
                    (999, text("CUDA_ERROR_UNKNOWN", "unknown error, injected"))
                }
            };
            Err(DeviceError::Driver { action: action(), code, text })
        }
    }

    fn text(name: &str, text: &str) -> ErrorText {
        ErrorText { name: name.to_owned(), text: text.to_owned() }
    }
}
