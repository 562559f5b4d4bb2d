//! A rendezvous over TCP.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{
    RendezvousError, check_rank,
    frame::{Frame, HEADER, Kind},
    rendezvous,
    star::{Fault, GRACE, MOST_BYTES, Star, Wire, after, error},
};

/// How long a rank waits before it looks again for a connection.
const PAUSE: Duration = Duration::from_millis(2);
/// How long a rank tries one address of rank 0.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Ranks that exchange bytes over TCP: rank 0 listens, and the others connect to it.
///
/// The connections are neither encrypted nor authenticated. Whoever can connect to rank 0 before
/// the ranks do can disturb them, so the address should be one of a network of trusted machines.
#[derive(Debug)]
pub struct TcpRendezvous(Star<Connections>);

rendezvous!(TcpRendezvous);

impl TcpRendezvous {
    /// Waits until all ranks have come. `address` is where rank 0 listens, for example
    /// `"node7:29500"`. On some machines their own name means an address that other machines do not
    /// reach, such as 127.0.1.1. Rank 0 may then be given `"0.0.0.0:29500"`, which means all of its
    /// addresses. The timeout, which should be the same on all
    /// ranks too, is how long rank 0 waits for the others, here and in later calls. The other ranks
    /// try to connect for as long, and wait twice as long for an answer.
    ///
    /// See [`Rendezvous`](super::Rendezvous) for an example.
    ///
    /// # Errors
    ///
    /// On all ranks that have come, as far as rank 0 can tell them:
    ///
    /// - [`RendezvousError::Missing`] if a rank does not come;
    /// - [`RendezvousError::Twice`] if a rank comes twice before the last rank comes. One that
    ///   comes later finds nobody who listens;
    /// - [`RendezvousError::Counts`] if a rank expects another number of ranks;
    /// - [`RendezvousError::Foreign`] if something else connects and sends bytes;
    /// - [`RendezvousError::Closed`] if rank 0 leaves.
    ///
    /// On this rank alone, [`RendezvousError::NoRank`] and [`RendezvousError::Io`].
    pub fn new(
        address: impl ToSocketAddrs,
        rank: u32,
        ranks: u32,
        timeout: Duration,
    ) -> Result<Self, RendezvousError> {
        check_rank(rank, ranks)?;
        let addresses: Vec<SocketAddr> = address
            .to_socket_addrs()
            .map_err(RendezvousError::io("find the address of rank 0"))?
            .collect();
        if rank > 0 {
            return Self::connecting(&addresses, rank, ranks, timeout);
        }
        let listener = TcpListener::bind(&addresses[..])
            .map_err(RendezvousError::io(format!("listen at {addresses:?}")))?;
        Self::listening(listener, ranks, timeout)
    }

    /// Makes this rank 0 of so many ranks, as [`new`](Self::new) does, with a listener that is
    /// there already. So a program can let the system choose the port, and tell it to the others.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    #[expect(clippy::needless_pass_by_value, reason = "it is closed when all have come")]
    pub fn listening(
        listener: TcpListener,
        ranks: u32,
        timeout: Duration,
    ) -> Result<Self, RendezvousError> {
        check_rank(0, ranks)?;
        let mut come = Arrivals::new(ranks);
        let waited = come.wait(&listener, timeout);
        let verdict = match &waited {
            Ok(()) => Frame::data(Vec::new()),
            Err(error) => Frame::error(error),
        };
        let deadline = after(timeout);
        for stream in come.connections.0.iter_mut().chain(come.strangers.iter_mut()) {
            let _ = send(stream, &verdict, deadline);
        }
        waited?;
        let wire = come.connections;
        Ok(Self(Star { wire, rank: 0, ranks, timeout, is_broken: false }))
    }

    fn connecting(
        addresses: &[SocketAddr],
        rank: u32,
        ranks: u32,
        timeout: Duration,
    ) -> Result<Self, RendezvousError> {
        let stream = connect(addresses, after(timeout), timeout)?;
        let mut wire = Connections(vec![Some(stream)]);
        let waited = timeout.saturating_mul(2);
        let deadline = after(waited);
        let sent = wire.send(0, &Frame::hello(rank, ranks), deadline);
        // If rank 0 has closed the connection, it may have said why before.
        wire.receive(0, deadline).map_err(|fault| error(fault, 0, waited))?.verdict()?;
        sent.map_err(|fault| error(fault, 0, waited))?;
        Ok(Self(Star { wire, rank, ranks, timeout, is_broken: false }))
    }
}

