//! Failures on demand, for tests of what a program does when a device fails.
//!
//! Every call of a device announces itself by [`Injector::enter`]. Without the feature `testing` no
//! injector can be made, and the announcement is an empty function.

use super::DeviceError;

#[cfg(feature = "testing")]
pub use planned::Faults;
pub(super) use planned::Injector;

/// What kind of call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Alloc,
    Launch,
    Copy,
    Other,
}

/// Stands in for the injector in programs.
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

    /// Which calls of a device are to fail. Calls are counted from 0, each kind for itself, since the plan was given to the
    /// device by [`Device::with_faults`](crate::Device::with_faults).
    ///
    /// ```
    /// use warpfold::{Device, DeviceError, testing::Faults};
    ///
    /// let device = Device::simulator().with_faults(Faults::none().alloc(1))?;
    /// let first = device.alloc::<u32>(10)?;
    /// assert!(matches!(device.alloc::<u32>(10), Err(DeviceError::OutOfMemory { requested: 40, .. })));
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
        /// No call fails.
        pub const fn none() -> Self {
            Self { alloc: None, launch: None, copy: None, lost: None }
        }

        /// Allocation `k`, of device memory or of page-locked host memory, finds too little of it:
        /// [`DeviceError::OutOfMemory`], [`DeviceError::OutOfHostMemory`]. The next one works.
        #[must_use]
        pub const fn alloc(self, k: u64) -> Self {
            Self { alloc: Some(k), ..self }
        }

        /// Launch `k`, of a kernel or of a graph, fails and does nothing: [`DeviceError::Driver`] with
        /// `CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`. The next one works.
        #[must_use]
        pub const fn launch(self, k: u64) -> Self {
            Self { launch: Some(k), ..self }
        }

        /// Copy or fill `k` fails and does nothing: [`DeviceError::Driver`] with `CUDA_ERROR_UNKNOWN`. The next one works.
        #[must_use]
        pub const fn copy(self, k: u64) -> Self {
            Self { copy: Some(k), ..self }
        }

        /// The device is lost at call `k`, whatever it is, and so for all later calls: [`DeviceError::Lost`]. What is dropped is
        /// given back nevertheless.
        #[must_use]
        pub const fn lost(self, k: u64) -> Self {
            Self { lost: Some(k), ..self }
        }
    }

    /// A plan, and how far it has come.
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

        /// Counts the call; an error if it is to fail. Out of memory is said without numbers, which the caller knows.
        pub(in crate::device) fn enter(&self, call: Call, action: impl FnOnce() -> String) -> Result<(), DeviceError> {
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
                    text("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch, injected"),
                ),
                Call::Copy | Call::Other => (999, text("CUDA_ERROR_UNKNOWN", "unknown error, injected")),
            };
            Err(DeviceError::Driver { action: action(), code, text })
        }
    }

    fn text(name: &str, text: &str) -> ErrorText {
        ErrorText { name: name.to_owned(), text: text.to_owned() }
    }
}
