//! Tests of the table of functions: against a stand-in driver, and against a cuda.h if there is
//! one.

use std::{
    env,
    ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void},
    fmt::Write as _,
    fs, mem,
    process::Command,
};

use libloading::Library;

use super::{fake_cuda::Answers, functions::functions, open::open, types::CONSTANTS, *};

/// A function of the table, in the form of text.
struct Signature {
    name: &'static str,
    types: &'static [&'static str],
    required: bool,
}

macro_rules! signatures {
    (
        required { $(fn $required:ident($($required_arg:ident: $required_type:ty),* $(,)?);)* }
        optional { $(fn $optional:ident($($optional_arg:ident: $optional_type:ty),* $(,)?);)* }
    ) => {
        const SIGNATURES: &[Signature] = &[
            $(Signature {
                name: stringify!($required),
                types: &[$(stringify!($required_type)),*],
                required: true,
            },)*
            $(Signature {
                name: stringify!($optional),
                types: &[$(stringify!($optional_type)),*],
                required: false,
            },)*
        ];

        /// Calls every function with arguments that are all different, and compares them with the
        /// arguments that arrived.
        fn call_each(driver: &Driver, arrived: impl Fn(&str) -> Option<[u64; 16]>) -> usize {
            let mut calls = 0;
            $(call_one!(driver, arrived, calls, $required($($required_arg: $required_type),*));)*
            $(
                assert!(driver.$optional.is_some(), "{}", stringify!($optional));
                call_one!(driver, arrived, calls, $optional($($optional_arg: $optional_type),*));
            )*
            calls
        }
    };
}

macro_rules! call_one {
    ($driver:ident, $arrived:ident, $calls:ident, $name:ident($($arg:ident: $type:ty),*)) => {
        let name = stringify!($name);
        if !BY_HAND.contains(&name) {
            #[allow(unused_mut, reason = "a function may have no arguments")]
            let mut position = 0;
            $(
                position += 1;
                let $arg = <$type as Sample>::sample(position);
            )*
            // SAFETY: the stand-in reads no pointer.
            let code = unsafe { $driver.$name($($arg),*) };
            let mut expected = [0; 16];
            let words: &[u64] = &[$(<$type as Sample>::word($arg)),*];
            expected[..words.len()].copy_from_slice(words);
            let mut seen = $arrived(name).unwrap_or_else(|| panic!("{name} did not arrive"));
            seen[words.len()..].fill(0);
            assert_eq!(seen, expected, "{name}");
            assert_eq!(code, 5000 + position as u32, "{name}");
            $calls += 1;
        }
    };
}

functions!(signatures);

/// Functions with an answer, which fake_cuda.c has.
const BY_HAND: [&str; 5] =
    ["cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuGetErrorName", "cuGetErrorString"];

/// A type with a different value for each position in a list of arguments.
trait Sample: Copy {
    fn sample(position: u64) -> Self;
    /// The value in the form in which the stand-in records it.
    fn word(self) -> u64;
}

macro_rules! sample_integers {
    ($($type:ty as $unsigned:ty;)*) => {
        $(impl Sample for $type {
            fn sample(position: u64) -> Self {
                // The top bit is set, so that a wrong width or a wrong sign changes the value.
                (0x8000_0000_0000_0000 | 0x0101_0101_0101_0101 * position).rotate_left(Self::BITS) as Self
            }

            fn word(self) -> u64 {
                self as $unsigned as u64
            }
        })*
    };
}
sample_integers! {
    u8 as u8;
    u16 as u16;
    u32 as u32;
    i32 as u32;
    u64 as u64;
    usize as usize;
}

impl<T> Sample for *mut T {
    fn sample(position: u64) -> Self {
        std::ptr::without_provenance_mut(usize::sample(position))
    }

    fn word(self) -> u64 {
        self.addr() as u64
    }
}

impl<T> Sample for *const T {
    fn sample(position: u64) -> Self {
        std::ptr::without_provenance(usize::sample(position))
    }

    fn word(self) -> u64 {
        self.addr() as u64
    }
}

impl Sample for CUipcMemHandle {
    fn sample(position: u64) -> Self {
        // All bytes are different.
        Self { reserved: std::array::from_fn(|byte| (byte as u64 + 64 * position) as c_char) }
    }

