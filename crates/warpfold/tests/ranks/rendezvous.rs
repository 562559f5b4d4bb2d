//! Ranks exchange bytes, or all of them learn why they cannot.

use std::{
    fs,
    io::Write as _,
    net::{TcpListener, TcpStream},
    sync::Barrier,
    thread::{self, sleep},
    time::{Duration, Instant},
};

use rand::Rng;
use warpfold::{FileRendezvous, RendezvousError, TcpRendezvous};

use crate::{
    meet::{LONG, Place, SHORT},
    seed,
};

/// The error, in the form in which it is compared.
fn text<T>(result: Result<T, RendezvousError>) -> String {
    format!("{:?}", result.map(drop).unwrap_err())
}

/// Whether a rank has got this error, or has come so late that rank 0 was not there any more.
fn is_told(found: &str, expected: RendezvousError) -> bool {
    found == text::<()>(Err(expected)) || found.starts_with("Missing { rank: 0,")
}

#[test]
fn all_ranks_get_what_all_have_sent() {
    let mut random = seed::random();
    for ranks in 1..=4 {
        for place in Place::both() {
            // Among the lengths are 0, and some that do not fit into the buffers of a connection.
            let sent: Vec<Vec<Vec<u8>>> = (0..6)
                .map(|round| {
                    let bytes = |_| {
                        let most = if round == 5 { 1 << 20 } else { 100 };
                        let len = random.random_range(0..=most);
                        (0..len).map(|_| random.random()).collect()
                    };
                    (0..ranks).map(bytes).collect()
                })
                .collect();
            place.all(ranks, |rank, mut meeting| {
                assert_eq!((meeting.rank(), meeting.ranks()), (rank, ranks));
                assert_eq!(meeting.timeout(), LONG);
                for sent in &sent {
                    assert_eq!(&meeting.all_gather(&sent[rank as usize]).unwrap(), sent);
                }
            });
            assert!(place.is_clean(), "{:?}", fs::read_dir(place.path().unwrap()));
        }
    }
}

#[test]
fn ranks_may_come_late() {
    for place in Place::both() {
        let sums = place.each([0, 1, 2], 3, LONG, |rank, come| {
            let mut meeting = come.unwrap();
            let mut seen = Vec::new();
            for round in 0..3 {
                // Another rank is late each time, and the others have to wait for it.
                if round == rank {
                    sleep(Duration::from_millis(30));
                }
                seen.push(meeting.all_gather(&[rank as u8, round as u8]).unwrap());
            }
            seen
        });
        assert!(sums.iter().all(|seen| seen == &sums[0]));
        assert_eq!(sums[0][2], [[0, 2], [1, 2], [2, 2]]);
    }
}

#[test]
fn a_rank_that_never_comes_is_named_on_all_others() {
    for place in Place::both() {
        let begin = Instant::now();
        let errors = place.each([0, 2, 3], 4, SHORT, |_, come| text(come));
        assert!(begin.elapsed() < LONG);
        for error in errors {
            assert_eq!(error, text::<()>(Err(RendezvousError::Missing { rank: 1, waited: SHORT })));
        }
    }
    // Without rank 0, the others have nobody to ask.
    for place in Place::both() {
        if let Place::Tcp(listener, _) = place {
            let address = listener.local_addr().unwrap();
            drop(listener);
            let error = TcpRendezvous::new(address, 1, 2, SHORT).unwrap_err();
            assert!(matches!(error, RendezvousError::Missing { rank: 0, .. }), "{error}");
        } else {
            let error = place.come(1, 2, SHORT).map(drop).unwrap_err();
            assert!(matches!(error, RendezvousError::Missing { rank: 0, .. }), "{error}");
            assert!(place.is_clean(), "a rank that gives up takes its file along");
        }
    }
}

#[test]
fn a_rank_that_leaves_is_named_on_all_others() {
    for leaving in 0..3 {
        for place in Place::both() {
            let gathered = place.each([0, 1, 2], 3, LONG, |rank, come| {
                let mut meeting = come.unwrap();
                meeting.all_gather(b"all are there").unwrap();
                if rank == leaving {
                    return None;
                }
                let error = meeting.all_gather(b"one is not").unwrap_err();
                let later = meeting.all_gather(b"never again").unwrap_err();
                assert!(matches!(later, RendezvousError::Broken), "{later}");
                Some(format!("{error:?}"))
            });
            for error in gathered.into_iter().flatten() {
                assert_eq!(error, text::<()>(Err(RendezvousError::Closed { rank: leaving })));
            }
            assert!(place.is_clean());
        }
    }
}

#[test]
fn a_rank_that_is_late_in_a_call_is_named_on_all_others() {
    for place in Place::both() {
        let end = Barrier::new(3);
        let errors = place.each([0, 1, 2], 3, SHORT, |rank, come| {
            let mut meeting = come.unwrap();
            meeting.all_gather(&[]).unwrap();
            let error = (rank != 2).then(|| text(meeting.all_gather(&[])));
            // The rank stays there, and sends nothing.
            end.wait();
            error
        });
        for error in errors.into_iter().flatten() {
            assert_eq!(error, text::<()>(Err(RendezvousError::Missing { rank: 2, waited: SHORT })));
        }
    }
}

#[test]
fn a_rank_that_comes_twice_is_named_on_all() {
    for place in Place::both() {
        // Rank 3 never comes, so that rank 0 sees both before it has all.
        let timeout = Duration::from_secs(5);
        let errors = place.each([0, 1, 2, 2], 4, timeout, |_, come| text(come));
        assert_eq!(errors[0], text::<()>(Err(RendezvousError::Twice { rank: 2 })));
        for error in errors {
            assert!(is_told(&error, RendezvousError::Twice { rank: 2 }), "{error}");
        }
    }
    let place = Place::tcp();
    let Place::Tcp(_, address) = &place else { unreachable!() };
    let second = TcpRendezvous::new(address, 0, 2, SHORT).unwrap_err();
    assert!(matches!(second, RendezvousError::Io { .. }), "rank 0 listens already: {second}");
}