/// Connects to one of the addresses as soon as somebody listens there.
fn connect(
    addresses: &[SocketAddr],
    deadline: Instant,
    timeout: Duration,
) -> Result<TcpStream, RendezvousError> {
    loop {
        for address in addresses {
            // An address that does not answer must not take all the time.
            let left = deadline.saturating_duration_since(Instant::now()).clamp(PAUSE, ATTEMPT);
            let Ok(stream) = TcpStream::connect_timeout(address, left) else { continue };
            // If nobody listens at a port that the system gives to clients, the system may connect
            // the client with itself.
            let is_own = stream.local_addr().is_ok_and(|local| local == *address);
            if !is_own {
                stream.set_nodelay(true).map_err(RendezvousError::io("set up a connection"))?;
                return Ok(stream);
            }
        }
        if Instant::now() >= deadline {
            return Err(RendezvousError::Missing { rank: 0, waited: timeout });
        }
        sleep(PAUSE);
    }
}

/// Who has connected to rank 0.
struct Arrivals {
    connections: Connections,
    /// Connections that have not said yet which rank they are, with what they have said.
    strangers: Vec<Option<TcpStream>>,
    said: Vec<Vec<u8>>,
}

impl Arrivals {
    fn new(ranks: u32) -> Self {
        let connections = Connections((0..ranks).map(|_| None).collect());
        Self { connections, strangers: Vec::new(), said: Vec::new() }
    }

    /// Waits until all ranks have come.
    fn wait(&mut self, listener: &TcpListener, timeout: Duration) -> Result<(), RendezvousError> {
        const LISTEN: &str = "listen for the other ranks";
        listener.set_nonblocking(true).map_err(RendezvousError::io(LISTEN))?;
        let mut deadline = after(timeout);
        let mut failed = None;
        loop {
            let absent = self.connections.0.iter().skip(1).position(Option::is_none);
            let Some(absent) = absent else { return failed.map_or(Ok(()), Err) };
            match listener.accept() {
                Ok((stream, _)) => {
                    let set = stream.set_nonblocking(true).and(stream.set_nodelay(true));
                    set.map_err(RendezvousError::io("set up a connection"))?;
                    self.strangers.push(Some(stream));
                    self.said.push(Vec::new());
                    continue;
                }
                // A connection that was closed before it was accepted is nobody's.
                Err(error) if is_late(&error) || is_closed(&error) => {}
                Err(error) => return Err(RendezvousError::io(LISTEN)(error)),
            }
            for stranger in 0..self.strangers.len() {
                if let (Err(error), None) = (self.hear(stranger), &failed) {
                    failed = Some(error);
                    deadline = deadline.min(after(GRACE));
                }
            }
            if Instant::now() >= deadline {
                let missing = RendezvousError::Missing { rank: 1 + absent as u32, waited: timeout };
                return Err(failed.unwrap_or(missing));
            }
            sleep(PAUSE);
        }
    }

    /// Reads what a stranger says, and makes it a rank when it has said enough.
    fn hear(&mut self, stranger: usize) -> Result<(), RendezvousError> {
        let (place, said) = (&mut self.strangers[stranger], &mut self.said[stranger]);
        let Some(stream) = place else { return Ok(()) };
        let mut bytes = [0; HEADER];
        if said.len() > HEADER {
            return Ok(());
        }
        match stream.read(&mut bytes[said.len()..]) {
            // Whoever leaves without a word, as programs do that look for open ports, is nobody.
            Ok(0) => *place = None,
            Ok(len) => {
                let from = said.len();
                said.extend_from_slice(&bytes[from..from + len]);
            }
            Err(error) if is_late(&error) => {}
            Err(_) => *place = None,
        }
        let Ok(header) = <[u8; HEADER]>::try_from(&said[..]) else { return Ok(()) };
        // It is judged once.
        said.push(0);
        let from = stream_name(place.as_ref());
        let ours = self.connections.0.len() as u32;
        let Some((Frame { kind: Kind::Hello, of: rank, n, .. }, 0)) = Frame::begin(&header) else {
            return Err(RendezvousError::Foreign { from });
        };
        let theirs = n as u32;
        if theirs != ours {
            return Err(RendezvousError::Counts { rank, theirs, ours });
        }
        let connection = match self.connections.0.get_mut(rank as usize) {
            None => return Err(RendezvousError::Foreign { from }),
            Some(connection) if rank == 0 || connection.is_some() => {
                return Err(RendezvousError::Twice { rank });
            }
            Some(connection) => connection,
        };
        *connection = place.take();
        if let Some(stream) = connection {
            stream.set_nonblocking(false).map_err(RendezvousError::io("set up a connection"))?;
        }
        Ok(())
    }
}

