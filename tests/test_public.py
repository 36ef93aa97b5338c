"""The public names as tools see them."""

from __future__ import annotations

import typing

import pytest

import nbresponses

CLASSES = [name for name in nbresponses.__all__ if isinstance(getattr(nbresponses, name), type)]


@pytest.mark.parametrize("name", CLASSES)
def test_the_types_of_a_class_can_be_read(name: str) -> None:
    assert isinstance(typing.get_type_hints(getattr(nbresponses, name)), dict)


def test_those_of_a_change_are_what_they_say() -> None:
    hints = typing.get_type_hints(nbresponses.Change)
    assert hints["event"] == nbresponses.Event | None
