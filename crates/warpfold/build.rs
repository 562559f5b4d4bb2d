//! Embeds the PTX of the production kernels, compressed, into the crate. This script unpacks the
//! archives of the folder `ptx` and writes a module with one static for each kernel, which
//! `src/ptx.rs` includes.
//!
//! A file of an archive is called `<family>_<op>_<type>.<arch>.ptx`, where the family is `reduce`,
//! `fused`, `rows`, `segments`, `bins`, `runs`, `keyed`, `made`, `maderows`, `exchange` or
//! `direct`. It holds the kernel `<family>_<op>_<type>`, and perhaps
//! `<family>_<op>_<type>_single` for small inputs or short rows. Its static is
//! `<family>::<op>::<type>`. Each kernel is a static of its own, compressed by itself, because the
//! linker then leaves out the kernels that a program never names.

#[path = "build/archive.rs"]
mod archive;
#[path = "build/lzma.rs"]
mod lzma;

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
};

use lzma_rust2::{LzmaOptions, LzmaWriter};

/// How the PTX is compressed.
#[derive(Clone, Copy)]
pub(crate) enum Packing {
    /// By deflate, in a short time also by a build script that is compiled without optimisation.
    Quick,
    /// By LZMA, to less room: the feature `compact`. The PTX loses its comments, its indentation
    /// and the blanks behind its commas. The kernels of an operation share most of their text, so
    /// one of them is the dictionary of the others.
    Compact,
}

impl Packing {
    /// The PTX as a program can get it back.
    fn text(self, text: String) -> String {
        match self {
            Packing::Quick => text,
            Packing::Compact => without_blanks(&text),
        }
    }

    /// Whether a kernel may have a dictionary.
    fn has_dictionaries(self) -> bool {
        matches!(self, Packing::Compact)
    }

    /// The compressed bytes of a text, which is unpacked with the same dictionary.
    fn pack(self, text: &str, dictionary: Option<&str>) -> io::Result<Vec<u8>> {
        match self {
            Packing::Quick => Ok(miniz_oxide::deflate::compress_to_vec(text.as_bytes(), 4)),
            Packing::Compact => {
                let mut options = LzmaOptions::with_preset(6);
                (options.lc, options.lp, options.pb) = (lzma::LC, lzma::LP, lzma::PB);
                options.dict_size = lzma::window(text.len(), dictionary.map_or(0, str::len));
                options.preset_dict = dictionary.map(|text| text.as_bytes().to_vec());
                let mut writer = LzmaWriter::new_no_header(Vec::new(), &options, false)?;
                writer.write_all(text.as_bytes())?;
                writer.finish()
            }
        }
    }
}

/// A text of PTX without comments, indentation and blanks behind commas. The only strings of
/// kernels are the names of pragmas, which have none of these.
fn without_blanks(text: &str) -> String {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(line).trim());
    let code: String = code.filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect();
    code.replace(", ", ",")
}

/// The compressed PTX of one kernel for one architecture.
struct Image {
    /// The file that holds it.
    packed: PathBuf,
    /// The length of the PTX, in bytes.
    text_bytes: usize,
    /// Whether the PTX has the kernel for small inputs too.
    has_single: bool,
    /// The type of the kernel of the same operation whose PTX is the dictionary, if there is one.
    dictionary: Option<String>,
}

/// The architectures of one kernel, each with its PTX.
type Images = BTreeMap<u32, Image>;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("ptx");
    println!("cargo::rerun-if-changed={}", folder.display());
    let is_compact = env::var_os("CARGO_FEATURE_COMPACT").is_some();
    let packing = if is_compact { Packing::Compact } else { Packing::Quick };
    if let Err(error) = embed(&folder, Path::new(&env::var("OUT_DIR")?), packing) {
        println!("cargo::error={error}");
    }
    Ok(())
}

/// Writes the kernels of a folder of archives to the folder `out`: `embedded.rs` and the files that
/// it includes.
pub(crate) fn embed(folder: &Path, out: &Path, packing: Packing) -> Result<(), Box<dyn Error>> {
    let mut families: BTreeMap<String, BTreeMap<String, BTreeMap<String, Images>>> =
        BTreeMap::new();
    for (kernel, image) in pack_all(folder, out, packing)? {
        let Kernel { family, operation, element, arch } = kernel;
        let operations = families.entry(family).or_default();
        operations.entry(operation).or_default().entry(element).or_default().insert(arch, image);
    }

    let mut source = String::new();
    let mut all = String::new();
    for (family, operations) in families {
        writeln!(source, "#[allow(non_upper_case_globals)]\npub(crate) mod {family} {{")?;
        for (operation, elements) in operations {
            writeln!(source, "    pub(crate) mod {operation} {{")?;
            for (element, images) in elements {
                let name = format!("{family}_{operation}_{element}");
                write_kernel(&mut source, &name, &element, &images)?;
                writeln!(all, "    &{family}::{operation}::{element},")?;
            }
            writeln!(source, "    }}")?;
        }
        writeln!(source, "}}")?;
    }
    writeln!(
        source,
        "#[cfg(feature = \"testing\")]\npub(crate) static ALL: &[&EmbeddedKernel] = &[\n{all}];"
    )?;
    fs::write(out.join("embedded.rs"), source)?;
    Ok(())
}