/// The address of whoever has connected, for people.
fn stream_name(stream: Option<&TcpStream>) -> String {
    let address = stream.and_then(|stream| stream.peer_addr().ok());
    address.map_or_else(|| "a connection".to_owned(), |address| address.to_string())
}

/// The connections with other ranks, by their numbers. A place is empty if there is no such
/// connection, or if it is closed.
#[derive(Debug)]
struct Connections(Vec<Option<TcpStream>>);

impl Wire for Connections {
    fn send(&mut self, to: u32, frame: &Frame, deadline: Instant) -> Result<(), Fault> {
        send(&mut self.0[to as usize], frame, deadline)
    }

    fn receive(&mut self, from: u32, deadline: Instant) -> Result<Frame, Fault> {
        let place = &mut self.0[from as usize];
        let Some(stream) = place else { return Err(Fault::Closed) };
        let received = receive(stream, deadline);
        if received.is_err() {
            *place = None;
        }
        received
    }
}

/// Sends a frame. If only a part of it could go, the connection is closed.
fn send(place: &mut Option<TcpStream>, frame: &Frame, deadline: Instant) -> Result<(), Fault> {
    let Some(stream) = place else { return Err(Fault::Closed) };
    let sent = stream.set_nonblocking(false).map_err(|_| Fault::Closed).and_then(|()| {
        let bytes = frame.to_bytes();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let len = in_time(deadline, |left| {
                stream.set_write_timeout(Some(left))?;
                stream.write(rest)
            })?;
            rest = &rest[len..];
        }
        Ok(())
    });
    if sent.is_err() {
        // What the other side has sent before can still be read.
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    sent
}

fn receive(stream: &mut TcpStream, deadline: Instant) -> Result<Frame, Fault> {
    /// Rank 0 sends what this many ranks have sent, at most.
    const MOST_RANKS: u64 = 1 << 12;
    let mut header = [0; HEADER];
    fill(stream, &mut header, deadline)?;
    let (frame, len) = Frame::begin(&header).ok_or(Fault::Foreign)?;
    if len > MOST_RANKS * (MOST_BYTES as u64 + 8) {
        return Err(Fault::Foreign);
    }
    let mut payload = Vec::new();
    while (payload.len() as u64) < len {
        // The memory grows with what comes, so that a wrong length takes none.
        let begin = payload.len();
        let more = (len - begin as u64).min(MOST_BYTES as u64) as usize;
        payload.resize(begin + more, 0);
        fill(stream, &mut payload[begin..], deadline)?;
    }
    Ok(Frame { payload, ..frame })
}

fn fill(stream: &mut TcpStream, mut bytes: &mut [u8], deadline: Instant) -> Result<(), Fault> {
    while !bytes.is_empty() {
        let len = in_time(deadline, |left| {
            stream.set_read_timeout(Some(left))?;
            stream.read(bytes)
        })?;
        bytes = &mut bytes[len..];
    }
    Ok(())
}

/// Reads or writes at least one byte before the deadline.
fn in_time(
    deadline: Instant,
    mut transfer: impl FnMut(Duration) -> io::Result<usize>,
) -> Result<usize, Fault> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // A timeout of 0 would be none.
        match transfer(left.max(Duration::from_millis(1))) {
            Ok(0) => return Err(Fault::Closed),
            Ok(len) => return Ok(len),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if is_late(&error) => {
                if Instant::now() >= deadline {
                    return Err(Fault::Late);
                }
            }
            Err(_) => return Err(Fault::Closed),
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset)
}
