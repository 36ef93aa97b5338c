"""`map`: one request for each of many prompts, some at a time; a DataFrame in the prompts' order. One async body.

Rules
1. A prompt whose response fails is a row that says why; the others go on. A prompt that cannot be sent at all raises.
2. With a capture file every prompt's messages are written when it has ended, under the lane "prompt N". Run again with
   the same file, prompts that were answered there are not sent again: they are known by their place and their request.
3. An interrupt, or an error that ends it, closes what is in flight. What came of it is in the file, and in the frame so
   far, which the exception carries as `partial`: a prompt that was not sent is a row that says so.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbresponses.capture.progress import progress_bar
from nbresponses.capture.record import Capture
from nbresponses.client.lanes import AsyncLaneManager
from nbresponses.core.accumulator import Accumulator
from nbresponses.core.request import Request, encode_body
from nbresponses.errors import NBResponsesError, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    from pandas import DataFrame

    from nbresponses.client.api import Api
    from nbresponses.client.stream import AsyncResponseStream
    from nbresponses.core.response import Response

    Opener = Callable[..., AsyncResponseStream]

__all__ = ["COLUMNS", "PromptMap", "map_prompts"]

COLUMNS = (
    *("prompt", "text", "ending", "error", "response_id"),
    *("input_tokens", "output_tokens", "seconds", "from_file", "response"),
)
_ANSWERED = frozenset({"completed", "incomplete"})
_CLOSING = 2.0  # seconds for the streams of an interrupted call to close
_OPTIONS = ("timeout", "extra_headers", "extra_query", "extra_body")


async def map_prompts(api: Api, open_stream: Opener, prompts: Iterable[Any], **options: Any) -> DataFrame:
    """See `PromptMap`."""
    mapping = PromptMap(api, open_stream, prompts, **options)
    try:
        return await mapping.run()
    except BaseException as error:
        mapping.keep_on(error)
        raise


class PromptMap:
    """One call of `map`, and the rows that it has so far.

    A row per prompt, with `COLUMNS` (and `parsed` where a `text_format` is given). A prompt is an input (a text, or a
    list of items) or a dict of fields over the common `fields`. `lanes` sends them over that many lanes of one
    WebSocket (a dict: settings of the lanes). `progress` shows a bar. Raises RequestError.
    """

    def __init__(
        self,
        api: Api,
        open_stream: Opener,
        prompts: Iterable[Any],
        *,
        concurrency: int = 8,
        lanes: bool | Mapping[str, Any] = False,
        capture: str | PathLike[str] | None = None,
        progress: bool = True,
        **fields: Any,
    ) -> None:
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise RequestError("concurrency", "must be a whole number above 0")
        if isinstance(prompts, (str, bytes)):
            raise RequestError("prompts", "a list of prompts is expected, not one text")
        if isinstance(prompts, Mapping) or hasattr(prompts, "columns"):  # both would be iterated for their names
            kind = type(prompts).__name__
            raise RequestError("prompts", f"a list of prompts, or a column, is expected, not a whole {kind}")
        self._api, self._open_stream, self._lanes = api, open_stream, lanes
        self._concurrency, self._progress = concurrency, progress
        self._capture = None if capture is None else Path(capture).expanduser()
        self._parsed = fields.get("text_format") is not None
        self._wanted = [
            {**fields, **prompt} if isinstance(prompt, dict) else {**fields, "input": prompt} for prompt in prompts
        ]
        self._rows: dict[int, dict[str, Any]] = {}
        self._ended = threading.Event()

    async def run(self) -> DataFrame:
        try:
            await self._to_its_end()
        finally:
            self._ended.set()
        return self.so_far()

    def so_far(self) -> DataFrame:
        """All rows, in the prompts' order; those that were not sent say so."""
        rows = [self._rows.get(number) or _not_sent(fields) for number, fields in enumerate(self._wanted)]
        return _frame(rows, parsed=self._parsed)

    def keep_on(self, error: BaseException) -> None:
        """Let an exception carry the frame so far. Waits a little for streams that are being closed elsewhere."""
        self._ended.wait(_CLOSING)
        answered = sum(row["ending"] in _ANSWERED for row in self._rows.values())
        if not self._rows:
            return
        with suppress(AttributeError, TypeError):  # an exception of somebody's that takes no attributes
            error.partial = self.so_far()  # type: ignore[attr-defined]
            error.add_note(f"Kept as `partial` of this exception: {answered} answers to {len(self._wanted)} prompts")

    async def _to_its_end(self) -> None:
        keys = [_key(each) for each in self._wanted]
        known = _answered_in(self._capture, keys) if self._capture is not None else {}
        for number, response in known.items():
            self._rows[number] = {**_facts(response, self._wanted[number]), "from_file": True}
        record = _record(self._api, self._capture)
        left = [number for number in range(len(keys)) if number not in known]
        async with AsyncExitStack() as stack:
            count = min(self._concurrency, len(left))
            openers = await _openers(stack, self._api, self._open_stream, count, self._lanes)
            bar = stack.enter_context(_bar(len(keys), len(known)) if self._progress else nullcontext())
            if record is not None:
                stack.callback(record.close)
            pending = iter(left)

            async def work(opener: Opener) -> None:
                for number in pending:  # shared: each takes the next one
                    await self._answer(opener, number, record, keys[number])
                    if bar is not None:
                        bar.update()

            try:
                async with asyncio.TaskGroup() as group:
                    for opener in openers:
                        group.create_task(work(opener))
            except BaseExceptionGroup as several:
                raise several.exceptions[0] from None

    async def _answer(self, opener: Opener, number: int, record: Capture | None, key: str) -> None:
        fields = self._wanted[number]
        began = time.monotonic()
        stream = opener(**fields)
        error: str | None = "interrupted"
        try:
            async with stream:
                await stream.until_done()
                await stream.get_final_response()
            error = None
        except NBResponsesError as failure:
            if isinstance(failure, RequestError):
                raise
            error = str(failure)
        finally:  # an interrupt, too, leaves what came
            if record is not None:
                _write(record, stream.capture, number, key)
            row = _facts(stream.response, fields, ending=stream.ending)
            self._rows[number] = {**row, "error": error, "seconds": time.monotonic() - began}


