"""Every JSON document that the program writes has the form that its schema in docs/schemas says, and no other."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import TINY, program, sets
from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry, Resource

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "docs/schemas").glob("*.json"))
SCHEMAS: dict[str, dict[str, Any]] = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in FILES}
REGISTRY: Registry[Any] = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())
KINDS = [name for name in SCHEMAS if name != "common"]
OPTIONAL = {
    "list": {"stacks", "drives", "policies", "workloads", "parts", "formats", "studies", "keys"},
    "code": {"codes", "search"},
    "sweep-run": {"result"},
    "result": {"life", "cost", "closeups", "repeated", "limits", "data_sheet"},
    "life": {"repeated", "limits"},
    "comparison": {"limits"},
    "sweep": {"limits"},
}
"""Keys of the document itself that may be absent. What is elsewhere is there, and may be null."""

SAMPLE = str(ROOT / "crates/sim/simulator/samples/sqlite-git-ext4.csv.zst")
STRIPED = {**TINY, "flash.channels": 4, "drive.precondition": "none", "drive.over_provisioning": "100%"}
FAULTS = {"engine.contents": "stamp", "flash.fault.read": "5%", "flash.fault.program": "0.1%", "flash.fault.factory_bad": "5%"}
CODES = ("mirror", "mds -n 3", "regular-2 -n 12", "-n 3 --search", "-n 8 --search --seconds 1 --restarts 3")
WORN_OUT, MISSED, OUTSIDE, LIMIT, DAMAGED = 5, 6, 7, 8, 3
"""Exit codes of runs whose document is printed all the same."""

RUNS: dict[str, tuple[str, ...]] = {
    "reads and writes": ("--requests", "2000"),
    "reads only": ("--workload", "uniform-read", "--requests", "300"),
    "writes only, open loop": ("--workload", "uniform-write", "--requests", "300", *sets({"workload.loop": "open", "workload.interarrival": "100us"})),
    "trims and flushes": ("--requests", "400", *sets({"workload.trim_share": "20%", "workload.flush_every": "10"})),
    "no time": ("--requests", "300", *sets({"engine.time": "none"})),
    "faults": ("--requests", "2000", *sets({**FAULTS, "drive.over_provisioning": "100%"})),
    "sample": ("--workload", SAMPLE, "--requests", "300", *sets({"workload.fit": "modulo"})),
    "buffer": ("--stack", "two-level", "--requests", "300"),
    "map on flash": ("--stack", "tpftl", "--requests", "300"),
    "log blocks": ("--stack", "fast", "--requests", "300"),
    "superpages": ("--stack", "superpage", "--requests", "300"),
    "driver of the host": ("--stack", "hard", "--requests", "300"),
    "stripes with a lost die": ("--stack", "raid5-ppc", "--requests", "300", *sets({**STRIPED, "flash.fault.dies": "1", "flash.fault.dies_after": 100})),
    "code zones": ("--stack", "striping-coded", "--requests", "300", *sets({**STRIPED, "coded.size": "1MiB", "coded.code_zones": 4})),
}
"""Arguments of runs over a tiny drive."""

PLAN = f"""
name = "small"
workloads = ["uniform-write", "{SAMPLE}"]
repetitions = 2
[set]
drive.capacity = "64MiB"
flash.channels = 2
flash.dies_per_channel = 2
drive.precondition = "none"
workload.requests = 200
[axes]
flash.pages_per_block = [64, 512]
drive.over_provisioning = ["5%", "100%"]
workload.queue_depth = [1, 8]
"""
"""Several panels, combinations that cannot be built, and a trace that does not fit."""


def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"{kind}.schema.json"}, registry=REGISTRY)


def said(*arguments: str, code: int = 0) -> Any:
    """What the program prints as JSON."""
    done = subprocess.run([program(), *arguments, "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[Path]:
    """A server with its sockets in a folder, until it is told to end: its control socket."""
    control = folder / "drive.sock.ctl"
    process = subprocess.Popen([program(), *arguments, "--socket", str(folder / "drive.sock"), "--quiet"])
    try:
        for _ in range(1000):
            with suppress(OSError), socket.socket(socket.AF_UNIX) as stream:
                stream.connect(str(control))
                break
            time.sleep(0.01)
        yield control
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def watched(*arguments: str, until: str) -> Any:
    """What work tells that is watched, once this part of it is there; then the work is ended."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % probe.getsockname()[1]
    process = subprocess.Popen([program(), *arguments, "--quiet", "--watch", address], stdout=subprocess.DEVNULL)
    try:
        for _ in range(1000):
            with suppress(OSError), urllib.request.urlopen(f"http://{address}/state.json", timeout=20) as answer:
                if (state := json.load(answer))[until] is not None:
                    return state
            time.sleep(0.02)
        raise AssertionError(f"{until} is never told")
    finally:
        process.kill()
        process.wait()


