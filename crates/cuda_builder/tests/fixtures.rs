//! The whole way from Rust to PTX, with small kernels. The tests need a compiler for the device;
//! without one each test says so and does nothing.

#[path = "../../../tests/support/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_builder::lint::Rule;
use cuda_builder::manifest::{Kernel, SharedKind};
use cuda_builder::{CudaBuilder, CudaBuilderError, KernelTraits, NvvmArch, Toolchain};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernels")
}

/// Only one test may build at a time, because cargo overwrites one build's library with the next
/// one's.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A builder of the fixture. If there is no toolchain, prints a line about it and returns `None`.
fn builder(features: &str) -> Option<(MutexGuard<'static, ()>, CudaBuilder)> {
    if let Err(error) = Toolchain::find(&fixture()) {
        skip::part("all with a compiler for the device", error);
        return None;
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures");
    let lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let builder =
        CudaBuilder::new(fixture()).target_dir(target).build_args(&["--features", features]);
    Some((lock, builder))
}

/// The text of one entry.
fn entry<'a>(ptx: &'a str, name: &str) -> &'a str {
    let from =
        ptx.find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no entry {name} in\n{ptx}"));
    let end = ptx[from..].find("\n}").expect("the entry ends");
    &ptx[from..from + end]
}

#[test]
fn kernels_become_entries_with_true_shared_memory() {
    let Some((_lock, builder)) = builder("") else { return };
    let output = builder.compile().unwrap();
    let [module] = output.modules.as_slice() else { panic!("{:?}", output.modules) };
    let ptx = &module.ptx;
    assert!(ptx.contains(".target sm_75\n"), "{ptx}");

    for name in ["static_shared", "dynamic_shared"] {
        let body = entry(ptx, name);
        for wanted in
            ["ld.global.b32", "st.shared.b32", "bar.sync", "ld.shared.b32", "st.global.b32"]
        {
            assert_eq!(body.matches(wanted).count(), 1, "{wanted} in\n{body}");
        }
    }
    assert!(entry(ptx, "shuffle").contains("shfl.sync.down.b32"), "{ptx}");
    assert!(!ptx.contains("__kernel_info_"), "{ptx}");

    let described: Vec<_> = output
        .kernels
        .iter()
        .map(|kernel: &Kernel| {
            let params: Vec<_> =
                kernel.params.iter().map(|param| format!("{}: {}", param.name, param.ty)).collect();
            (kernel.name.as_str(), params.join(", "), kernel.shared, kernel.static_shared_bytes)
        })
        .collect();
    assert_eq!(
        described,
        [
            ("dynamic_shared", "data: *mut i32".to_owned(), SharedKind::Dynamic, 0),
            ("low_half_f64", "data: *mut f64, out: *mut u32".to_owned(), SharedKind::None, 0),
            ("shuffle", "data: *mut f32, scale: f32".to_owned(), SharedKind::None, 0),
            ("static_shared", "data: *mut i32".to_owned(), SharedKind::Static, 256),
        ]
    );
}

/// LLVM would store the low half from the register of the sum, and ptxas before CUDA 13.1 would
/// then store the sum as an integer.
#[test]
fn the_low_half_of_a_double_is_stored_from_an_integer_register() {
    let Some((_lock, builder)) = builder("") else { return };
    let output = builder.compile().unwrap();
    let body = entry(&output.modules[0].ptx, "low_half_f64");
    let store = body.lines().find(|line| line.contains("st.global.b32")).unwrap();
    assert!(store.contains("{ .reg .b32 %narrow<1>; cvt.u32.u64 %narrow0, %rd"), "{body}");
    assert!(store.ends_with("], %narrow0; }"), "{body}");
}