    fn word(self) -> u64 {
        // As `handle_word` in fake_cuda.c.
        self.reserved
            .iter()
            .fold(0, |word: u64, &byte| word.wrapping_mul(31).wrapping_add(u64::from(byte as u8)))
    }
}

unsafe extern "system" fn callback(_: CUstream, _: CUresult, _: *mut c_void) {}
unsafe extern "system" fn host_function(_: *mut c_void) {}
unsafe extern "system" fn shared_bytes(_: c_int) -> usize {
    0
}

macro_rules! sample_functions {
    ($($type:ty = $function:ident;)*) => {
        $(impl Sample for $type {
            fn sample(_: u64) -> Self {
                Some($function)
            }

            fn word(self) -> u64 {
                self.map_or(0, |function| function as usize as u64)
            }
        })*
    };
}
sample_functions! {
    CUstreamCallback = callback;
    CUhostFn = host_function;
    CUoccupancyB2DSize = shared_bytes;
}

/// The C text of this type.
fn in_c(rust: &str) -> String {
    // The text of a type in a macro may contain spaces that the type has nowhere else.
    let rust = rust.replace("* ", "*");
    let rust = rust.as_str();
    if let Some(target) = rust.strip_prefix("*mut ") {
        return format!("{} *", in_c(target));
    }
    if let Some(target) = rust.strip_prefix("*const ") {
        return format!("{} const *", in_c(target));
    }
    match rust {
        "c_char" => "char",
        "c_int" => "int",
        "c_uint" => "unsigned int",
        "c_ulonglong" => "unsigned long long",
        "c_void" => "void",
        "f32" => "float",
        "u8" => "unsigned char",
        "u16" => "unsigned short",
        "u64" => "cuuint64_t",
        "usize" => "size_t",
        name => name,
    }
    .to_owned()
}

/// The C text of this type for use without cuda.h: a number or an address of the same width.
fn in_plain_c(rust: &str) -> String {
    if rust.starts_with('*') {
        return "void *".to_owned();
    }
    match in_c(rust).as_str() {
        "CUcontext" | "CUmodule" | "CUfunction" | "CUstream" | "CUevent" | "CUgraph"
        | "CUgraphNode" | "CUgraphExec" | "CUstreamCallback" | "CUhostFn"
        | "CUoccupancyB2DSize" => "void *".to_owned(),
        "CUdevice" => "int".to_owned(),
        "CUipcMemHandle" => "struct handle".to_owned(),
        "CUdeviceptr" => "unsigned long long".to_owned(),
        number if number.starts_with("CU") => "unsigned int".to_owned(),
        plain => plain.to_owned(),
    }
}

/// The functions of the stand-in in C, except the functions in `omit`.
fn in_fake(omit: &[&str]) -> String {
    let mut text = String::new();
    for Signature { name, types, .. } in SIGNATURES {
        if BY_HAND.contains(name) || omit.contains(name) {
            continue;
        }
        let types: Vec<String> = types.iter().map(|rust| in_plain_c(rust)).collect();
        let parameters: Vec<String> =
            types.iter().enumerate().map(|(i, c)| format!("{c} a{i}")).collect();
        let words: Vec<String> = types
            .iter()
            .enumerate()
            .map(|(i, c)| match c.as_str() {
                "int" => format!("(unsigned int)a{i}"),
                "void *" => format!("(uintptr_t)a{i}"),
                "struct handle" => format!("handle_word(a{i})"),
                _ => format!("a{i}"),
            })
            .collect();
        let parameters =
            if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        writeln!(
            text,
            "unsigned {name}({parameters}) {{ uint64_t words[] = {{ {words} }}; return fake_called(\"{name}\", {count}, words); }}",
            words = if words.is_empty() { "0".to_owned() } else { words.join(", ") },
            count = types.len(),
        )
        .unwrap();
    }
    text
}

const WORKS: Answers = Answers { version: 13_010, init: 0, devices: 2 };

