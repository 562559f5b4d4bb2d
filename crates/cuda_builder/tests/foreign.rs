//! A foreign codegen backend, pinned by stand-ins for rustc and cargo: no backend is needed to run this.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use cuda_builder::foreign::ForeignBackend;
use cuda_builder::manifest::{Kernel, Param, SharedKind};
use cuda_builder::{KernelTraits, NvvmArch};

const RUSTC: &str = r#"case "$*" in
  -vV) printf 'rustc 1.99.0 (abc 2027-01-01)\nhost: x86_64-unknown-linux-gnu\nLLVM version: 7.0.1\n' ;;
  *--print*cfg) [ ! -e "$(dirname "$0")/refuse" ] || { echo "error: couldn't load codegen backend B" >&2; exit 1; } ;;
esac"#;

/// Notes how it was called, and leaves what the backend would: the PTX, and cargo's message of where it is.
const CARGO: &str = r#"at="$(dirname "$0")"
{ for arg in "$@"; do echo "arg $arg"; done
  printf '%s' "$CARGO_ENCODED_RUSTFLAGS" | tr '\037' '\n' | sed 's/^/flag /'; echo
  echo "env CARGO_FEATURE_NO_F16_F128=$CARGO_FEATURE_NO_F16_F128"
  echo "env RUSTC=$RUSTC RUSTC_BOOTSTRAP=$RUSTC_BOOTSTRAP"
} > "$at/called"
cp Cargo.toml "$at/package.toml"
mkdir -p "$at/nvptx64-nvidia-cuda"
cp "$at/given.ptx" "$at/nvptx64-nvidia-cuda/kernels.ptx"
echo "{\"reason\":\"compiler-artifact\",\"manifest_path\":\"$PWD/Cargo.toml\",\"filenames\":[\"$at/nvptx64-nvidia-cuda/kernels.ptx\"]}""#;

const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n
.extern .shared .align 16 .b8 data[];
.visible .entry known(\n\t.param .u64 known_param_0,\n\t.param .u64 known_param_1\n)\n{\n\tst.shared.u32 [data], 0;\n\tret;\n}
.visible .entry new(\n\t.param .u32 new_param_0\n)\n{\n\tret;\n}\n";

fn script(path: &Path, text: &str) {
    // By a child: what this process writes itself may be held open by a child that another test has just forked, and
    // is then too busy to be run.
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 755 "$0""#;
    assert!(Command::new("sh").args(["-c", write]).arg(path).arg(text).status().unwrap().success());
}

fn stand_ins(folder: &Path) -> ForeignBackend {
    for (name, text) in [("rustc", RUSTC), ("cargo", CARGO)] {
        script(&folder.join(name), &format!("set -e\n{text}"));
    }
    fs::write(folder.join("given.ptx"), PTX).unwrap();
    fs::write(folder.join("librustc_codegen_nvvm.so"), "").unwrap();
    fs::write(folder.join("lib.rs"), "").unwrap();
    fs::create_dir(folder.join("cuda_std")).unwrap();
    fs::write(folder.join("cuda_std/Cargo.toml"), "").unwrap();
    ForeignBackend {
        backend: folder.join("librustc_codegen_nvvm.so"),
        rustc: folder.join("rustc"),
        cuda_std: folder.join("cuda_std"),
        arch: NvvmArch::Compute90,
        target_dir: folder.join("target"),
    }
}

fn kernel(name: &str, params: &[(&str, &str)]) -> Kernel {
    Kernel {
        name: name.into(),
        module: "elsewhere".into(),
        params: params.iter().map(|&(name, ty)| Param { name: name.into(), ty: ty.into() }).collect(),
        block_size: None,
        element: None,
        op: None,
        shared: SharedKind::None,
        static_shared_bytes: 0,
    }
}

#[test]
fn the_command_line_is_rust_cudas() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    stand_ins(folder.path()).compile(&folder.path().join("lib.rs"), &[], |_| KernelTraits::default()).unwrap();
    assert_eq!(
        fs::read_to_string(folder.path().join("called")).unwrap(),
        format!(
            "arg rustc\narg --lib\narg --crate-type\narg cdylib\narg --release\narg -Zbuild-std=core,alloc\n\
             arg --target=nvptx64-nvidia-cuda\narg --message-format=json-render-diagnostics\narg --target-dir\n\
             arg {at}/target\n\
             flag -Zcodegen-backend={at}/librustc_codegen_nvvm.so\nflag -Zunstable-options\n\
             flag -Zcrate-attr=feature(register_tool)\nflag -Zcrate-attr=register_tool(nvvm_internal)\n\
             flag -Zcrate-attr=no_std\nflag -Zsaturating_float_casts=false\nflag -Cpanic=immediate-abort\n\
             flag -Cllvm-args=-arch=compute_90\nenv CARGO_FEATURE_NO_F16_F128=1\n\
             env RUSTC={at}/rustc RUSTC_BOOTSTRAP=1\n"
        )
    );
    let package = fs::read_to_string(folder.path().join("package.toml")).unwrap();
    assert!(package.contains(&format!("cuda_std = {{ path = '{at}/cuda_std' }}")), "{package}");
    assert!(package.contains(&format!("[lib]\npath = '{at}/lib.rs'")), "{package}");
}

#[test]
fn the_result_is_described_from_its_ptx_and_the_known_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let known = [
        kernel("known", &[("input", "*const i32"), ("n", "usize")]),
        // Of another size than in the PTX, so not the same kernel's.
        kernel("new", &[("n", "usize")]),
    ];
    let rule = |name: &str| KernelTraits { op: Some(format!("op of {name}")), ..KernelTraits::default() };
    let output = stand_ins(folder.path()).compile(&folder.path().join("lib.rs"), &known, rule).unwrap();

    assert_eq!(output.toolchain.rustc, "rustc 1.99.0 (abc 2027-01-01)");
    assert_eq!(output.toolchain.codegen, "librustc_codegen_nvvm.so");
    assert_eq!((output.modules.len(), &*output.modules[0].name, &*output.modules[0].ptx), (1, "kernels", PTX));
    let [first, second] = output.kernels.as_slice() else { panic!("{:?}", output.kernels) };
    assert_eq!((&*first.name, &*first.module, first.shared), ("known", "kernels", SharedKind::Dynamic));
    assert_eq!(first.params, known[0].params);
    assert_eq!(first.op.as_deref(), Some("op of known"));
    assert_eq!(second.params, [Param { name: "param_0".into(), ty: "u32".into() }]);
}

#[test]
fn what_cannot_be_used_is_told_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    let good = stand_ins(folder.path());
    let refusal = |backend: &ForeignBackend| {
        backend.compile(&folder.path().join("lib.rs"), &[], |_| KernelTraits::default()).unwrap_err().to_string()
    };
    let gone = folder.path().join("gone");
    assert_eq!(
        refusal(&ForeignBackend { backend: gone.clone(), ..good.clone() }),
        format!("the codegen backend `{at}/gone` is not there")
    );
    assert_eq!(
        refusal(&ForeignBackend { rustc: gone.clone(), ..good.clone() }),
        format!("the compiler `{at}/gone` is not there")
    );
    assert_eq!(
        refusal(&ForeignBackend { cuda_std: gone, ..good.clone() }),
        format!("the manifest of cuda_std `{at}/gone/Cargo.toml` is not there")
    );
    fs::write(folder.path().join("refuse"), "").unwrap();
    assert_eq!(
        refusal(&good),
        format!(
            "`{at}/librustc_codegen_nvvm.so` is no codegen backend for rustc 1.99.0 (abc 2027-01-01): \
             couldn't load codegen backend B"
        )
    );
}
