//! Tests of the build script, on folders of archives that it does not expect.

#[allow(dead_code, reason = "cargo calls its `main`, and these tests do not")]
#[path = "../build.rs"]
mod build;

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use build::Packing;

/// The smallest archive.
const ARCHIVE: &str = "segments.sm_75.tar.lz";

/// The folder of a test.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("embedding").join(name)
}

/// A new folder of this name for the archive, and one for what the build script writes.
fn folders(name: &str) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    let (archives, out) = (folder.join("ptx"), folder.join("out"));
    fs::create_dir_all(&archives).unwrap();
    fs::create_dir_all(&out).unwrap();
    (archives, out)
}

fn bytes() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx").join(ARCHIVE)).unwrap()
}

/// The error of the build script on a folder.
fn error(archives: &Path, out: &Path) -> String {
    build::embed(archives, out, Packing::Quick).unwrap_err().to_string()
}

/// The text of `bytes` bytes that the build script has compressed, perhaps with a dictionary.
fn unpacked(packed: &[u8], packing: Packing, bytes: usize, dictionary: Option<&str>) -> String {
    let text = match packing {
        Packing::Quick => miniz_oxide::inflate::decompress_to_vec(packed).unwrap(),
        Packing::Compact => {
            let mut text = Vec::new();
            let window = (bytes + dictionary.map_or(0, str::len)).next_power_of_two() as u32;
            let dictionary = dictionary.map(str::as_bytes);
            let reader =
                lzma_rust2::LzmaReader::new(packed, bytes as u64, 2, 0, 0, window, dictionary);
            reader.unwrap().read_to_end(&mut text).unwrap();
            text
        }
    };
    assert_eq!(text.len(), bytes);
    String::from_utf8(text).unwrap()
}

/// The length of a kernel's PTX, which the build script has written beside the kernel's name.
fn text_bytes(source: &str, name: &str) -> usize {
    let (_, kernel) = source.split_once(&format!("name: {name:?},")).unwrap();
    let (_, number) = kernel.split_once("text_bytes: ").unwrap();
    number.split_once(',').unwrap().0.parse().unwrap()
}

/// Embeds an archive, and returns the PTX of a kernel and its compressed length.
fn embedded(name: &str, packing: Packing) -> (String, usize) {
    let (archives, out) = folders(name);
    fs::write(archives.join(ARCHIVE), bytes()).unwrap();
    build::embed(&archives, &out, packing).unwrap();
    let source = fs::read_to_string(out.join("embedded.rs")).unwrap();
    let statics = source.matches("pub(crate) static f32: crate::ptx::EmbeddedKernel =").count();
    let sums = source.matches("name: \"segments_sum_f32\"").count();
    assert!(statics > 1 && sums == 1, "{source}");
    let packed = fs::read(out.join("segments_sum_f32.75")).unwrap();
    let text = unpacked(&packed, packing, text_bytes(&source, "segments_sum_f32"), None);
    assert!(text.contains(".visible .entry segments_sum_f32("), "{text}");
    let files = fs::read_dir(&out).unwrap().count();
    assert_eq!(files - 1, source.matches("include_bytes!").count());
    (text, packed.len())
}

#[test]
fn each_kernel_of_an_archive_is_a_static_and_a_file() {
    embedded("whole", Packing::Quick);
}

#[test]
fn compact_kernels_have_the_same_code_in_less_room() {
    let (text, room) = embedded("quick", Packing::Quick);
    let (compact, less_room) = embedded("compact", Packing::Compact);
    assert!(less_room < room * 3 / 4, "{less_room} of {room}");
    assert!(text.contains("//") && !compact.contains("//"));
    assert!(text.contains(", ") && !compact.contains(", "));
    let code = text.lines().map(|line| line.split("//").next().unwrap().trim().replace(", ", ","));
    assert!(code.filter(|line| !line.is_empty()).eq(compact.lines()));
}

#[test]
fn kernels_of_other_types_take_less_room_beside_that_of_f32() {
    let (dictionary, room) = embedded("dictionary", Packing::Compact);
    let out = folder("dictionary").join("out");
    let packed = fs::read(out.join("segments_sum_u32.75")).unwrap();
    // Without the dictionary it would take about as much room.
    assert!(packed.len() < room * 3 / 5, "{} beside {room}", packed.len());
    let source = fs::read_to_string(out.join("embedded.rs")).unwrap();
    let bytes = text_bytes(&source, "segments_sum_u32");
    let text = unpacked(&packed, Packing::Compact, bytes, Some(&dictionary));
    assert!(text.contains(".visible .entry segments_sum_u32("), "{text}");
}

#[test]
fn a_damaged_archive_is_named() {
    let (archives, out) = folders("damaged");
    let (path, whole) = (archives.join(ARCHIVE), bytes());
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    for damaged in [&[][..], b"text", &whole[..whole.len() / 2], &changed] {
        fs::write(&path, damaged).unwrap();
        let error = error(&archives, &out);
        let start = format!("the archive {} is damaged: ", path.display());
        assert!(error.starts_with(&start), "{error}");
    }
    assert!(!out.join("embedded.rs").exists());
}

#[test]
fn a_folder_without_archives_is_refused() {
    let (archives, out) = folders("empty");
    fs::write(archives.join("reduce_sum_f32.sm_75.ptx"), "").unwrap();
    let expected = format!("there are no archives of PTX in {}", archives.display());
    assert_eq!(error(&archives, &out), expected);
}

#[test]
fn a_file_name_gives_the_kernel_and_its_architecture() {
    let kernel = build::Kernel::of_file("reduce_arg_max_bf16.sm_90.ptx").unwrap();
    let build::Kernel { family, operation, element, arch } = kernel;
    assert_eq!((&*family, &*operation, &*element, arch), ("reduce", "arg_max", "bf16", 90));
    for file in
        ["reduce_sum_f32.ptx", "reduce_sum.sm_75.ptx", "reduce_sum_f32.sm_75", "x.sm_75.ptx"]
    {
        assert!(build::Kernel::of_file(file).is_none(), "{file}");
    }
}