#[test]
fn every_function_reaches_the_library_with_all_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = fake_cuda::build(folder.path(), WORKS, &in_fake(&[])) else {
        return;
    };
    let driver = open(library.as_ref()).unwrap();
    assert_eq!(
        (driver.library.as_str(), driver.version, driver.devices),
        (library.as_str(), Version(13_010), 2)
    );
    assert_eq!(driver.version.to_string(), "13.1");

    // SAFETY: the library is loaded already, and its two variables have these types.
    let (name, arguments) = unsafe {
        let fake = Library::new(&library).unwrap();
        let name = *fake.get::<*mut *const c_char>(b"fake_name\0").unwrap();
        let arguments = *fake.get::<*const [u64; 16]>(b"fake_arguments\0").unwrap();
        mem::forget(fake);
        (name, arguments)
    };
    let arrived = |wanted: &str| {
        // SAFETY: the stand-in writes both before it returns, and no other thread calls it
        // meanwhile.
        unsafe { (CStr::from_ptr(*name).to_str() == Ok(wanted)).then(|| *arguments) }
    };
    assert_eq!(call_each(&driver, arrived), SIGNATURES.len() - BY_HAND.len());

    // The functions that give an answer.
    let mut count = 0;
    // SAFETY: the pointer is to a live variable.
    unsafe {
        assert_eq!(driver.cuInit(0), 0);
        assert_eq!(driver.cuInit(1), 1);
        assert_eq!(driver.cuDeviceGetCount(&raw mut count), 0);
    }
    assert_eq!(count, 2);
    assert_eq!(error_text_of(&driver, 803).name, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
    assert_eq!(
        error_text_of(&driver, 4711).to_string(),
        "error 4711 (the driver has no text for it)"
    );
}

#[test]
fn a_driver_may_lack_each_optional_function_and_no_required_one() {
    let optional: Vec<&str> =
        SIGNATURES.iter().filter(|function| !function.required).map(|f| f.name).collect();
    let folder = tempfile::tempdir().unwrap();
    let Some(library) = fake_cuda::build(folder.path(), WORKS, &in_fake(&optional)) else {
        return;
    };
    let driver = open(library.as_ref()).unwrap();
    assert!(driver.cuLaunchKernelEx.is_none());
    // SAFETY: the function is missing, so the call does nothing.
    assert_eq!(unsafe { driver.cuCtxSynchronize() }, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);

    for missing in SIGNATURES.iter().filter(|function| function.required) {
        let find =
            |name: &CStr| (name.to_str() != Ok(missing.name)).then_some(callback as *mut c_void);
        // SAFETY: no function is called.
        let error = unsafe { Driver::new("LIB", find) }.unwrap_err();
        assert_eq!(
            error,
            DriverError::SymbolMissing {
                library: "LIB".to_owned(),
                symbol: missing.name.to_owned()
            }
        );
    }
}

/// The error message for a stand-in driver with these answers. In it, `LIB` replaces the path.
fn message(version: u32, init: u32, devices: u32, omit: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let library =
        fake_cuda::build(folder.path(), Answers { version, init, devices }, &in_fake(omit))?;
    Some(open(library.as_ref()).unwrap_err().to_string().replace(&library, "LIB"))
}

