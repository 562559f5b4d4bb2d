//! Makes random calls of a group for some seconds, and checks every result on every device.
//!
//! A round draws some calls of a few operations, gives all of them to the devices without waiting
//! in between, and then checks the results. Each result must be right by plain Rust, the same on
//! all devices, and have the bits that the documentation promises: those of [`Group::reduce`], or
//! for rows those of [`warpfold::RowReducer`] for each shard, which the host combines. On GPUs,
//! some calls are recorded in graphs, and a device is sometimes kept busy, so that the others wait.
//!
//! All calls of a round are ordered: either they have the same streams, or the streams of a call
//! wait for those of the call before.

mod known;
mod pool;
mod rows;
mod verdict;
mod whole;

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::Context;
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use warpfold::{
    ArgMax, ArgMin, BitXor, Buffer, CheckedSum, Dot, Error, Group, GroupGraph, MinMax, Moments,
    Reducer, ReproducibleSum, Stream, Sum, device::DeviceKind,
};

use pool::Pool;
use rows::Rows;
use whole::Whole;

/// How long a device waits for another one.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The sizes of calls.
#[derive(Clone, Copy)]
struct Sizes {
    /// The most elements of a shard.
    elements: usize,
    /// The most rows.
    rows: usize,
}

impl Sizes {
    /// The most results are more than pass through mailboxes.
    fn of(kind: DeviceKind) -> Self {
        match kind {
            DeviceKind::Simulator => Self { elements: 1 << 12, rows: 1500 },
            DeviceKind::Cuda => Self { elements: 1 << 22, rows: 1 << 20 },
        }
    }
}

/// An operation over a type, and the calls of it that were drawn since the last check.
trait Case {
    fn name(&self) -> String;

    /// Draws a call, and returns its number since the last check.
    fn draw(&mut self, rng: &mut ChaCha8Rng) -> anyhow::Result<usize>;

    fn describe(&self, call: usize) -> String;

    /// Adds a call to the work of the streams.
    fn launch(&mut self, call: usize, streams: &[&Stream]) -> Result<(), Error>;

    /// Waits for all calls, checks their results, and forgets them. Returns how many they were.
    fn check(&mut self) -> anyhow::Result<u64>;
}

/// What a soak is to do.
pub(crate) struct Plan {
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// The number of the first round.
    pub(crate) first_round: u64,
}

/// Makes random calls for so many seconds, but one round at least.
pub(crate) fn soak(group: &Group, plan: &Plan) -> anyhow::Result<()> {
    let &Plan { seconds, seed, first_round } = plan;
    let devices = group.devices();
    println!("{} devices, {}, {seconds} s, seed {seed}", devices.len(), devices[0].info().name);
    let mut soak = Soak::new(group, seed)?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut round = first_round;
    loop {
        let mut story = Vec::new();
        soak.round(round, &mut story).with_context(|| {
            format!(
                "wrong in round {round}: repeat it with `groups --soak 0 --seed {seed} \
                 --first-round {round}` on as many devices, all with `--seed {seed}`; its work was\n{}",
                story.join("\n")
            )
        })?;
        round += 1;
        if Instant::now() >= end {
            break;
        }
    }
    for (case, calls) in soak.cases.iter().zip(&soak.calls) {
        println!("{calls:8} calls: {}", case.name());
    }
    let (rounds, calls) = (round - first_round, soak.calls.iter().sum::<u64>());
    println!("{rounds} rounds, {calls} calls, {} launches of graphs, all right", soak.replays);
    Ok(())
}

struct Soak {
    group: Group,
    seed: u64,
    cases: Vec<Box<dyn Case>>,
    /// How many calls of each case were checked.
    calls: Vec<u64>,
    /// How many launches of graphs there were.
    replays: u64,
    streams: Vec<Stream>,
    /// What keeps a device busy; none on simulators, which run one stream at a time.
    delay: Option<Delay>,
}

/// Calls of the cases by their numbers.
type Call = (usize, usize);

