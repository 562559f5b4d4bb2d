//! The dirty mark of a workspace: no launch finds the workspace dirty. The model checker loom tries
//! every order of the steps of two or three threads.

#[path = "../src/device/clean.rs"]
mod clean;

/// The locks that `clean` uses in this test.
mod sync {
    pub(super) use std::sync::PoisonError;

    pub(super) use loom::sync::Mutex;
}

use clean::CleanMark;
use loom::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

/// A workspace and its mark.
#[derive(Default)]
struct Workspace {
    mark: CleanMark,
    is_dirty: AtomicBool,
}

/// A launch that fails leaves words other than zero in the workspace.
const FAILS: bool = true;
const WORKS: bool = false;

impl Workspace {
    fn launch(&self, fails: bool) -> Result<(), ()> {
        self.mark.launch(
            || {
                self.is_dirty.store(false, SeqCst);
                Ok(())
            },
            || {
                assert!(!self.is_dirty.load(SeqCst), "a launch finds a dirty workspace");
                self.is_dirty.store(fails, SeqCst);
                if fails { Err(()) } else { Ok(()) }
            },
        )
    }
}

/// Lets each thread make its launches, in every order of their steps, and makes one more launch
/// afterwards. `true` stands for a launch that fails.
fn check(threads: &'static [&'static [bool]]) {
    loom::model(move || {
        let workspace = Arc::new(Workspace::default());
        let running: Vec<_> = threads
            .iter()
            .map(|launches| {
                let workspace = Arc::clone(&workspace);
                thread::spawn(move || {
                    for &fails in *launches {
                        assert_eq!(workspace.launch(fails).is_err(), fails);
                    }
                })
            })
            .collect();
        for thread in running {
            thread.join().unwrap();
        }
        workspace.launch(WORKS).unwrap();
        assert!(!workspace.is_dirty.load(SeqCst));
    });
}

#[test]
fn a_launch_never_finds_what_a_failed_one_has_left() {
    check(&[&[FAILS], &[WORKS]]);
    check(&[&[FAILS, WORKS], &[FAILS, WORKS]]);
    check(&[&[FAILS], &[WORKS], &[FAILS]]);
}

#[test]
fn a_workspace_that_is_distrusted_is_cleaned_before_the_next_launch() {
    loom::model(|| {
        let workspace = Arc::new(Workspace::default());
        // A launch that was thought to work has left words other than zero.
        workspace.launch(WORKS).unwrap();
        workspace.is_dirty.store(true, SeqCst);
        workspace.mark.distrust();
        let other = Arc::clone(&workspace);
        let thread = thread::spawn(move || other.launch(WORKS).unwrap());
        workspace.launch(WORKS).unwrap();
        thread.join().unwrap();
    });
}

#[test]
fn a_workspace_that_could_not_be_cleaned_is_cleaned_later() {
    loom::model(|| {
        let workspace = Workspace::default();
        workspace.launch(FAILS).unwrap_err();
        workspace.mark.launch(|| Err(()), || panic!("a launch on a dirty workspace")).unwrap_err();
        workspace.launch(WORKS).unwrap();
    });
}

/// Proves that the test can fail: a mark that is read and cleared in two steps loses the race.
#[test]
#[should_panic(expected = "a launch finds a dirty workspace")]
fn the_model_sees_the_race_of_a_mark_without_a_lock() {
    #[derive(Default)]
    struct Racy {
        mark: AtomicBool,
        is_dirty: AtomicBool,
    }

    impl Racy {
        fn launch(&self, fails: bool) {
            if self.mark.swap(false, SeqCst) {
                thread::yield_now();
                self.is_dirty.store(false, SeqCst);
            }
            assert!(!self.is_dirty.load(SeqCst), "a launch finds a dirty workspace");
            self.is_dirty.store(fails, SeqCst);
            if fails {
                self.mark.store(true, SeqCst);
            }
        }
    }

    loom::model(|| {
        let workspace = Arc::new(Racy::default());
        workspace.launch(FAILS);
        let other = Arc::clone(&workspace);
        let thread = thread::spawn(move || other.launch(WORKS));
        workspace.launch(WORKS);
        thread.join().unwrap();
    });
}
