//! Graphs: work that a stream was given once, launched again and again. rust-cuda's main branch has
//! this module, and keeps it to itself.

use std::{ffi::CString, mem::ManuallyDrop, path::Path, ptr};

use crate::{
    error::{CudaError, CudaResult},
    stream::Stream,
    sys::{self, CUgraph, CUgraphExec, CUgraphExecUpdateResultInfo, CUgraphNode},
};

bitflags::bitflags! {
    /// Flags of [`Graph::new`]. There are none yet.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct GraphCreationFlags: u32 {
        /// None.
        const NONE = 0;
    }
}

/// Which calls, made while a stream captures, end the capture: calls that a graph cannot hold, such
/// as an allocation.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaptureMode {
    /// Those of any thread.
    Global = sys::CU_STREAM_CAPTURE_MODE_GLOBAL,
    /// Those of the thread that captures.
    ThreadLocal = sys::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    /// None.
    Relaxed = sys::CU_STREAM_CAPTURE_MODE_RELAXED,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct GraphNode {
    raw: CUgraphNode,
}

// SAFETY: only a name; what is done with it goes through the graph.
unsafe impl Send for GraphNode {}
// SAFETY: as above.
unsafe impl Sync for GraphNode {}

impl GraphNode {
    /// The node with this handle.
    pub fn from_raw(raw: CUgraphNode) -> Self {
        Self { raw }
    }

    /// The driver's handle.
    pub fn to_raw(self) -> CUgraphNode {
        self.raw
    }
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphNodeType {
    /// It launches a kernel.
    KernelInvocation,
    /// It copies.
    Memcpy,
    /// It fills.
    Memset,
    /// It calls a function on the host.
    HostExecute,
    /// It launches a graph.
    ChildGraph,
    /// It only orders others.
    Empty,
    /// It waits for an event.
    WaitEvent,
    /// It records an event.
    EventRecord,
    /// It signals an external semaphore.
    SemaphoreSignal,
    /// It waits for an external semaphore.
    SemaphoreWait,
    /// It allocates.
    MemoryAllocation,
    /// It frees.
    MemoryFree,
    /// Several operations on words of memory.
    BatchMemoryOperation,
    /// It launches a graph if a value says so.
    Conditional,
    /// Something that this crate does not know, by the driver's number.
    Other(u32),
}

impl GraphNodeType {
    /// What the driver's number means.
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

/// Work and its order, which can be [instantiated](Graph::instantiate) and then launched.
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
/// // SAFETY: the kernel takes an address and a length, and accesses so many numbers there.
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

// SAFETY: any thread may use a graph, though not two at once: what changes one takes `&mut`.
unsafe impl Send for Graph {}

impl Graph {
    /// A graph without nodes.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn new(flags: GraphCreationFlags) -> CudaResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe { call!(cuGraphCreate(&raw mut raw, flags.bits())) }?;
        Ok(Self { raw })
    }

    /// Number of nodes.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn num_nodes(&mut self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: the graph lives; without an array the driver only counts.
        unsafe { call!(cuGraphGetNodes(self.raw, ptr::null_mut(), &raw mut count)) }?;
        Ok(count)
    }

