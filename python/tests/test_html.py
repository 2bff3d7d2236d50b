"""What notebooks show can be read in both themes, needs nothing from outside, and says nothing that was not measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from pytest import approx

import nandarium as nd
from nandarium import _html


def parsed(html: str) -> ElementTree.Element:
    """Every element is closed, every text escaped; no script, no style sheet, nothing that is fetched."""
    root = ElementTree.fromstring(html)
    for element in root.iter():
        assert element.tag not in ("script", "style", "link", "img", "iframe")
        assert not any(name.startswith("on") or name in ("href", "src") for name in element.keys())
        for name in ("fill", "stroke"):
            assert element.get(name, "none") in ("none", "currentColor", *_html.COLOURS)
    assert "nan" not in re.findall(r"[a-z]+", " ".join(root.itertext())), "a number that is none"
    return root


def texts(html: str) -> list[str]:
    return [text.strip() for text in parsed(html).itertext() if text.strip()]


def rows(html: str) -> list[list[str]]:
    return [["".join(cell.itertext()) for cell in row] for row in parsed(html).iter("tr")]


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_colours_stand_out_on_white_and_on_black() -> None:
    for colour in _html.COLOURS:
        on_white, on_black = 1.05 / (luminance(colour) + 0.05), (luminance(colour) + 0.05) / 0.05
        assert min(on_white, on_black) >= 3, f"{colour}: {on_white:.1f} and {on_black:.1f}"


def test_lines_of_axes_stand_where_those_of_pages_do() -> None:
    cases = json.loads((Path(__file__).parents[2] / "crates/lab/figures/src/axis.json").read_text())
    assert [_html.distance(span, about) for span, about, _ in cases["steps"]] == approx([step for *_, step in cases["steps"]])
    for case in cases["within"]:
        low, high = case["of"]
        assert _html.lines_within(low, high, 5) == approx(case["lines"]), case
    for case in cases["logarithmic"]:
        low, high = case["ends"]
        assert _html.log_lines(low, high, 9) == approx(case["lines"]), case


def test_numbers_have_units_that_can_be_read() -> None:
    shown = [_html.time(value) for value in (0, 999, 999.6, 12_345, 2e8, 9e11)]
    assert shown == ["0", "999\u202fns", "1.00\u202fµs", "12.3\u202fµs", "200\u202fms", "900\u202fs"]
    assert [_html.size(value) for value in (512, 1536, 3 << 30)] == ["512\u202fB", "1.50\u202fKiB", "3.00\u202fGiB"]
    assert [_html.digits(value) for value in (0, 0.01234, 9.999, 12.34, 1234.5)] == ["0", "0.0123", "10.0", "12.3", "1,234"]
    assert {shown(value) for shown in (_html.time, _html.size, _html.digits, _html.count, _html.share) for value in (None, float("nan"))} == {_html.NONE}


def test_a_result_shows_its_latencies_and_why(used: dict[str, Any]) -> None:
    run = nd.run("page", "mixed", settings=used, requests=20_000, snapshots=False)
    html = run._repr_html_()
    shown = rows(html)
    assert [row[0] for row in shown] == ["latency", "read", "write"], "operations that were not asked for are left out"
    assert shown[1][4] == _html.time(run.latency.read.p99) and shown[2][1] == _html.count(run.latency.write.count)
    assert len(list(parsed(html).iter("svg"))) == 4
    assert any(run.hash in text for text in texts(html))


def test_a_result_without_time_shows_no_time(tiny: dict[str, Any]) -> None:
    run = nd.run("page", "sequential-write", settings={**tiny, "engine.time": "none"}, requests=2000, snapshots=False)
    assert "no time passed" in " ".join(texts(run._repr_html_()))
    idle = nd.run("page", "sequential-read", settings=tiny, requests=2000, snapshots=False)
    assert "nothing written" in " ".join(texts(idle._repr_html_()))


def test_names_are_escaped(tiny: dict[str, Any]) -> None:
    stack = nd.Stack("page", tiny, name="<b>mine</b> & yours")
    both = nd.compare([stack, stack], settings={}, requests=500, snapshots=False)
    for html in (both[0]._repr_html_(), both._repr_html_(), both.table._repr_html_()):
        assert any("<b>mine</b> & yours" in text for text in texts(html))


def test_a_comparison_has_a_row_and_a_line_for_each_stack(used: dict[str, Any]) -> None:
    both = nd.compare(["page", "page+ftl.gc.victim=fifo"], "mixed", settings=used, requests=20_000, snapshots=False)
    html = both._repr_html_()
    assert [row[0] for row in rows(html)] == ["stack", "page", "page+ftl.gc.victim=fifo"]
    assert len(list(parsed(html).iter("polyline"))) == 4, "reads and writes of both"
    writes = nd.compare(["page"], "sequential-write", settings=used, requests=2000, snapshots=False)
    assert "read p99" not in rows(writes._repr_html_())[0]


def test_a_table_shows_its_first_rows_and_how_many_there_are() -> None:
    table = nd.Table({"name": [f"row {row}" for row in range(50)], "took_ns": np.linspace(0, 5e6, 50), "share": [np.nan] * 50})
    shown = rows(table._repr_html_())
    assert len(shown) == 21 and shown[0] == ["name", "took_ns", "share"] and shown[1] == ["row 0", "0", _html.NONE]
    assert any("50 rows, the first 20" in text for text in texts(table._repr_html_()))
    assert rows(nd.Table({})._repr_html_()) == [[]]


def test_a_sweep_shows_what_differs_and_what_was_measured(used: dict[str, Any]) -> None:
    plan = {"stacks": ["page", "page+ftl.gc.victim=fifo"], "set": {**used, "workload.requests": 30_000}, "axes": {"drive.over_provisioning": ["15%", "40%"]}}
    html = nd.sweep(plan)._repr_html_()
    shown = rows(html)
    assert shown[0][:2] == ["stack", "drive_over_provisioning"] and "waf" in shown[0] and len(shown) == 5
    assert len(list(parsed(html).iter("circle"))) == 4
    impossible = nd.sweep({**plan, "axes": {"drive.over_provisioning": ["1%", "40%"]}})
    shown = rows(impossible._repr_html_())
    assert shown[0][-1] == "problem" and "too little spare flash" in shown[1][-1] and shown[1][2] == _html.NONE


def test_a_life_shows_its_interval(used: dict[str, Any]) -> None:
    life = nd.life("page", "zipf", settings={**used, "flash.endurance": 3000}, requests=100_000, price=10, snapshots=False)
    shown = rows(life._repr_html_())
    assert shown[0] == ["until worn out", "earliest", "estimate", "latest"] and shown[1][2] == _html.digits(life.tbw.estimate)
    assert len(list(parsed(life._repr_html_()).iter("svg"))) == 2
