//! Graphs: work that is captured from a stream once and can be launched many times. rust-cuda's
//! main branch has this module too, but keeps it private.

use std::{ffi::CString, mem::ManuallyDrop, path::Path, ptr};

use crate::{
    error::{CudaError, CudaResult},
    stream::Stream,
    sys::{self, CUgraph, CUgraphExec, CUgraphExecUpdateResultInfo, CUgraphNode},
};

bitflags::bitflags! {
    /// The flags of [`Graph::new`]. CUDA defines none yet.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct GraphCreationFlags: u32 {
        /// No flags.
        const NONE = 0;
    }
}

/// The rule for calls that a graph cannot hold, such as an allocation, while a stream captures. The
/// mode says from which threads such a call ends the capture.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// The capture is ended by such a call from any thread.
    Global = sys::CU_STREAM_CAPTURE_MODE_GLOBAL,
    /// The capture is ended by such a call from the thread that captures.
    ThreadLocal = sys::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    /// The capture is ended by no such call.
    Relaxed = sys::CU_STREAM_CAPTURE_MODE_RELAXED,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct GraphNode {
    raw: CUgraphNode,
}

// SAFETY: a node is only a name. All functions that use it take the graph.
unsafe impl Send for GraphNode {}
// SAFETY: as above.
unsafe impl Sync for GraphNode {}

impl GraphNode {
    /// The node with this handle of the driver.
    pub fn from_raw(raw: CUgraphNode) -> Self {
        Self { raw }
    }

    /// The driver's handle of the node.
    pub fn to_raw(self) -> CUgraphNode {
        self.raw
    }
}

/// The kind of work that a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphNodeType {
    /// The node launches a kernel.
    KernelInvocation,
    /// The node copies memory.
    Memcpy,
    /// The node fills memory.
    Memset,
    /// The node calls a function on the host.
    HostExecute,
    /// The node launches a graph.
    ChildGraph,
    /// The node does nothing; it only orders other nodes.
    Empty,
    /// The node waits for an event.
    WaitEvent,
    /// The node records an event.
    EventRecord,
    /// The node signals an external semaphore.
    SemaphoreSignal,
    /// The node waits for an external semaphore.
    SemaphoreWait,
    /// The node allocates memory.
    MemoryAllocation,
    /// The node frees memory.
    MemoryFree,
    /// The node does several operations on words of memory.
    BatchMemoryOperation,
    /// The node launches a graph if a value in memory says so.
    Conditional,
    /// A kind that this crate does not know, with the driver's number for it.
    Other(u32),
}

impl GraphNodeType {
    /// The kind with this number of the driver.
    ///
    /// ```
    /// use cust::graph::GraphNodeType;
    ///
    /// assert_eq!(GraphNodeType::from_raw(0), GraphNodeType::KernelInvocation);
    /// assert_eq!(GraphNodeType::from_raw(99), GraphNodeType::Other(99));
    /// ```
    pub fn from_raw(raw: sys::CUgraphNodeType) -> Self {
        match raw {
            0 => Self::KernelInvocation,
            1 => Self::Memcpy,
            2 => Self::Memset,
            3 => Self::HostExecute,
            4 => Self::ChildGraph,
            5 => Self::Empty,
            6 => Self::WaitEvent,
            7 => Self::EventRecord,
            8 => Self::SemaphoreSignal,
            9 => Self::SemaphoreWait,
            10 => Self::MemoryAllocation,
            11 => Self::MemoryFree,
            12 => Self::BatchMemoryOperation,
            13 => Self::Conditional,
            other => Self::Other(other),
        }
    }
}

