//! The results of tuning, kept in the user's cache folder.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use etcetera::{BaseStrategy as _, choose_base_strategy};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::Choice;
use crate::{
    device::DeviceInfo,
    launch::{DeviceLimits, Finish, Problem, Request, plan},
};

/// The file's name in its folder.
pub const FILE_NAME: &str = "tuned.json";
/// The version of its format.
pub const VERSION: u32 = 1;

/// The best shape of a rung for one operation and type on one model of GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The GPU, as the driver spells it.
    pub device: String,
    /// Its compute capability.
    pub compute_capability: (u32, u32),
    /// The name of the rung.
    pub variant: String,
    /// The operation.
    pub op: String,
    /// The type of the elements.
    #[serde(rename = "type")]
    pub element: String,
    /// Threads of a block.
    pub block: u32,
    /// Blocks for each multiprocessor; `null` for a rung whose grid follows from n.
    pub blocks_per_multiprocessor: Option<u32>,
    /// The number of elements that the shape was found with.
    pub n: u64,
    /// The median time of the shape, in microseconds.
    pub time_us: f64,
    /// The median time, in microseconds, of the shape that is taken without tuning. `None` if that
    /// shape cannot run.
    pub default_time_us: Option<f64>,
}

impl Entry {
    /// An entry with the choice for a problem and the time that it took.
    pub fn new(
        device: &DeviceInfo,
        problem: &Problem,
        choice: Choice,
        time_us: f64,
        default_time_us: Option<f64>,
    ) -> Self {
        Self {
            device: device.name.clone(),
            compute_capability: device.compute_capability,
            variant: problem.variant.facts().name.to_owned(),
            op: problem.op.name().to_owned(),
            element: problem.element.name().to_owned(),
            block: choice.block,
            blocks_per_multiprocessor: choice.blocks_per_multiprocessor,
            n: problem.n,
            time_us,
            default_time_us,
        }
    }

    /// Whether the entry is about this device, rung, operation and type. The number of elements
    /// does not matter.
    pub fn is_for(&self, device: &DeviceInfo, problem: &Problem) -> bool {
        let Problem { variant, op, element, .. } = *problem;
        self.device == device.name
            && self.compute_capability == device.compute_capability
            && (&*self.variant, &*self.op, &*self.element)
                == (variant.facts().name, op.name(), element.name())
    }

    fn is_of_the_same(&self, other: &Self) -> bool {
        let key = |entry: &Self| {
            (
                entry.device.clone(),
                entry.compute_capability,
                entry.variant.clone(),
                entry.op.clone(),
                entry.element.clone(),
            )
        };
        key(self) == key(other)
    }

    /// The request that gives a problem this shape. `None` if the problem cannot have the shape,
    /// which can happen if somebody edited the file.
    pub fn request(
        &self,
        problem: &Problem,
        finish: Finish,
        limits: &DeviceLimits,
    ) -> Option<Request> {
        let choice =
            Choice { block: self.block, blocks_per_multiprocessor: self.blocks_per_multiprocessor };
        let request = Request { finish, ..choice.request(problem, limits) };
        plan(problem, &request, limits).is_ok().then_some(request)
    }
}

/// The reasons why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The system names no folder.
    #[error("there is no folder for caches: neither XDG_CACHE_HOME nor HOME is set")]
    NoFolder,
    /// The file is not one that this version writes.
    #[error("{} is not a file of tuned shapes of version {VERSION} ({reason})", path.display())]
    Malformed {
        /// The path of the file.
        path: PathBuf,
        /// The reason why it is malformed.
        reason: String,
    },
    /// The file or its folder cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The action that failed, such as `read`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        cause: io::Error,
    },
}

#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    entries: Vec<Entry>,
}