    /// The nodes, in no order.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn nodes(&mut self) -> CudaResult<Vec<GraphNode>> {
        let mut count = self.num_nodes()?;
        let mut nodes = vec![ptr::null_mut(); count];
        // SAFETY: the graph lives, and the array has as many entries as `count` says.
        unsafe { call!(cuGraphGetNodes(self.raw, nodes.as_mut_ptr(), &raw mut count)) }?;
        nodes.truncate(count);
        Ok(nodes.into_iter().map(GraphNode::from_raw).collect())
    }

    /// Number of pairs of nodes of which one comes after the other.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn num_edges(&mut self) -> CudaResult<usize> {
        let mut count = 0;
        // SAFETY: the graph lives; without arrays the driver only counts.
        unsafe {
            call!(cuGraphGetEdges(self.raw, ptr::null_mut(), ptr::null_mut(), &raw mut count))
        }?;
        Ok(count)
    }

    /// Pairs of nodes, the first of which comes before the second.
    ///
    /// # Errors
    ///
    /// The driver's; also where an edge is more than that, as programmatic dependent launches make
    /// it.
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

    /// Whether a node is one of this graph's.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn is_valid_node(&mut self, node: GraphNode) -> CudaResult<bool> {
        Ok(self.nodes()?.contains(&node))
    }

    /// What a node of this graph does.
    ///
    /// # Errors
    ///
    /// [`CudaError::InvalidValue`] for a node that is not one of this graph's; the driver's.
    pub fn node_type(&mut self, node: GraphNode) -> CudaResult<GraphNodeType> {
        if !self.is_valid_node(node)? {
            return Err(CudaError::InvalidValue);
        }
        let mut kind = 0;
        // SAFETY: the node lives, and the pointer is to a live variable.
        unsafe { call!(cuGraphNodeGetType(node.raw, &raw mut kind)) }?;
        Ok(GraphNodeType::from_raw(kind))
    }

    /// Writes the graph to a file that `dot` draws.
    ///
    /// # Errors
    ///
    /// The driver's; [`CudaError::OperatingSystemError`] if the file cannot be written.
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

    /// Makes of it what can be launched. The graph may be dropped then.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn instantiate(&self) -> CudaResult<GraphExec> {
        let mut raw = ptr::null_mut();
        // SAFETY: the graph lives, and the pointer is to a live variable.
        unsafe { call!(cuGraphInstantiateWithFlags(&raw mut raw, self.raw, 0)) }?;
        Ok(GraphExec { raw })
    }

    /// The graph with this handle.
    ///
    /// # Safety
    ///
    /// It is a graph that lives and that nobody else destroys or uses.
    pub unsafe fn from_raw(raw: CUgraph) -> Self {
        Self { raw }
    }

    /// The driver's handle of a graph that is not destroyed with this object.
    pub fn into_raw(self) -> CUgraph {
        ManuallyDrop::new(self).raw
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: this object's own.
        let _ = unsafe { call!(cuGraphDestroy(self.raw)) };
    }
}

/// A graph that can be launched; see [`Graph`].
#[derive(Debug)]
pub struct GraphExec {
    raw: CUgraphExec,
}

// SAFETY: any thread may use one, though not two at once: it is not `Sync`.
unsafe impl Send for GraphExec {}

impl GraphExec {
    /// Launches all of it. A launch waits for the one before it.
    ///
    /// # Errors
    ///
    /// The driver's, also that of work which has failed.
    ///
    /// # Safety
    ///
    /// All memory that the captured work uses is there until the launch has ended, and nothing
    /// races with it. The modules of its kernels are loaded.
    pub unsafe fn launch(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's promise; both live.
        unsafe { call!(cuGraphLaunch(self.raw, stream.as_inner())) }
    }

    /// Gives the nodes the arguments and shapes of a graph of the same form. Launches that have
    /// begun go on as they were.
    ///
    /// # Errors
    ///
    /// The driver's, such as the one for a graph of another form.
    pub fn update(&mut self, graph: &Graph) -> CudaResult<()> {
        let none = ptr::null_mut();
        let mut info =
            CUgraphExecUpdateResultInfo { result: 0, errorNode: none, errorFromNode: none };
        // SAFETY: both live, and the pointer is to a live variable.
        unsafe { call!(cuGraphExecUpdate_v2(self.raw, graph.raw, &raw mut info)) }
    }

    /// The driver's handle, which is good as long as this lives.
    pub fn as_raw(&self) -> CUgraphExec {
        self.raw
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        // SAFETY: made by `instantiate`. The driver lets launches end first.
        let _ = unsafe { call!(cuGraphExecDestroy(self.raw)) };
    }
}

impl Stream {
    /// From now on the stream records what it is given and does nothing of it. Not in rust-cuda.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn begin_capture(&self, mode: CaptureMode) -> CudaResult<()> {
        // SAFETY: the stream lives.
        unsafe { call!(cuStreamBeginCapture_v2(self.as_inner(), mode as u32)) }
    }

    /// What the stream has recorded; it works again. Not in rust-cuda.
    ///
    /// # Errors
    ///
    /// The driver's, such as the one for a capture that another call has ended.
    pub fn end_capture(&self) -> CudaResult<Graph> {
        let mut raw = ptr::null_mut();
        // SAFETY: the stream lives, and the pointer is to a live variable.
        unsafe { call!(cuStreamEndCapture(self.as_inner(), &raw mut raw)) }?;
        if raw.is_null() { Err(CudaError::InvalidValue) } else { Ok(Graph { raw }) }
    }
}