async def _openers(
    stack: AsyncExitStack,
    api: Api,
    open_stream: Opener,
    count: int,
    lanes: bool | Mapping[str, Any],
) -> list[Opener]:
    """One for each that works at a time: over HTTP all are the same, on a WebSocket each has a lane."""
    if lanes is False or not count:
        return [open_stream] * count
    settings = {} if lanes is True else dict(lanes)
    manager = await stack.enter_async_context(AsyncLaneManager(api, record=False, **settings))
    return [partial(manager[f"map-{number}"].stream, previous_response_id=None) for number in range(count)]


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


def _not_sent(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {**dict.fromkeys(COLUMNS), "prompt": fields.get("input"), "error": "not sent", "from_file": False}


def _frame(rows: list[dict[str, Any]], *, parsed: bool) -> DataFrame:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    for name in ("input_tokens", "output_tokens"):
        frame[name] = frame[name].astype("Int64")
    if parsed:
        values = []
        for number, row in enumerate(rows):
            try:
                values.append(None if row["response"] is None else row["response"].parsed)
            except NBResponsesError as error:
                values.append(None)
                frame.loc[number, "error"] = row["error"] or str(error)
        frame.insert(2, "parsed", pd.Series(values, dtype=object))
    return frame


def _bar(total: int, done: int) -> AbstractContextManager[Any]:
    bar: AbstractContextManager[Any] = progress_bar(total, initial=done, desc="responses", unit="prompt")
    return bar


# ── The capture file ─────────────────────────────────────────────────────────────────────────────────────────────────


def _key(fields: Mapping[str, Any]) -> str:
    """What tells a request from another: a digest of its body. RequestError where it cannot be sent."""
    body = Request(**{name: value for name, value in fields.items() if name not in _OPTIONS[:3]}).body
    return hashlib.sha256(encode_body(body)).hexdigest()[:32]


def _record(api: Api, path: Path | None) -> Capture | None:
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


def _answered_in(path: Path, keys: list[str]) -> dict[int, Response]:
    """The responses of prompts that the file has answered: same place, same request."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
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
