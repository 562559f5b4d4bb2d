//! A process whose driver cannot be loaded. Every call gives the reason, which is the file.

#![cfg(target_os = "linux")]

use std::fs;

use cuda_driver::DriverError;

#[test]
fn a_nonsense_file_is_named_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("libcuda.so.1");
    fs::write(
        &file,
        "not a library at all, but long enough to hold the header of one, were it one",
    )
    .unwrap();

    assert!(cuda_driver::failure().is_none());
    let error = cuda_driver::load_from(&file).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the driver's library {0} cannot be opened ({0}: invalid ELF header)",
            file.display()
        )
    );
    assert_eq!(cuda_driver::load().unwrap_err(), error, "another library is not tried");
    assert_eq!(cuda_driver::load_from(&file).unwrap_err(), error);
    assert_eq!(cuda_driver::failure(), Some(&error));
    assert!(cuda_driver::loaded().is_none());
    assert_eq!(
        cuda_driver::error_text(100).to_string(),
        "error 100 (the driver has no text for it)"
    );

    let second = cuda_driver::load_from("other.so").unwrap_err();
    assert!(matches!(second, DriverError::AnotherWasFirst { .. }));
    assert_eq!(
        second.to_string(),
        format!(
            "the driver other.so cannot be loaded: this process has tried {} before, and keeps to it",
            file.display()
        )
    );
}
