"""Pictures with Matplotlib, data frames, units, and results as people read them."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
from conftest import USED as SETTINGS

import nandarium as nd

matplotlib.use("agg")

USED: dict[str, Any] = dict(SETTINGS)


@pytest.fixture(scope="module")
def both() -> nd.Comparison:
    return nd.compare(["page", "page+ftl.gc.victim=fifo"], settings=USED, requests=20_000, snapshots=False)


@pytest.fixture(scope="module")
def life() -> nd.Life:
    return nd.life("page", "zipf", settings={**USED, "flash.endurance": 3000}, requests=100_000, tbw="1TB", snapshots=False)


@pytest.fixture(scope="module")
def swept() -> nd.SweepResult:
    return nd.sweep({"stacks": ["page", "page+ftl.gc.victim=fifo"], "set": {**USED, "workload.requests": 20_000}})


@pytest.fixture(scope="module")
def study() -> nd.Reproduction:
    return nd.repro("hard", scale="1/128")


def labels(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_run_is_drawn_as_it_was_measured(both: nd.Comparison) -> None:
    axes: Any = both[0].plot()
    assert labels(axes) == ["reads", "writes"] and axes.get_xscale() == "log"
    write = both[0].write
    assert write.p90 is not None and np.interp(write.p90, *axes.lines[1].get_data()) == pytest.approx(0.1, abs=0.01)
    assert labels(both[0].plot("time", op="write")) == ["writes"]
    with pytest.raises(ValueError, match="kind is 'bars'; it is one of latency, time, waf"):
        both[0].plot("bars")
    with pytest.raises(ValueError, match="op is 'erase'; it is one of read, write, flush, trim"):
        both[0].plot(op="erase")
    drawn: Any = both.plot("waf", ax=axes.figure.add_subplot())
    total = both[1].waf
    assert total is not None and drawn.patches[-1].get_x() + drawn.patches[-1].get_width() == pytest.approx(total)


def test_stacks_sweeps_lives_and_studies_are_drawn(both: nd.Comparison, swept: nd.SweepResult, life: nd.Life, study: nd.Reproduction) -> None:
    axes: Any
    for kind in ("latency", "time"):
        axes = both.plot(kind)
        assert labels(axes) == ["page", "page+ftl.gc.victim=fifo"] and axes.get_title() == "reads under mixed"
    points = np.concatenate([each.get_offsets() for each in swept.plot().collections[:2]])
    assert sorted(points[:, 0]) == sorted(swept.combinations["waf"])
    axes = life.plot()
    assert axes.lines[0].get_xdata()[0] == life.tbw.estimate and "data sheet" in labels(axes)
    axes = study.plot()
    assert {text.get_text().split()[0] for text in axes.get_yticklabels()} == {"4.2", "4.3", "4.4a", "4.4b"}
    assert all(0 <= x <= 1 for x, _ in axes.collections[0].get_offsets()), "rows that pass lie in their range"
    alone = nd.sweep({"set": {**USED, "workload.requests": 2_000}})
    with pytest.raises(ValueError, match="fewer than two combinations"):
        alone.plot()


def test_without_matplotlib_or_pandas_the_command_that_installs_it_is_told(both: nd.Comparison, life: nd.Life, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.pyplot", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    calls: list[tuple[str, Callable[[], object]]] = [("matplotlib", both.plot), ("matplotlib", life.plot), ("pandas", both.to_pandas), ("pandas", both[0].series.to_pandas)]
    for module, call in calls:
        with pytest.raises(ModuleNotFoundError, match=f"the module {module} is missing; `pip install {module}` installs it"):
            call()


def test_every_table_is_a_data_frame(both: nd.Comparison, swept: nd.SweepResult, life: nd.Life, study: nd.Reproduction) -> None:
    for frame, table in ((both.to_pandas(), both.table), (swept.to_pandas(), swept.runs), (life.to_pandas(), life.table), (study.to_pandas(), study.rows)):
        assert list(frame.columns) == list(table) and len(frame) == table.rows
    frame = both[0].series.to_pandas()
    frame.loc[0, "queue_depth"] = -1.0
    assert both[0].series["queue_depth"][0] != -1.0, "a copy"
    assert life.to_pandas().set_index("until_worn_out").loc["TB written (TBW)", "estimate"] == life.tbw.estimate


def test_latencies_have_a_unit_in_their_names_and_a_p95(both: nd.Comparison) -> None:
    write, buckets = both[0].write, both[0].histogram
    assert write == both[0].latency.write and both[0].read.count + write.count == 20_000
    assert write.p99 is not None and write.p99_us == write.p99 / 1000
    ours = buckets["op"] == "write"
    seen = np.cumsum(buckets["requests"][ours])
    for share, told in ((0.9, write.p90), (0.95, write.p95), (0.99, write.p99)):
        assert told == buckets["latency_ns"][ours][np.argmax(seen >= share * seen[-1])], "by the rule of the other percentiles"
    few = nd.run("page", settings=USED, requests=300, snapshots=False)
    assert few.write.p95 is None and few.write.p95_us is None, "fewer than ten requests lie beyond it"


def test_policies_say_when_to_use_them() -> None:
    built_in = {name: policy for name, policy in nd.list_policies().items() if policy.when}
    assert built_in["greedy"].key == "ftl.gc.victim" and "fewest valid pages" in built_in["greedy"].doc
    assert {policy.key for policy in built_in.values()} >= {"ftl.kind", "ftl.gc.victim", "buffer.kind", "stripe.cache.victim"}
    nd.policies.victim("just-for-this", doc="a test")(lambda view: 0)
    assert nd.list_policies()["just-for-this"] == ("ftl.gc.victim", "a test", "")


def test_lists_are_tables_in_a_notebook_and_results_are_read_in_one_line(both: nd.Comparison, life: nd.Life, study: nd.Reproduction) -> None:
    from test_html import rows

    for listed, head in ((nd.drives(), ["name", "description"]), (nd.list_policies(), ["name", "key", "doc", "when"]), (nd.keys(), ["name", "default", "values", "doc"])):
        shown = rows(listed._repr_html_())
        assert shown[0] == head and len(shown) == len(listed) + 1
        assert pickle.loads(pickle.dumps(listed)) == listed
    assert rows(study._repr_html_())[1][0] == "4.1"
    told = [repr(each) for each in (both, both[0], life, study, nd.Workload("zipf", queue_depth=3), both.table, nd.Stack("page"))]
    assert told[0] == "<Comparison of 2 stacks: page, page+ftl.gc.victim=fifo>" and told[4] == "Workload('zipf', queue_depth=3)"
    assert told[3].startswith("<Reproduction of hard: ") and " pass" in told[3]
    assert all(len(text) < 400 and " at 0x" not in text for text in told), told
