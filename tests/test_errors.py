"""Errors: one root, facts as attributes, no secret in their text, and the same error after a process boundary."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from nbresponses import errors
from nbresponses.core.response import Response

PARTIAL = Response({"id": "r", "output": []}, ending="failed")

EXAMPLES: list[tuple[errors.NBResponsesError, dict[str, Any]]] = [
    (errors.RequestError("model", "is missing"), {"field": "model", "problem": "is missing"}),
    (errors.TransportError("m", url="http://127.0.0.1"), {"url": "http://127.0.0.1"}),
    (errors.ConnectionFailed("refused", url="http://127.0.0.1"), {"reason": "refused", "url": "http://127.0.0.1"}),
    (errors.TimedOut("first_byte", 3.5), {"phase": "first_byte", "seconds": 3.5, "url": None}),
    (
        errors.Rejected(429, error={"code": "slow_down"}, body="s3cr3t", request_id="req_1", retry_after=2.0),
        {"status": 429, "error": {"code": "slow_down"}, "body": "s3cr3t", "request_id": "req_1", "retry_after": 2.0},
    ),
    (errors.Disconnected("gone", code=1006), {"reason": "gone", "code": 1006}),
    (errors.ProtocolError("m"), {}),
    (
        errors.DecodeError("malformed JSON", offset=3, length=10, excerpt="s3cr3t"),
        {"reason": "malformed JSON", "offset": 3, "length": 10, "excerpt": "s3cr3t"},
    ),
    (errors.ResponseFailed("m", response=PARTIAL, ending="failed"), {"response": PARTIAL, "ending": "failed"}),
    (errors.ResponseCancelled("m", response=PARTIAL, ending="cancelled"), {"ending": "cancelled"}),
    (errors.ResponseCutOff("m", response=PARTIAL, ending="cut_off"), {"ending": "cut_off"}),
    (errors.LaneError("m", lane="planner"), {"lane": "planner"}),
    (errors.MissingExtra("plot", "matplotlib"), {"extra": "plot", "package": "matplotlib"}),
]


@pytest.mark.parametrize(("error", "facts"), EXAMPLES, ids=[type(error).__name__ for error, _ in EXAMPLES])
def test_an_error_carries_its_facts_also_through_pickling_and_copying(
    error: errors.NBResponsesError, facts: dict[str, Any]
) -> None:
    for same in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301
        assert type(same) is type(error)
        assert str(same) == str(error) != ""
        assert same.args == error.args
        assert {name: getattr(same, name) for name in facts} == facts
        assert "s3cr3t" not in str(same) + repr(same)


def test_all_errors_have_one_root_and_are_public() -> None:
    classes = [getattr(errors, name) for name in errors.__all__]
    assert all(issubclass(cls, errors.NBResponsesError) for cls in classes)
    assert all(cls.__name__ in (errors.__doc__ or "") for cls in classes), "the tree in the module's docstring"
    assert issubclass(errors.RequestError, ValueError)
    assert issubclass(errors.MissingExtra, ImportError)
