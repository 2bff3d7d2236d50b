"""Policies in files: in the package's own command, in sweeps, and on workers."""

from __future__ import annotations

import json
import multiprocessing
import shlex
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import USED, console, sets
from documents import ROOT, blocks

import nandarium as nd

GREEDY = '''
import nandarium as nd

@nd.policies.victim("greedy-of-a-file")
class Greedy:
    """The block with the fewest valid pages."""

    def pick(self, view):
        return view.valid.argmin()
'''
FIFO = GREEDY.replace("view.valid.argmin()", "view.age.argmax()")
PLAN: dict[str, Any] = {
    "stacks": ["page", "page+ftl.gc.victim=greedy-of-a-file"],
    "workloads": ["hot-cold"],
    "repetitions": 2,
    "set": {**USED, "workload.requests": 10_000},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(GREEDY)
    return file


def hashes(swept: nd.SweepResult) -> list[str]:
    return [str(each) for each in swept.runs["hash"]]


def test_the_command_takes_policies_of_a_file(file: Path, used: dict[str, Any]) -> None:
    asked = ["--workload", "hot-cold", "--requests", "10000", "--no-snapshots", "--quiet", "--json", *sets(used)]
    built_in = json.loads(console("run", "page", *asked).stdout)
    done = console("run", "page+ftl.gc.victim=greedy-of-a-file", *asked, "--policies", str(file))
    assert done.returncode == 0 and json.loads(done.stdout)["hash"] == built_in["hash"], done.stderr
    file.write_text(FIFO)
    compared = console("compare", "page", "page+ftl.gc.victim=greedy-of-a-file", *asked, "--repetitions", "3", "--policies", str(file))
    assert compared.returncode == 0, compared.stderr
    built_in = json.loads(console("compare", "page", "page+ftl.gc.victim=fifo", *asked, "--repetitions", "3").stdout)["results"][1]
    found = json.loads(compared.stdout)["results"][1]
    assert found["hash"] == built_in["hash"]
    assert found["repeated"]["sentence"] == built_in["repeated"]["sentence"].replace("victim=fifo", "victim=greedy-of-a-file")
    listed = console("list", "policies", "--policies", str(file)).stdout
    assert "greedy-of-a-file" in listed and "The block with the fewest valid pages." in listed


def test_python_gives_a_verdict_about_a_policy_of_its_own(used: dict[str, Any]) -> None:
    nd.policies.victim("at-random")(lambda view: view.below(len(view)))
    both = nd.compare(["page", "page+ftl.gc.victim=at-random"], "hot-cold", settings=used, requests=10_000, repetitions=3)
    assert len(both.verdicts) == 1 and "worse in 0" not in both.verdicts[0] and "write amplification" in both.verdicts[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "mine.py: No such file or directory; give a file of Python"),
        ("x = 1\n", "mine.py registers no policy"),
        ("def f(:\n", "mine.py, line 1: SyntaxError: "),
        ("import nandarium as nd\n\n1 / 0\n", "mine.py, line 3: ZeroDivisionError: division by zero"),
        ("import nandarium as nd\nnd.policies.victim('fifo')(lambda view: 0)\n", "mine.py, line 2: ConfigError: `fifo` is the name of a built-in policy"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(text: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
        with pytest.raises(nd.ConfigError) as caught:
            nd.policies.load(file)
        assert words in str(caught.value)
    done = console("list", "policies", "--policies", str(file))
    assert done.returncode == (2 if text is not None else 1) and done.stderr.startswith("error: ")
    assert words.split(": ")[-1].split(";")[0] in done.stderr, done.stderr


def test_a_policy_that_fails_in_the_command_is_told_with_its_line(file: Path, used: dict[str, Any]) -> None:
    """It was told as a broken invariant of the simulator."""
    file.write_text(GREEDY.replace("view.valid.argmin()", "view.valid.argmni()"))
    for command in (["run", "page+ftl.gc.victim=greedy-of-a-file"], ["compare", "page", "page+ftl.gc.victim=greedy-of-a-file"]):
        done = console(*command, "--workload", "hot-cold", "--policies", str(file), "--quiet", *sets(used))
        assert done.returncode == 1 and "a policy of --policies raised an exception" in done.stderr
        assert "mine.py\", line 9, in pick" in done.stderr and "AttributeError" in done.stderr and "defect" not in done.stderr


def test_a_sweep_takes_policies_of_a_file_and_runs_a_changed_one_anew(file: Path, tmp_path: Path) -> None:
    assert nd.policies.load(file) == ["greedy-of-a-file"]
    first = hashes(nd.sweep(PLAN, out=tmp_path / "out"))
    assert first[:2] == first[2:], "greedy in Rust and in Python"
    told: list[tuple[int, int]] = []
    assert hashes(nd.sweep(PLAN, out=tmp_path / "out", progress=lambda done, runs: told.append((done, runs)))) == first
    assert told[0] == (4, 4), "nothing twice"
    file.write_text(FIFO)
    nd.policies.load(file)
    told.clear()
    changed = hashes(nd.sweep(PLAN, out=tmp_path / "out", progress=lambda done, runs: told.append((done, runs))))
    assert changed[:2] == first[:2] and not set(changed[2:]) & set(first)
    plan = tmp_path / "plan.toml"
    plan.write_text('stacks = ["page+ftl.gc.victim=greedy-of-a-file"]\nworkloads = ["hot-cold"]\n[set]\n' + "".join(f"{key} = {json.dumps(value)}\n" for key, value in PLAN["set"].items()))
    done = console("sweep", str(plan), "--policies", str(file), "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"].startswith("nandarium.sweep")


def test_a_policy_without_a_file_is_not_swept() -> None:
    nd.policies.victim("of-no-file")(lambda view: 0)
    with pytest.raises(nd.ConfigError, match=r"ftl.gc.victim = of-no-file was registered by a program.*nandarium.policies.load"):
        nd.sweep({**PLAN, "stacks": ["page+ftl.gc.victim=of-no-file"]})


def test_workers_load_the_file_from_its_path(file: Path) -> None:
    nd.policies.load(file)
    here = hashes(nd.sweep(PLAN))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert hashes(nd.sweep(PLAN, executor=pool)) == here
        file.write_text(FIFO)
        nd.policies.load(file)
        assert hashes(nd.sweep(PLAN, executor=pool))[2:] != here[2:], "workers that know the old one load the new one"
        with_seed = {**PLAN, "seed": 7}
        file.write_text(GREEDY)
        with pytest.raises(nd.ClusterError, match="mine.py is another file there; every worker needs the same policies"):
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
                nd.sweep(with_seed, executor=fresh)
        file.unlink()
        with pytest.raises(nd.ClusterError, match="mine.py cannot be read there"):
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
                nd.sweep(with_seed, executor=fresh)


def test_the_commands_of_the_guides_run(tmp_path: Path) -> None:
    for name in ("policies", "research"):
        folder = tmp_path / name
        folder.mkdir()
        plan = 'stacks = ["page+ftl.gc.victim=oldest-first"]\n[set]\n' + "".join(f"{key} = {json.dumps(value)}\n" for key, value in PLAN["set"].items())
        (folder / "plan.toml").write_text(plan)
        commands: list[str] = []
        for block in blocks((ROOT / f"docs/guides/{name}.md").read_text(encoding="utf-8")):
            if block.file in ("mine.py", "gentle.py", "small.toml"):
                (folder / block.file).write_text(block.body)
            commands += [line for line in block.body.splitlines() if block.kind == "sh" and "--policies" in line]
        assert len(commands) == {"policies": 2, "research": 1}[name]
        for command in commands:
            done = console(*shlex.split(command)[1:], cwd=folder)
            assert done.returncode == 0, done.stderr
    assert "gentle against small, 3 repetitions" in " ".join(done.stdout.split())


def test_threads_of_this_process_have_the_policies_already(file: Path) -> None:
    nd.policies.load(file)
    file.unlink()
    with ThreadPoolExecutor(2) as pool:
        assert nd.sweep(PLAN, executor=pool).counts == {"complete": 4}