#[test]
fn build_writes_one_file_with_line_info_and_ir_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fixture.ptx");
    let Some((_lock, builder)) = builder("") else { return };
    let written = builder
        .target_dir(Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures-line-info"))
        .arch(NvvmArch::Compute80)
        .generate_line_info(true)
        .emit_llvm_ir(true)
        .copy_to(&path)
        .build()
        .unwrap();
    assert_eq!(written, path);
    let ptx = std::fs::read_to_string(&path).unwrap();
    assert!(ptx.contains(".target sm_80\n"), "{ptx}");
    // The path does not name a folder of the machine.
    assert!(ptx.contains("\t.file\t1 \"src/lib.rs\"\n"), "{ptx}");
    let module = simt::ptx::parse("fixture", &ptx).unwrap();
    let (_, kernel) = module.function("dynamic_shared").unwrap();
    let barrier =
        kernel.body.iter().find(|found| module.text(found.span).starts_with("bar.sync")).unwrap();
    let frames = module.frames(barrier.location.unwrap());
    let [inner, outer] = &frames[..] else { panic!("{frames:?}") };
    assert!(inner.file.ends_with("cuda_std/src/thread.rs"), "{inner:?}");
    assert_eq!(inner.function.as_deref(), Some("sync_threads"));
    assert_eq!(outer.file, "src/lib.rs");
    let source = std::fs::read_to_string(fixture().join("src/lib.rs")).unwrap();
    assert_eq!(
        source.lines().nth(outer.line as usize - 1).unwrap().trim(),
        "thread::sync_threads();"
    );
    let ir = std::fs::read_to_string(folder.path().join("fixture.ll")).unwrap();
    assert!(ir.contains("define ptx_kernel void @shuffle("), "{ir}");
}

#[test]
fn an_initial_value_in_shared_memory_is_refused() {
    let Some((_lock, builder)) = builder("initial_value") else {
        return;
    };
    let error = builder.compile().unwrap_err();
    assert!(
        matches!(&error, CudaBuilderError::SharedInitializer(name) if name.contains("FILLED")),
        "{error}"
    );
}

#[test]
fn what_the_lint_finds_fails_the_build() {
    for (feature, rule, kernel) in [
        ("double", Rule::DoublePrecision, "double_sum_f32"),
        ("local", Rule::LocalMemory, "local"),
        ("call", Rule::CallNotInlined, "call"),
    ] {
        let Some((_lock, builder)) = builder(feature) else {
            return;
        };
        let rule_of_kernel = |name: &str| KernelTraits {
            module: "fixture".into(),
            element: name.rsplit_once('_').map(|(_, element)| element.into()),
            ..KernelTraits::default()
        };
        let error = builder.kernel_traits(rule_of_kernel).compile().unwrap_err();
        let CudaBuilderError::Lint(findings) = &error else { panic!("{error}") };
        assert!(
            findings
                .iter()
                .all(|finding| (finding.rule, finding.kernel.as_str()) == (rule, kernel)),
            "{error}"
        );
    }
}

#[test]
fn an_unknown_module_is_refused_with_similar_ones() {
    let Some((_lock, builder)) = builder("") else { return };
    let message = builder.only("reduce9").compile().unwrap_err().to_string();
    assert_eq!(message, "no kernel belongs to a module `reduce9`: similar modules are kernels");
}

/// Cargo inherits stderr, so only a parent process can read cargo's messages. Therefore this test
/// runs the test below in a child process.
#[test]
fn rustcs_own_message_comes_through() {
    if builder("").is_none() {
        return;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "type_error_in_a_child", "--nocapture"])
        .env("CUDA_BUILDER_TEST_CHILD", "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&child.stderr);
    assert!(stderr.contains("error[E0308]: mismatched types\n"), "{stderr}");
    assert!(stderr.contains("\"not a number\""), "{stderr}");
    assert!(child.status.success(), "{stderr}");
}

#[test]
fn type_error_in_a_child() {
    if std::env::var_os("CUDA_BUILDER_TEST_CHILD").is_none() {
        return;
    }
    let (_lock, builder) = builder("type_error").expect("the parent has a toolchain");
    let error = builder.compile().unwrap_err();
    assert!(matches!(error, CudaBuilderError::BuildFailed(_)), "{error}");
}
