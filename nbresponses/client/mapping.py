"""`map`: one request for each of many prompts, some at a time; a DataFrame in the prompts' order. One async body.

Rules
1. A prompt whose response fails is a row that says why; the others go on. A prompt that cannot be sent at all raises.
2. With a capture file every prompt's messages are written when it has ended, under the lane "prompt N". Run again with
   the same file, prompts that were answered there are not sent again: they are known by their place and their request.
3. An interrupt closes what is in flight; what had ended is in the file.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbresponses.capture.record import Capture
from nbresponses.client.lanes import AsyncLaneManager
from nbresponses.core.accumulator import Accumulator
from nbresponses.core.request import Request, encode_body
from nbresponses.errors import NBResponsesError, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from pandas import DataFrame

    from nbresponses.client.api import Api
    from nbresponses.client.stream import AsyncResponseStream
    from nbresponses.core.response import Response

__all__ = ["COLUMNS", "map_prompts"]

COLUMNS = (
    *("prompt", "text", "ending", "error", "response_id"),
    *("input_tokens", "output_tokens", "seconds", "from_file", "response"),
)
_ANSWERED = frozenset({"completed", "incomplete"})
_OPTIONS = ("timeout", "extra_headers", "extra_query", "extra_body")


async def map_prompts(
    api: Api,
    open_stream: Callable[..., AsyncResponseStream],
    prompts: Iterable[Any],
    *,
    concurrency: int = 8,
    lanes: bool | Mapping[str, Any] = False,
    capture: str | PathLike[str] | None = None,
    progress: bool = True,
    **fields: Any,
) -> DataFrame:
    """A row per prompt, with `COLUMNS` (and `parsed` where a `text_format` is given).

    A prompt is an input (a text, or a list of items) or a dict of fields over the common `fields`. `lanes` sends them
    over that many lanes of one WebSocket (a dict: settings of the lanes). `progress` shows a bar. Raises RequestError.
    """
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise RequestError("concurrency", "must be a whole number above 0")
    if isinstance(prompts, (str, bytes)):
        raise RequestError("prompts", "a list of prompts is expected, not one text")
    wanted = [({**fields, **prompt} if isinstance(prompt, dict) else {**fields, "input": prompt}) for prompt in prompts]
    keys = [_key(each) for each in wanted]
    known = _answered_in(capture, keys) if capture is not None else {}
    rows: dict[int, dict[str, Any]] = {}
    record = _record(api, capture)
    left = [number for number in range(len(wanted)) if number not in known]
    async with AsyncExitStack() as stack:
        openers = await _openers(stack, api, open_stream, min(concurrency, len(left)), lanes)
        bar = stack.enter_context(_bar(len(wanted), len(known)) if progress else nullcontext())
        if record is not None:
            stack.callback(record.close)
        pending = iter(left)

        async def work(opener: Callable[..., AsyncResponseStream]) -> None:
            for number in pending:  # shared: each takes the next one
                rows[number] = await _row(opener, wanted[number], record, number, keys[number])
                if bar is not None:
                    bar.update()

        try:
            async with asyncio.TaskGroup() as group:
                for opener in openers:
                    group.create_task(work(opener))
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
    for number, response in known.items():
        rows[number] = {**_facts(response, wanted[number]), "from_file": True}
    return _frame([rows[number] for number in range(len(wanted))], parsed=fields.get("text_format") is not None)


async def _openers(
    stack: AsyncExitStack,
    api: Api,
    open_stream: Callable[..., AsyncResponseStream],
    count: int,
    lanes: bool | Mapping[str, Any],
) -> list[Callable[..., AsyncResponseStream]]:
    """One for each that works at a time: over HTTP all are the same, on a WebSocket each has a lane."""
    if lanes is False or not count:
        return [open_stream] * count
    settings = {} if lanes is True else dict(lanes)
    manager = await stack.enter_async_context(AsyncLaneManager(api, record=False, **settings))
    return [partial(manager[f"map-{number}"].stream, previous_response_id=None) for number in range(count)]


async def _row(
    opener: Callable[..., AsyncResponseStream],
    fields: Mapping[str, Any],
    record: Capture | None,
    number: int,
    key: str,
) -> dict[str, Any]:
    began = time.monotonic()
    stream = opener(**fields)
    error: NBResponsesError | None = None
    try:
        async with stream:
            await stream.until_done()
            await stream.get_final_response()
    except NBResponsesError as failure:
        if isinstance(failure, RequestError):
            raise
        error = failure
    if record is not None:
        _write(record, stream.capture, number, key)
    row = _facts(stream.response, fields, ending=stream.ending)
    return {**row, "error": None if error is None else str(error), "seconds": time.monotonic() - began}


def _facts(response: Response, fields: Mapping[str, Any], *, ending: str | None = None) -> dict[str, Any]:
    usage: Mapping[str, Any] = response.usage or {}
    return {
        "prompt": fields.get("input"),
        "text": response.output_text,
        "ending": response.ending or ending,
        "error": None,
        "response_id": response.id,
        "input_tokens": usage.get("input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "seconds": None,
        "from_file": False,
        "response": response,
    }


def _frame(rows: list[dict[str, Any]], *, parsed: bool) -> DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    for name in ("input_tokens", "output_tokens"):
        frame[name] = frame[name].astype("Int64")
    if parsed:
        values = []
        for number, row in enumerate(rows):
            try:
                values.append(row["response"].parsed)
            except NBResponsesError as error:
                values.append(None)
                frame.loc[number, "error"] = row["error"] or str(error)
        frame.insert(2, "parsed", pd.Series(values, dtype=object))
    return frame


def _bar(total: int, done: int) -> AbstractContextManager[Any]:
    from tqdm.auto import tqdm

    bar: AbstractContextManager[Any] = tqdm(total=total, initial=done, desc="responses", unit="prompt")
    return bar


# ── The capture file ─────────────────────────────────────────────────────────────────────────────────────────────────


def _key(fields: Mapping[str, Any]) -> str:
    """What tells a request from another: a digest of its body. RequestError where it cannot be sent."""
    body = Request(**{name: value for name, value in fields.items() if name not in _OPTIONS[:3]}).body
    return hashlib.sha256(encode_body(body)).hexdigest()[:32]


def _record(api: Api, path: str | PathLike[str] | None) -> Capture | None:
    if path is None:
        return None
    record = Capture(datetime.now(UTC), time.monotonic(), source=f"map at {api.settings.base_url}")
    record.tee(path, append=True)
    return record


def _write(record: Capture, capture: Capture, number: int, key: str) -> None:
    """One prompt's messages, after a note that says whose they are. The note of its ending is the last."""
    lane = f"prompt {number}"
    record.noted("prompt", capture.origin, lane=lane, number=number, key=key)
    for message in capture:
        at = capture.origin + message.at
        event = message.event() if message.kind == "event" else None
        if event is not None:
            record.received([event], at, transport=message.transport, lane=lane)
        elif message.direction == "out":
            record.sent(message.facts(), at, transport=message.transport, lane=lane)
        elif message.kind == "remainder":
            record.remainder(message.payload, at, transport=message.transport, lane=lane)
        elif message.direction == "note":
            facts = {name: value for name, value in message.facts().items() if name not in {"kind", "at", "lane"}}
            record.noted(message.kind, at, lane=lane, **facts)


def _answered_in(path: str | PathLike[str], keys: list[str]) -> dict[int, Response]:
    """The responses of prompts that the file has answered: same place, same request."""
    if not Path(path).exists():
        return {}
    running: dict[str | None, tuple[int, Accumulator]] = {}
    answered: dict[int, Response] = {}
    for message in Capture.load(path):
        if message.kind == "prompt" and message.direction == "note":
            facts = message.facts()
            number = int(facts.get("number", -1))
            running.pop(message.lane, None)
            if 0 <= number < len(keys) and facts.get("key") == keys[number]:
                running[message.lane] = (number, Accumulator())
        elif message.lane in running:
            number, accumulator = running[message.lane]
            event = message.event()
            if event is not None:
                accumulator.apply(event)
            elif message.kind == "ended" and accumulator.ending in _ANSWERED:
                answered[number] = accumulator.response
    return answered
