"""A search through a plan."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from conftest import TINY

import nandarium as nd

SPACE: dict[str, Any] = {
    "stacks": ["page", "dftl"],
    "workloads": ["zipf"],
    "set": {**TINY, "workload.requests": 9000},
    "axes": {
        "drive.over_provisioning": {"from": "1%", "to": "50%", "steps": 30},
        "ftl.gc.victim": ["greedy", "fifo"],
    },
}

GOALS = ("write_p99_ns", "waf", "spare_share", "ram_bytes")
"""Objectives that nine thousand writes are enough for."""


def optimize(plan: Any, **options: Any) -> nd.SearchResult:
    """A search with objectives that a small run has."""
    return nd.optimize(plan, **{"objectives": GOALS, **options})


def tried(search: nd.SearchResult) -> list[tuple[Any, ...]]:
    """What each trial tried and gave."""
    return [(trial.params, trial.values, trial.user_attrs.get("problem")) for trial in search.study.trials]


def test_a_search_goes_on_where_it_was_and_repeats_itself(tmp_path: Path) -> None:
    whole = optimize(SPACE, trials=14)
    optimize(SPACE, trials=9, out=tmp_path)
    parts = optimize(SPACE, trials=14, out=tmp_path)
    assert tried(whole) == tried(parts) and len(whole.study.trials) == 14
    assert whole.problems and all("too little spare flash" in problem for problem in whole.problems.values()), "1% cannot be built"
    assert whole.trials.rows + len(whole.problems) == 14
    # What it has found is what the sweep finds.
    row = {name: column[0] for name, column in whole.front.items()}
    swept = nd.sweep(
        {**SPACE, "stacks": [row["stack"]], "axes": {}, "set": {**SPACE["set"], "drive.over_provisioning": f"{100 * row['drive_over_provisioning']}%", "ftl.gc.victim": row["ftl_gc_victim"]}}
    )
    assert {name: swept.combinations[name][0] for name in whole.objectives} == {name: row[name] for name in whole.objectives}
    # Nothing of the front is beaten, and what is not in it is: by more than a bucket of the percentile, as each design was run once.
    costs = np.stack([whole.trials[name] for name in whole.objectives], axis=1)
    margins = costs * np.array([1 / 64, 1e-9, 1e-9, 1e-9])
    beaten = []
    for one, margin in zip(costs, margins, strict=True):
        sure = np.hypot(margins, margin)
        beaten.append(bool(((costs - one <= sure).all(axis=1) & (one - costs > sure).any(axis=1)).any()))
    unbeaten = {design(whole, number): number for number in sorted(whole.trials["trial"][~np.array(beaten)].tolist(), reverse=True)}
    assert sorted(whole.front["trial"].tolist()) == sorted(unbeaten.values())


def design(search: nd.SearchResult, number: int) -> tuple[Any, ...]:
    """What a trial tried."""
    return tuple(sorted(search.study.trials[number].params.items()))


def test_a_design_that_was_tried_again_is_in_the_front_once() -> None:
    search = optimize({**SPACE, "stacks": ["page"], "axes": {"ftl.gc.victim": ["greedy", "fifo"]}}, trials=6, objectives=["waf"])
    front = search.front["trial"].tolist()
    same = [trial.number for trial in search.study.trials if trial.params == search.study.trials[front[0]].params]
    assert len(same) > 1 and search.front.rows == len({design(search, number) for number in front}) and front[0] == min(same)


def test_two_searches_that_begin_together_in_a_new_folder_both_go_on(tmp_path: Path) -> None:
    """The second one ended with what its database said of the tables the first one made, or took its trials for left ones."""
    begin = threading.Barrier(3)

    def search(trials: int) -> list[tuple[Any, ...]]:
        begin.wait()
        return [trial for trial in tried(optimize(SPACE, trials=trials, out=tmp_path / "new")) if trial[1] or trial[2]]

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(search, (6, 6, 9)))
    alone = tried(optimize(SPACE, trials=9))
    assert [each == alone[: len(each)] for each in found] == [True] * 3 and max(map(len, found)) == 9


def test_a_search_that_begins_itself_does_not_wait_for_itself(tmp_path: Path) -> None:
    with pytest.raises(nd.SimulationError, match="began itself again in its own folder"):
        optimize(SPACE, trials=1, out=tmp_path, progress=lambda *told: optimize(SPACE, trials=2, out=tmp_path))
    assert len(optimize(SPACE, trials=2, out=tmp_path).study.trials) == 2


def test_designs_within_the_intervals_beat_nobody() -> None:
    """Half of a front was there by chance."""
    search = optimize({**SPACE, "repetitions": 3, "axes": {"ftl.gc.victim": ["greedy", "fifo", "random"]}, "set": {**SPACE["set"], "drive.over_provisioning": "50%"}}, trials=8)
    costs = {trial: [(float(search.trials[name][at]), float(search.trials[f"{name}_ci95"][at])) for name in GOALS] for at, trial in enumerate(search.trials["trial"].tolist())}

    def is_below(one: tuple[float, float], other: tuple[float, float]) -> bool:
        return bool(other[0] - one[0] > max(np.hypot(one[1], other[1]), 1e-9 * abs(other[0])))

    def beats(one: int, other: int) -> bool:
        pairs = list(zip(costs[one], costs[other], strict=True))
        return any(is_below(a, b) for a, b in pairs) and not any(is_below(b, a) for a, b in pairs)

    unbeaten = {design(search, trial) for trial in costs if not any(beats(other, trial) for other in costs)}
    assert {design(search, trial) for trial in search.front["trial"].tolist()} == unbeaten
    assert "unbeaten" not in search.trials, "a trial is swept alone, and has nobody to compare it with"


def test_a_study_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "study.db").write_text("garbage\n" * 100)
    with pytest.raises(nd.SimulationError, match=r"study.db could not be used .*file is not a database; move it away"):
        optimize(SPACE, trials=2, out=tmp_path)


def test_designs_side_by_side_and_other_objectives() -> None:
    search = optimize(SPACE, trials=6, at_once=2, objectives=["waf"])
    assert tried(search) == tried(optimize(SPACE, trials=6, at_once=2, objectives=["waf"]))
    assert search.front["waf"][0] == search.trials["waf"].min()


def test_mistakes_are_said_before_anything_is_tried(tmp_path: Path) -> None:
    for plan, options, words in (
        ({**SPACE, "stacks": ["pgae"]}, {}, "did you mean `page`"),
        ({**SPACE, "workloads": ["zpif"]}, {}, "did you mean `zipf`"),
        ({**SPACE, "workloads": ["zipf", "mixed"]}, {}, "has one workload"),
        ({**SPACE, "axes": {"drive.capactiy": ["1GiB"]}}, {}, "did you mean `drive.capacity`"),
        (SPACE, {"objectives": ["wfa"]}, "`wfa` is not a metric"),
        (SPACE, {"objectives": []}, "at least one"),
        (SPACE, {"objectives": "waf"}, 'objectives is the text "waf"; give a list'),
        ({**SPACE, "workloads": ["uniform-read"], "axes": {}}, {"objectives": ["write_p999_ns"]}, "is not measured under workload .*no writes"),
        (SPACE, {"objectives": ["write_p999_ns"]}, r"write_p999_ns is not measured under workload `zipf` \(no reads; 9000 writes, too few for p99.9, .*run more requests"),
        ({**SPACE, "axes": {"workload.queue_depth": [1, 8]}}, {}, "^axes: workload.queue_depth is a circumstance .*, and a search compares drives"),
        ({**SPACE, "stacks": ["page", "page+workload.queue_depth=2"]}, {}, "^stacks: workload.queue_depth is a circumstance"),
    ):
        with pytest.raises(nd.ConfigError, match=words):
            optimize(plan, trials=2, **options)
    numbers: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "trials is 0; a search has 1 or more", {"trials": 0}),
        (ValueError, "at_once is 0; .* on 1 to 1024 threads", {"trials": 1, "at_once": 0}),
        (TypeError, "trials is 'x'; give a whole number", {"trials": "x"}),
        (TypeError, "at_once is 1.5; give a whole number", {"trials": 1, "at_once": 1.5}),
    ]
    for error, words, given in numbers:
        with pytest.raises(error, match=words):
            optimize(SPACE, **given)
    with pytest.raises(nd.ClusterError, match="client is 5; give a distributed.Client"):
        optimize(SPACE, trials=1, client=5)


def test_a_search_that_was_killed_goes_on(tmp_path: Path) -> None:
    plan = {**SPACE, "set": {**SPACE["set"], "workload.requests": 60_000}}
    code = f"import nandarium as nd; nd.optimize({plan!r}, objectives={GOALS!r}, trials=1000, out={str(tmp_path)!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        until = time.monotonic() + 60
        while len(list(tmp_path.glob("runs/*/*/run.json"))) < 4:
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = len(list(tmp_path.glob("runs/*/[!.]*/run.json")))
    search = optimize(plan, trials=before + 4, out=tmp_path)
    ended = [trial for trial in tried(search) if trial[1] or trial[2]]
    assert ended == tried(optimize(plan, trials=before + 4))


@pytest.mark.parametrize("dies", [True, False], ids=["killed", "interrupted"])
def test_a_search_that_ends_between_a_measurement_and_its_word_goes_on(dies: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The measured design was a failed one from then on, and the search another one."""
    tell = optuna.Study.tell
    has_ended = False

    def end(study: optuna.Study, *told: Any, **more: Any) -> Any:
        nonlocal has_ended
        has_measured = len(told) == 2 and told[0].number >= 2 if not has_ended else dies
        if has_measured:
            has_ended = True
            raise KeyboardInterrupt
        return tell(study, *told, **more)

    with monkeypatch.context() as patched:
        patched.setattr(optuna.Study, "tell", end)
        with pytest.raises(KeyboardInterrupt):
            optimize(SPACE, trials=9, out=tmp_path)
    kept = len(list(tmp_path.glob("runs/*/*/run.json")))
    assert kept and has_ended
    search = optimize(SPACE, trials=9, out=tmp_path)
    assert tried(search) == tried(optimize(SPACE, trials=9)) and len(search.study.trials) == 9


def test_a_search_is_pickled(tmp_path: Path) -> None:
    for out in (None, tmp_path):
        search = optimize(SPACE, trials=3, out=out)
        copy = pickle.loads(pickle.dumps(search))
        assert tried(copy) == tried(search) and copy.objectives == search.objectives and copy.front["waf"].tolist() == search.front["waf"].tolist()


def test_a_stack_file_that_changes_under_a_search_ends_it(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('extends = "page"\n')
    plan = {**SPACE, "stacks": [str(mine)]}

    def change(done: int, trials: int) -> None:
        mine.write_text('extends = "page"\nftl.gc.victim = "random"\nftl.gc.free_blocks = 5\n')

    with pytest.raises(nd.ConfigError, match="has changed since the search began"):
        optimize(plan, trials=4, progress=change)
