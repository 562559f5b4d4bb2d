//! Tests of the command `simt`, which run its binary.

use std::env;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

/// A kernel in which one thread for each of `n` values doubles the value.
const DOUBLE: &str = "\
.version 7.0
.target sm_75
.address_size 64
.visible .entry double(.param .u64 data, .param .u32 n) {
    .reg .pred %p<2>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r6, [%rd3];
    shl.b32 %r6, %r6, 1;
    st.global.u32 [%rd3], %r6;
DONE:
    ret;
}
";

/// Two kernels: one counts and never ends; the other stores its argument into dynamic shared
/// memory, one word for each thread at a stride.
const PAIR: &str = "\
.version 7.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry forever() { .reg .b32 %r<2>;
AGAIN: add.u32 %r1, %r1, 1;
    bra AGAIN;
}
.visible .entry spread(.param .f32 value, .param .u32 stride) {
    .reg .f32 %f<2>;
    .reg .b32 %r<5>;
    ld.param.f32 %f1, [value];
    ld.param.u32 %r1, [stride];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, tile;
    mad.lo.u32 %r4, %r2, %r1, %r3;
    st.shared.f32 [%r4], %f1;
    ret;
}
";

/// A kernel in which each thread passes its number to its counterpart in the other warp, through
/// shared memory and without a barrier.
const RACE: &str = "\
.version 7.0
.target sm_75
.address_size 64
.visible .entry swap(.param .u64 data) {
    .reg .b32 %r<6>;
    .reg .b64 %rd<3>;
    .shared .align 4 .b8 tile[256];
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, tile;
    add.s32 %r3, %r3, %r2;
    st.shared.u32 [%r3], %r1;
    xor.b32 %r4, %r3, 128;
    ld.shared.u32 %r5, [%r4];
    cvt.u64.u32 %rd2, %r2;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r5;
    ret;
}
";

struct Run {
    command: String,
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Run { command, status, stdout, stderr } = self;
        write!(f, "$ {command}\nstatus: {status:?}\n--- stdout\n{stdout}--- stderr\n{stderr}---")
    }
}