def line(control: Path, command: str) -> Any:
    """The answer of a server to a command."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(str(control))
        stream.sendall(f"{command}\n".encode())
        return json.loads(stream.makefile().readline())


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Documents of each kind by what they are of."""
    folder = tmp_path_factory.mktemp("documents")
    made: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
    alone = ("--quiet", "--no-snapshots")

    for name, arguments in RUNS.items():
        given = {argument.partition("=")[0] for argument in arguments}
        tiny = {key: value for key, value in TINY.items() if key not in given}
        made["result"][name] = said("run", *sets(tiny), *arguments, *alone)
    tired = {**TINY, "flash.endurance": 3, "drive.precondition": "none"}
    made["result"]["worn out"] = said("run", "--workload", "uniform-write", "--requests", "1000000", *sets(tired), *alone, code=WORN_OUT)
    short = folder / "short.csv"
    short.write_text("time_ns,device,op,offset_bytes,length_bytes,fua,latency_ns\n0,0,F,0,0,0,\n5000,0,W,0,4096,0,70000\n9000,0,R,0,4096,0,30000\n")
    stack = folder / "mine.toml"
    stack.write_text('extends = "page"\n')
    files = ("--stack", str(stack), "--workload", str(short))
    made["result"]["limits"] = said("run", "--requests", "300", "--fail-if", "waf > 0.1", "--fail-if", "read.p99 > 5ms", *sets(TINY), *alone, code=LIMIT)
    made["result"]["files"] = said("run", *files, *sets(TINY), "--out", str(folder / "run"), *alone)
    made["result"]["files, written"] = read(folder / "run/result.json")

    stacks = ("page", "page+ftl.wear.static_gap=9")
    made["comparison"]["repetitions"] = said("compare", "page", "dftl", "--repetitions", "3", "--requests", "2000", *sets(TINY), *alone)
    made["comparison"]["without effect"] = said("compare", *stacks, "--requests", "100", *sets(TINY), "--out", str(folder / "compare"), *alone)
    made["comparison"]["limits"] = said("compare", *stacks, "--requests", "100", "--fail-if", "iops < 0", *sets(TINY), *alone)
    made["comparison"]["written"] = read(folder / "compare/result.json")

    worn = (*sets({**TINY, "flash.endurance": 3000}), "--workload", "zipf", "--requests", "100000", *alone)
    made["life"]["bare"] = said("life", *worn, "--out", str(folder / "life"))
    made["life"]["bare, written"] = read(folder / "life/life.json")
    made["life"]["limits"] = said("life", *worn, "--fail-if", "tbw < 1GB")
    made["life"]["with a price"] = said("life", *worn, "--per-day", "1GB", "--price-per-gb", "0.1")
    made["life"]["repetitions"] = said("life", *worn, "--repetitions", "2", "--price", "10")
    made["life"]["no time"] = said("life", *worn, *sets({"engine.time": "none"}))

    counters = '{"data_units_written": %d, "percent_used": %d, "power_on_hours": %d}{"Physical media units written": {"hi": 0, "lo": %d}}'
    for name, values in {"new": (0, 0, 0, 0), "little": (900, 1, 24, 10**9), "much": (9000, 6, 48, 10**10)}.items():
        (folder / name).write_text(counters % values)
    made["life-of-logs"]["worn"] = said("life", "--smart", str(folder / "new"), str(folder / "much"), "--tbw", "1TB")
    made["life-of-logs"]["hardly worn"] = said("life", "--smart", str(folder / "new"), str(folder / "little"), "--over", "3d")

    lived = ("compare", "page", "page+flash.endurance=9000", "--life", *worn)
    made["comparison"]["with lives"] = said(*lived, "--per-day", "1GB", "--price", "page=100")
    made["comparison"]["too short for a life"] = said("compare", "page", "--life", "--price", "page=100", *sets({**TINY, "flash.endurance": 3000}), "--requests", "100", *alone)

    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    made["sweep-plan"]["several panels"] = said("sweep", str(plan), "--dry-run", "--quiet")
    made["sweep"]["several panels"] = said("sweep", str(plan), "--out", str(folder / "sweep"), "--quiet")
    plan.write_text(PLAN.split("[axes]")[0].replace("repetitions = 2", "").replace(f', "{SAMPLE}"', ""))
    made["sweep"]["limits"] = said("sweep", str(plan), "--fail-if", "iops < 0", "--out", str(folder / "sweep"), "--quiet")
    made["sweep"]["single run"] = said("sweep", str(plan), "--set", "flash.pages_per_block=64", "--out", str(folder / "single"), "--quiet")
    made["sweep-run"] = {str(path.parent): read(path) for path in folder.glob("s*/runs/*/*/run.json")}

    made["trace-info"]["sample"] = said("trace", "info", SAMPLE)
    made["trace-info"]["latencies"] = said("trace", "info", str(short))
    short.write_text("".join(short.read_text().splitlines(keepends=True)[:2]))
    made["trace-info"]["a flush"] = said("trace", "info", str(short), "--format", "nandarium")
    short.write_text(short.read_text() + "Lost 12 events\nan odd line\n" + "9000000000,0,R,0,4096,0,\n" * 2)
    made["trace-info"]["an odd line and lost events"] = said("trace", "info", str(short), "--format", "nandarium")

    made["repro"]["striping"] = said("repro", "striping", "--scale", "1/4096", "--out", str(folder / "repro"), "--quiet", code=MISSED)
    made["repro"]["written"] = read(folder / "repro/rows.json")
    made["repro"]["family"] = said("repro", "partial-parity", "--scale", "1/128", "--family", "2", "--quiet", code=MISSED)

    measured = folder / "measured.toml"
    measured.write_text(
        'name = "m"\ncapacity = "256MiB"\n[source.s]\ntext = "a test"\n[[experiment]]\nkind = "closed"\nop = "read"\ndepth = 1\nsource = "s"\n'
        'fit = ["mean"]\nmeasured = { min = "1us", mean = "120us", p999 = "990us", iops = 8000 }\n'
    )
    made["fit"]["small"] = said("fit", str(measured), "--from", "page", *sets({"flash.channels": 2, "flash.dies_per_channel": 1}), "--scale", "1", "--quiet", code=OUTSIDE)

    fio = 'fio --name=t --ioengine=nbd --uri="$NANDARIUM_URI" --rw=randwrite --bs=4k --size=256k --fsync=8 --output=/dev/null; echo all'
    tortured = ("torture", *sets({**TINY, "drive.precondition": "none"}), "--workload", fio, "--states", "20", "--quiet")
    made["torture"]["holds"] = said(*tortured, "--check", "true", "--out", str(folder / "torture"))
    made["torture"]["holds, written"] = read(folder / "torture/torture.json")
    made["torture"]["fails"] = said(*tortured, "--check", "test -s $NANDARIUM_SAID || { echo lost; exit 1; }", code=DAMAGED)

    calls, record = folder / "calls.log", folder / "record.csv"
    record.write_text("time_ns,device,op,offset_bytes,length_bytes,fua\n# 0 clock 100.000000000\n0,0,F,0,0,0\n# 500000000 done F\n# 900000000 end\n")
    opened = '7  100.1 openat(AT_FDCWD</m>, "a", O_RDWR|O_CREAT, 0666) = 3</m/a>\n7  100.2 write(3</m/a>, "x", 1) = 1\n'
    calls.write_text(opened + "7  100.4 fsync(3</m/a>) = 0\n7  100.6 fsync(4</m>) = 0\n")
    joined = ("fsyncs", "--calls", str(calls), "--record", str(record))
    made["fsyncs"]["holds"] = said(*joined)
    calls.write_text(opened + "7  100.2 fsync(3</m/a>) = 0\n7  100.3 close(3</m/a>) = 0\n" + opened.replace('"a"', '"b"').replace("/m/a", "/m/b"))
    made["fsyncs"]["fails"] = said(*joined, code=DAMAGED)

    said("run", "--timeline", str(folder / "timeline.json"), "--window", "0ms..3ms", "--requests", "300", *sets(TINY), *alone)
    made["timeline"]["window"] = read(folder / "timeline.json")

    long = ("run", *sets(TINY), "--no-snapshots", "--requests", "100000000")
    made["progress"]["run"] = watched(*long, until="measured")
    plan.write_text(PLAN.replace("repetitions = 2", "repetitions = 500"))
    made["progress"]["sweep"] = watched("sweep", str(plan), "--out", str(folder / "watched"), until="left_s")

    made["list"] = {what: said("list", *what.split()) for what in ("", "keys", "parts")}
    made["code"] = {what: said("code", *what.split()) for what in CODES}
    made["probe"]["stack"] = said("probe", "superpage", "page", "--bytes", "64KiB", *sets(TINY), "--quiet")

    log = folder / "faults.jsonl"
    faults = ("--fault", "flip writes count 3", "--fault", "misdirect writes count 1", "--fault-log", str(log))
    with served(folder, "serve", "--out", str(folder / "served"), *faults, *sets(TINY)) as control:
        export = f"nbd+unix:///?socket={folder / 'drive.sock'}"
        lines = {"unused": line(control, "stats"), "refused": line(control, "start")}
        made["probe"]["export"] = said("probe", "superpage", export, "--yes", "--bytes", "64KiB", "--quiet")
        made["serve-stats"]["used"] = said("ctl", str(control), "stats")
        for command in ("smart", "smart-log", "ocp-log", "live", "maps"):
            made[command]["used"] = said("ctl", str(control), command)
        commands = (
            *("power-cut 3", "fault lose flushes count 1", "fault cut-zeros share 50%", "faults", "fault off", "fault-log"),
            *("fault die 0", "fault reads 0.1%", "power-off"),
        )
        made["ctl-done"] = {what: said("ctl", str(control), *what.split()) for what in commands}
        lines |= {what: line(control, what) for what in ("stats", "smart", "smart-log", "ocp-log", "live", "maps", "power-on", "shut-down")}
    made["result"]["served"] = read(folder / "served/result.json")
    made["fault-log"] = {entry: json.loads(entry) for entry in log.read_text().splitlines()}

    drive = folder / "hard.img"
    subprocess.run([program(), "hard", "format", str(drive), "--create", "64MiB"], check=True, capture_output=True)
    made["hard-check"]["sound"] = said("hard", "check", str(drive))
    with served(folder, "hard", "serve", str(drive)) as control:
        made["remap-stats"]["unused"] = said("ctl", str(control), "stats")
        lines["remapped"] = line(control, "stats")
        line(control, "shut-down")
    made["ctl-line"] = lines
    with drive.open("r+b") as file:
        file.seek(100)
        file.write(b"damage")
    made["hard-check"]["damaged"] = said("hard", "check", str(drive), code=DAMAGED)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_documents_have_the_form_of_their_schema(kind: str, documents: dict[str, dict[str, Any]]) -> None:
    assert documents[kind]
    for name, document in documents[kind].items():
        wrong = [f"{error.json_path}: {error.message}"[:500] for error in validator(kind).iter_errors(document)]
        assert not wrong, f"{kind}, {name}"