#[test]
fn ranks_that_expect_other_numbers_of_ranks_are_named_on_all() {
    for place in Place::both() {
        thread::scope(|scope| {
            let others: Vec<_> = [(0, 3), (1, 3), (2, 4)]
                .map(|(rank, ranks)| {
                    let place = &place;
                    scope.spawn(move || text(place.come(rank, ranks, Duration::from_secs(5))))
                })
                .into();
            for other in others {
                let error = other.join().unwrap();
                let expected = RendezvousError::Counts { rank: 2, theirs: 4, ours: 3 };
                assert!(is_told(&error, expected), "{error}");
            }
        });
    }
    for place in Place::both() {
        for (rank, ranks) in [(0, 0), (2, 2), (u32::MAX, 3)] {
            let error = place.come(rank, ranks, SHORT).map(drop).unwrap_err();
            // A listener makes rank 0 only.
            let expected = matches!(&error, RendezvousError::NoRank { rank: of, ranks: in_all }
                if (*of, *in_all) == (rank, ranks));
            assert!(expected, "{error:?}");
        }
    }
}

#[test]
fn strangers_are_found_out() {
    // A connection that says something else is an error of all that have come.
    for said in [&b"GET / HTTP/1.1\r\nHost: the wrong one\r\n"[..], &[0; 64]] {
        let place = Place::tcp();
        let Place::Tcp(_, address) = &place else { unreachable!() };
        thread::scope(|scope| {
            let ranks =
                scope.spawn(|| place.each([0, 1], 3, Duration::from_secs(5), |_, come| text(come)));
            let mut stranger = TcpStream::connect(address).unwrap();
            stranger.write_all(said).unwrap();
            for error in ranks.join().unwrap() {
                let from = stranger.local_addr().unwrap().to_string();
                assert!(is_told(&error, RendezvousError::Foreign { from }), "{error}");
            }
        });
    }
    // One that says nothing, or too little, is not waited for.
    let place = Place::tcp();
    let Place::Tcp(_, address) = &place else { unreachable!() };
    let silent = TcpStream::connect(address).unwrap();
    let mut short = TcpStream::connect(address).unwrap();
    short.write_all(b"wf").unwrap();
    drop(TcpStream::connect(address).unwrap());
    place.all(2, |_, mut meeting| assert_eq!(meeting.all_gather(b"a").unwrap(), [b"a", b"a"]));
    drop((silent, short));

    // A server of another kind.
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = server.accept().unwrap();
            stream.write_all(b"220 this is a mail server, and it greets first\r\n").unwrap();
            // The connection is kept until the other side has read this.
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        });
        let error = TcpRendezvous::new(address, 1, 2, LONG).unwrap_err();
        assert!(matches!(&error, RendezvousError::Foreign { from } if from == "rank 0"), "{error}");
    });
}

#[test]
fn files_of_earlier_runs_are_not_taken() {
    let place = Place::folder();
    let path = place.path().unwrap();
    // Two runs that have failed, and one whose ranks were killed before they could clean up.
    place.each([1, 2], 3, SHORT, |_, come| text(come));
    place.each([0, 2], 3, SHORT, |_, come| text(come));
    for name in ["hello.1.0123", "hello.2.4567", "welcome.89ab", "part.hello.1.cdef"] {
        fs::write(path.join(name), "of a killed rank").unwrap();
    }
    let old = path.join("run.0123456789abcdef");
    fs::create_dir(&old).unwrap();
    for name in ["verdict", "joined.1.77", "0.0.1", "0.1.0", "left.1"] {
        fs::write(old.join(name), "of a killed rank").unwrap();
    }
    for _ in 0..3 {
        place.all(3, |rank, mut meeting| {
            let all = meeting.all_gather(&[rank as u8]).unwrap();
            assert_eq!(all, [[0], [1], [2]]);
        });
    }
    assert!(old.exists(), "nobody touches what is another run's");
}

#[test]
fn files_that_no_rank_has_written_are_found_out() {
    let place = Place::folder();
    let path = place.path().unwrap();
    thread::scope(|scope| {
        let ranks = scope.spawn(|| place.each([0], 2, LONG, |_, come| text(come)));
        // Somebody writes into the folder of the run.
        let run = loop {
            let mut names = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            if let Some(run) = names.find(|path| path.to_string_lossy().contains("run.")) {
                break run;
            }
            sleep(Duration::from_millis(1));
        };
        fs::write(run.join("joined.1.abc"), "no rank writes this").unwrap();
        let error = ranks.join().unwrap().remove(0);
        assert!(error.contains("Foreign") && error.contains("joined.1.abc"), "{error}");
    });
    let file = path.join("a file");
    fs::write(&file, "").unwrap();
    let error = FileRendezvous::new(&file, 0, 1, SHORT).unwrap_err();
    assert!(matches!(error, RendezvousError::Io { .. }), "{error}");
}

#[test]
fn too_long_messages_are_refused_alone() {
    for place in Place::both() {
        place.all(2, |_, mut meeting| {
            let error = meeting.all_gather(&vec![0; (1 << 20) + 1]).unwrap_err();
            assert!(matches!(error, RendezvousError::TooLong { .. }), "{error}");
            // The next call works.
            assert_eq!(meeting.all_gather(b"short").unwrap(), [b"short", b"short"]);
        });
    }
}
