"""Structured output over both transports, as it streams, and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from nbresponses.client import Client
from nbresponses.errors import FormatError


class Book(pydantic.BaseModel):
    title: str
    year: int


@dataclass
class Shelf:
    room: str
    books: list[Book]


def test_every_way_of_asking_gives_the_object(demo: Any) -> None:
    with Client(base_url=demo.base_url) as client:
        with client.stream("Books, please.", model="demo-text", text_format=Shelf) as stream:
            assert stream.get_final_response().parsed == stream.response.parsed
            parsed = stream.response.parsed
        assert isinstance(parsed, Shelf)
        assert all(isinstance(book, Book) for book in parsed.books)
        assert client.create("Books, please.", model="demo-text", text_format=Shelf).parsed == parsed
        with client.lanes(model="demo-text") as lanes:
            assert lanes["a"].create("Books, please.", text_format=Shelf).parsed == parsed
        assert client.run("Books, please.", model="demo-text", text_format=Shelf).response.parsed == parsed


def test_partial_objects_while_it_streams(demo: Any) -> None:
    seen = []
    with (
        Client(base_url=demo.base_url) as client,
        client.stream("Books, please.", model="demo-text", text_format=Book) as stream,
    ):
        for _ in stream:
            if (part := stream.response.parsed_so_far) not in seen:
                seen.append(part)
    assert len(seen) > 2
    assert seen[-1] == stream.response.parsed.model_dump()
    assert any(isinstance(part, dict) and "year" not in part for part in seen)


def test_a_refusal_and_a_cut_answer_are_told_apart(demo: Any) -> None:
    with Client(base_url=demo.base_url) as client:
        for settings, reason in [({"model": "demo-refusal"}, "refused"), ({"max_output_tokens": 3}, "incomplete")]:
            response = client.create("Books.", **{"model": "demo-text", "text_format": Book, **settings})
            with pytest.raises(FormatError) as caught:
                _ = response.parsed
            assert caught.value.reason == reason


def test_an_answer_as_a_table(serve: Any, client_of: Any, wire: Any) -> None:
    text = '{"room": "A", "books": [{"title": "T", "year": 1}, {"title": "U", "year": 2}]}'
    raw = serve([wire.UNTIL_CLOSE + wire.answer(text)])
    with client_of(raw).stream("x", model="m", text_format=Shelf) as stream:
        frame = stream.get_final_response().to_frame()
    assert frame.to_dict("records") == [
        {"room": "A", "title": "T", "year": 1},
        {"room": "A", "title": "U", "year": 2},
    ]


def test_a_tuple_of_objects_is_a_table_too(serve: Any, client_of: Any, wire: Any) -> None:
    raw = serve([wire.UNTIL_CLOSE + wire.answer('{"value": [{"title": "T", "year": 1}]}')])
    response = client_of(raw).stream("x", model="m", text_format=tuple[Book, ...]).get_final_response()
    assert response.parsed == (Book(title="T", year=1),)
    assert response.to_frame().to_dict("records") == [{"title": "T", "year": 1}]
