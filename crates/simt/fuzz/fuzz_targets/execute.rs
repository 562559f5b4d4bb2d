//! Generates small kernels from the instruction forms of `tests/data/isa.ptx`, with branches,
//! loops, jumps and calls around them, and runs them in every mode. Nothing may panic or hang, and
//! all modes must leave the same memory.

#![no_main]

use std::fmt::Write as _;
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::{Corpus, fuzz_target};
use simt::{Arg, LaunchConfig, LaunchError, Memory, Module, check, count, launch};

/// The budget of a launch in warp instructions.
const BUDGET: u64 = 20_000;
/// The size of the kernel's buffer in bytes.
const DATA: usize = 2048;
/// How deep loops and branches nest at most.
const DEPTH: u32 = 3;
/// The number of labels that jumps may name.
const LABELS: u32 = 12;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    if run(&mut Unstructured::new(bytes)).is_ok() { Corpus::Keep } else { Corpus::Reject }
});

fn run(bytes: &mut Unstructured<'_>) -> Result<()> {
    let config = LaunchConfig {
        dynamic_shared_bytes: bytes.int_in_range(0..=64)? * 4,
        workers: Some(1),
        seed: bytes.arbitrary()?,
        budget: Some(BUDGET),
        ..LaunchConfig::new(bytes.int_in_range(1..=3)?, bytes.int_in_range(1..=80)?)
    };
    let text = Generator::kernel(bytes)?;
    let module = Module::from_ptx("fuzz.ptx", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = module.kernel("forms").expect("the kernel is there");

    let (plain, memory) = outcome(|args, memory| launch(kernel, &config, args, memory));
    let counted = outcome(|args, memory| count(kernel, &config, args, memory).map(drop));
    assert_eq!((&plain, &memory), (&counted.0, &counted.1), "counting changed what happened\n{text}");
    let checked = outcome(|args, memory| match check(kernel, &config, args, memory)?.fault {
        Some(fault) => Err(LaunchError::Fault(fault)),
        None => Ok(()),
    });
    assert_eq!((&plain, &memory), (&checked.0, &checked.1), "checking changed what happened\n{text}");
    // With more workers, the order of the blocks is not fixed, and neither are the results of
    // races.
    let parallel = LaunchConfig { workers: Some(2), ..config };
    let _ = outcome(|args, memory| launch(kernel, &parallel, args, memory));
    Ok(())
}

/// The result of a launch, and the bytes that it leaves in memory.
fn outcome(run: impl Fn(&[Arg], &Memory) -> Result<(), LaunchError>) -> (Result<(), LaunchError>, Vec<u8>) {
    let memory = Memory::new(1 << 16);
    let data = memory.alloc(DATA as u64).expect("the memory is large enough");
    let mut bytes: Vec<u8> = (0..DATA).map(|at| ((at * 37) >> 3) as u8).collect();
    memory.write(data, &bytes).expect("the buffer was allocated");
    let result = run(&[Arg::Pointer(data), Arg::U32(DATA as u32 / 4)], &memory);
    if let Err(error) = &result {
        assert!(matches!(error, LaunchError::Fault(_)), "a launch that is in order was refused: {error}");
        assert!(!error.to_string().is_empty());
    }
    memory.read(data, &mut bytes).expect("the buffer was allocated");
    (result, bytes)
}

/// The parts of the module of all forms: the text before its kernel's instructions, and the
/// instructions.
struct Forms {
    head: String,
    instructions: Vec<&'static str>,
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let module = include_str!("../../tests/data/isa.ptx");
    let (head, body) = module.split_once(".visible .entry forms").expect("the kernel of all forms is there");
    let (signature, body) = body.split_once("\n{").expect("it has a body");
    let mut head = format!("{head}.visible .entry forms{signature}\n{{\n");
    let mut instructions = Vec::new();
    let mut nested = false;
    for line in body.lines().map(str::trim) {
        nested = (nested || line == "{") && line != "}";
        if line.starts_with(".reg") || line.starts_with(".local") {
            if !nested {
                head += line;
                head += "\n";
            }
        } else if line.ends_with(';') && !nested && !is_control(line) {
            instructions.push(line);
        }
    }
    head += ".reg .b64 %base, %wide; .reg .b32 %offset, %loop<8>;\n";
    // Some forms are parsed and then refused, because they need a feature that is not simulated.
    instructions.retain(|instruction| Module::from_ptx("form.ptx", &format!("{head}{instruction}\nret;\n}}")).is_ok());
    Forms { head, instructions }
});

