//! Suppressions, and SARIF: what the command reads and writes.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value as Json;
use simt::ReportKind;
use simt::suppress::Suppressions;

/// Two blocks write different values to one word and the same value to another. The lines 10 and 11
/// of the source have one write each.
const WRITES: &str = r#".version 7.0
.target sm_75
.address_size 64
.visible .entry writes(.param .u64 data) {
.reg .b32 %r<2>;
.reg .b64 %rd<2>;
.loc 1 9 1
ld.param.u64 %rd1, [data];
mov.u32 %r1, %ctaid.x;
.loc 1 10 5
st.global.u32 [%rd1], %r1;
.loc 1 11 5
st.global.u32 [%rd1+4], 7;
ret;
}
.file 1 "/home/me/a b/writes.cu"
"#;

struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Sandbox {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("writes.ptx"), WRITES).unwrap();
        Sandbox(folder)
    }

    /// Runs `writes` with two blocks and these suppressions.
    fn run(&self, suppressions: &str, more: &str) -> Output {
        fs::write(self.0.path().join("known.toml"), suppressions).unwrap();
        let line = format!(
            "run writes.ptx --grid 2 --block 1 --arg buffer:u32:2 --check --suppress known.toml {more}"
        );
        let binary =
            std::env::var_os("SIMT_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_simt").into());
        Command::new(binary)
            .current_dir(self.0.path())
            .args(line.split_whitespace())
            .output()
            .unwrap()
    }

    fn json(&self, suppressions: &str, more: &str, status: i32) -> Json {
        let output = self.run(suppressions, &format!("--json {more}"));
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn sarif(&self, suppressions: &str, more: &str) -> Json {
        let output = self.run(suppressions, &format!("--sarif out.sarif {more}"));
        assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
        serde_json::from_str(&fs::read_to_string(self.0.path().join("out.sarif")).unwrap()).unwrap()
    }
}

fn suppression(rest: &str) -> String {
    format!("[[suppress]]\nclass = \"race\"\nreason = \"known\"\n{rest}\n")
}