/// Recorded work and the order of its parts. It can be [instantiated](Graph::instantiate) and then
/// launched.
///
/// ```no_run
/// use cust::{graph::CaptureMode, prelude::*};
///
/// # fn main() -> Result<(), cust::error::CudaError> {
/// let _context = cust::quick_init()?;
/// let module = Module::from_file("kernels.ptx")?;
/// let stream = Stream::new(StreamFlags::DEFAULT, None)?;
/// let numbers = [1.0f32; 1024].as_dbuf()?;
///
/// stream.begin_capture(CaptureMode::ThreadLocal)?;
/// let (address, len) = (numbers.as_device_ptr(), numbers.len());
/// // SAFETY: the kernel takes an address and a length, and accesses that many numbers there.
/// unsafe { launch!(module.double<<<4, 256, 0, stream>>>(address, len))? };
/// let graph = stream.end_capture()?.instantiate()?;
///
/// for _ in 0..10 {
///     // SAFETY: the numbers are still there, and nothing else uses them.
///     unsafe { graph.launch(&stream)? };
/// }
/// stream.synchronize()
/// # }
/// ```
#[derive(Debug)]
pub struct Graph {
    raw: CUgraph,
}

// SAFETY: any thread may use a graph, but not two threads at once. All functions that change a
// graph take `&mut`.
unsafe impl Send for Graph {}

impl Graph {
    /// Makes a graph without nodes.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn new(flags: GraphCreationFlags) -> CudaResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuGraphCreate(&raw mut raw, flags.bits())) }?;
        Ok(Self { raw })
    }

    /// The number of nodes.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn num_nodes(&mut self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: the graph lives; without an array the driver only counts.
        unsafe { call!(cuGraphGetNodes(self.raw, ptr::null_mut(), &raw mut count)) }?;
        Ok(count)
    }

    /// The nodes, in an unspecified order.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn nodes(&mut self) -> CudaResult<Vec<GraphNode>> {
        let mut count = self.num_nodes()?;
        let mut nodes = vec![ptr::null_mut(); count];
        // SAFETY: the graph lives, and the array has as many entries as `count` says.
        unsafe { call!(cuGraphGetNodes(self.raw, nodes.as_mut_ptr(), &raw mut count)) }?;
        nodes.truncate(count);
        Ok(nodes.into_iter().map(GraphNode::from_raw).collect())
    }

    /// The number of edges. An edge is a pair of nodes, of which the second runs after the first.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn num_edges(&mut self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: the graph lives; without arrays the driver only counts.
        unsafe {
            call!(cuGraphGetEdges(self.raw, ptr::null_mut(), ptr::null_mut(), &raw mut count))
        }?;
        Ok(count)
    }

    /// The edges. The second node of each pair runs after the first.
    ///
    /// # Errors
    ///
    /// An error of the driver. The driver also refuses if an edge has further properties, as the
    /// edges of programmatic dependent launches have.
    pub fn edges(&mut self) -> CudaResult<Vec<(GraphNode, GraphNode)>> {
        let mut count = self.num_edges()?;
        let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
        // SAFETY: the graph lives, and both arrays have as many entries as `count` says.
        unsafe {
            call!(cuGraphGetEdges(self.raw, from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count))
        }?;
        let pairs = from.into_iter().zip(to).take(count);
        Ok(pairs.map(|(from, to)| (GraphNode::from_raw(from), GraphNode::from_raw(to))).collect())
    }

    /// Whether a node belongs to this graph.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn is_valid_node(&mut self, node: GraphNode) -> CudaResult<bool> {
        Ok(self.nodes()?.contains(&node))
    }

    /// The kind of work that a node of this graph does.
    ///
    /// # Errors
    ///
    /// [`CudaError::InvalidValue`] if the node does not belong to this graph; or an error of the
    /// driver.
    pub fn node_type(&mut self, node: GraphNode) -> CudaResult<GraphNodeType> {
        if !self.is_valid_node(node)? {
            return Err(CudaError::InvalidValue);
        }
        let mut kind = 0;
        // SAFETY: the node lives, and the pointer is to a live variable.
        unsafe { call!(cuGraphNodeGetType(node.raw, &raw mut kind)) }?;
        Ok(GraphNodeType::from_raw(kind))
    }

    /// Writes the graph to a file in the format of Graphviz, which the program `dot` can draw.
    ///
    /// # Errors
    ///
    /// [`CudaError::OperatingSystemError`] if the path is not UTF-8 or contains a NUL, or if the
    /// file cannot be written; or another error of the driver.
    pub fn dump_debug_dotfile<P: AsRef<Path>>(&mut self, path: P) -> CudaResult<()> {
        let path = path.as_ref().to_str().and_then(|path| CString::new(path).ok());
        let path = path.ok_or(CudaError::OperatingSystemError)?;
        // SAFETY: the graph lives, and the path ends with a NUL.
        unsafe {
            call!(cuGraphDebugDotPrint(
                self.raw,
                path.as_ptr(),
                sys::CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE
            ))
        }
    }

    /// Makes an executable graph, which can be launched. This graph may then be dropped.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn instantiate(&self) -> CudaResult<GraphExec> {
        let mut raw = ptr::null_mut();
        // SAFETY: the graph lives, and the pointer is to a live variable.
        unsafe { call!(cuGraphInstantiateWithFlags(&raw mut raw, self.raw, 0)) }?;
        Ok(GraphExec { raw })
    }

    /// The graph with this handle of the driver. It is destroyed when the result is dropped.
    ///
    /// # Safety
    ///
    /// The handle is that of a live graph, which nobody else destroys or uses.
    pub unsafe fn from_raw(raw: CUgraph) -> Self {
        Self { raw }
    }

    /// Gives up the graph without destroying it, and returns the driver's handle.
    pub fn into_raw(self) -> CUgraph {
        ManuallyDrop::new(self).raw
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: this object owns the graph.
        let _ = unsafe { call!(cuGraphDestroy(self.raw)) };
    }
}