/// A file of [`Entry`]s. A reader sees the whole file, as it was before or after a write. If two
/// processes write at the same time, neither loses what the other one wrote.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache of the user. Its folder is `warpfold` in the folder that `XDG_CACHE_HOME` names,
    /// or else in the system's usual one.
    ///
    /// # Errors
    ///
    /// [`CacheError::NoFolder`].
    pub fn of_user() -> Result<Self, CacheError> {
        let strategy = choose_base_strategy().map_err(|_| CacheError::NoFolder)?;
        Ok(Self::in_folder(strategy.cache_dir().join("warpfold")))
    }

    /// The cache in a folder, which need not be there yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }

    /// The entries that are kept. Empty if there is no file.
    ///
    /// # Errors
    ///
    /// [`CacheError::Malformed`], [`CacheError::Io`].
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let cache = warpfold_lab::tune::Cache::in_folder(folder.path());
    /// assert!(cache.load()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(&self) -> Result<Vec<Entry>, CacheError> {
        let path = self.path();
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            bytes => bytes.map_err(failed("read", &path))?,
        };
        match serde_json::from_slice(&bytes) {
            Ok(Contents { version: VERSION, entries }) => Ok(entries),
            Ok(Contents { version, .. }) => {
                Err(CacheError::Malformed { path, reason: format!("version {version}") })
            }
            Err(error) => Err(CacheError::Malformed { path, reason: error.to_string() }),
        }
    }

    /// Keeps entries. An older entry about the same device, rung, operation and type is replaced,
    /// and so is a malformed file.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`].
    pub fn keep(&self, new: &[Entry]) -> Result<(), CacheError> {
        fs::create_dir_all(&self.folder).map_err(failed("create", &self.folder))?;
        let _lock = self.lock()?;
        let mut entries = match self.load() {
            Err(CacheError::Malformed { .. }) => Vec::new(),
            entries => entries?,
        };
        entries.retain(|entry| !new.iter().any(|new| new.is_of_the_same(entry)));
        entries.extend_from_slice(new);
        let path = self.path();
        let write = || -> io::Result<()> {
            let mut file = NamedTempFile::new_in(&self.folder)?;
            serde_json::to_writer_pretty(&mut file, &Contents { version: VERSION, entries })?;
            file.write_all(b"\n")?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(failed("write", &path))
    }

    /// Forgets everything, and tells whether there was a file.
    ///
    /// # Errors
    ///
    /// [`CacheError::Io`].
    pub fn clear(&self) -> Result<bool, CacheError> {
        let path = self.path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true).map_err(failed("remove", &path)),
        }
    }

    /// Takes the lock. Nobody else writes while the returned file lives. If the file system has no
    /// locks, the last writer wins.
    fn lock(&self) -> Result<File, CacheError> {
        let path = self.folder.join("tuned.lock");
        let file = File::create(&path).map_err(failed("create", &path))?;
        match file.lock() {
            Err(error) if error.kind() != io::ErrorKind::Unsupported => {
                Err(failed("lock", &path)(error))
            }
            _ => Ok(file),
        }
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |cause| CacheError::Io { action, path, cause }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::{device::Device, element::ElementType, op::Op, variant::Variant};

    fn entry(device: &str, variant: &str, block: u32) -> Entry {
        Entry {
            device: device.into(),
            compute_capability: (9, 0),
            variant: variant.into(),
            op: "sum".into(),
            element: "i32".into(),
            block,
            blocks_per_multiprocessor: None,
            n: 1 << 24,
            time_us: 30.5,
            default_time_us: Some(31.0),
        }
    }

    fn fresh() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path().join("not/yet/there"));
        (folder, cache)
    }

    #[test]
    fn what_is_kept_is_read_back_and_replaced() {
        let (_folder, cache) = fresh();
        assert_eq!(cache.load().unwrap(), []);
        let (h100, a100) = (entry("H100", "sequential", 512), entry("A100", "sequential", 64));
        cache.keep(&[h100.clone(), a100.clone()]).unwrap();
        assert_eq!(cache.load().unwrap(), [h100.clone(), a100.clone()]);
        let better =
            Entry { block: 128, blocks_per_multiprocessor: Some(4), default_time_us: None, ..h100 };
        cache.keep(std::slice::from_ref(&better)).unwrap();
        assert_eq!(cache.load().unwrap(), [a100, better]);
        assert!(cache.clear().unwrap());
        assert!(!cache.clear().unwrap());
        assert_eq!(cache.load().unwrap(), []);
    }

    #[test]
    fn malformed_files_are_told_and_replaced() {
        for text in [
            "",
            "{",
            "[]",
            "{\"version\": 2, \"entries\": []}",
            "{\"version\": 1, \"entries\": [{\"block\": 3}]}",
            "\u{0}",
        ] {
            let (_folder, cache) = fresh();
            cache.keep(&[entry("H100", "sequential", 64)]).unwrap();
            fs::write(cache.path(), text).unwrap();
            let error = cache.load().unwrap_err();
            assert!(matches!(error, CacheError::Malformed { .. }), "{text}: {error}");
            let new = [entry("H100", "first-add", 64)];
            cache.keep(&new).unwrap();
            assert_eq!(cache.load().unwrap(), new);
        }
    }

    #[test]
    fn a_folder_that_is_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let cache = Cache::in_folder(&file);
        assert!(matches!(cache.keep(&[]), Err(CacheError::Io { .. })));
    }

    #[test]
    fn writers_at_once_lose_nothing_and_readers_see_whole_files() {
        const WRITERS: u32 = 8;
        let (_folder, cache) = fresh();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let cache = &cache;
                scope.spawn(move || {
                    for round in 0..8 {
                        cache
                            .keep(&[entry(&format!("GPU {writer}"), "sequential", 64 + round)])
                            .unwrap();
                        assert!(!cache.load().unwrap().is_empty());
                    }
                });
            }
        });
        let mut entries = cache.load().unwrap();
        entries.sort_by(|a, b| a.device.cmp(&b.device));
        let expected: Vec<_> =
            (0..WRITERS).map(|writer| entry(&format!("GPU {writer}"), "sequential", 71)).collect();
        assert_eq!(entries, expected);
    }

    #[test]
    fn entries_are_for_their_own_gpu_and_problem() {
        let simulator = Device::simulator().info().clone();
        let h100 = DeviceInfo { name: "H100".into(), ..simulator };
        let problem =
            Problem { variant: Variant::Sequential, op: Op::Sum, element: ElementType::I32, n: 5 };
        let entry = entry("H100", "sequential", 64);
        assert!(entry.is_for(&h100, &problem));
        assert!(!entry.is_for(&DeviceInfo { name: "H200".into(), ..h100.clone() }, &problem));
        assert!(
            !entry.is_for(&DeviceInfo { compute_capability: (9, 1), ..h100.clone() }, &problem)
        );
        for other in [
            Problem { variant: Variant::FirstAdd, ..problem },
            Problem { op: Op::Max, ..problem },
            Problem { element: ElementType::U32, ..problem },
        ] {
            assert!(!entry.is_for(&h100, &other));
        }
    }

    #[test]
    fn shapes_that_cannot_be_are_not_asked_for() {
        let problem = Problem {
            variant: Variant::MultipleElements,
            op: Op::Sum,
            element: ElementType::I32,
            n: 1 << 20,
        };
        let limits = DeviceLimits {
            multiprocessors: 10,
            max_threads_per_block: 1024,
            shared_bytes_per_block: 48 << 10,
            memory_bytes: 1 << 30,
            compute_capability: (9, 0),
            resident_blocks: None,
        };
        let request = |block, blocks_per_multiprocessor| {
            let entry =
                Entry { blocks_per_multiprocessor, ..entry("H100", "multiple-elements", block) };
            entry.request(&problem, Finish::Host, &limits)
        };
        assert_eq!(
            request(64, Some(3)),
            Some(Request { block: Some(64), grid: Some(30), finish: Finish::Host })
        );
        assert_eq!(
            request(64, None),
            Some(Request { block: Some(64), grid: None, finish: Finish::Host })
        );
        for (block, blocks) in [(3, None), (0, None), (2048, None), (64, Some(0))] {
            assert_eq!(request(block, blocks), None);
        }
    }
}
