//! The streams of the simulator. A stream runs each command immediately, or records it.

use std::{
    any::Any,
    mem, ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    super::{
        Arg, DeviceError, LaunchShape,
        backend::{
            Backend, BackendEvent, BackendGraph, BackendLaunch, BackendStream, LoadedKernel,
        },
        peers::FailedAt,
    },
    SimulatedKernel, Simulator,
};

#[derive(Debug)]
pub(super) struct SimulatedStream {
    simulator: Arc<Simulator>,
    /// The commands recorded so far, while the stream captures. The lock is held while a command
    /// runs, so that commands of two threads run one after the other.
    turn: Mutex<Option<Vec<Command>>>,
}

/// A command that can be recorded.
#[derive(Debug)]
enum Command {
    Copy { from: u64, to: u64, bytes: u64 },
    Fill { address: u64, bytes: u64, byte: u8 },
    Launch { kernel: Arc<dyn LoadedKernel>, shape: LaunchShape, args: Vec<Arg> },
}

impl Command {
    fn run(&self, simulator: &Simulator) -> Result<(), DeviceError> {
        match self {
            &Self::Copy { from, to, bytes } => simulator.copy(from, to, bytes),
            &Self::Fill { address, bytes, byte } => simulator.fill(address, bytes, byte),
            Self::Launch { kernel, shape, args } => launch(&**kernel, *shape, args),
        }
    }
}

fn launch(kernel: &dyn LoadedKernel, shape: LaunchShape, args: &[Arg]) -> Result<(), DeviceError> {
    let kernel: &SimulatedKernel =
        (kernel as &dyn Any).downcast_ref().expect("the kernels of a simulator are its own");
    kernel.launch(shape, args)
}

impl SimulatedStream {
    pub(super) fn new(simulator: Arc<Simulator>) -> Self {
        Self { simulator, turn: Mutex::default() }
    }

    fn turn(&self) -> MutexGuard<'_, Option<Vec<Command>>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a command, or records it if the stream captures.
    fn give(&self, command: Command) -> Result<(), DeviceError> {
        match &mut *self.turn() {
            Some(recorded) => {
                recorded.push(command);
                Ok(())
            }
            None => command.run(&self.simulator),
        }
    }
}

impl BackendStream for SimulatedStream {
    unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let _turn = self.turn();
        self.simulator.write(address, bytes)
    }

    unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let _turn = self.turn();
        self.simulator.read(address, bytes)
    }

    fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), DeviceError> {
        self.give(Command::Copy { from, to, bytes })
    }

    fn fill(&self, address: u64, bytes: u64, byte: u8) -> Result<(), DeviceError> {
        self.give(Command::Fill { address, bytes, byte })
    }

    unsafe fn launch(
        &self,
        kernel: &Arc<dyn LoadedKernel>,
        shape: LaunchShape,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        self.give(Command::Launch { kernel: Arc::clone(kernel), shape, args: args.to_vec() })
    }

    unsafe fn launch_together(&self, launches: &[BackendLaunch<'_>]) -> Result<(), FailedAt> {
        /// A stream of the simulator runs its commands when they are given, and cannot replay one
        /// beside those of another stream.
        const ACTION: &str = "launch simulated kernels that wait for each other";
        let streams = launches.iter().map(|launch| {
            (launch.stream as &dyn Any)
                .downcast_ref::<Self>()
                .expect("the streams of a simulator are its own")
        });
        // Each thread takes the locks in the same order, so that no two wait for each other.
        let mut ordered: Vec<_> = streams.enumerate().collect();
        ordered.sort_by_key(|&(_, stream)| ptr::from_ref(stream));
        let mut turns = Vec::new();
        for (number, stream) in ordered {
            let turn = stream.turn();
            if turn.is_some() {
                return Err(FailedAt::number(number)(DeviceError::Capturing { action: ACTION }));
            }
            turns.push(turn);
        }
        SimulatedKernel::launch_together(launches)
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        // Taking the lock waits for a command that another thread is running.
        drop(self.turn());
        Ok(())
    }

    fn new_event(&self) -> Result<Box<dyn BackendEvent>, DeviceError> {
        Ok(Box::new(SimulatedEvent(Instant::now())))
    }

    fn record(&self, event: &mut dyn BackendEvent) -> Result<(), DeviceError> {
        let event: &mut SimulatedEvent =
            (event as &mut dyn Any).downcast_mut().expect("the events of a simulator are its own");
        let _turn = self.turn();
        event.0 = Instant::now();
        Ok(())
    }

    fn wait(&self, _event: &dyn BackendEvent) -> Result<(), DeviceError> {
        // Every recorded event of the simulator has already happened.
        Ok(())
    }

    fn begin_capture(&self) -> Result<(), DeviceError> {
        *self.turn() = Some(Vec::new());
        Ok(())
    }

    fn end_capture(&self) -> Result<Box<dyn BackendGraph>, DeviceError> {
        Ok(Box::new(SimulatedGraph {
            commands: Mutex::new(mem::take(&mut *self.turn()).unwrap_or_default()),
        }))
    }

    fn launch_graph(&self, graph: &dyn BackendGraph) -> Result<(), DeviceError> {
        let graph: &SimulatedGraph =
            (graph as &dyn Any).downcast_ref().expect("the graphs of a simulator are its own");
        let _turn = self.turn();
        let commands = graph.commands.lock().unwrap_or_else(PoisonError::into_inner);
        commands.iter().try_for_each(|command| command.run(&self.simulator))
    }
}

/// The time at which all work before the event was done.
#[derive(Debug)]
struct SimulatedEvent(Instant);

impl BackendEvent for SimulatedEvent {
    fn synchronize(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn is_over(&self) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn elapsed_since(&self, earlier: &dyn BackendEvent) -> Result<Duration, DeviceError> {
        let earlier: &Self =
            (earlier as &dyn Any).downcast_ref().expect("the events of a simulator are its own");
        Ok(self.0.saturating_duration_since(earlier.0))
    }
}

/// The recorded commands of a graph. The lock is held while the graph runs, so that its launches
/// run one after another.
#[derive(Debug)]
struct SimulatedGraph {
    commands: Mutex<Vec<Command>>,
}

impl BackendGraph for SimulatedGraph {}
