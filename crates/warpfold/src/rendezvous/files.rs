//! A rendezvous through files in a folder that all ranks see.
//!
//! Files of an earlier run must not be taken for those of this one. So each rank has a random
//! number, which no other run knows:
//!
//! - a rank leaves `hello.<rank>.<own number>` in the folder;
//! - rank 0 answers each such file, of whichever run it is, by `welcome.<that number>`, which says
//!   the number of rank 0;
//! - a rank that finds its own number in the name of a welcome leaves
//!   `run.<number of rank 0>/joined.<rank>.<own number>`. Only ranks of this run do that;
//! - when all ranks have joined, rank 0 leaves `run.<number of rank 0>/verdict`, and all later
//!   files are in that folder. The last rank that leaves removes it.
//!
//! A file gets its name when it is complete, so that nobody reads half of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use super::{
    RendezvousError, check_rank,
    frame::{Frame, Kind},
    rendezvous,
    star::{Fault, GRACE, Star, Wire, after},
    unique,
};

/// How long a rank waits before it looks again for a file: from the first of these times to the
/// second one.
const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(5)];

/// Ranks that exchange bytes through files in a folder that all of them see, on one machine or in a
/// file system of several machines. Whoever can write to the folder can disturb the ranks.
///
/// A network file system may show new files to other machines after some seconds only. Each call
/// takes that time then.
///
/// ```
/// use std::{thread, time::Duration};
/// use warpfold::{FileRendezvous, Rendezvous};
///
/// # let folder = std::env::temp_dir().join(format!("warpfold-example-{}", std::process::id()));
/// # let at = folder.clone();
/// let timeout = Duration::from_secs(10);
/// let other = thread::spawn(move || {
///     let mut rank_1 = FileRendezvous::new(&at, 1, 2, timeout)?;
///     rank_1.all_gather(b"one")
/// });
/// let mut rank_0 = FileRendezvous::new(&folder, 0, 2, timeout)?;
/// assert_eq!(rank_0.all_gather(b"zero")?, [&b"zero"[..], b"one"]);
/// assert_eq!(other.join().unwrap()?, [&b"zero"[..], b"one"]);
/// # drop(rank_0);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileRendezvous(Star<Files>);

rendezvous!(FileRendezvous);

impl FileRendezvous {
    /// Waits until all ranks have come. `folder` is the same on all ranks, and is made if it is not
    /// there. At one time only one run may use it. It may contain files of earlier runs. The
    /// timeout, which should be the same on all ranks too, is how long rank 0 waits for the others,
    /// here and in later calls. The others wait twice as long for rank 0.
    ///
    /// # Errors
    ///
    /// On all ranks that have come:
    ///
    /// - [`RendezvousError::Missing`] if a rank does not come;
    /// - [`RendezvousError::Twice`] if a rank comes twice before the last rank comes. One that
    ///   comes later waits in vain for rank 0;
    /// - [`RendezvousError::Counts`] if a rank expects another number of ranks;
    /// - [`RendezvousError::Foreign`] if a file has the name of one of a rank, and another content;
    ///
    /// On this rank alone, [`RendezvousError::NoRank`] and [`RendezvousError::Io`].
    pub fn new(
        folder: impl AsRef<Path>,
        rank: u32,
        ranks: u32,
        timeout: Duration,
    ) -> Result<Self, RendezvousError> {
        check_rank(rank, ranks)?;
        let folder = folder.as_ref();
        fs::create_dir_all(folder)
            .map_err(RendezvousError::io(format!("make the folder {}", folder.display())))?;
        let own = unique();
        let wire = if rank == 0 {
            host(folder, &own, ranks, timeout)?
        } else {
            join(folder, &own, rank, ranks, timeout)?
        };
        Ok(Self(Star { wire, rank, ranks, timeout, is_broken: false }))
    }
}

