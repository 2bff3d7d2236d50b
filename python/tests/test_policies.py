"""Policies written in Python."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nandarium as nd
from nandarium.policies import CommitView, EvictionView, VictimView


@nd.policies.victim("greedy-in-python")
class Greedy:
    """The block with the fewest valid pages."""

    def pick(self, view: VictimView) -> int:
        return int(view.valid.argmin())


@nd.policies.victim("fifo-in-python")
def fifo(view: VictimView) -> np.intp:
    return view.age.argmax()


@nd.policies.victim("random-in-python")
def any_block(view: VictimView) -> int:
    return view.below(len(view))


def run(victim: str, used: dict[str, Any], workload: str = "hot-cold") -> nd.Result:
    return nd.run("page", workload, settings={**used, "ftl.gc.victim": victim}, requests=20_000)


@pytest.mark.parametrize("workload", ["uniform-write", "hot-cold", "mixed"])
@pytest.mark.parametrize("name", ["greedy", "fifo"])
def test_a_policy_is_the_same_in_python_and_in_rust(name: str, workload: str, used: dict[str, Any]) -> None:
    in_rust, in_python = run(name, used, workload), run(f"{name}-in-python", used, workload)
    assert in_python.hash == in_rust.hash
    assert in_rust.flash["erases"]["gc"] > 0, "nothing was collected, so nothing was compared"


def test_the_same_draws_give_the_same_hash(used: dict[str, Any]) -> None:
    first, again = run("random-in-python", used), run("random-in-python", used)
    assert first.hash == again.hash != run("greedy", used).hash
    other = nd.run("page", "hot-cold", settings={**used, "ftl.gc.victim": "random-in-python", "engine.seed": 99}, requests=20_000)
    assert other.hash != first.hash


def test_a_view_tells_what_it_says(used: dict[str, Any]) -> None:
    seen: list[VictimView] = []

    @nd.policies.victim("curious")
    class Curious:
        def pick(self, view: VictimView) -> int:
            seen.append(view)
            return int(view.valid.argmin())

    run("curious", used)
    view = seen[-1]
    assert {len(view), len(view.block), len(view.valid), len(view.age), len(view.erases)} == {len(view)}
    assert view.block.dtype == view.age.dtype == np.uint32 and (np.diff(view.block.astype(int)) > 0).all()
    assert view.pages_per_block == 64 and view.valid.max() <= 64
    with pytest.raises(ValueError, match="read-only"):
        view.valid[0] = 0


def test_an_exception_comes_back_as_itself(used: dict[str, Any]) -> None:
    class OwnError(Exception):
        pass

    mine = OwnError("I do not know")

    @nd.policies.victim("undecided")
    def undecided(view: VictimView) -> int:
        raise mine

    with pytest.raises(OwnError) as caught:
        run("undecided", used)
    assert caught.value is mine
    with pytest.raises(OwnError):
        nd.compare(["page", "page+ftl.gc.victim=undecided"], settings=used, requests=20_000)
    assert run("greedy", used).status == "complete"


WRONG = [(10**6, "1000000"), (10**30, "1" + "0" * 30), (-1, "-1"), ("a", "'a'"), (1.5, "1.5"), (None, "None")]


@pytest.mark.parametrize(("answer", "said"), WRONG)
@pytest.mark.parametrize("kind", ["victim", "eviction", "commit"])
def test_an_answer_that_is_no_candidate_is_refused(kind: str, answer: Any, said: str, used: dict[str, Any], tiny: dict[str, Any]) -> None:
    """`None` used to be a full drive, the first page, or no commit."""
    name = f"wrong-{kind}"
    getattr(nd.policies, kind)(name)(lambda view: answer)
    with pytest.raises(nd.PolicyError, match=f"policy `{name}` answered {said}, but an answer is the index of a candidate in its view, from 0 to [0-9]+") as caught:
        {"victim": lambda: run(name, used), "eviction": lambda: buffered(name, used), "commit": lambda: striped(name, tiny)}[kind]()
    assert ("without `return`" in str(caught.value)) == (answer is None)


@pytest.mark.parametrize("stack", ["page", "dftl"])
def test_a_policy_that_chooses_full_blocks_for_ever_is_overruled(stack: str, used: dict[str, Any]) -> None:
    nd.policies.victim("fullest")(lambda view: view.valid.argmax())
    settings = {**used, "ftl.gc.victim": "fullest"}
    # `dftl` moves one full block after a host write, and then what gains.
    assert nd.run(stack, "hot-cold", settings=settings, requests=5000).status == "complete"


@pytest.mark.parametrize(("bound", "error"), [(0, ValueError), (-3, ValueError), (2**64, ValueError), (1.5, TypeError)])
def test_a_draw_below_nothing_is_refused(bound: Any, error: type[Exception], used: dict[str, Any]) -> None:
    nd.policies.victim("draws")(lambda view: view.below(bound))
    with pytest.raises(error, match=rf"view.below\({bound}\): "):
        run("draws", used)


def test_names_are_like_all_others(used: dict[str, Any]) -> None:
    with pytest.raises(nd.ConfigError, match="greedy-in-python"):
        run("greedy-in-pythn", used)
    with pytest.raises(nd.ConfigError, match="built-in"):
        nd.policies.victim("greedy")(Greedy)
    with pytest.raises(nd.ConfigError, match="lower-case"):
        nd.policies.victim("My Policy")(Greedy)
    with pytest.raises(TypeError, match="pick"):
        nd.policies.victim("no-pick")(dict)
    assert nd.list_policies()["greedy-in-python"][:2] == ("ftl.gc.victim", "The block with the fewest valid pages.")
    assert nd.run("page+ftl.gc.victim=fifo-in-python", settings=used, requests=2000).config["ftl.gc.victim"] == "fifo-in-python"


def test_no_snapshot_is_kept_of_a_drive_with_such_a_policy(used: dict[str, Any], tmp_path: Any) -> None:
    nd.run("page", settings={**used, "ftl.gc.victim": "greedy-in-python"}, requests=2000, snapshots=tmp_path)
    assert not list(tmp_path.iterdir())


def test_runs_of_several_threads_do_not_meet(used: dict[str, Any]) -> None:
    @nd.policies.victim("of-one-thread")
    class OfOneThread:
        def __init__(self) -> None:
            self.threads: set[int] = set()

        def pick(self, view: VictimView) -> int:
            self.threads.add(threading.get_ident())
            assert len(self.threads) == 1, "a drive has an object of its own"
            return int(view.valid.argmin())

    @nd.policies.victim("of-no-thread")
    def of_no_thread(view: VictimView) -> int:
        raise LookupError

    def one(number: int) -> str:
        try:
            return run(("of-one-thread", "random-in-python", "of-no-thread")[number % 3], used).hash
        except LookupError:
            return "none"

    alone = [one(number) for number in range(3)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(12))) == alone * 4


@nd.policies.eviction("oldest-in-python")
def oldest(view: EvictionView) -> int:
    return 0


@nd.policies.eviction("least-used-in-python")
class LeastUsed:
    """The page written and read least."""

    def pick(self, view: EvictionView) -> int:
        return int((view.writes + view.reads).argmin())


def buffered(kind: str, used: dict[str, Any], **more: Any) -> nd.Result:
    settings = {**used, "buffer.size": "512KiB", "buffer.kind": kind, **more}
    return nd.run("page", "zipf", settings=settings, requests=5000)


@pytest.mark.parametrize("unit", ["block", "page"])
def test_a_buffer_is_the_same_in_python_and_in_rust(unit: str, used: dict[str, Any]) -> None:
    in_rust = buffered("page-only", used, **{"buffer.flush_unit": unit})
    in_python = buffered("oldest-in-python", used, **{"buffer.flush_unit": unit})
    assert in_python.hash == in_rust.hash
    first = buffered("least-used-in-python", used, **{"buffer.flush_unit": unit})
    assert first.hash == buffered("least-used-in-python", used, **{"buffer.flush_unit": unit}).hash
    assert first.hash != in_rust.hash


def test_an_eviction_that_fails_comes_back_as_itself(used: dict[str, Any]) -> None:
    @nd.policies.eviction("failing-eviction")
    def failing(view: EvictionView) -> int:
        assert view.page.dtype == np.uint32 and (view.writes >= 1).all() and view.block_pages == 64
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        buffered("failing-eviction", used)
    with pytest.raises(nd.ConfigError, match="built-in"):
        nd.policies.eviction("fab")(failing)


nd.policies.commit("lru-in-python")(lambda view: 0)
nd.policies.commit("largest-in-python")(lambda view: view.newer.argmax())
nd.policies.commit("cheapest-in-python")(lambda view: view.reads.argmin())


def striped(victim: str, tiny: dict[str, Any], stack: str = "raid5-ppc") -> nd.Result:
    four = {"flash.channels": 4, "flash.dies_per_channel": 1, "stripe.cache.entries": 16, "stripe.in_flight": 16}
    settings = {**tiny, **four, "drive.precondition": "fill", "stripe.cache.victim": victim}
    return nd.run(stack, "zipf", settings=settings, requests=5000)


@pytest.mark.parametrize("stack", ["raid5-ppc", "raid5-fpc"])
@pytest.mark.parametrize("name", ["lru", "largest", "cheapest"])
def test_a_commit_choice_is_the_same_in_python_and_in_rust(name: str, stack: str, tiny: dict[str, Any]) -> None:
    in_rust, in_python = striped(name, tiny, stack), striped(f"{name}-in-python", tiny, stack)
    assert in_python.hash == in_rust.hash
    assert in_rust.counters["stripe.commits_replacement"] > 0, in_rust.counters


def test_a_commit_that_fails_comes_back_as_itself(tiny: dict[str, Any]) -> None:
    @nd.policies.commit("failing-commit")
    def failing(view: CommitView) -> int:
        assert len(view.stripe) == len(view) and (view.newer > 0).all()
        raise LookupError("which?")

    with pytest.raises(LookupError, match="which"):
        striped("failing-commit", tiny)
    with pytest.raises(nd.ConfigError, match="built-in"):
        nd.policies.commit("lru")(failing)


INSIDE_ITSELF = """
import nandarium as nd
from nandarium import policies