/// Work of a round.
enum Action {
    /// A call is given to the streams.
    Call(Call),
    /// Some calls are recorded, and the graphs are launched so many times.
    Replay(Vec<Call>, u32),
}

impl Soak {
    fn new(group: &Group, seed: u64) -> anyhow::Result<Self> {
        let kind = group.devices()[0].info().kind;
        let sizes = Sizes::of(kind);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Parts begin at any element.
        let len = sizes.elements + 64;
        let f32s = Rc::new(Pool::<f32>::new(group, len, &mut rng)?);
        let f64s = Rc::new(Pool::<f64>::new(group, len, &mut rng)?);
        let i64s = Rc::new(Pool::<i64>::new(group, len, &mut rng)?);
        let i32s = Rc::new(Pool::<i32>::new(group, len, &mut rng)?);
        let u32s = Rc::new(Pool::<u32>::new(group, len, &mut rng)?);
        let u8s = Rc::new(Pool::<u8>::new(group, len, &mut rng)?);
        let most = sizes.elements;
        let cases: Vec<Box<dyn Case>> = vec![
            Box::new(Whole::<f32, Sum>::new(group, &f32s, most)?),
            Box::new(Whole::<f64, Sum>::new(group, &f64s, most)?),
            Box::new(Whole::<i64, Sum>::new(group, &i64s, most)?),
            Box::new(Whole::<f32, ReproducibleSum>::new(group, &f32s, most)?),
            Box::new(Whole::<f64, ReproducibleSum>::new(group, &f64s, most)?),
            Box::new(Whole::<f32, ArgMin>::new(group, &f32s, most)?),
            Box::new(Whole::<i32, ArgMax>::new(group, &i32s, most)?),
            Box::new(Whole::<u8, MinMax>::new(group, &u8s, most)?),
            Box::new(Whole::<i64, CheckedSum>::new(group, &i64s, most)?),
            Box::new(Whole::<f64, Moments>::new(group, &f64s, most)?),
            Box::new(Whole::<f32, Dot>::new(group, &f32s, most)?),
            Box::new(Whole::<u32, BitXor>::new(group, &u32s, most)?),
            Box::new(Rows::<f32, Sum>::new(group, &f32s, sizes)?),
            Box::new(Rows::<f64, Sum>::new(group, &f64s, sizes)?),
            Box::new(Rows::<i64, Sum>::new(group, &i64s, sizes)?),
            Box::new(Rows::<f32, ArgMin>::new(group, &f32s, sizes)?),
            Box::new(Rows::<i32, ArgMax>::new(group, &i32s, sizes)?),
            Box::new(Rows::<u8, MinMax>::new(group, &u8s, sizes)?),
            Box::new(Rows::<i64, CheckedSum>::new(group, &i64s, sizes)?),
            Box::new(Rows::<f64, Moments>::new(group, &f64s, sizes)?),
            Box::new(Rows::<f32, Dot>::new(group, &f32s, sizes)?),
            Box::new(Rows::<u32, BitXor>::new(group, &u32s, sizes)?),
        ];
        let calls = vec![0; cases.len()];
        let delay = match kind {
            DeviceKind::Simulator => None,
            DeviceKind::Cuda => Some(Delay::new(group, &f32s)?),
        };
        let (group, streams) = (group.clone(), group.streams()?);
        Ok(Self { group, seed, cases, calls, replays: 0, streams, delay })
    }

    /// Makes a round, which its number decides. The story says what was given to the devices.
    fn round(&mut self, number: u64, story: &mut Vec<String>) -> anyhow::Result<()> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(1 + number);
        let all: Vec<usize> = (0..self.cases.len()).collect();
        let few: Vec<usize> = all.choose_multiple(&mut rng, 3).copied().collect();
        // All memory is allocated before the first call, because an allocation may wait.
        let actions = (0..rng.random_range(1..=10)).map(|_| self.action(&few, &mut rng));
        let actions: Vec<Action> = actions.collect::<anyhow::Result<_>>()?;