/// Rank 0 waits until all ranks have joined its run.
fn host(folder: &Path, own: &str, ranks: u32, timeout: Duration) -> Result<Files, RendezvousError> {
    let run = folder.join(format!("run.{own}"));
    fs::create_dir(&run)
        .map_err(RendezvousError::io(format!("make the folder {}", run.display())))?;
    let files = Files::new(run, 0, ranks);
    let mut welcomed = BTreeSet::new();
    let waited = wait_for_all(folder, &files.run, own, ranks, timeout, &mut welcomed);
    for name in welcomed {
        // Nobody needs these files any more, of whichever run they are.
        let _ = fs::remove_file(folder.join(&name));
        let _ = fs::remove_file(folder.join(welcome_of(&name)));
    }
    let verdict = match &waited {
        Ok(()) => Frame::data(Vec::new()),
        Err(error) => Frame::error(error),
    };
    write(&files.run, "verdict", &verdict)?;
    waited?;
    Ok(files)
}

/// Welcomes all ranks that come, and waits until those of this run have joined it.
fn wait_for_all(
    folder: &Path,
    run: &Path,
    own: &str,
    ranks: u32,
    timeout: Duration,
    welcomed: &mut BTreeSet<String>,
) -> Result<(), RendezvousError> {
    let mut joined = BTreeMap::new();
    let mut until = Until::new(after(timeout));
    let mut failed = None;
    loop {
        for name in names(folder, "hello.")? {
            if !welcomed.contains(&name) {
                write(folder, &welcome_of(&name), &Frame::data(own.as_bytes().to_vec()))?;
                welcomed.insert(name);
            }
        }
        for name in names(run, "joined.")? {
            if let (Err(error), None) = (admit(run, &name, ranks, &mut joined), &failed) {
                failed = Some(error);
                until.deadline = until.deadline.min(after(GRACE));
            }
        }
        match (1..ranks).find(|rank| !joined.contains_key(rank)) {
            None => return failed.map_or(Ok(()), Err),
            Some(rank) => {
                if !until.pause() {
                    let missing = RendezvousError::Missing { rank, waited: timeout };
                    return Err(failed.unwrap_or(missing));
                }
            }
        }
    }
}

/// Adds the rank that has left a file in the folder of the run to those that have joined it.
fn admit(
    run: &Path,
    name: &str,
    ranks: u32,
    joined: &mut BTreeMap<u32, String>,
) -> Result<(), RendezvousError> {
    let path = run.join(name);
    let foreign = || RendezvousError::Foreign { from: path.display().to_string() };
    let frame = read(&path).map_err(|_| foreign())?.ok_or_else(foreign)?;
    let (rank, theirs) = (frame.of, frame.n as u32);
    if frame.kind != Kind::Hello {
        return Err(foreign());
    }
    if theirs != ranks {
        return Err(RendezvousError::Counts { rank, theirs, ours: ranks });
    }
    if joined.insert(rank, name.to_owned()).is_some_and(|other| other != name) {
        return Err(RendezvousError::Twice { rank });
    }
    Ok(())
}

/// Another rank joins the run of rank 0.
fn join(
    folder: &Path,
    own: &str,
    rank: u32,
    ranks: u32,
    timeout: Duration,
) -> Result<Files, RendezvousError> {
    let (hello, waited) = (format!("hello.{rank}.{own}"), timeout.saturating_mul(2));
    let mut until = Until::new(after(waited));
    let missing = || RendezvousError::Missing { rank: 0, waited };
    let said = Frame::hello(rank, ranks);
    write(folder, &hello, &said)?;
    let welcome = folder.join(welcome_of(&hello));
    let welcomed = await_file(&welcome, &mut until, || false);
    for path in [folder.join(&hello), welcome.clone()] {
        let _ = fs::remove_file(path);
    }
    let foreign = || RendezvousError::Foreign { from: welcome.display().to_string() };
    let number = welcomed?.ok_or_else(missing)?.verdict()?;
    let number = String::from_utf8(number).map_err(|_| foreign())?;
    let run = folder.join(format!("run.{number}"));
    if !run.is_dir() {
        return Err(foreign());
    }
    let files = Files::new(run, rank, ranks);
    write(&files.run, &format!("joined.{rank}.{own}"), &said)?;
    let verdict = await_file(&files.run.join("verdict"), &mut until, || false)?;
    verdict.ok_or_else(missing)?.verdict()?;
    Ok(files)
}

/// The name of the file that answers a hello.
fn welcome_of(hello: &str) -> String {
    let number = hello.rsplit('.').next().unwrap_or_default();
    format!("welcome.{number}")
}

