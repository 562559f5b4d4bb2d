//! Builds the stand-in driver with the system's C compiler.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
    process::Command,
};

/// Functions that need only be there.
const PRESENT: &str = "cuDeviceGet cuDeviceGetAttribute cuDeviceGetName cuDeviceTotalMem_v2 cuDevicePrimaryCtxRetain \
    cuDevicePrimaryCtxRelease_v2 cuCtxGetCurrent cuCtxSetCurrent cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamSynchronize \
    cuEventCreate cuEventDestroy_v2 cuEventElapsedTime cuEventRecord cuEventSynchronize cuFuncGetParamInfo cuMemAlloc_v2 \
    cuMemFree_v2 cuMemGetInfo_v2 cuMemcpyDtoD_v2 cuMemcpyDtoH_v2 cuMemcpyHtoD_v2 cuMemsetD8_v2 cuModuleGetFunction \
    cuModuleLoadDataEx";

/// The path of a library that answers as told, in `folder`; `None`, said on stderr, where there is no C compiler.
pub(crate) fn build(folder: &Path, version: u32, init: u32, devices: u32, omit_module_unload: bool) -> Option<String> {
    let source = folder.join("fake_cuda.c");
    let library = folder.join(format!("fake_{version}_{init}_{devices}_{omit_module_unload}.so"));
    let present: Vec<String> = PRESENT.split_whitespace().map(|name| format!("PRESENT({name})")).collect();
    fs::write(&source, include_str!("fake_cuda.c").replace("PRESENTS", &present.join("\n"))).unwrap();
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-Wall", "-Werror"]);
    command.args([format!("-DVERSION={version}"), format!("-DINIT={init}"), format!("-DDEVICES={devices}")]);
    if omit_module_unload {
        command.arg("-DOMIT");
    }
    match command.arg("-o").arg(&library).arg(&source).output() {
        Ok(output) => {
            assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
            Some(library.into_os_string().into_string().unwrap())
        }
        Err(error) => {
            // Past the test harness, which keeps what passing tests print.
            let line =
                format!("skipped: cuda_driver, all with a stand-in driver: there is no C compiler cc: {error}\n");
            let _ = io::stderr().write_all(line.as_bytes());
            None
        }
    }
}