/// Whether the generator itself writes instructions of this kind, in a way of its own.
fn is_control(line: &str) -> bool {
    ["bra", "brx", ".branchtargets", "call", "trap", "brkpt"].iter().any(|word| line.contains(word))
        || matches!(line, "exit;" | "ret;")
}

struct Generator<'a, 'b> {
    bytes: &'a mut Unstructured<'b>,
    text: String,
    labels: u32,
}

impl Generator<'_, '_> {
    fn kernel(bytes: &mut Unstructured<'_>) -> Result<String> {
        let mut generator = Generator { bytes, text: FORMS.head.clone(), labels: 0 };
        generator.start();
        generator.statements(0)?;
        // Jumps may name labels that the statements did not define, so these labels are defined
        // here.
        for label in generator.labels..LABELS {
            let _ = writeln!(generator.text, "L{label}:");
        }
        generator.text += "ret;\n}\n";
        Ok(generator.text)
    }

    /// Writes instructions that give every register a value.
    fn start(&mut self) {
        self.text += "ld.param.u64 %base, [data]; add.s64 %base, %base, 64;\n\
                      mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %laneid;\n";
        for register in 3..8 {
            let _ = writeln!(self.text, "mad.lo.u32 %r{register}, %r0, {}, {register};", 1 << register);
        }
        for register in 0..8 {
            let _ = writeln!(
                self.text,
                "cvt.u64.u32 %rd{register}, %r{register}; cvt.u16.u32 %h{register}, %r{register};\n\
                 cvt.rn.f32.s32 %f{register}, %r{register}; cvt.f64.f32 %d{register}, %f{register};\n\
                 setp.lt.u32 %p{register}, %r0, {};",
                5 << register
            );
        }
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels - 1
    }

    fn guard(&mut self) -> Result<String> {
        let register = self.bytes.int_in_range(0..=7)?;
        Ok(format!("@{}%p{register} ", if self.bytes.ratio(1, 3)? { "!" } else { "" }))
    }

    fn statements(&mut self, depth: u32) -> Result<()> {
        for _ in 0..self.bytes.int_in_range(0..=12)? {
            self.statement(depth)?;
        }
        Ok(())
    }

    fn statement(&mut self, depth: u32) -> Result<()> {
        match self.bytes.int_in_range(0..=15)? {
            0 if depth < DEPTH => self.branch(depth),
            1 if depth < DEPTH => self.counted_loop(depth),
            2 if depth < DEPTH => self.spin(depth),
            3 => {
                // The target may be any label, even inside a loop or an arm of a branch.
                let (guard, target): (_, u32) = (self.guard()?, self.bytes.int_in_range(0..=LABELS - 1)?);
                let _ = writeln!(self.text, "{guard}bra L{target};");
                Ok(())
            }
            4 => {
                let ending = *self.bytes.choose(&["exit;", "ret;", "exit;", "ret;", "exit;", "trap;"])?;
                let guard = self.guard()?;
                let _ = writeln!(self.text, "{guard}{ending}");
                Ok(())
            }
            5 => {
                let registers: [u32; 2] = [self.bytes.int_in_range(0..=7)?, self.bytes.int_in_range(0..=7)?];
                let _ = writeln!(self.text, "call (%r{}), square, (%r{});", registers[0], registers[1]);
                Ok(())
            }
            _ => self.instruction(),
        }
    }

    fn branch(&mut self, depth: u32) -> Result<()> {
        let (other, end) = (self.label(), self.label());
        let guard = self.guard()?;
        if self.bytes.ratio(1, 6)? {
            let register: u32 = self.bytes.int_in_range(0..=7)?;
            let _ = writeln!(
                self.text,
                "T{end}: .branchtargets L{other}, L{end};\nand.b32 %offset, %r{register}, 1;\n\
                 {guard}brx.idx %offset, T{end};"
            );
        } else {
            let _ = writeln!(self.text, "{guard}bra L{other};");
        }
        self.statements(depth + 1)?;
        let _ = writeln!(self.text, "bra L{end};\nL{other}:");
        self.statements(depth + 1)?;
        let _ = writeln!(self.text, "L{end}:");
        Ok(())
    }