#[test]
fn every_way_to_fail_has_its_sentence() {
    for ((version, init, devices, omit), expected) in [
        (
            (12_030, 0, 1, &[][..]),
            "the driver LIB is too old: it supports CUDA 12.3, and 12.4 is the least",
        ),
        // The version is checked before the functions, because an old driver cannot have all of
        // them.
        (
            (11_080, 0, 1, &["cuModuleUnload"]),
            "the driver LIB is too old: it supports CUDA 11.8, and 12.4 is the least",
        ),
        (
            (13_000, 0, 1, &["cuModuleUnload"]),
            "LIB has no function cuModuleUnload: it is not a complete CUDA driver",
        ),
        ((13_000, 100, 1, &[]), "the driver LIB finds no device"),
        ((13_000, 0, 0, &[]), "the driver LIB finds no device"),
        (
            (13_000, 803, 1, &[]),
            "the driver LIB does not work: cuInit returned 803, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (system has unsupported \
             display driver / cuda driver combination)",
        ),
        (
            (13_000, 999, 1, &[]),
            "the driver LIB does not work: cuInit returned 999, error 999 (the driver has no text for it)",
        ),
    ] {
        let Some(message) = message(version, init, devices, omit) else {
            return;
        };
        assert_eq!(message, expected);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn libraries_that_are_no_driver_are_named() {
    for (library, expected) in [
        (
            "libcuda-that-is-not-there.so.1",
            "the driver's library libcuda-that-is-not-there.so.1 cannot be opened (libcuda-that-is-not-there.so.1: cannot \
             open shared object file: No such file or directory)",
        ),
        (
            "libc.so.6",
            "libc.so.6 has no function cuDriverGetVersion: it is not a complete CUDA driver",
        ),
        ("", "the driver's library  cannot be opened (its name is empty)"),
    ] {
        assert_eq!(open(library.as_ref()).unwrap_err().to_string(), expected);
    }
}

/// Compiles C code that includes cuda.h, if `WARPFOLD_CUDA_INCLUDE` names a folder that contains
/// it. If it does not, prints a note to stderr.
fn compile_with_cuda_h(code: &str) {
    let Some(include) = env::var_os("WARPFOLD_CUDA_INCLUDE") else {
        let note =
            "not compared with cuda.h, because WARPFOLD_CUDA_INCLUDE names no folder that has it";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{note}\n").as_bytes());
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("check.c");
    // cuda.h declares its older functions only if this macro is defined.
    fs::write(
        &source,
        format!(
            "#define __CUDA_API_VERSION_INTERNAL\n#include <stddef.h>\n#include <cuda.h>\n{code}"
        ),
    )
    .unwrap();
    let output = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-Wno-deprecated-declarations", "-I"])
        .args([include.as_os_str(), source.as_os_str()])
        .output()
        .expect("cc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn signatures_are_those_of_cuda_h() {
    let mut code = String::new();
    for Signature { name, types, .. } in SIGNATURES {
        let types: Vec<String> = types.iter().map(|rust| in_c(rust)).collect();
        let types = if types.is_empty() { "void".to_owned() } else { types.join(", ") };
        writeln!(
            code,
            "_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), CUresult (*)({types})), \"{name}\");"
        )
        .unwrap();
    }
    compile_with_cuda_h(&code);
}

#[test]
fn constants_are_those_of_cuda_h() {
    let asserts: Vec<String> = CONSTANTS
        .iter()
        .map(|(name, value)| format!("_Static_assert({name} == {value}, \"{name}\");"))
        .collect();
    assert!(asserts.len() > 30);
    compile_with_cuda_h(&asserts.join("\n"));
}

#[test]
fn layouts_are_those_of_cuda_h() {
    let mut code = String::new();
    macro_rules! layout {
        ($name:ident { $($field:ident),* }) => {
            let c = stringify!($name);
            writeln!(code, "_Static_assert(sizeof({c}) == {}, \"{c}\");", size_of::<$name>()).unwrap();
            writeln!(code, "_Static_assert(_Alignof({c}) == {}, \"{c}\");", align_of::<$name>()).unwrap();
            $(
                let (field, offset) = (stringify!($field), mem::offset_of!($name, $field));
                writeln!(code, "_Static_assert(offsetof({c}, {field}) == {offset}, \"{c}.{field}\");").unwrap();
            )*
        };
    }
    layout!(CUuuid { bytes });
    layout!(CUipcMemHandle { reserved });
    layout!(CUlaunchAttributeValue {
        cooperative,
        clusterDim,
        programmaticStreamSerializationAllowed,
        priority
    });
    layout!(CUlaunchAttribute { id, value });
    layout!(CUlaunchConfig {
        gridDimX,
        gridDimY,
        gridDimZ,
        blockDimX,
        blockDimY,
        blockDimZ,
        sharedMemBytes,
        hStream,
        attrs,
        numAttrs
    });
    layout!(CUDA_MEMCPY2D {
        srcXInBytes,
        srcY,
        srcMemoryType,
        srcHost,
        srcDevice,
        srcArray,
        srcPitch,
        dstXInBytes,
        dstY,
        dstMemoryType,
        dstHost,
        dstDevice,
        dstArray,
        dstPitch,
        WidthInBytes,
        Height
    });
    layout!(CUgraphExecUpdateResultInfo { result, errorNode, errorFromNode });
    compile_with_cuda_h(&code);
}