/// Compresses the PTX of all archives in `folder` to files in `out`. Each archive has a thread of
/// its own.
fn pack_all(
    folder: &Path,
    out: &Path,
    packing: Packing,
) -> Result<Vec<(Kernel, Image)>, Box<dyn Error>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut archives = entries.collect::<Result<Vec<_>, std::io::Error>>()?;
    archives.retain(|path| path.to_string_lossy().ends_with(archive::ENDING));
    if archives.is_empty() {
        return Err(format!("there are no archives of PTX in {}", folder.display()).into());
    }
    let packed: Result<Vec<_>, String> = thread::scope(|scope| {
        let threads: Vec<_> =
            archives.iter().map(|archive| scope.spawn(|| pack(archive, out, packing))).collect();
        threads.into_iter().map(|thread| thread.join().expect("`pack` does not panic")).collect()
    });
    Ok(packed?.into_iter().flatten().collect())
}

/// Compresses each PTX of one archive to a file in `out`.
fn pack(archive: &Path, out: &Path, packing: Packing) -> Result<Vec<(Kernel, Image)>, String> {
    let mut operations: BTreeMap<String, Vec<(Kernel, String)>> = BTreeMap::new();
    for (file, text) in archive::read(archive)? {
        let kernel = Kernel::of_file(&file)
            .ok_or_else(|| format!("{}: `{file}` is the name of no kernel", archive.display()))?;
        let texts = operations.entry(kernel.operation.clone()).or_default();
        texts.push((kernel, packing.text(text)));
    }
    let mut images = Vec::new();
    for texts in operations.into_values() {
        // Most types have kernels that are more like those of `f32` than like any others.
        let first = texts.iter().position(|(kernel, _)| kernel.element == "f32").unwrap_or(0);
        let (of_dictionary, dictionary) = &texts[first];
        for (kernel, text) in &texts {
            let has_dictionary =
                packing.has_dictionaries() && kernel.element != of_dictionary.element;
            let name = format!("{}_{}_{}", kernel.family, kernel.operation, kernel.element);
            let packed = out.join(format!("{name}.{}", kernel.arch));
            packing
                .pack(text, has_dictionary.then_some(dictionary))
                .and_then(|bytes| fs::write(&packed, bytes))
                .map_err(|error| format!("cannot write {}: {error}", packed.display()))?;
            let image = Image {
                packed,
                text_bytes: text.len(),
                has_single: text.contains(&format!(".visible .entry {name}_single(")),
                dictionary: has_dictionary.then(|| of_dictionary.element.clone()),
            };
            images.push((kernel.clone(), image));
        }
    }
    Ok(images)
}

/// Writes the static `element` of the kernel `name` to `source`.
fn write_kernel(
    source: &mut String,
    name: &str,
    element: &str,
    images: &Images,
) -> Result<(), std::fmt::Error> {
    writeln!(
        source,
        "        pub(crate) static {element}: crate::ptx::EmbeddedKernel = crate::ptx::EmbeddedKernel {{\n            \
         name: {name:?},\n            images: &["
    )?;
    for (arch, Image { packed, text_bytes, has_single, dictionary }) in images {
        let single = has_single.then(|| format!("{name}_single"));
        let dictionary =
            dictionary.as_ref().map_or("None".to_owned(), |element| format!("Some(&{element})"));
        writeln!(
            source,
            "                crate::ptx::Image {{ capability: ({}, {}), text_bytes: {text_bytes}, single: {single:?}, dictionary: {dictionary}, packed: include_bytes!({:?}) }},",
            arch / 10,
            arch % 10,
            packed.display().to_string()
        )?;
    }
    writeln!(source, "            ],\n        }};")
}

/// The kernel that a file holds.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) family: String,
    pub(crate) operation: String,
    pub(crate) element: String,
    pub(crate) arch: u32,
}

impl Kernel {
    /// Takes the kernel from a file name of the form `<family>_<op>_<type>.sm_<arch>.ptx`.
    pub(crate) fn of_file(file: &str) -> Option<Self> {
        let (kernel, arch) = file.strip_suffix(".ptx")?.rsplit_once(".sm_")?;
        let (family, rest) = kernel.split_once('_')?;
        let (operation, element) = rest.rsplit_once('_')?;
        Some(Self {
            family: family.to_owned(),
            operation: operation.to_owned(),
            element: element.to_owned(),
            arch: arch.parse().ok()?,
        })
    }
}
