//! Memory that kernels of other processes use.

use std::ffi::c_char;

use cuda_driver::{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, CUipcMemHandle};

use super::{
    super::{DeviceError, ipc::HANDLE_BYTES},
    Gpu,
    driver::check,
};

impl Gpu {
    pub(super) fn export_memory(&self, address: u64) -> Result<[u8; HANDLE_BYTES], DeviceError> {
        self.make_current()?;
        let mut handle = CUipcMemHandle { reserved: [0; HANDLE_BYTES] };
        // SAFETY: the pointer is to a live variable, and the address is that of an allocation.
        let code = unsafe { self.driver.cuIpcGetMemHandle(&raw mut handle, address) };
        check(code, "share memory with other processes")?;
        Ok(handle.reserved.map(|byte| byte as u8))
    }

    pub(super) fn open_memory(&self, handle: [u8; HANDLE_BYTES]) -> Result<u64, DeviceError> {
        self.make_current()?;
        let handle = CUipcMemHandle { reserved: handle.map(|byte| byte as c_char) };
        let mut address = 0;
        // SAFETY: the pointer is to a live variable. The driver refuses handles that it does not
        // know.
        let code = unsafe {
            self.driver.cuIpcOpenMemHandle_v2(
                &raw mut address,
                handle,
                CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS,
            )
        };
        check(code, "open memory of another process")?;
        Ok(address)
    }

    pub(super) fn close_memory(&self, address: u64) {
        if self.make_current().is_ok() {
            // SAFETY: `open_memory` has returned the address, and it is closed once. An error
            // belongs to an earlier launch, and the next call reports it too.
            let _ = unsafe { self.driver.cuIpcCloseMemHandle(address) };
        }
    }
}
