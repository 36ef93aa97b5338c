"""What a line names and the notebook has: functions, a class, pictures and files. Sends nothing.

Names are looked up, never evaluated: `name` or `name.attribute`. What is no such name is a path where a path can be.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbresponses_magics.options import closest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbresponses_magics.options import Options

__all__ = ["add_parts", "format_named", "functions", "is_name", "look_up"]

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_name(text: str) -> bool:
    """Whether a text is a name, or a name with attributes."""
    return _NAME.fullmatch(text) is not None


def look_up(name: str, namespace: Mapping[str, Any], flag: str) -> Any:
    """The object behind `name` or `name.attribute`. UsageError names what is not there."""
    first, *rest = name.split(".")
    if first not in namespace:
        raise UsageError(f"{flag}: {first!r} is not defined in this notebook{closest(first, list(namespace))}")
    value = namespace[first]
    for attribute in rest:
        try:
            value = getattr(value, attribute)
        except AttributeError:
            raise UsageError(f"{flag}: {first} has no {attribute!r}") from None
    return value


def functions(options: Options, namespace: Mapping[str, Any]) -> list[Any]:
    """The functions of --tools."""
    found = [look_up(name, namespace, "--tools") for name in options.tools]
    for name, function in zip(options.tools, found, strict=True):
        if not callable(function) and not isinstance(function, dict):
            raise UsageError(f"--tools: {name} is a {type(function).__name__}, not a function")
    return found


def format_named(options: Options, namespace: Mapping[str, Any]) -> Any:
    """The class or JSON schema of --format; None where there is none."""
    return None if options.format is None else look_up(options.format, namespace, "--format")


def add_parts(options: Options, namespace: Mapping[str, Any], body: dict[str, Any]) -> None:
    """Add the pictures of --image and the files of --file to the request's input."""
    from nbresponses.client.inputs import file_part, image_part, table_part
    from nbresponses.errors import RequestError

    parts: list[dict[str, Any]] = []
    try:
        parts += [image_part(_named_or_path(source, namespace)) for source in options.image]
        for source in options.file:
            value = _named_or_path(source, namespace)
            parts.append(table_part(value, name=source) if hasattr(value, "to_csv") else file_part(value))
    except RequestError as error:
        raise UsageError(str(error)) from None
    if parts:
        given = body.get("input")
        body["input"] = [*([given] if isinstance(given, str) and given else given or []), *parts]


def _named_or_path(source: str, namespace: Mapping[str, Any]) -> Any:
    if is_name(source) and source.partition(".")[0] in namespace:
        return look_up(source, namespace, source)
    return source
