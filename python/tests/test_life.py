"""Lives from Python are those of the command line."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TINY, native, sets

import nandarium as nd

DRIVE: dict[str, Any] = {**TINY, "flash.endurance": 3000}
"""A drive that can be worn out."""


@pytest.fixture(scope="module")
def life() -> nd.Life:
    return nd.life("page", "zipf", settings=DRIVE, requests=100_000, seed=2, per_day="1GB", price_per_gb=0.08, warranty="3y", snapshots=False)


def test_a_life_is_that_of_the_command_line(life: nd.Life) -> None:
    asked = ["--per-day", "1GB", "--price-per-gb", "0.08", "--warranty", "3y", "--requests", "100000", "--seed", "2"]
    said = native("life", "--stack", "page", "--workload", "zipf", *asked, *sets(DRIVE))
    assert life.data == said and json.loads(life.to_json()) == said
    assert (life.tbw.estimate, life.dwpd.latest) == (said["tbw"]["estimate"], said["dwpd"]["latest"])
    assert life.years is not None and life.years.earliest == said["years"]["earliest"] and life.bytes_per_day == 1e9
    assert life.cost is not None and life.cost.per_tb_written.estimate == said["cost"]["per_tb_written"]["estimate"]
    assert life.causes["gc"].share == said["causes"]["gc"]["share"] and life.causes["host"].tb_gained is None
    assert list(life.causes)[-1] == "uneven" and life.causes["uneven"].pages is None and life.notes == said["notes"]


def test_repetitions_are_those_of_the_command_line() -> None:
    life = nd.life("page", "zipf", settings=DRIVE, requests=100_000, seed=2, snapshots=False, repetitions=2)
    said = native("life", "page", "zipf", "--requests", "100000", "--seed", "2", "--repetitions", "2", *sets(DRIVE))
    assert life.data == said and life.repeated == said["repeated"] and said["repeated"]["count"] == 2
    assert "repeated  means of 2 runs with different seeds" in str(life)


def test_its_run_has_the_hash_of_the_same_run_in_steady_state(life: nd.Life) -> None:
    run = nd.run("page", "zipf", settings={**DRIVE, "drive.precondition": "steady"}, requests=100_000, seed=2, snapshots=False)
    assert life.hash == life.result.hash == run.hash


def test_a_state_that_was_set_is_kept() -> None:
    life = nd.life("page", "zipf", settings={**DRIVE, "drive.precondition": "overwrite"}, requests=100_000, snapshots=False)
    assert life.result.config["drive.precondition"] == "overwrite"
    assert (life.rate, life.cost) == ("full-speed", None)


def test_where_no_time_passes_there_are_no_years() -> None:
    life = nd.life("page", "zipf", settings={**DRIVE, "engine.time": "none"}, requests=100_000, snapshots=False)
    assert (life.years, life.bytes_per_day, life.rate) == (None, None, None)
    assert all(cause.years_gained is None for cause in life.causes.values()) and ">years</td>" not in life._repr_html_()


def test_requests_from_arrays_have_a_life(tiny: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    requests = nd.Requests(op=np.full(100_000, "write"), first_sector=8 * rng.integers(0, 12_000, 100_000), sectors=np.full(100_000, 8))
    life = nd.life("page", requests, settings={**tiny, "flash.endurance": 3000}, per_day=10**9, snapshots=False)
    assert life.rate == "given" and life.result.requests == 100_000 and life.result.workload == "requests"


def test_it_is_written_and_pickled(life: nd.Life, tmp_path: Path) -> None:
    life.save(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["life.html", "life.json", "report.html", "result.json", "series.csv"]
    assert (tmp_path / "out/life.json").read_text() == life.to_json()
    life.report(tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_bytes() == (tmp_path / "out/life.html").read_bytes()
    copy = pickle.loads(pickle.dumps(life))
    assert copy.data == life.data and str(copy) == str(life) and copy.hash == life.hash
    assert str(life).startswith("life of page under zipf") and "TB written" in repr(life)
    with pytest.raises(nd.SimulationError, match="/proc/life.html could not be written"):
        life.report("/proc/life.html")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"settings": TINY}, "this flash never wears out"),
        ({"per_day": "many"}, "--per-day"),
        ({"per_day": "0B"}, "give a size above 0"),
        ({"warranty": "5"}, "such as 5y or 1825d"),
        ({"price": 0}, "a number above 0"),
        ({"price": float("nan")}, "a number above 0"),
        ({"price": 1.0, "price_per_gb": 1.0}, "both given"),
    ],
)
def test_questions_that_cannot_be_answered_are_told_before_the_run(given: dict[str, Any], words: str) -> None:
    with pytest.raises(nd.ConfigError, match=words):
        nd.life(**{"settings": DRIVE, "requests": 10**12, **given})


def test_arguments_of_another_kind_are_named() -> None:
    for name, value in (("per_day", 1.5), ("per_day", []), ("warranty", 5), ("price", "cheap"), ("price_per_gb", [])):
        with pytest.raises(TypeError, match=name):
            nd.life(settings=DRIVE, requests=10**12, **{name: value})  # type: ignore[arg-type]


def test_a_run_without_an_answer_says_what_to_do() -> None:
    with pytest.raises(nd.WorkloadError, match="run .* times as many requests or more"):
        nd.life("page", "zipf", settings=DRIVE, requests=2000, snapshots=False)
    with pytest.raises(nd.WorkloadError, match="choose a workload with writes"):
        nd.life("page", "sequential-read", settings={**DRIVE, "drive.precondition": "fill"}, requests=2000, snapshots=False)


def test_a_drive_that_dies_in_the_run_has_its_result() -> None:
    with pytest.raises(nd.DriveFull, match="host writes|window is too long") as caught:
        nd.life("page", "uniform-write", settings={**DRIVE, "flash.endurance": 3, "drive.precondition": "none"}, requests=400_000, snapshots=False)
    assert caught.value.result is not None and caught.value.result.requests > 0