def test_the_cases_cover_what_may_be_absent(documents: dict[str, dict[str, Any]]) -> None:
    results = documents["result"]
    assert {result["status"] for result in results.values()} == {"complete", "worn-out"}
    assert {result["workload"]["loop"] for result in results.values()} == {"closed", "open"}
    assert results["no time"]["iops"] is None and results["reads only"]["waf"]["total"] is None
    assert results["reads only"]["latency_ns"]["write"]["max"] is None and results["trims and flushes"]["latency_ns"]["flush"]["p50"] is not None
    assert results["files"]["recorded_latency_ns"]["read"]["p50"] is None and results["files"]["provenance"]["stack"]["bytes"] > 0
    assert results["served"]["provenance"] is None and results["served"]["host"]["write"]["requests"] > 0
    assert results["stripes with a lost die"]["counters"]["flash.dies_lost"] == 1 and results["buffer"]["cache"]
    assert results["faults"]["wear"]["bad_blocks"] > 0 and results["faults"]["host"]["read"]["failed"] > 0
    assert documents["comparison"]["without effect"]["notes"]
    lives = documents["life"].values()
    assert [life["cost"] is None for life in lives] == [True, True, True, False, False, True]
    assert [life.get("repeated", {}).get("price_per_tb_written") is None for life in lives] == [True, True, True, True, False, True]
    assert documents["life"]["no time"]["years"] is None
    sweeps = documents["sweep"]
    assert {"impossible", "complete", "failed"} <= sweeps["several panels"]["statuses"].keys() and sweeps["single run"]["recommendation"] is None
    assert {"result" in run for run in documents["sweep-run"].values()} == {True, False}
    stats = documents["serve-stats"]["used"]["since_start"]
    assert stats["latency_ns"]["write"] is not None and stats["latency_ns"]["trim"] is None
    progress = documents["progress"]
    assert progress["run"]["table"] is None and progress["sweep"]["measured"] is None and progress["sweep"]["table"]["rows"]
    live = documents["live"]["used"]
    assert live["waf"] > 0 and live["waiting_ns"]["write"]["service"] > 0 and live["latency_ns"]["write"]["histogram"]
    assert documents["maps"]["used"]["valid"]["values"] and documents["ctl-line"]["maps"]["ok"]["valid"] is None
    assert {len(check) for check in documents["hard-check"].values()} == {2, 26}


