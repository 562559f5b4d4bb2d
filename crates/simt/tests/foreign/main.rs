use std::path::Path;
#[test]
fn all_load() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "ptx") {
            let text = std::fs::read_to_string(&path).unwrap();
            match simt::Module::from_ptx(&path.file_name().unwrap().to_string_lossy(), &text) {
                Ok(_) => {}
                Err(e) => println!("{e}"),
            }
        }
    }
}