/// The files of one run. A file is called `<number>.<from>.<to>`: the frames from one rank to
/// another are numbered. The receiver removes it.
#[derive(Debug)]
struct Files {
    run: PathBuf,
    rank: u32,
    /// How many frames this rank has sent to each rank.
    sent: Vec<u64>,
    /// How many frames of each rank this rank has received.
    received: Vec<u64>,
}

impl Files {
    fn new(run: PathBuf, rank: u32, ranks: u32) -> Self {
        let none = vec![0; ranks as usize];
        Self { run, rank, sent: none.clone(), received: none }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // The other ranks do not wait for a rank that says that it leaves.
        let _ = write(&self.run, &format!("left.{}", self.rank), &Frame::data(Vec::new()));
        let all_left =
            (0..self.sent.len()).all(|rank| self.run.join(format!("left.{rank}")).exists());
        if all_left {
            let _ = fs::remove_dir_all(&self.run);
        }
    }
}

impl Wire for Files {
    fn send(&mut self, to: u32, frame: &Frame, _deadline: Instant) -> Result<(), Fault> {
        let number = &mut self.sent[to as usize];
        let name = format!("{number}.{}.{to}", self.rank);
        write(&self.run, &name, frame).map_err(Fault::Failed)?;
        *number += 1;
        Ok(())
    }

    fn receive(&mut self, from: u32, deadline: Instant) -> Result<Frame, Fault> {
        let number = &mut self.received[from as usize];
        let path = self.run.join(format!("{number}.{from}.{}", self.rank));
        let left = self.run.join(format!("left.{from}"));
        let mut until = Until::new(deadline);
        let has_left = || left.exists();
        match await_file(&path, &mut until, has_left) {
            Ok(Some(frame)) => {
                *number += 1;
                let _ = fs::remove_file(&path);
                Ok(frame)
            }
            Ok(None) if left.exists() => Err(Fault::Closed),
            Ok(None) => Err(Fault::Late),
            Err(RendezvousError::Foreign { .. }) => Err(Fault::Foreign),
            Err(error) => Err(Fault::Failed(error)),
        }
    }
}

/// Pauses that become longer, until a deadline.
struct Until {
    deadline: Instant,
    pause: Duration,
}

impl Until {
    fn new(deadline: Instant) -> Self {
        Self { deadline, pause: PAUSES[0] }
    }

    /// Waits a little, or returns false if it is too late.
    fn pause(&mut self) -> bool {
        if Instant::now() >= self.deadline {
            return false;
        }
        sleep(self.pause);
        self.pause = (self.pause * 2).min(PAUSES[1]);
        true
    }
}

/// Waits for a file. `None` if it does not come in time, or if nobody will leave it.
fn await_file(
    path: &Path,
    until: &mut Until,
    is_over: impl Fn() -> bool,
) -> Result<Option<Frame>, RendezvousError> {
    loop {
        // Whoever leaves has left the file before.
        let is_last = is_over();
        match read(path) {
            Ok(Some(frame)) => return Ok(Some(frame)),
            Ok(None) => return Err(RendezvousError::Foreign { from: path.display().to_string() }),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(RendezvousError::io(format!("read {}", path.display()))(error));
            }
        }
        if is_last || !until.pause() {
            return Ok(None);
        }
    }
}

/// Reads a file. `None` if it holds no frame.
fn read(path: &Path) -> io::Result<Option<Frame>> {
    fs::read(path).map(|bytes| Frame::from_bytes(&bytes))
}

/// Leaves a file, which has its name only when it is complete.
fn write(folder: &Path, name: &str, frame: &Frame) -> Result<(), RendezvousError> {
    let (path, part) = (folder.join(name), folder.join(format!("part.{name}.{}", unique())));
    fs::write(&part, frame.to_bytes())
        .and_then(|()| fs::rename(&part, &path))
        .map_err(RendezvousError::io(format!("write {}", path.display())))
}

/// The names of the files in a folder that begin like this.
fn names(folder: &Path, begin: &str) -> Result<Vec<String>, RendezvousError> {
    let list = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with(begin) {
                names.push(name);
            }
        }
        Ok(names)
    };
    list().map_err(RendezvousError::io(format!("list {}", folder.display())))
}
