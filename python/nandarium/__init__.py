"""A laboratory for solid-state drives: replay a workload through a modelled drive and see why it was slow.

>>> import nandarium as nd
>>> result = nd.run("page", "zipf", settings={"drive.capacity": "1GiB"}, requests=20_000)
>>> result.status
'complete'
>>> result.latency.write.p99 >= result.latency.write.p50
True

`run`, `compare`, `sweep`, `life` and `repro` do what the commands of these names do, with the same hashes; `optimize`
searches a plan; `torture` cuts the power; `Requests` takes requests from arrays; `Result` gives arrays and Arrow tables;
`policies` takes policies written in Python. docs/guides/python.md has more.
"""

from . import _nandarium, errors, policies
from ._nandarium import Disk
from ._catalogue import Key, drives, explain, formats, keys, parts, stacks, workloads
from ._catalogue import policies as list_policies
from ._convert import trace_convert
from ._life import Cost, DataSheet, Interval, Life, LifeCause, life
from ._repro import Reproduction, repro, studies
from ._result import Addresses, Comparison, Latencies, Latency, Result, Wear
from ._optimize import SearchResult, optimize
from ._run import compare, run
from ._stack import Shape, Stack
from ._sweep import SweepResult, sweep
from ._table import Table
from ._torture import Tortured, torture
from ._trace import Record, TraceInfo, trace_info
from ._values import Settings, Value
from ._workload import Requests, Workload
from .errors import (
    ClusterError,
    ConfigError,
    DriveFull,
    IntegrityError,
    InternalError,
    NandariumError,
    NotSteady,
    PolicyError,
    SimulationError,
    WorkloadError,
)

__version__ = _nandarium.__version__

# Preconditioned states that another build has kept are not used.
_nandarium.set_library(_nandarium.__file__)

__all__ = [
    "Addresses",
    "ClusterError",
    "Comparison",
    "ConfigError",
    "Cost",
    "DataSheet",
    "Disk",
    "DriveFull",
    "IntegrityError",
    "InternalError",
    "Interval",
    "Key",
    "Latencies",
    "Latency",
    "Life",
    "LifeCause",
    "NandariumError",
    "NotSteady",
    "PolicyError",
    "Record",
    "Reproduction",
    "Requests",
    "Result",
    "SearchResult",
    "Settings",
    "Shape",
    "SimulationError",
    "Stack",
    "SweepResult",
    "Table",
    "Tortured",
    "TraceInfo",
    "Value",
    "Wear",
    "Workload",
    "WorkloadError",
    "compare",
    "drives",
    "errors",
    "explain",
    "formats",
    "keys",
    "life",
    "list_policies",
    "optimize",
    "parts",
    "policies",
    "repro",
    "run",
    "stacks",
    "studies",
    "sweep",
    "torture",
    "trace_convert",
    "trace_info",
    "workloads",
]