def small(value: Any) -> Any:
    """A document with its first list items alone."""
    if isinstance(value, list):
        return [small(item) for item in value[:4]]
    return {key: small(item) for key, item in value.items()} if isinstance(value, dict) else value


def spoilt(value: Any, what: str) -> Any:
    """A document with a key more in every table, or with text for every number."""
    if isinstance(value, dict):
        more = {"no such key": None} if what == "a key more" else {}
        return {key: spoilt(item, what) for key, item in value.items()} | more
    if isinstance(value, list):
        return [spoilt(item, what) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number and what == "text for a number" else value


def places(value: Any, *path: str | int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Everything in a document, and where it is."""
    yield path, value
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, *path, key)


def problems(errors: Iterable[ValidationError]) -> Iterator[tuple[tuple[str | int, ...], set[str | int]]]:
    """Where something is wrong, and the words of the schema that say so; also inside alternatives."""
    for error in errors:
        yield tuple(error.absolute_path), set(error.absolute_schema_path)
        yield from problems(error.context or ())


@pytest.mark.parametrize("what", ["a key more", "text for a number"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_is_refused_wherever_it_is(kind: str, what: str, documents: dict[str, dict[str, Any]]) -> None:
    document = small(next(iter(documents[kind].values())))
    validator(kind).validate(document)
    closing = {"additionalProperties", "unevaluatedProperties", "propertyNames"}
    found = list(problems(validator(kind).iter_errors(spoilt(document, what))))
    tables = {path for path, words in found if words & closing}
    refused = {path for path, _ in found}
    for path, value in places(document):
        if what == "a key more" and isinstance(value, dict):
            assert path in tables, path
        if what == "text for a number" and isinstance(value, int | float) and not isinstance(value, bool):
            assert path in refused, path


def objects(schema: Any, *path: str) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """The schemas in a schema that describe, conditions left out."""
    if isinstance(schema, dict):
        yield path, schema
    for key, item in schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ():
        if key not in ("if", "then", "else"):
            yield from objects(item, *path, str(key))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_describes_everything(name: str) -> None:
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"{name}.schema.json" and schema["title"] and schema["description"].endswith(".")
    # Parts of other objects, which are closed.
    parts = {("remap-stats", "now"), ("remap-stats", "counts"), ("common", "unmeasured")}
    for path, part in objects(schema):
        if isinstance(properties := part.get("properties"), dict) and "description" not in properties.get("description", {}):
            closed = part.get("additionalProperties") is False or part.get("unevaluatedProperties") is False
            assert closed or (name, path[-1]) in parts, path
            optional = set() if path else OPTIONAL.get(name, set())
            assert set(part.get("required", properties)) == properties.keys() - optional, path
            for key, value in properties.items():
                assert value.get("description", "").endswith((".", ")")), (*path, key)
        if isinstance(target := part.get("$ref"), str):
            # No place to fetch anything from: what is not in the folder is an error.
            REGISTRY.resolver(base_uri=schema["$id"]).lookup(target)


def test_every_versioned_document_has_a_schema() -> None:
    named = re.compile(r'const [A-Z_]+: &str = "(nandarium\.[a-z-]+/\d+)"')
    written = {version for path in (ROOT / "crates").glob("*/*/src/**/*.rs") for version in named.findall(path.read_text())}
    described = {schema["properties"]["schema"]["const"] for schema in SCHEMAS.values() if "schema" in schema.get("properties", {})}
    assert written == described


def test_the_readme_validates_a_file(documents: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs/schemas/README.md").read_text()
    assert set(re.findall(r"\(([a-z-]+)\.schema\.json\)", text)) == set(SCHEMAS)
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    result = tmp_path / "out/mine/result.json"
    result.parent.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    result.write_text(json.dumps(documents["result"]["files"]))
    exec(compile(example[1], "README.md", "exec"), {})
    result.write_text("{}")
    with pytest.raises(Exception, match="is a required property"):
        exec(compile(example[1], "README.md", "exec"), {})
