//! A kernel that dies half way.

use warpfold::{
    Device, DeviceError,
    device::{Arg, LaunchShape, Stream},
};

/// A kernel that fills the workspace of its stream and then traps.
const SPOIL: &str = "
.version 7.0
.target sm_75
.address_size 64

.visible .entry spoil(.param .u64 workspace)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;

    ld.param.u64 %rd1, [workspace];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 8;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u64 [%rd3], -1;
    bar.sync 0;
    trap;
}
";

/// Gives the stream a launch that fills its workspace and then traps.
pub(crate) fn start(device: &Device, stream: &Stream) -> Result<(), DeviceError> {
    let kernel = device.load("spoil.ptx", SPOIL)?.kernel("spoil")?;
    let args = [Arg::Pointer(stream.workspace())];
    // SAFETY: the threads write words of the stream's workspace, and nothing else.
    unsafe { stream.launch(&kernel, LaunchShape::linear(1, 1024, 0), &args) }
}

/// Does the same, and waits for the launch.
pub(crate) fn spoil(device: &Device, stream: &Stream) -> Result<(), DeviceError> {
    start(device, stream)?;
    stream.synchronize()
}
