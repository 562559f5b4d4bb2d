//! The items that most programs use. `use cust::prelude::*` imports them.

pub use crate::{
    CudaFlags,
    context::{Context, ContextFlags},
    device::Device,
    event::{Event, EventFlags, EventStatus},
    function::Function,
    launch,
    memory::{
        CopyDestination, DeviceBuffer, DevicePointer, DeviceSlice, DeviceVariable, UnifiedBuffer,
    },
    module::Module,
    stream::{Stream, StreamFlags},
    util::*,
};
