//! Recipes for many machines, run as they stand in `docs/recipes`, with the variables that a cluster would set.

use crate::support::{Said, nandarium, said};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SHARDS: usize = 3;
const PLAN: &str = "repetitions = 2\n[set]\ndrive.capacity = \"16MiB\"\nflash.channels = 2\nflash.dies_per_channel = \
    1\nflash.pages_per_block = 32\nworkload.requests = 2000\n[axes]\ndrive.over_provisioning = [\"25%\", \"35%\", \
    \"50%\"]\n";

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/recipes").join(name)
}

/// A command that finds the program under its name, and nothing of the user's.
fn command(program: &str) -> Command {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_nandarium"));
    let path = format!("{}:{}", own.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(program);
    command.env("PATH", path).env_remove("XDG_CACHE_HOME").env("HOME", "/nonexistent");
    command
}

fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{command:?}: {err}");
    out
}

/// A folder with a plan, and what one process gives of it.
fn planned() -> (tempfile::TempDir, Said) {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    fs::write(&plan, PLAN).unwrap();
    let whole = folder.path().join("whole");
    let said = said(nandarium(&["sweep", plan.to_str().unwrap(), "--out", whole.to_str().unwrap(), "--quiet"]));
    assert_eq!(said.code, 0, "{}", said.err);
    (folder, said)
}

/// The tables of a folder of shards are those of one process, and nothing was left for whoever collected.
fn collected(folder: &Path, whole: &Said, table: &str) {
    assert_eq!(table, whole.out);
    for name in ["results.parquet", "summary.csv", "report.html"] {
        let [one, other] = ["whole", "out"].map(|run| fs::read(folder.join(run).join(name)).unwrap());
        assert!(one == other, "{name}");
    }
}

fn runs(folder: &Path) -> usize {
    let parts = fs::read_dir(folder.join("out/runs")).unwrap();
    parts.map(|part| fs::read_dir(part.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn shards_by_xargs_give_the_table_of_one_process() {
    let (folder, whole) = planned();
    let folder = folder.path();
    let arguments = ["3", "2", "sweep", "plan.toml", "--out", "out"];
    let table = ran(command("sh").arg(recipe("xargs.sh")).args(arguments).current_dir(folder));
    collected(folder, &whole, &table);
}

#[test]
fn tasks_of_a_slurm_array_give_the_table_of_one_process() {
    let (folder, whole) = planned();
    let folder = folder.path();
    let text = fs::read_to_string(recipe("slurm.sh")).unwrap();
    assert!(text.contains("#SBATCH --array=1-"), "tasks are counted from 1");
    let work = ["sweep", "plan.toml", "--out", "out"];
    for task in 1..=SHARDS {
        let mut script = command("sh");
        script.env("SLURM_ARRAY_TASK_ID", task.to_string()).env("SLURM_ARRAY_TASK_COUNT", SHARDS.to_string());
        ran(script.arg(recipe("slurm.sh")).args(work).current_dir(folder));
    }
    assert_eq!(runs(folder), 6, "nothing is left for the collection");
    collected(folder, &whole, &ran(command("nandarium").args(work).current_dir(folder)));
    // Some tasks again: an array of its own, whose tasks are those of the first.
    let mut again = command("sh");
    again.env("SLURM_ARRAY_TASK_ID", "2").env("SLURM_ARRAY_TASK_COUNT", "1").env("SHARDS", SHARDS.to_string());
    assert_eq!(ran(again.arg(recipe("slurm.sh")).args(work).current_dir(folder)), "");
}

/// What containers run, in the order of the file: blocks of text below `args`.
fn scripts(text: &str) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(depth) = line.trim_end().strip_suffix("- |").map(str::len) else { continue };
        let mut script = String::new();
        while let Some(line) = lines.next_if(|line| line.len() > depth && line[..=depth].trim().is_empty()) {
            script += line.trim_start();
            script += "\n";
        }
        scripts.push(script);
    }
    scripts
}

#[test]
fn pods_of_an_indexed_job_give_the_table_of_one_process() {
    let (folder, whole) = planned();
    let folder = folder.path();
    let text = fs::read_to_string(recipe("kubernetes.yaml")).unwrap();
    assert!(text.contains("completionMode: Indexed\n  completions: 64\n") && text.contains("value: \"64\""));
    let [shard, table] = <[String; 2]>::try_from(scripts(&text)).unwrap();
    let pod = |script: &str| {
        let mut pod = command("/bin/sh");
        pod.args(["-c", script]).env("WORK", "sweep plan.toml --out out").current_dir(folder);
        pod
    };
    for index in 0..SHARDS {
        ran(pod(&shard).env("JOB_COMPLETION_INDEX", index.to_string()).env("SHARDS", SHARDS.to_string()));
    }
    assert_eq!(runs(folder), 6, "nothing is left for the collection");
    collected(folder, &whole, &ran(&mut pod(&table)));
}

/// A study that was spread over machines had no way but one process.
#[test]
fn shards_of_a_study_share_a_folder_and_come_to_the_rows_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let study = |more: &[&str]| {
        let fixed = ["repro", "hard", "--scale", "1/128", "--out", out.to_str().unwrap()];
        said(nandarium(&[&fixed[..], more].concat()))
    };
    for shard in ["2/3", "1/3", "3/3"] {
        let said = study(&["--shard", shard]);
        assert_eq!((said.code, said.out.as_str()), (0, ""), "{}", said.err);
        assert!(said.err.contains("the same command without --shard gives the rows"), "{}", said.err);
    }
    let kept = fs::read_dir(out.join("simulations")).unwrap().map(|study| fs::read_dir(study.unwrap().path()).unwrap());
    let kept: usize = kept.map(Iterator::count).sum();
    let rows = study(&["--json"]);
    assert!(rows.err.contains(&format!("hard: 0 of {kept} simulations")), "all are kept: {}", rows.err);
    assert!(!out.join("simulations").exists(), "the study is done");
    let whole = said(nandarium(&["repro", "hard", "--scale", "1/128", "--json", "--quiet"]));
    assert!(rows.out == whole.out && rows.code == whole.code);
    for (arguments, problem) in [(["--shard", "4/3"], "from 1 to N"), (["--shard", "x"], "write I/N")] {
        let said = study(&arguments);
        assert!(said.code == 2 && said.err.contains(problem), "{}", said.err);
    }
    let said = said(nandarium(&["repro", "hard", "--shard", "1/3"]));
    assert!(said.code == 2 && said.err.contains("--out"), "{}", said.err);
}