/// A graph that can be launched. [`Graph::instantiate`] makes it.
#[derive(Debug)]
pub struct GraphExec {
    raw: CUgraphExec,
}

// SAFETY: any thread may use an executable graph, but not two threads at once, so it is not `Sync`.
unsafe impl Send for GraphExec {}

impl GraphExec {
    /// Adds a launch of the whole graph to the work of the stream. Launches of one graph run one
    /// after another.
    ///
    /// # Errors
    ///
    /// An error of the driver. It may come from earlier work that has failed.
    ///
    /// # Safety
    ///
    /// All memory that the captured work uses stays allocated until the launch has ended, and no
    /// other access races with that work. The modules of its kernels stay loaded until then.
    pub unsafe fn launch(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's promise. The graph and the stream live.
        unsafe { call!(cuGraphLaunch(self.raw, stream.as_inner())) }
    }

    /// Replaces the arguments and shapes of all nodes by those of another graph with the same nodes
    /// and edges. Launches that were added before are not changed.
    ///
    /// # Errors
    ///
    /// An error of the driver, for example if the other graph has other nodes or edges.
    pub fn update(&mut self, graph: &Graph) -> CudaResult<()> {
        let none = ptr::null_mut();
        let mut info =
            CUgraphExecUpdateResultInfo { result: 0, errorNode: none, errorFromNode: none };
        // SAFETY: both live, and the pointer is to a live variable.
        unsafe { call!(cuGraphExecUpdate_v2(self.raw, graph.raw, &raw mut info)) }
    }

    /// The driver's handle, which is valid as long as this object lives.
    pub fn as_raw(&self) -> CUgraphExec {
        self.raw
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        // SAFETY: `instantiate` has made the graph. The driver lets launches end first.
        let _ = unsafe { call!(cuGraphExecDestroy(self.raw)) };
    }
}

impl Stream {
    /// Begins a capture: from now on, the stream records the work that is added to it and does not
    /// run it. rust-cuda does not have this function.
    ///
    /// # Errors
    ///
    /// An error of the driver.
    pub fn begin_capture(&self, mode: CaptureMode) -> CudaResult<()> {
        // SAFETY: the stream lives.
        unsafe { call!(cuStreamBeginCapture_v2(self.as_inner(), mode as u32)) }
    }

    /// Ends the capture and returns the recorded work. From now on, the stream runs its work again.
    /// rust-cuda does not have this function.
    ///
    /// # Errors
    ///
    /// An error of the driver, for example if another call has already ended the capture.
    pub fn end_capture(&self) -> CudaResult<Graph> {
        let mut raw = ptr::null_mut();
        // SAFETY: the stream lives, and the pointer is to a live variable.
        unsafe { call!(cuStreamEndCapture(self.as_inner(), &raw mut raw)) }?;
        if raw.is_null() { Err(CudaError::InvalidValue) } else { Ok(Graph { raw }) }
    }
}
