//! `printf` and `assert`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use simt::{Arg, FaultKind, LaunchConfig, LaunchError, Memory, Module, launch_named};

use crate::{Gpu, builds};

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    fn text(&self) -> String {
        String::from_utf8(std::mem::take(&mut self.0.lock().unwrap())).unwrap()
    }
}

/// A device and the text that its kernels print.
fn device() -> (Gpu, Sink) {
    let (mut memory, sink) = (Memory::checked(1 << 26), Sink::default());
    memory.print_to(sink.clone());
    (Gpu(memory), sink)
}

fn launch(
    gpu: &Gpu,
    module: &Module,
    kernel: &str,
    config: &LaunchConfig,
    args: &[Arg],
) -> Result<(), LaunchError> {
    launch_named(module, kernel, config, args, &gpu.0)
}

/// `print.txt` holds what the C library of the machine printed on which the PTX was built.
#[test]
fn conversions_are_those_of_c() {
    for module in builds("print") {
        let (gpu, sink) = device();
        gpu.launch(&module, "conversions", (1, 1), &[Arg::F64(0.0), Arg::Pointer(0)]);
        let text = sink.text();
        for (found, expected) in text.lines().zip(include_str!("../data/foreign/print.txt").lines())
        {
            assert_eq!(found, expected, "{}", module.name());
        }
        assert_eq!(text, include_str!("../data/foreign/print.txt"));
    }
}

#[test]
fn blocks_print_in_their_order() {
    for module in builds("print") {
        for workers in [1, 2, 5] {
            let (gpu, sink) = device();
            let counts = gpu.upload(&[0i32; 3 * 64]);
            let config = LaunchConfig { workers: Some(workers), ..LaunchConfig::new(3, 64) };
            launch(&gpu, &module, "order", &config, &[Arg::Pointer(counts)]).unwrap();
            let block = |block: usize| {
                let threads = (0..64).map(|thread| format!("block {block} thread {thread}\n"));
                threads.collect::<String>() + "first again, 0.5\nsecond again, 0.5\n"
            };
            assert_eq!(sink.text(), (0..3).map(block).collect::<String>(), "{}", module.name());
            let expected = |i: usize| if i % 32 == 3 { 22 } else { 2 };
            assert_eq!(
                gpu.download::<i32>(counts, 192),
                (0..192).map(expected).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn printing_is_clean() {
    for module in builds("print") {
        let (gpu, sink) = device();
        let one = LaunchConfig::new(1, 1);
        gpu.launch_clean(&module, "conversions", &one, &[Arg::F64(0.0), Arg::Pointer(0)]);
        assert_eq!(sink.text(), include_str!("../data/foreign/print.txt"));
        let counts = gpu.upload(&[0i32; 3 * 64]);
        gpu.launch_clean(&module, "order", &LaunchConfig::new(3, 64), &[Arg::Pointer(counts)]);
    }
}

#[test]
fn texts_may_lie_in_any_memory() {
    for module in builds("print") {
        let (gpu, sink) = device();
        gpu.launch(&module, "spaces", (1, 2), &[Arg::I32(1)]);
        assert_eq!(sink.text(), "<xb 1>\n<xb 1>\n", "{}", module.name());
    }
}

#[test]
fn a_failed_assertion_says_what_the_source_says() {
    for module in builds("print") {
        let (gpu, sink) = device();
        let x = gpu.upload(&[1i32, 2, 30, 4]);
        let args = [Arg::Pointer(x), Arg::I32(10)];
        launch(&gpu, &module, "check", &LaunchConfig::new(1, 2), &args).unwrap();
        assert_eq!(sink.text(), "checking 1\nchecking 2\n");
        let error = launch(&gpu, &module, "check", &LaunchConfig::new(1, 4), &args);
        let Err(LaunchError::Fault(fault)) = error else { panic!("{error:?}") };
        assert_eq!((fault.block.x, fault.thread.x), (0, 2));
        assert_eq!(
            fault.kind,
            FaultKind::Assertion {
                condition: "x[threadIdx.x] < limit && \"too large\"".to_owned(),
                file: "print.cu".to_owned(),
                line: 33,
                function: "void check(const int *, int)".to_owned(),
            },
            "{}",
            module.name()
        );
        assert!(
            fault.report().starts_with(
                "error[assertion]: thread (2,0,0) of block (0,0,0): \
                 assertion `x[threadIdx.x] < limit && \"too large\"` failed at print.cu:33 in `void check(const int *, int)`"
            ),
            "{}",
            fault.report()
        );
        // The text is written although the launch has failed.
        assert_eq!(sink.text(), "checking 1\nchecking 2\nchecking 30\nchecking 4\n");
    }
}
