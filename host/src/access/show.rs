//! The function that shows each pattern.

use super::{
    arithmetic, draw::Section, error::AccessError, global, lab::Lab, math, on_chip,
    pattern::Pattern, transfer,
};

impl Lab<'_> {
    /// Runs a pattern and returns its tables and charts. If a device is interrupted
    /// ([`Device::interrupt_by`](crate::device::Device::interrupt_by)), the tables end with the
    /// last finished row.
    ///
    /// # Errors
    ///
    /// The errors of [`Lab::check`], [`AccessError::Wrong`] for a wrong result,
    /// [`AccessError::NeedsGpu`], and the errors of the devices.
    pub fn run(&mut self, pattern: Pattern) -> Result<Section, AccessError> {
        Self::check(pattern, &self.request)?;
        match pattern {
            Pattern::Offset => global::offset(self),
            Pattern::Stride => global::stride(self),
            Pattern::Permuted => global::permuted(self),
            Pattern::Width => global::width(self),
            Pattern::Unroll => global::unroll(self),
            Pattern::SharedStride | Pattern::SharedOffset | Pattern::Broadcast => {
                on_chip::shared(self, pattern)
            }
            Pattern::Constant => on_chip::constant(self),
            Pattern::Divide => arithmetic::divide(self),
            Pattern::Math => math::math(self),
            Pattern::Transfer => transfer::transfer(self),
        }
    }
}
