//! Tests that the plugin can live in one process with another user of libcuda. Each is bound to the
//! functions of libcuda, and neither to those of the other.

#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW, Symbol};
use object::{Object, ObjectSymbol};

/// The plugin, which cargo builds before this test and puts beside it.
fn plugin() -> PathBuf {
    let test = env::current_exe().unwrap();
    let path = test.ancestors().nth(1).unwrap().join("liboutside_cdylib.so");
    assert!(path.is_file(), "{} is missing", path.display());
    path
}

/// Compiles a C library in `folder`.
fn compile(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let library = folder.join(name);
    let file = folder.join(name).with_extension("c");
    fs::write(&file, source).unwrap();
    let mut command = Command::new("cc");
    command
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .arg(&file)
        .args(options);
    let output = command.output().expect("a C compiler called cc");
    assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
    library
}

/// The source of the stand-in for libcuda, with a function for each name in the table of
/// `warpfold-cuda-driver`.
fn stand_in() -> String {
    let source = include_str!("libcuda.c");
    let table = include_str!("../../../../../crates/cuda_driver/src/functions.rs");
    let names = table
        .lines()
        .filter_map(|line| line.trim().strip_prefix("fn ")?.split_once('('))
        .map(|(name, _)| name);
    let names =
        names.filter(|name| name.starts_with("cu") && !source.contains(&format!("{name}(")));
    let functions: Vec<_> =
        names.map(|name| format!("unsigned {name}(void) {{ return 999; }}")).collect();
    assert!(functions.len() > 50, "the table has another form: {functions:?}");
    source.replace("FUNCTIONS", &functions.join("\n"))
}

/// Opens a library so that its symbols come first for all libraries that are opened after it.
///
/// The library stays open. Threads of a program may end after a library is closed, and then they
/// would run code that Rust's standard library in the plugin has registered for their end.
fn open(path: &Path) -> &'static Library {
    // SAFETY: the libraries of this test run no code when they are opened.
    Box::leak(Box::new(unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.unwrap()))
}

#[test]
fn the_plugin_exports_its_one_function() {
    let bytes = fs::read(plugin()).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let exported =
        file.dynamic_symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
    let names: BTreeSet<_> = exported.map(|symbol| symbol.name().unwrap().to_owned()).collect();
    assert_eq!(names, BTreeSet::from(["outside_sum_f32".to_owned()]));
    let undefined = file.dynamic_symbols().filter(ObjectSymbol::is_undefined);
    let of_cuda: Vec<_> = undefined
        .filter_map(|symbol| symbol.name().ok().filter(|name| name.starts_with("cu")))
        .collect();
    assert!(of_cuda.is_empty(), "linked against libcuda: {of_cuda:?}");
}

#[test]
fn the_plugin_and_another_user_share_libcuda() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let libcuda =
        compile(folder.path(), "libcuda.so.1", &stand_in(), &["-Wl,-soname,libcuda.so.1"]);
    let options = [format!("-L{path}"), "-l:libcuda.so.1".to_owned(), format!("-Wl,-rpath,{path}")];
    let user = compile(
        folder.path(),
        "user.so",
        include_str!("user.c"),
        &options.each_ref().map(String::as_str),
    );

    // The plugin is opened first, because a symbol of its own would then win over libcuda's symbol.
    let plugin = open(&plugin());
    let user = open(&user);
    let libcuda = open(&libcuda);

    // SAFETY: the functions and the counter have these types in their sources.
    unsafe {
        let sum: Symbol<unsafe extern "C" fn(*const f32, usize, *mut f32) -> i32> =
            plugin.get(b"outside_sum_f32").unwrap();
        let init: Symbol<unsafe extern "C" fn() -> u32> = user.get(b"user_init").unwrap();
        let address: Symbol<unsafe extern "C" fn() -> usize> =
            user.get(b"user_address_of_init").unwrap();
        let cu_init: Symbol<unsafe extern "C" fn(u32) -> u32> = libcuda.get(b"cuInit").unwrap();
        let inits: Symbol<*const u32> = libcuda.get(b"stand_in_inits").unwrap();

        assert_eq!(address(), *cu_init as usize);
        assert_eq!((init(), inits.read()), (0, 1));

        // The plugin finds the same library by its name, and finds that there is no GPU.
        let mut total = 0.0;
        assert_eq!(sum([1.5, 2.0, -0.25].as_ptr(), 3, &raw mut total), 0);
        assert_eq!((total, inits.read()), (3.25, 2));

        assert_eq!((address(), init(), inits.read()), (*cu_init as usize, 0, 3));
    }
}