/// A fresh folder with `double.ptx`, `pair.ptx`, `race.ptx` and `swap.ptx`. `swap.ptx` is
/// `race.ptx` with the missing barrier.
struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Sandbox {
        let sandbox = Sandbox(tempfile::tempdir().unwrap());
        sandbox.write("double.ptx", DOUBLE.as_bytes());
        sandbox.write("pair.ptx", PAIR.as_bytes());
        sandbox.write("race.ptx", RACE.as_bytes());
        sandbox.write(
            "swap.ptx",
            RACE.replace("    xor.b32", "    bar.sync 0;\n    xor.b32").as_bytes(),
        );
        sandbox
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        // On a machine without cargo, the binary lies elsewhere, and `SIMT_BIN` names it.
        let binary = env::var_os("SIMT_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_simt").into());
        let mut command = Command::new(binary);
        command.current_dir(self.0.path()).stdin(Stdio::null()).args(line.split_whitespace());
        command
    }

    /// Runs `simt` with a line of arguments. No argument contains a space.
    fn run(&self, line: &str) -> Run {
        let output = self.command(line).output().unwrap();
        Run {
            command: format!("simt {line}"),
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The output of a run that must succeed and write nothing to stderr.
    fn stdout(&self, line: &str) -> String {
        let run = self.run(line);
        assert!(run.status == Some(0) && run.stderr.is_empty(), "{run}");
        run.stdout
    }

    fn json(&self, line: &str, status: i32) -> Json {
        let run = self.run(line);
        assert!(run.status == Some(status) && run.stderr.is_empty(), "{run}");
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"))
    }

    /// The error of a run that must be refused with exit status 2.
    fn refused(&self, line: &str) -> String {
        let run = self.run(line);
        assert!(run.status == Some(2) && run.stdout.is_empty(), "{run}");
        let error = run.stderr.strip_prefix("error: ").unwrap_or_else(|| panic!("{run}"));
        error.trim_end().to_owned()
    }
}

#[test]
fn a_kernel_runs_and_its_buffer_is_dumped() {
    let sandbox = Sandbox::new();
    let stdout = sandbox.stdout(
        "run double.ptx --grid 2 --block 32 --arg buffer:u32:40=iota --arg u32:40 --dump 0=out.bin",
    );
    assert_eq!(stdout, "double ran to its end: grid (2,1,1), block (32,1,1)\n");
    let doubled: Vec<u8> = (0..40u32).flat_map(|value| (2 * value).to_le_bytes()).collect();
    assert_eq!(fs::read(sandbox.path("out.bin")).unwrap(), doubled);

    // A dumped file can be the initial contents of a buffer.
    sandbox.stdout("run double.ptx --grid 2 --block 32 --arg buffer:u32:40=@out.bin --arg u32:40 --dump 0=again.bin");
    let again: Vec<u8> = (0..40u32).flat_map(|value| (4 * value).to_le_bytes()).collect();
    assert_eq!(fs::read(sandbox.path("again.bin")).unwrap(), again);
}

#[test]
fn counters_are_nested_by_their_names() {
    let sandbox = Sandbox::new();
    let json = sandbox.json(
        "run double.ptx --entry double --grid 2 --block 32 --arg buffer:u32:40=random:3 --arg u32:40 --count --json",
        0,
    );
    assert_eq!(json["level"], "PTX");
    assert_eq!(
        (&json["kernel"], &json["grid"], &json["block"]),
        (&json!("double"), &json!([2, 1, 1]), &json!([32, 1, 1]))
    );
    // 40 neighbouring words are five sectors, and the lanes of the second warp diverge.
    assert_eq!(json["global"]["load"], json!({ "requests": 2, "sectors": 5, "bytes": 160 }));
    assert_eq!(json["global"]["store"]["sectors"], 5);
    assert_eq!(json["global"]["atomic"], json!({ "requests": 0, "sectors": 0, "bytes": 0 }));
    assert_eq!(json["shared"]["load"]["wavefronts"], 0);
    assert_eq!(
        (&json["branches"], &json["divergent_branches"], &json["barriers"]),
        (&json!(2), &json!(1), &json!(0))
    );
    assert!(json["warp_instructions"].as_u64() < json["thread_instructions"].as_u64());
    assert_eq!(json["faults"], json!([]));
    let instructions = json["instructions"].as_array().unwrap();
    let load = instructions.iter().find(|row| row["text"] == "ld.global.u32 %r6, [%rd3];").unwrap();
    assert_eq!(
        (&load["line"], &load["counters"]["global"]["load"]["sectors"]),
        (&json!(18), &json!(5))
    );
}

#[test]
fn counters_are_shown_as_tables() {
    let sandbox = Sandbox::new();
    let line = "run pair.ptx --entry spread --grid 1 --block 32 --shared 4096 --arg f32:1.5 --arg u32:128 --count";
    insta::assert_snapshot!(sandbox.stdout(line), @r"
    spread ran to its end: grid (1,1,1), block (32,1,1), 4096 bytes of dynamic shared memory

    Instructions (PTX level: ptxas may unroll, merge or remove what they count)
    counter                value
    warp instructions          7
    thread instructions      224
    active lanes         100.0 %
    branches                   0
    divergent branches         0
    barriers                   0
    warp syncs                 0
    shuffles                   0
    votes                      0
    fences                     0

    Memory (as an NVIDIA GPU counts it)
    access        requests  sectors  per request  wavefronts  bank conflicts  bytes
    shared store         1        -        32.00          32              31    128

    Costliest accesses, by PTX line
    line  requests  sectors  wavefronts  bank conflicts  instruction
      17         1        0          32              31  st.shared.f32 [%r4], %f1;
    ");
}

#[test]
fn a_check_reports_both_parties() {
    let sandbox = Sandbox::new();
    let shape = "--grid 1 --block 64 --arg buffer:u32:64 --check";
    let run = sandbox.run(&format!("run race.ptx {shape}"));
    assert_eq!(run.status, Some(1), "{run}");
    assert_eq!(
        run.stdout,
        "swap ran to its end: grid (1,1,1), block (64,1,1)\nChecked: 2 errors\n"
    );
    for text in [
        "error[race]: ",
        "  --> race.ptx:13\n",
        "\nother: ",
        "  --> race.ptx:15\n",
        "error[uninitialized-read]: ",
    ] {
        assert!(run.stderr.contains(text), "{text}: {run}");
    }

    let json = sandbox.json(&format!("run race.ptx {shape} --json"), 1);
    let reports = json["reports"].as_array().unwrap();
    let race = reports.iter().find(|report| report["kind"] == "race").unwrap();
    assert_eq!((&race["here"]["line"], &race["other"]["line"]), (&json!(13), &json!(15)));
    assert_eq!(
        race["here"]["access"],
        json!({ "access": "write", "space": "shared", "address": 128, "bytes": 4 })
    );
    assert_eq!((&race["other"]["thread"], &json["faults"]), (&json!([0, 0, 0]), &json!([])));

    let clean = sandbox.stdout(&format!("run swap.ptx {shape}"));
    assert!(clean.ends_with("Checked: nothing to report\n"), "{clean}");
    let json = sandbox.json(&format!("run swap.ptx {shape} --json"), 0);
    assert_eq!((&json["checked"], &json["reports"]), (&json!(true), &json!([])));
    // Without the check, the race is not reported.
    let json = sandbox.json("run race.ptx --grid 1 --block 64 --arg buffer:u32:64 --json", 0);
    assert_eq!((&json["checked"], &json["reports"]), (&json!(false), &json!([])));
}

#[test]
fn only_what_was_filled_may_be_read() {
    let sandbox = Sandbox::new();
    let run = |fill: &str, status| {
        let line = format!(
            "run double.ptx --grid 1 --block 32 --arg buffer:u32:32{fill} --arg u32:32 --check --json"
        );
        sandbox.json(&line, status)["reports"].clone()
    };
    assert_eq!(run("", 1)[0]["kind"], "uninitialized-read");
    assert_eq!(run("=zero", 0), json!([]));
}

#[test]
fn reports_fail_the_command_from_a_severity_on() {
    let sandbox = Sandbox::new();
    // Two blocks write the same words: equal values give a warning, and different ones an error.
    let write = |value: &str| {
        format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry write(.param .u64 data) {{
            .reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [data];\nmov.u32 %r1, {value};
            st.global.u32 [%rd1], %r1;\nret;\n}}"
        )
    };
    sandbox.write("same.ptx", write("7").as_bytes());
    sandbox.write("other.ptx", write("%ctaid.x").as_bytes());
    let shape = "--grid 2 --block 1 --arg buffer:u32:1 --check --json";
    for (file, severity, fail_on, status) in [
        ("same", "warning", "", 0),
        ("same", "warning", "--fail-on error", 0),
        ("same", "warning", "--fail-on warning", 1),
        ("same", "warning", "--fail-on note", 1),
        ("same", "warning", "--fail-on never", 0),
        ("other", "error", "", 1),
        ("other", "error", "--fail-on warning", 1),
        ("other", "error", "--fail-on never", 0),
    ] {
        let json = sandbox.json(&format!("run {file}.ptx {shape} {fail_on}"), status);
        assert_eq!(json["reports"][0]["severity"], severity, "{file} {fail_on}");
        assert_eq!(json["reports"].as_array().unwrap().len(), 1, "{file} {fail_on}");
    }
    let run = sandbox.run("run same.ptx --grid 2 --block 1 --arg buffer:u32:1 --check");
    assert!(run.stdout.ends_with("Checked: 1 warning\n"), "{run}");
    assert!(run.stderr.starts_with("warning[race]: "), "{run}");
    // A fault fails the command, whatever `--fail-on` says.
    let fault = "run same.ptx --grid 1 --block 1 --arg ptr:0 --check --fail-on never --json";
    assert_eq!(sandbox.json(fault, 1)["faults"].as_array().unwrap().len(), 1);
    let wrong = sandbox.refused(&format!("run same.ptx {shape} --fail-on bad"));
    assert!(wrong.contains("error, warning, note, never"), "{wrong}");
}

#[test]
fn shuffles_that_go_astray_are_told_without_a_check_too() {
    let sandbox = Sandbox::new();
    // The upper half of the warp exits, and the lower half reads from it, with a mask of all lanes
    // or of the lower half.
    let ptx = |mask: &str, source: u32| {
        format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry half() {{
            .reg .pred %p<2>;\n.reg .b32 %r<3>;\nmov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 16;
            @%p1 exit;\nshfl.sync.idx.b32 %r2, %r1, {source}, 31, {mask};\nret;\n}}"
        )
    };
    for (mask, source, expected) in [
        ("0xffff", 15, &[] as &[&str]),
        ("0xffff", 16, &["stray-shuffle"]),
        ("0xffffffff", 15, &["absent-lanes"]),
        ("0xffffffff", 16, &["absent-lanes", "stray-shuffle"]),
    ] {
        sandbox.write("half.ptx", ptx(mask, source).as_bytes());
        for (mode, workers) in [
            ("", 1),
            ("", 2),
            ("--count", 1),
            ("--trace", 1),
            ("--check", 1),
            ("--check --count", 1),
        ] {
            let line =
                format!("run half.ptx --grid 3 --block 32 --workers {workers} {mode} --json");
            let json = sandbox.json(&line, 0);
            let mut kinds: Vec<_> = json["reports"]
                .as_array()
                .unwrap()
                .iter()
                .map(|report| {
                    (report["kind"].as_str().unwrap(), report["severity"].as_str().unwrap())
                })
                .collect();
            kinds.sort_unstable();
            let expected: Vec<_> = expected.iter().map(|kind| (*kind, "warning")).collect();
            assert_eq!(kinds, expected, "{mask} {source} {mode}");
        }
    }
    let run = sandbox.run("run half.ptx --grid 3 --block 32 --workers 2");
    assert_eq!(run.status, Some(0), "{run}");
    assert!(
        run.stderr.contains("warning[stray-shuffle]: thread (0,0,0) of block (0,0,0) reads"),
        "{run}"
    );
    assert!(run.stderr.contains("note: found 47 times more"), "{run}");
    assert_eq!(sandbox.run("run half.ptx --grid 3 --block 32 --fail-on warning").status, Some(1));
}

