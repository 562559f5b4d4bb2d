//! A process that asks first for the system's library, whether the library exists or not.

#![cfg(target_os = "linux")]

use std::ptr;

use cuda_driver::DriverError;

#[test]
fn the_first_attempt_decides() {
    assert!(cuda_driver::loaded().is_none() && cuda_driver::failure().is_none());
    let outcome = cuda_driver::load().map(ptr::from_ref);
    assert_eq!(cuda_driver::load().map(ptr::from_ref), outcome);
    assert_eq!(cuda_driver::load_from(cuda_driver::LIBRARY).map(ptr::from_ref), outcome);
    assert_eq!(cuda_driver::loaded().map(ptr::from_ref), outcome.as_ref().ok().copied());
    assert_eq!(cuda_driver::failure(), outcome.as_ref().err());
    assert!(matches!(cuda_driver::load_from("other.so"), Err(DriverError::AnotherWasFirst { .. })));
}
