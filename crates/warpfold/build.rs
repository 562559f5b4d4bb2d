//! Embeds the PTX of the production kernels, compressed, into the crate. This script writes a
//! module with one static for each kernel, and `src/ptx.rs` includes this module.
//!
//! A file is called `<family>_<op>_<type>.<arch>.ptx`, where the family is `reduce`, `rows`,
//! `segments` or `runs`, and holds the kernel `<family>_<op>_<type>`, and perhaps
//! `<family>_<op>_<type>_single` for small inputs. Its static is `<family>::<op>::<type>`. Each
//! kernel is a static of its own, because the linker then leaves out the kernels that a program
//! never names.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// The level of compression. Level 6 takes two seconds in a build script that is compiled without
/// optimisation, and the levels above it make the result less than one percent smaller.
const LEVEL: u8 = 6;

/// The architectures of one kernel, each with the file that holds its PTX.
type Images = BTreeMap<u32, PathBuf>;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("ptx");
    println!("cargo::rerun-if-changed={}", folder.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let mut families: BTreeMap<String, BTreeMap<String, BTreeMap<String, Images>>> =
        BTreeMap::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "ptx") {
            continue;
        }
        let (family, operation, element, arch) =
            parse(&path).ok_or_else(|| format!("{}: a name of no kernel", path.display()))?;
        let operations = families.entry(family).or_default();
        operations.entry(operation).or_default().entry(element).or_default().insert(arch, path);
    }

    let mut source = String::new();
    let mut all = String::new();
    for (family, operations) in families {
        writeln!(source, "#[allow(non_upper_case_globals)]\npub(crate) mod {family} {{")?;
        for (operation, elements) in operations {
            writeln!(source, "    pub(crate) mod {operation} {{")?;
            for (element, images) in elements {
                let name = format!("{family}_{operation}_{element}");
                write_kernel(&mut source, &out, &name, &element, images)?;
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

/// Writes the static `element` of the kernel `name` to `source`, and its packed PTX to the folder
/// `out`.
fn write_kernel(
    source: &mut String,
    out: &Path,
    name: &str,
    element: &str,
    images: Images,
) -> Result<(), Box<dyn Error>> {
    writeln!(
        source,
        "        pub(crate) static {element}: crate::ptx::EmbeddedKernel = crate::ptx::EmbeddedKernel {{\n            \
         name: {name:?},\n            single: {:?},\n            images: &[",
        single(name, &images)?
    )?;
    for (arch, path) in images {
        let text = fs::read(&path)?;
        let packed = out.join(format!("{name}.{arch}"));
        fs::write(&packed, miniz_oxide::deflate::compress_to_vec(&text, LEVEL))?;
        writeln!(
            source,
            "                crate::ptx::Image {{ capability: ({}, {}), text_bytes: {}, packed: include_bytes!({:?}) }},",
            arch / 10,
            arch % 10,
            text.len(),
            packed.display().to_string()
        )?;
    }
    writeln!(source, "            ],\n        }};")?;
    Ok(())
}

/// The name of the kernel for small inputs that the files hold beside the kernel `name`, if all of
/// them do.
fn single(name: &str, images: &Images) -> Result<Option<String>, Box<dyn Error>> {
    let single = format!("{name}_single");
    let entry = format!(".visible .entry {single}(");
    for path in images.values() {
        if !fs::read_to_string(path)?.contains(&entry) {
            return Ok(None);
        }
    }
    Ok(Some(single))
}

/// Takes the family, the operation, the type of the elements and the architecture from a file name
/// of the form `<family>_<op>_<type>.sm_<arch>.ptx`.
fn parse(path: &Path) -> Option<(String, String, String, u32)> {
    let (kernel, arch) = path.file_stem()?.to_str()?.rsplit_once('.')?;
    let (family, rest) = kernel.split_once('_')?;
    let (operation, element) = rest.rsplit_once('_')?;
    let arch = arch.strip_prefix("sm_")?.parse().ok()?;
    Some((family.to_owned(), operation.to_owned(), element.to_owned(), arch))
}