#[test]
fn a_trace_shows_each_phase() {
    let sandbox = Sandbox::new();
    let line = "run swap.ptx --grid 1 --block 64 --arg buffer:u32:64 --trace";
    insta::assert_snapshot!(sandbox.stdout(line), @r"
    swap ran to its end: grid (1,1,1), block (64,1,1)

    Block (0,0,0)
      phase 1, up to barrier 0
        line 13, warp 0: shared write of 4 bytes, threads 0 to 31 at 0x0 and on by 4; wavefronts 1, bank conflicts 0
        line 13, warp 1: shared write of 4 bytes, threads 32 to 63 at 0x80 and on by 4; wavefronts 1, bank conflicts 0
      phase 2, up to the end
        line 16, warp 0: shared read of 4 bytes, threads 0 to 31 at 0x80 and on by 4; wavefronts 1, bank conflicts 0
        line 19, warp 0: global write of 4 bytes, threads 0 to 31 at 0x100000000 and on by 4; sectors 4
        line 16, warp 1: shared read of 4 bytes, threads 32 to 63 at 0x0 and on by 4; wavefronts 1, bank conflicts 0
        line 19, warp 1: global write of 4 bytes, threads 32 to 63 at 0x100000080 and on by 4; sectors 4
    ");
    let json = sandbox.json(&format!("{line} --json"), 0);
    let phases = json["trace"]["blocks"][0]["phases"].as_array().unwrap();
    assert_eq!(phases[0]["end"], json!({ "kind": "barrier", "id": 0 }));
    let shared: Vec<String> = (0..64u8).map(|thread| format!("{thread:02x}000000")).collect();
    assert_eq!(phases[0]["shared"], shared.concat());
    // Thread 1 reads the value that thread 33 wrote.
    assert_eq!(
        phases[1]["accesses"][0]["lanes"][1],
        json!({ "thread": 1, "address": 132, "value": "21000000" })
    );
}

#[test]
fn modes_go_together() {
    let sandbox = Sandbox::new();
    let line = "run swap.ptx --grid 1 --block 64 --arg buffer:u32:64 --json";
    let together = sandbox.json(&format!("{line} --check --count --trace --dump 0=out.bin"), 0);
    let counted = sandbox.json(&format!("{line} --count"), 0);
    assert_eq!(together["shared"], counted["shared"]);
    assert_eq!(together["barriers"], 2);
    assert!(together["trace"].is_object() && together["checked"] == true);
    let swapped: Vec<u8> = (0..64u32).flat_map(|thread| (thread ^ 32).to_le_bytes()).collect();
    assert_eq!(fs::read(sandbox.path("out.bin")).unwrap(), swapped);
}

#[test]
fn a_fault_is_exit_status_1() {
    let sandbox = Sandbox::new();
    let line =
        "run double.ptx --grid 1 --block 32 --arg buffer:u32:16=iota --arg u32:32 --dump 0=out.bin";
    let run = sandbox.run(line);
    assert_eq!(run.status, Some(1), "{run}");
    assert_eq!(run.stdout, "double faulted: grid (1,1,1), block (32,1,1)\n");
    assert!(
        run.stderr.starts_with("error[out-of-bounds]: thread (16,0,0) of block (0,0,0): "),
        "{run}"
    );
    assert!(run.stderr.contains("  --> double.ptx:18\n"), "{run}");
    // The buffer is written to the file although the run failed.
    assert_eq!(fs::read(sandbox.path("out.bin")).unwrap().len(), 64);

    let json = sandbox.json(&format!("{line} --json"), 1);
    let [fault] = &**json["faults"].as_array().unwrap() else { panic!("{json}") };
    assert_eq!((&fault["line"], &fault["thread"]), (&json!(18), &json!([16, 0, 0])));
    assert!(
        fault["what"].as_str().unwrap().starts_with("out-of-bounds global read of 4 bytes"),
        "{fault}"
    );
}

#[test]
fn blocks_are_launched_together() {
    let sandbox = Sandbox::new();
    sandbox.write("cluster.ptx", include_bytes!("data/foreign/cluster.O3.sm_90.ptx"));
    sandbox.write("bulk.ptx", include_bytes!("data/foreign/bulk.O3.sm_90.ptx"));
    let ring =
        "run cluster.ptx --entry cluster_ring --grid 6 --block 128 --arg buffer:i32:768=zero";
    let json = sandbox.json(&format!("{ring} --cluster 3 --check --count --json"), 0);
    assert_eq!(
        (&json["cluster"]["store"]["requests"], &json["launch"]["cluster"]),
        (&json!(24), &json!(3))
    );
    assert_eq!(
        sandbox.refused(&format!("{ring} --cluster 4")),
        "grid (6,1,1) is not allowed: its x must be a multiple of the 4 blocks of a cluster"
    );
    let text = sandbox.stdout(
        "run bulk.ptx --entry pipeline_sum --grid 2 --block 256 --arg buffer:i32:1024=iota --arg buffer:i32:1=zero \
         --arg i32:4 --count --cooperative",
    );
    assert!(
        text.lines().any(|line| line.split_whitespace().take(3).eq(["bulk", "copy", "4"])),
        "{text}"
    );
    assert_eq!(
        sandbox.refused("run double.ptx --grid 9000 --block 32 --cooperative --arg buffer:u32:32=zero --arg u32:32"),
        "a cooperative launch of 9000 blocks is too large: at most 4224 can be resident at once"
    );
}

#[test]
fn a_budget_ends_what_does_not_end() {
    let sandbox = Sandbox::new();
    let json =
        sandbox.json("run pair.ptx --entry forever --grid 1 --block 64 --budget 1000 --json", 1);
    let what = json["faults"][0]["what"].as_str().unwrap();
    assert!(
        what.starts_with("the budget of 1000 warp instructions is spent")
            && what.contains("warp 1"),
        "{what}"
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_says_where_the_warps_stand() {
    use std::io::Read;
    use std::time::Duration;

    let sandbox = Sandbox::new();
    let mut command = sandbox.command("run pair.ptx --entry forever --grid 1 --block 32");
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    // A signal that comes before the command listens ends it without output. In this case the
    // command gets more time.
    let (status, stderr) = [1, 4, 16, 64]
        .iter()
        .map(|quarters| {
            let mut child = command.spawn().unwrap();
            std::thread::sleep(*quarters * Duration::from_millis(250));
            let kill = format!("kill -s INT {}", child.id());
            assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            (child.wait().unwrap().code(), stderr)
        })
        .find(|(status, _)| status.is_some())
        .expect("it never listened");
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("interrupted; ") && stderr.contains("warp 0"), "{stderr}");
}

#[test]
fn kernels_are_listed_with_their_parameters() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.stdout("list pair.ptx"), @r"
    kernel   parameters  static shared  dynamic shared  threads at most
    forever                          0  no                          any
    spread   f32, u32                0  yes                         any
    ");
    let json = sandbox.json("list double.ptx --json", 0);
    assert_eq!(
        json["kernels"][0]["params"][1],
        json!({ "name": "n", "type": "u32", "bytes": 4, "align": 4 })
    );
}

#[test]
fn files_are_parsed_and_refused() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.stdout("parse double.ptx"), "double.ptx: 1 kernel, no errors\n");

    sandbox.write("typo.ptx", DOUBLE.replace("%r6, 1;", "%r6 1;").as_bytes());
    assert!(sandbox.refused("parse typo.ptx").contains("--> typo.ptx:19:22\n"));
    assert!(sandbox.refused("run typo.ptx --grid 1 --block 1").contains("--> typo.ptx:19:22\n"));

    let mut bytes = DOUBLE.as_bytes().to_vec();
    let at = DOUBLE.find("sm_75").unwrap();
    bytes[at] = 0xff;
    sandbox.write("latin.ptx", &bytes);
    assert_eq!(
        sandbox.refused("list latin.ptx"),
        "latin.ptx:2:9: PTX is UTF-8 text, and this is not"
    );

    sandbox.write("empty.ptx", b"");
    assert!(sandbox.refused("parse empty.ptx").contains("empty.ptx:1:1"));
    assert!(sandbox.refused("parse absent.ptx").starts_with("cannot read absent.ptx: "));
}

