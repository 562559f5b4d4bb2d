//! Loads modules from arbitrary bytes. Nothing may panic or hang, and every refusal must name a
//! place.

#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use simt::{LoadError, Module};

fuzz_target!(|bytes: &[u8]| match Module::from_bytes("fuzz.ptx", bytes) {
    Ok(module) => {
        for kernel in module.kernels() {
            assert!(!kernel.name().is_empty());
            assert!(kernel.params().iter().all(|param| param.align.is_power_of_two()));
        }
    }
    Err(LoadError::Syntax(error)) => {
        let line = bytes.split(|byte| *byte == b'\n').nth(error.line as usize - 1).expect("the line exists");
        assert!((1..=line.len() + 1).contains(&(error.column as usize)), "{error}");
        assert!(!error.message.is_empty());
    }
    Err(error) => assert!(!error.to_string().is_empty()),
});

// Half of the mutations edit statements and words, because mutated bytes seldom get past the lexer.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let text = match std::str::from_utf8(&data[..size]) {
        Ok(text) if seed & 1 == 1 => text,
        _ => return fuzzer_mutate(data, size, max_size),
    };
    let mutated = edit(text, SmallRng::seed_from_u64(u64::from(seed)));
    let size = mutated.len().min(max_size);
    data[..size].copy_from_slice(&mutated.as_bytes()[..size]);
    size
});

/// The text with a few of its statements or words moved, doubled, dropped or replaced by others.
fn edit(text: &str, mut random: SmallRng) -> String {
    let statements = random.random::<bool>();
    let ends = if statements { &b";\n{}"[..] } else { b" \t\n,;.[](){}<>@:+" };
    let mut parts: Vec<&str> = text.split_inclusive(|c: char| c.is_ascii() && ends.contains(&(c as u8))).collect();
    for _ in 0..=random.random_range(0..4) {
        if parts.is_empty() {
            break;
        }
        let (from, to) = (random.random_range(0..parts.len()), random.random_range(0..parts.len()));
        match random.random_range(0..5) {
            0 => parts.swap(from, to),
            1 => parts[to] = parts[from],
            2 => parts.insert(to, parts[from]),
            3 => drop(parts.remove(from)),
            _ => parts[to] = ODD[random.random_range(0..ODD.len())],
        }
    }
    parts.concat()
}

/// Words at the edge of the grammar, or at the edge of the range of numbers.
const ODD: &[&str] = &[
    "0",
    "-1",
    "31",
    "32",
    "64",
    "255",
    "65536",
    "1048577",
    "2147483648",
    "4294967295",
    "-9223372036854775808",
    "18446744073709551615",
    "0x7fffffffffffffff",
    "0f7FC00000",
    "0dFFF0000000000000",
    "1e999",
    ".b8 ",
    ".b16 ",
    ".u64 ",
    ".f16x2 ",
    ".pred ",
    ".b128 ",
    ".v4",
    ".global",
    ".shared",
    ".local",
    ".param ",
    ".const",
    ".align 1073741824 ",
    "[4294967296]",
    "[0]",
    "{",
    "}",
    "_",
    "%tid",
    ".extern ",
    ".visible ",
    ".func ",
    ".entry ",
    ".reg .b32 %q<1048577>;",
    "é",
    "/*",
    "\"",
];