fn severities(json: &Json, key: &str) -> Vec<String> {
    let all = json[key].as_array().unwrap().iter();
    all.map(|report| report["severity"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_suppression_accepts_by_class_kernel_and_place() {
    let sandbox = Sandbox::new();
    for (rest, left) in [
        ("", &[] as &[&str]),
        ("kernel = 'writes'", &[]),
        ("kernel = 'wr*s'", &[]),
        ("kernel = 'write'", &["error", "warning"]),
        ("place = 'writes.cu'", &[]),
        ("place = '/home/me/a b/writes.cu:10-11'", &[]),
        ("place = 'writes.cu:10'", &["warning"]),
        ("place = '*.cu:11'", &["error"]),
        ("place = 'writes.cu:12'", &["error", "warning"]),
        ("place = 'other.cu'", &["error", "warning"]),
        ("place = 'writes.ptx:11'", &["warning"]),
        ("kernel = 'other'\nplace = 'writes.cu:10'", &["error", "warning"]),
    ] {
        let fails = i32::from(left.contains(&"error"));
        let json = sandbox.json(&suppression(rest), "", fails);
        assert_eq!(severities(&json, "reports"), left, "{rest}");
        assert_eq!(severities(&json, "suppressed").len(), 2 - left.len(), "{rest}");
        let unused = json["unused_suppressions"].as_array().unwrap().len();
        assert_eq!(unused, usize::from(left.len() == 2), "{rest}");
    }
    let other_class = suppression("").replace("race", "in-flight");
    assert_eq!(severities(&sandbox.json(&other_class, "", 1), "reports"), ["error", "warning"]);
    assert_eq!(sandbox.json(&suppression(""), "", 0)["suppressed"][0]["reason"], "known");
}

#[test]
fn a_suppression_that_is_not_used_is_a_note() {
    let sandbox = Sandbox::new();
    let text = suppression("") + "# another\n" + &suppression("kernel = 'gone'");
    let output = sandbox.run(&text, "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.ends_with("Checked: 1 note and 2 suppressed\n"), "{stdout}");
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "note[unused-suppression]: this suppression of `race` accepts no finding of the launch\n  --> known.toml:6\n\n"
    );
    assert_eq!(sandbox.run(&text, "--fail-on note").status.code(), Some(1));
    assert_eq!(sandbox.run(&text, "--fail-on warning").status.code(), Some(0));
    assert_eq!(sandbox.json(&text, "", 0)["unused_suppressions"][0]["line"], 6);
}

#[test]
fn a_file_of_suppressions_that_is_wrong_is_refused_with_its_line() {
    let sandbox = Sandbox::new();
    for (text, message) in [
        ("[[suppress]]\nclass = 'race'\n", "line 1: missing field `reason`"),
        ("[[suppress]]\nclass = 'race'\nreason = ' '\n", "line 3: the reason is empty"),
        (
            "[[suppress]]\nclass = 'racy'\nreason = 'a'\n",
            "line 2: `racy` is no class of reports: it must be one of race, ",
        ),
        (
            "\n[[suppress]]\nreason = 'a'\nclass = 'race'\nline = 3\n",
            "line 5: unknown field `line`",
        ),
        (
            "[[suppress]]\nclass = 'race'\nreason = 'a'\nplace = 'a.cu:9-3'\n",
            "line 4: `a.cu:9-3` is no place",
        ),
        (
            "[[suppress]]\nclass = 'race'\nreason = 'a'\nplace = 'a.cu:0'\n",
            "line 4: `a.cu:0` is no place",
        ),
        ("[[suppress]]\nclass = 'race'\nreason = 'a'\nplace = ':7'\n", "line 4: `:7` is no place"),
        ("[[supress]]\n", "line 1: unknown field `supress`"),
        ("[[suppress]\n", "line 1: "),
    ] {
        let output = sandbox.run(text, "");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}: {stderr}");
        assert!(stderr.starts_with(&format!("error: known.toml: {message}")), "{text}: {stderr}");
    }
    assert!("".parse::<Suppressions>().unwrap().all().is_empty());
    // Every class that a report may have can be named.
    for class in ReportKind::ALL {
        let text = format!("[[suppress]]\nclass = '{class}'\nreason = 'a'\n");
        assert_eq!(text.parse::<Suppressions>().unwrap().all()[0].class, class);
    }
}

/// The properties that the schema of SARIF 2.1.0 requires, for each object that is written, and the
/// values that it allows. `path` leads from the file to the objects; `*` stands for all elements.
const REQUIRED: [(&str, &[&str]); 12] = [
    ("", &["version", "runs"]),
    ("runs/*", &["tool"]),
    ("runs/*/tool", &["driver"]),
    ("runs/*/tool/driver", &["name"]),
    ("runs/*/tool/driver/rules/*", &["id"]),
    ("runs/*/tool/driver/rules/*/shortDescription", &["text"]),
    ("runs/*/results/*", &["message"]),
    ("runs/*/results/*/message", &["text"]),
    // A physical location has an artifact or an address.
    ("runs/*/results/*/locations/*/physicalLocation", &["artifactLocation"]),
    ("runs/*/results/*/relatedLocations/*/physicalLocation", &["artifactLocation"]),
    ("runs/*/results/*/relatedLocations/*/message", &["text"]),
    ("runs/*/results/*/suppressions/*", &["kind"]),
];

/// All objects at a path.
fn at<'a>(json: &'a Json, path: &str) -> Vec<&'a Json> {
    path.split('/').filter(|part| !part.is_empty()).fold(vec![json], |all, part| {
        let next = |json: &'a Json| match part {
            "*" => json.as_array().unwrap().iter().collect(),
            _ => json.get(part).into_iter().collect::<Vec<_>>(),
        };
        all.into_iter().flat_map(next).collect()
    })
}