#[test]
fn kernels_with_unknown_instructions_are_named() {
    let sandbox = Sandbox::new();
    let helper = "\
.func helper() {
    frobnicate.sync.aligned;
    ret;
}
";
    let double = DOUBLE.strip_prefix(".version 7.0\n.target sm_75\n.address_size 64\n").unwrap();
    let worse = double
        .replace(" double(", " worse(")
        .replace("shl.b32", "shll.b32")
        .replace("DONE:\n", "    call helper;\n    call helper;\nDONE:\n");
    let text = format!(".version 7.0\n.target sm_75\n.address_size 64\n{helper}{double}{worse}");
    sandbox.write("mixed.ptx", text.as_bytes());

    let parsed = sandbox.run("parse mixed.ptx");
    assert_eq!((parsed.status, &*parsed.stderr), (Some(2), ""), "{parsed}");
    insta::assert_snapshot!(parsed.stdout, @r"
    mixed.ptx: 2 kernels, of which 1 cannot be run
    kernel `worse`
      line 43: unknown instruction `shll.b32`: `shll.b32 %r6, %r6, 1;`
      line 5, in function `helper`: unknown instruction `frobnicate.sync.aligned`: `frobnicate.sync.aligned;`
    ");
    let json = sandbox.json("parse mixed.ptx --json", 2);
    assert_eq!((&json["kernels"], &json["refused"][0]["kernel"]), (&json!(2), &json!("worse")));
    assert_eq!(
        json["refused"][0]["instructions"][1],
        json!({
            "function": "helper", "line": 5, "column": 5, "instruction": "frobnicate.sync.aligned;",
            "reason": "unknown instruction `frobnicate.sync.aligned`", "frames": [],
        })
    );

    insta::assert_snapshot!(sandbox.stdout("list mixed.ptx"), @r"
    kernel  parameters  static shared  dynamic shared  threads at most  cannot be run
    double  u64, u32                0  no                          any
    worse   u64, u32                0  no                          any  line 43 and 1 more
    ");
    let json = sandbox.json("list mixed.ptx --json", 0);
    assert_eq!(json["kernels"][0]["refused"], json!([]));
    assert_eq!(json["kernels"][1]["refused"][0]["line"], 43);

    let run = "--grid 1 --block 32 --arg buffer:u32:32=iota --arg u32:32";
    sandbox.stdout(&format!("run mixed.ptx --entry double {run}"));
    assert_eq!(
        sandbox.refused(&format!("run mixed.ptx --entry worse {run}")),
        "kernel `worse` cannot be run: mixed.ptx:43:5: unknown instruction `shll.b32`: \
         `shll.b32 %r6, %r6, 1;`, and 1 more instruction"
    );
}

#[test]
fn what_a_kernel_prints_comes_first() {
    let sandbox = Sandbox::new();
    sandbox.write("print.ptx", include_bytes!("data/foreign/print.O3.sm_75.ptx"));
    sandbox.write("x.bin", &[1, 0, 0, 0, 20, 0, 0, 0]);
    let run = "run print.ptx --entry check --grid 1 --block 2 --arg buffer:i32:2=@x.bin";
    assert_eq!(
        sandbox
            .stdout(&format!("{run} --arg i32:30 --check --count"))
            .lines()
            .take(3)
            .collect::<Vec<_>>(),
        ["checking 1", "checking 20", "check ran to its end: grid (1,1,1), block (2,1,1)"]
    );
    let json = sandbox.json(&format!("{run} --arg i32:30 --check --count --json"), 0);
    assert_eq!(json["printed"], "checking 1\nchecking 20\n");

    let failed = sandbox.run(&format!("{run} --arg i32:10"));
    assert_eq!(failed.status, Some(1), "{failed}");
    assert!(failed.stdout.starts_with("checking 1\nchecking 20\ncheck faulted"), "{failed}");
    assert!(
        failed.stderr.starts_with(
            "error[assertion]: thread (1,0,0) of block (0,0,0): \
             assertion `x[threadIdx.x] < limit && \"too large\"` failed at print.cu:33 in `void check(const int *, int)`\n"
        ),
        "{failed}"
    );
}

#[test]
fn what_cannot_be_launched_is_refused_in_one_sentence() {
    let sandbox = Sandbox::new();
    let shape = "--grid 1 --block 32";
    let data = "--arg buffer:u32:32=zero";
    for (line, error) in [
        (
            format!("run pair.ptx {shape}"),
            "pair.ptx has kernels forever, spread: name one with --entry",
        ),
        (
            format!("run double.ptx --entry twice {shape}"),
            "double.ptx has no kernel `twice`: it has kernel `double` only",
        ),
        (format!("run double.ptx {shape} {data}"), "kernel `double` takes 2 arguments and got 1"),
        (
            format!("run double.ptx {shape} {data} --arg u64:32"),
            "argument 1 of kernel `double` has 8 bytes and its parameter `n` has 4",
        ),
        (
            format!("run double.ptx {shape} --arg buffer:u32:32=@nothing --arg u32:32"),
            "argument 0: cannot read nothing: No such file or directory (os error 2)",
        ),
        (
            format!("run double.ptx {shape} {data} --arg u32:32 --dump 1=x"),
            "--dump 1: argument 1 of the 2 given is no buffer",
        ),
    ] {
        assert_eq!(sandbox.refused(&line), error);
    }
    for (line, start) in [
        (
            format!("run double.ptx --grid 1,2,3,4 --block 1 {data}"),
            "invalid value '1,2,3,4' for '--grid <X[,Y[,Z]]>': ",
        ),
        (
            format!("run double.ptx --grid 0 --block 1 {data} --arg u32:1"),
            "grid (0,1,1) is not allowed: ",
        ),
        (
            format!("run double.ptx {shape} --arg u33:1"),
            "invalid value 'u33:1' for '--arg <ARGUMENT>': `u33:1` is not an argument: ",
        ),
        (format!("run double.ptx {shape} --dump x"), "invalid value 'x' for '--dump <K=FILE>': "),
        (format!("run double.ptx {shape} --workers 0"), "invalid value '0' for '--workers <N>': "),
        (
            "run double.ptx --block 1".to_owned(),
            "the following required arguments were not provided:",
        ),
    ] {
        let error = sandbox.refused(&line);
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn help_has_examples_that_parse() {
    let sandbox = Sandbox::new();
    let help = sandbox.stdout("run --help").replace("\\\n", " ");
    let examples: Vec<&str> =
        help.lines().filter_map(|line| line.trim().strip_prefix("simt ")).collect();
    assert_eq!(examples.len(), 3, "{help}");
    for example in examples {
        // The files of the examples do not exist, and this must be the only error.
        assert!(sandbox.refused(example).starts_with("cannot read "), "{example}");
    }
}
