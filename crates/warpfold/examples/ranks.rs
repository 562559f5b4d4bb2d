//! One rank of several processes, each with a device, that sum one array together. Start it once
//! for each rank, for example on a machine with two GPUs:
//!
//! ```sh
//! ranks --rank 0 --ranks 2 --at 127.0.0.1:29500 --times 1000 &
//! ranks --rank 1 --ranks 2 --at 127.0.0.1:29500 --times 1000
//! ```
//!
//! `--at` is an address of rank 0, or a folder that all ranks see, which has a `/` in its name.
//! `--transport` is `peers`, `nccl` or `host`; without it the ranks choose one. `--elements` is the
//! length of a shard. `--device sim` takes the simulator. `--times` also times so many calls.

use std::{
    env,
    error::Error,
    time::{Duration, Instant},
};

use warpfold::{Device, FileRendezvous, RankTransport, Ranks, Rendezvous, Sum, TcpRendezvous};

/// How long ranks wait for each other.
const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let option = |name: &str| {
        let position = args.iter().position(|arg| arg.strip_prefix("--") == Some(name))?;
        args.get(position + 1).map(String::as_str)
    };
    let number = |name: &str, without: Option<usize>| match (option(name), without) {
        (Some(text), _) => text.parse().map_err(|error| format!("--{name} {text}: {error}")),
        (None, Some(without)) => Ok(without),
        (None, None) => Err(format!("--{name} is missing")),
    };
    let (rank, ranks) = (number("rank", None)? as u32, number("ranks", None)? as u32);
    let (elements, times) = (number("elements", Some(1 << 20))?, number("times", Some(0))?);
    let at = option("at").ok_or("--at is missing")?;
    let transport = match option("transport") {
        None => None,
        Some("peers") => Some(RankTransport::Peers),
        Some("nccl") => Some(RankTransport::Nccl),
        Some("host") => Some(RankTransport::Host),
        Some(other) => return Err(format!("--transport {other}: peers, nccl or host").into()),
    };
    let gpus = if option("device") == Some("sim") { Vec::new() } else { Device::all()? };
    let gpu = (rank as usize).checked_rem(gpus.len()).map(|gpu| gpus[gpu].clone());
    let device = gpu.unwrap_or_else(Device::simulator);

    let meeting: Box<dyn Rendezvous> = if at.contains('/') {
        Box::new(FileRendezvous::new(at, rank, ranks, TIMEOUT)?)
    } else {
        Box::new(TcpRendezvous::new(at, rank, ranks, TIMEOUT)?)
    };
    let ranks = match transport {
        None => Ranks::join(&device, meeting)?,
        Some(transport) => Ranks::join_with(&device, meeting, transport)?,
    };
    let note = ranks.note().map_or_else(String::new, |note| format!(" ({note})"));

    let shard = device.upload(&vec![1 + rank; elements])?;
    let (mut total, stream) = (device.alloc(1)?, device.stream()?);
    let mut sum = ranks.all_reducer::<u32, _>(Sum, elements)?;
    let pending = sum.reduce_into(&shard, &mut total, &stream)?;
    sum.check()?;
    let result = pending.finish(total.copy_to_host()?[0])?;
    let (count, name) = (ranks.ranks(), &device.info().name);
    println!("rank {rank} of {count}, {name}: {result} by {}{note}", sum.transport());

    if times > 0 {
        let mut single = Vec::new();
        for _ in 0..times {
            let begin = Instant::now();
            sum.reduce_into(&shard, &mut total, &stream)?;
            stream.synchronize()?;
            single.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        single.sort_unstable_by(f64::total_cmp);
        let begin = Instant::now();
        for _ in 0..times {
            sum.reduce_into(&shard, &mut total, &stream)?;
        }
        stream.synchronize()?;
        let row = begin.elapsed().as_secs_f64() * 1e6 / times as f64;
        sum.check()?;
        let median = single[times / 2];
        println!("rank {rank}: {median:.1} us for a call, {row:.1} us for one of many in a row");
    }
    Ok(())
}