USED = {"drive.capacity": "64MiB", "flash.channels": 1, "flash.dies_per_channel": 1, "flash.pages_per_block": 64, "drive.precondition": "overwrite"}
STRIPED = {"drive.capacity": "64MiB", "flash.channels": 4, "flash.dies_per_channel": 1, "flash.pages_per_block": 64, "drive.precondition": "fill",
           "stripe.cache.entries": 16, "stripe.in_flight": 16}

def again():
    if KIND == "sweep":
        return nd.sweep({"set": {**USED, "workload.requests": 200000}}, progress=lambda *told: again())
    if KIND == "progress":
        return nd.run(settings=USED, requests=1000000, progress=lambda *told: again())
    if KIND == "compare":
        return nd.compare(["page+ftl.gc.victim=me"], "zipf", settings=USED, requests=5000)
    stack, settings = {
        "victim": ("page+ftl.gc.victim=me", USED),
        "made": ("page+ftl.gc.victim=me", USED),
        "eviction": ("page+buffer.size=512KiB+buffer.kind=me", USED),
        "commit": ("raid5-ppc+stripe.cache.victim=me", STRIPED),
    }[KIND]
    return nd.run(stack, "zipf", settings=settings, requests=5000)

def me(view):
    again()
    return 0

class Made:
    def __init__(self):
        again()

    def pick(self, view):
        return 0