        // Dropping a stream or a graph waits for its work, so both live until the end.
        let (mut earlier, mut graphs) = (Vec::new(), Vec::new());
        for action in &actions {
            if rng.random_ratio(1, 4) {
                story.push("new streams, which wait for those before".to_owned());
                let streams = self.group.streams()?;
                for (stream, before) in streams.iter().zip(&self.streams) {
                    stream.wait_for(before)?;
                }
                earlier.push(std::mem::replace(&mut self.streams, streams));
            }
            if let Some(delay) = &mut self.delay
                && rng.random_ratio(1, 4)
            {
                let (device, times) =
                    (rng.random_range(0..self.streams.len()), rng.random_range(1..30));
                story.push(format!("device {device} is busy, {times} times"));
                delay.keep_busy(device, times, &self.streams[device])?;
            }
            graphs.extend(self.launch(action, story)?);
        }
        for case in few {
            self.calls[case] += self.cases[case].check()?;
        }
        drop((earlier, graphs));
        Ok(())
    }

    /// Draws work of these cases.
    fn action(&mut self, few: &[usize], rng: &mut ChaCha8Rng) -> anyhow::Result<Action> {
        let mut draw = |rng: &mut ChaCha8Rng| {
            let case = *few.choose(rng).context("there are cases")?;
            Ok::<Call, anyhow::Error>((case, self.cases[case].draw(rng)?))
        };
        // Simulators refuse to record calls.
        if self.delay.is_some() && rng.random_ratio(1, 5) {
            let calls = (0..rng.random_range(1..=4)).map(|_| draw(rng));
            let calls = calls.collect::<anyhow::Result<_>>()?;
            return Ok(Action::Replay(calls, rng.random_range(1..=4)));
        }
        Ok(Action::Call(draw(rng)?))
    }

    /// Gives work to the streams, and returns the graph that it is, if it is one.
    fn launch(
        &mut self,
        action: &Action,
        story: &mut Vec<String>,
    ) -> anyhow::Result<Option<GroupGraph>> {
        match action {
            &Action::Call((case, call)) => {
                story.push(self.cases[case].describe(call));
                self.cases[case].launch(call, &self.streams.iter().collect::<Vec<_>>())?;
                Ok(None)
            }
            Action::Replay(calls, times) => {
                story.push(format!("a graph that is launched {times} times, of"));
                story.extend(calls.iter().map(|&(case, call)| self.cases[case].describe(call)));
                let cases = &mut self.cases;
                let (graph, ()) = self.group.capture(|streams| {
                    let mut calls = calls.iter();
                    calls.try_for_each(|&(case, call)| cases[case].launch(call, streams))
                })?;
                for _ in 0..*times {
                    graph.launch(&self.streams)?;
                }
                self.replays += u64::from(*times);
                story.push("end of the graph".to_owned());
                Ok(Some(graph))
            }
        }
    }
}

/// Sums that keep a device busy.
struct Delay {
    floats: Rc<Pool<f32>>,
    reducers: Vec<Reducer<f32, Sum>>,
    outputs: Vec<Buffer<f32>>,
}

impl Delay {
    fn new(group: &Group, floats: &Rc<Pool<f32>>) -> anyhow::Result<Self> {
        let devices = || group.devices().iter();
        Ok(Self {
            floats: Rc::clone(floats),
            reducers: devices().map(|device| device.reducer(Sum)).collect::<Result<_, _>>()?,
            outputs: devices().map(|device| device.alloc(1)).collect::<Result<_, _>>()?,
        })
    }

    fn keep_busy(&mut self, device: usize, times: u32, stream: &Stream) -> anyhow::Result<()> {
        for _ in 0..times {
            let (floats, output) = (&self.floats.buffers[device], &mut self.outputs[device]);
            self.reducers[device].reduce_into(floats, output, stream)?;
        }
        Ok(())
    }
}
