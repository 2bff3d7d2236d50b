"""The exceptions of this package, each with the message of the command line.

Every message names the place, the value, the limit and the remedy. All of them are ``NandariumError``; mistakes of the
caller are ``ValueError`` as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _nandarium

if TYPE_CHECKING:
    from ._result import Result

__all__ = [
    "ClusterError",
    "ConfigError",
    "DriveFull",
    "IntegrityError",
    "InternalError",
    "NandariumError",
    "NotSteady",
    "PolicyError",
    "SimulationError",
    "WorkloadError",
]


class NandariumError(Exception):
    """Any of the below. Its message shows only the beginning of a very long name, as in the command line."""

    def __init__(self, *told: object) -> None:
        super().__init__(*(_nandarium.readable(one) if isinstance(one, str) else one for one in told))


class ConfigError(NandariumError, ValueError):
    """A stack that cannot be used: an unknown key, a value out of range, values that do not fit together, a drive that does not fit into memory."""


class WorkloadError(NandariumError, ValueError):
    """A workload that cannot be run: no such name, a bad trace, columns that are not requests, a request beyond the drive."""


class ClusterError(NandariumError):
    """Workers that cannot be used: no scheduler at the address, no workers, another build of this package, Dask not installed, no executor."""


class NotSteady(NandariumError):
    """``drive.precondition = "steady"`` was asked for and write amplification did not become steady."""


class DriveFull(NandariumError):
    """The drive cannot take further writes: no block can be reclaimed, or too many went bad.

    Attributes:
        result: the measurements until then, or ``None`` before the measured run.
    """

    def __init__(self, message: str, outcome: object = None) -> None:
        super().__init__(message)
        self.result: Result | None = None
        if outcome is not None:
            from ._result import Result

            self.result = Result(outcome)  # type: ignore[arg-type]


class IntegrityError(NandariumError):
    """A read returned wrong data: a defect of the simulated stack."""


class PolicyError(NandariumError):
    """A policy written in Python answered something that is not a candidate, or chooses blocks for ever that give no room."""


class SimulationError(NandariumError):
    """A run failed for another reason, such as a file that cannot be written."""


class InternalError(NandariumError):
    """The simulator broke one of its own invariants: a defect of nandarium, worth a report."""
