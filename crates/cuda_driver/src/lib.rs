//! The CUDA driver, found at run time.

/// Why there is no usable CUDA driver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The library could not be opened.
    #[error("{library} was not found: {reason}")]
    LibraryNotFound {
        /// Name or path that was tried.
        library: String,
        /// The loader's own words.
        reason: String,
    },
}