    fn counted_loop(&mut self, depth: u32) -> Result<()> {
        let start = self.label();
        let times: u32 = self.bytes.int_in_range(1..=40)?;
        // The lanes leave the loop one after another, or all together.
        let from = if self.bytes.arbitrary()? { "%r2" } else { "0" };
        let _ = writeln!(self.text, "mov.u32 %loop{depth}, {from};\nL{start}:");
        self.statements(depth + 1)?;
        let _ = writeln!(
            self.text,
            "add.u32 %loop{depth}, %loop{depth}, 1; setp.lt.u32 %p0, %loop{depth}, {times};\n@%p0 bra L{start};"
        );
        Ok(())
    }

    /// Writes a loop that may wait for another thread, and that may never end.
    fn spin(&mut self, depth: u32) -> Result<()> {
        let start = self.label();
        let _ = writeln!(self.text, "L{start}:");
        self.statements(depth + 1)?;
        let guard = self.guard()?;
        let _ = writeln!(self.text, "{guard}bra L{start};");
        Ok(())
    }

    /// Writes one of the forms, with other registers.
    fn instruction(&mut self) -> Result<()> {
        let form = *self.bytes.choose(&FORMS.instructions)?;
        // One instruction in 16 keeps the address or mask that its registers happen to hold.
        if !self.bytes.ratio(1, 16)? {
            self.operands_in_range(form)?;
        }
        if !form.starts_with('@') && self.bytes.ratio(1, 4)? {
            let guard = self.guard()?;
            self.text += &guard;
        }
        // Registers in brackets are addresses and keep their number. The mask also keeps its
        // number; it is the last operand.
        let mut rest = form;
        let mut in_address = false;
        while let Some(at) = rest.find(['%', '[', ']']) {
            let (before, from) = rest.split_at(at);
            self.text += before;
            let end = from[1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(from.len(), |end| end + 1);
            let name = &from[..end];
            let class = name.trim_end_matches(|c: char| c.is_ascii_digit());
            if name.len() == 1 {
                in_address = from.starts_with('[');
            }
            if ["%r", "%rd", "%h", "%f", "%d", "%p"].contains(&class)
                && class != name
                && !in_address
                && !is_mask(form, name)
            {
                let _ = write!(self.text, "{class}{}", self.bytes.int_in_range(0..=7)?);
            } else {
                self.text += name;
            }
            rest = &from[end..];
        }
        self.text += rest;
        self.text += "\n";
        Ok(())
    }

    /// Writes instructions that bring the addresses and the mask of `form` into range.
    fn operands_in_range(&mut self, form: &str) -> Result<()> {
        let from: u32 = self.bytes.int_in_range(0..=7)?;
        let _ = writeln!(self.text, "and.b32 %offset, %r{from}, 0xf0;");
        if form.contains("[%rd1") {
            self.text += "cvt.u64.u32 %wide, %offset; add.s64 %rd1, %base, %wide;\n";
        }
        if form.contains("[%rd2") {
            self.text += match self.bytes.int_in_range(0..=3)? {
                0 => "mov.u32 %offset, tile; cvt.u64.u32 %rd2, %offset; cvta.shared.u64 %rd2, %rd2;\n",
                1 => "mov.u64 %rd2, depot; cvta.local.u64 %rd2, %rd2;\n",
                _ => "cvt.u64.u32 %wide, %offset; add.s64 %rd2, %base, %wide;\n",
            };
        }
        for register in ["%r1", "%r2"] {
            if form.contains(&format!("[{register}")) {
                let _ = writeln!(self.text, "mov.u32 {register}, %offset;");
            }
        }
        for register in ["%r1", "%r3"] {
            if is_mask(form, register) {
                let _ = writeln!(self.text, "activemask.b32 {register};");
            }
        }
        Ok(())
    }
}

/// Whether `register` is the member mask of a warp-level instruction, which is its last operand.
fn is_mask(form: &str, register: &str) -> bool {
    form.contains(".sync.") && form.ends_with(&format!(", {register};"))
}