#[test]
fn sarif_has_what_its_schema_requires() {
    let sandbox = Sandbox::new();
    let text = suppression("place = 'writes.cu:11'") + &suppression("kernel = 'gone'");
    let log = sandbox.sarif(&text, "");
    for (path, required) in REQUIRED {
        let objects = at(&log, path);
        assert!(!objects.is_empty(), "{path}");
        for object in objects {
            for property in required {
                assert!(object.get(property).is_some(), "{path}/{property}");
            }
        }
    }
    assert_eq!((&log["version"], log["runs"].as_array().unwrap().len()), (&"2.1.0".into(), 1));
    let rules = at(&log, "runs/*/tool/driver/rules/*");
    for result in at(&log, "runs/*/results/*") {
        let level = result["level"].as_str().unwrap();
        assert!(["none", "note", "warning", "error"].contains(&level));
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        for region in at(result, "locations/*/physicalLocation/region") {
            assert!(region["startLine"].as_u64().unwrap() >= 1);
        }
        for accepted in at(result, "suppressions/*/kind") {
            assert!(["inSource", "external"].contains(&accepted.as_str().unwrap()));
        }
    }
}

#[test]
fn sarif_names_both_places_and_what_is_accepted() {
    let sandbox = Sandbox::new();
    let text = suppression("place = 'writes.cu:11'") + &suppression("kernel = 'gone'");
    let log = sandbox.sarif(&text, "");
    let [race, accepted, unused] = at(&log, "runs/*/results/*")[..] else { panic!("{log:#}") };
    assert_eq!((&race["ruleId"], &race["level"]), (&"race".into(), &"error".into()));
    let here = &race["locations"][0];
    let place = &here["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "file:///home/me/a%20b/writes.cu");
    assert_eq!(place["region"]["startLine"], 10);
    assert_eq!(place["region"]["startColumn"], 5);
    assert_eq!(here["logicalLocations"][0]["name"], "writes");
    let other = &race["relatedLocations"][0];
    assert_eq!(other["physicalLocation"]["region"]["startLine"], 10);
    let message = other["message"]["text"].as_str().unwrap();
    assert!(message.starts_with("thread (0,0,0) of block (0,0,0) writes 4 bytes"), "{message}");
    assert!(race.get("suppressions").is_none());

    assert_eq!(accepted["level"], "warning");
    assert_eq!(accepted["suppressions"][0]["justification"], "known");
    assert_eq!(
        (&unused["ruleId"], &unused["level"]),
        (&"unused-suppression".into(), &"note".into())
    );
    let place = &unused["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "known.toml");
    assert_eq!(place["region"]["startLine"], 5);
}

#[test]
fn sarif_has_faults_too() {
    let sandbox = Sandbox::new();
    let ptx = WRITES.replace("st.global.u32 [%rd1], %r1;", "st.global.u32 [%rd1+8], %r1;");
    fs::write(sandbox.0.path().join("writes.ptx"), ptx).unwrap();
    let log = sandbox.sarif("", "--fail-on never");
    let [fault] = at(&log, "runs/*/results/*")[..] else { panic!("{log:#}") };
    assert_eq!((&fault["ruleId"], &fault["level"]), (&"out-of-bounds".into(), &"error".into()));
    assert_eq!(fault["locations"][0]["physicalLocation"]["region"]["startLine"], 10);
    // Without source lines, the place is that in the PTX.
    let lines: Vec<&str> = WRITES.lines().filter(|line| !line.starts_with(".loc")).collect();
    let bare = lines.join("\n");
    fs::write(sandbox.0.path().join("writes.ptx"), bare).unwrap();
    let log = sandbox.sarif("", "");
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "writes.ptx");
    assert_eq!(place["region"]["snippet"]["text"], "st.global.u32 [%rd1], %r1;");
}
