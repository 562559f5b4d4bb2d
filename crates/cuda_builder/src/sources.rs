//! One hash over the sources that the kernels are compiled from.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The endings of the files that count in a folder: Rust, manifests and LLVM IR.
const ENDINGS: [&str; 3] = ["rs", "toml", "ll"];

/// The SHA-256 of the sources, in lower-case hexadecimal.
///
/// `sources` names folders and files relative to `root`. In a folder all files that end in `.rs`,
/// `.toml` or `.ll` count, except those in hidden folders and in folders named `target`, `tests` or
/// `ptx`. A file that `sources` names itself counts, whatever its ending is.
///
/// Each file counts with its path relative to `root`, which has `/` between its parts, and with its
/// text, whose lines end in LF. So the hash is the same wherever and however the sources are
/// checked out.
///
/// # Errors
/// A folder or a file cannot be read, or is not there.
pub fn hash(root: &Path, sources: &[&str]) -> io::Result<String> {
    let mut files = Vec::new();
    for name in sources {
        let path = root.join(name);
        if path.is_file() {
            files.push(path);
        } else {
            collect(&path, &mut files)?;
        }
    }
    let mut files: Vec<(String, PathBuf)> = files
        .into_iter()
        .map(|path| {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            (parts.join("/"), path)
        })
        .collect();
    files.sort();

    let mut hasher = Sha256::new();
    for (name, path) in files {
        let text = fs::read_to_string(path)?.replace("\r\n", "\n");
        // The lengths separate the fields, so that no text of a file can be taken for the name of
        // another.
        hasher.update((name.len() as u64).to_le_bytes());
        hasher.update(name);
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    Ok(format!("{:x}", hasher.finalize()))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && !["target", "tests", "ptx"].contains(&&*name) {
                collect(&path, files)?;
            }
        } else if path
            .extension()
            .is_some_and(|extension| ENDINGS.iter().any(|&ending| extension == ending))
        {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn hash_of(files: &[(&str, &str)]) -> String {
        hash(tree(files).path(), &["k"]).unwrap()
    }

    #[test]
    fn the_place_and_the_line_ends_do_not_matter() {
        let unix = hash_of(&[("k/src/lib.rs", "a\nb\n"), ("k/Cargo.toml", "[package]\n")]);
        let windows = hash_of(&[("k/Cargo.toml", "[package]\r\n"), ("k/src/lib.rs", "a\r\nb\r\n")]);
        assert_eq!(unix, windows);
    }

    #[test]
    fn generated_files_do_not_matter() {
        let plain = hash_of(&[("k/src/lib.rs", "a")]);
        assert_eq!(
            hash_of(&[("k/src/lib.rs", "a"), ("k/ptx/a.rs", "b"), ("k/target/x.rs", "")]),
            plain
        );
        assert_eq!(hash_of(&[("k/src/lib.rs", "a"), ("k/README.md", "b")]), plain);
    }

    #[test]
    fn text_and_names_matter() {
        let plain = hash_of(&[("k/src/lib.rs", "a")]);
        assert_ne!(hash_of(&[("k/src/lib.rs", "b")]), plain);
        assert_ne!(hash_of(&[("k/src/bib.rs", "a")]), plain);
        assert_ne!(hash_of(&[("k/src/lib.rs", "a"), ("k/src/x.rs", "")]), plain);
    }

    #[test]
    fn llvm_ir_matters() {
        let with = |text| hash_of(&[("k/src/lib.rs", "a"), ("k/src/intrinsics.ll", text)]);
        assert_ne!(with("define void @a()"), with("define void @b()"));
        assert_ne!(with(""), hash_of(&[("k/src/lib.rs", "a")]));
    }

    #[test]
    fn a_file_by_its_name_counts_alone() {
        let of =
            |files: &[(&str, &str)], sources: &[&str]| hash(tree(files).path(), sources).unwrap();
        let files = [("k/names.rs", "a"), ("k/other.rs", "b"), ("k/rules.txt", "c")];
        let plain = of(&files, &["k/names.rs"]);
        assert_eq!(of(&[("k/names.rs", "a"), ("k/other.rs", "x")], &["k/names.rs"]), plain);
        assert_ne!(of(&[("k/names.rs", "x")], &["k/names.rs"]), plain);
        assert_ne!(of(&files, &["k/names.rs", "k/rules.txt"]), plain, "its ending is no matter");
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        assert!(hash(tree(&[]).path(), &["k"]).is_err());
        assert!(hash(tree(&[("k/a.rs", "")]).path(), &["k/b.rs"]).is_err());
    }
}
