//! The parser accepts all PTX that compilers emit for the corpus.
use std::path::Path;

#[test]
fn every_file_of_the_corpus_parses() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let text = std::fs::read_to_string(&path).unwrap();
            let module = simt::ptx::parse(&path.display().to_string(), &text)
                .unwrap_or_else(|error| panic!("{error}"));
            assert!(
                module.functions.iter().any(|function| function.is_entry() && function.defined)
            );
            seen += 1;
        }
    }
    assert!(seen >= 8, "only {seen} files");
}