{"eviction": policies.eviction, "commit": policies.commit}.get(KIND, policies.victim)("me")(Made if KIND == "made" else me)
try:
    again()
except RecursionError as error:
    print(error)
"""


@pytest.mark.parametrize("kind", ["victim", "made", "eviction", "commit", "compare", "progress", "sweep"])
def test_a_run_that_begins_itself_does_not_end_the_interpreter(kind: str) -> None:
    """The stack of the thread was used up, which nobody can catch."""
    done = subprocess.run([sys.executable, "-c", f"KIND = {kind!r}\n{INSIDE_ITSELF}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "begun inside 8 others, and 8 is the most; a policy or progress function that runs itself does this for ever" in done.stdout


def test_a_policy_may_run_other_stacks(used: dict[str, Any], tiny: dict[str, Any]) -> None:
    found: list[str] = []

    @nd.policies.victim("asks-others")
    def asking(view: VictimView) -> int:
        if not found:
            found.append(nd.run("page+ftl.gc.victim=greedy-in-python", settings=used, requests=2000).hash)
            found.extend(run.hash for run in nd.compare(["page", "page+ftl.gc.victim=greedy-in-python"], settings=used, requests=2000))
            found.extend(nd.sweep({"set": {**used, "workload.requests": 2000}}).runs["hash"].tolist())
        return int(view.valid.argmin())

    assert run("asks-others", used).hash == run("greedy", used).hash
    assert len(found) == 4 and len(set(found)) == 1
