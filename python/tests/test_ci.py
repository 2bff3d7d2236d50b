"""The files for pipelines of others: the action, the image, and the parts of the guide that no other test runs."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from conftest import program
from documents import ROOT, blocks

GUIDE = (ROOT / "docs/guides/ci.md").read_text(encoding="utf-8")
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


def parsed(text: str) -> Any:
    # The tests' packages bring it, without types.
    return importlib.import_module("yaml").safe_load(text)


@pytest.fixture
def action() -> dict[str, Any]:
    read: dict[str, Any] = parsed((ROOT / "action.yml").read_text(encoding="utf-8"))
    return read


def test_the_action_uses_each_of_its_inputs_and_no_others(action: dict[str, Any]) -> None:
    assert action["runs"]["using"] == "composite"
    for name, given in action["inputs"].items():
        assert given["description"] and given.get("required", False) != ("default" in given), name
    used = set()
    for step in action["runs"]["steps"]:
        # An expression in a script would be a part of the script, whatever it holds.
        assert not EXPRESSION.search(step.get("run", "")), step["name"]
        assert ("run" in step) != ("uses" in step) and ("run" in step) == ("shell" in step), step["name"]
        for value in [*step.get("env", {}).values(), *step.get("with", {}).values()]:
            used |= {found.strip() for found in EXPRESSION.findall(str(value))}
    assert used == {f"inputs.{name}" for name in action["inputs"]}


def step_done(action: dict[str, Any], name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs a step as a runner does: a file for the bash of the action, with the inputs in the environment."""
    (step,) = (step for step in action["runs"]["steps"] if step["name"] == name)
    environment = {key: EXPRESSION.sub(lambda found: inputs[found[1].strip().removeprefix("inputs.")], value) for key, value in step["env"].items()}
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/nandarium").unlink(missing_ok=True)
    (folder / "bin/nandarium").symlink_to(Path(program()).resolve())
    environment |= {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "RUNNER_TEMP": str(folder), "GITHUB_PATH": str(folder / "path")}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300)


def test_the_action_fails_at_a_limit_and_keeps_the_page(action: dict[str, Any], tmp_path: Path) -> None:
    plain = "run page --workload zipf --set drive.capacity=1GiB # a comment\n--requests 2000 \\\n --no-snapshots"
    for limit, code in (("write.p50 > 10s", 0), ("write.p50 > 1ns", 8)):
        done = step_done(action, "Run nandarium", tmp_path, arguments=f"{plain}\n--fail-if '{limit}'\n", out="my result")
        assert done.returncode == code, done.stderr
        assert (tmp_path / "my result/report.html").is_file()
        (tmp_path / "my result/report.html").unlink()


def test_the_action_installs_into_an_environment_of_its_own(action: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    # In place of pip, which would need a network.
    (tmp_path / "bin/python3").write_text('#!/bin/sh\nmkdir -p "$3/bin"; echo \'echo "$@" > "$RUNNER_TEMP/said"\' > "$3/bin/pip"; chmod +x "$3/bin/pip"\n')
    (tmp_path / "bin/python3").chmod(0o755)
    done = step_done(action, "Install nandarium", tmp_path, package="./my tools/nandarium.whl")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "said").read_text().strip().endswith("./my tools/nandarium.whl")
    folder = Path((tmp_path / "path").read_text().strip())
    assert [name.name for name in folder.iterdir()] == ["nandarium"], "the job keeps its own python3"
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/nandarium-1.whl").touch()
    step_done(action, "Install nandarium", tmp_path, package="./tools/nandarium-*.whl")
    assert (tmp_path / "said").read_text().strip().endswith("./tools/nandarium-1.whl")


def test_jobs_of_the_guide_give_the_action_inputs_that_it_has(action: dict[str, Any]) -> None:
    jobs = [parsed(block.body) for block in blocks(GUIDE) if block.kind == "yaml"]
    steps = [step for job in jobs for part in (job["jobs"].values() if isinstance(job, dict) else [{"steps": job}]) for step in part["steps"]]
    users = [step for step in steps if step.get("uses", "").endswith("actions/nandarium")]
    assert users, "the guide shows the action"
    for step in users:
        assert step["with"].keys() <= action["inputs"].keys()
        assert {name for name, given in action["inputs"].items() if given.get("required")} <= step["with"].keys()
    for step in steps:
        if "run" in step:
            done = subprocess.run(["bash", "-n"], input=step["run"], text=True, capture_output=True, check=False)
            assert done.returncode == 0, done.stderr


def test_the_image_takes_only_files_that_make_dist_makes() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)$", text, re.MULTILINE))
    copied = [part for line in re.findall(r"^(?:COPY|ADD) (.+)$", text, re.MULTILINE) for part in shlex.split(line)[:-1]]
    assert copied
    command = ["make", "--dry-run", "--no-print-directory", "dist", f"MACHINE={defaults['MACHINE']}", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    made = re.findall(r"\bcp \S+ (dist/\S+)$", done.stdout, re.MULTILINE)
    for name in copied:
        assert re.sub(r"\$\{(\w+)\}", lambda found: defaults[found[1]], name) in made, f"{name}: make dist makes {made}"


def test_the_rust_example_of_the_guide_is_the_one_that_is_compiled() -> None:
    source = (ROOT / "crates/lab/torture/src/harness.rs").read_text(encoding="utf-8")
    compiled = re.search(r"^/// ```\n((?:///.*\n)+?)/// ```\n", source, re.MULTILINE)
    assert compiled
    lines = [line.removeprefix("///").removeprefix(" ") for line in compiled[1].splitlines()]
    assert lines[0] == "use torture::Torture;" and lines[-1] == "# Ok::<_, torture::TortureError>(())"
    (shown,) = [block.body for block in blocks(GUIDE) if block.kind == "rust"]
    body = re.search(r"^use torture::Torture;\n\n#\[test\]\nfn \w+\(\) -> Result<\(\), torture::TortureError> \{\n(.*)^    Ok\(\(\)\)\n\}\n", shown, re.DOTALL | re.MULTILINE)
    assert body, shown
    assert dedent(body[1]).splitlines() == lines[2:-1]
