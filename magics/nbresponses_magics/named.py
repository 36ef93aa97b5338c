"""What a line names and the notebook has: functions, a class, pictures and files. Sends nothing.

What is no name of the notebook is a path where a path can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbresponses_magics.lookup import is_name, look_up, type_named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbresponses_magics.options import Options

__all__ = ["add_parts", "format_named", "functions", "handlers_named", "is_name", "look_up"]


def functions(options: Options, namespace: Mapping[str, Any]) -> list[Any]:
    """The functions of --tools."""
    found = [look_up(name, namespace, "--tools") for name in options.tools]
    for name, function in zip(options.tools, found, strict=True):
        if not callable(function) and not isinstance(function, dict):
            raise UsageError(f"--tools: {name} is a {type(function).__name__}, not a function")
    return found


def format_named(options: Options, namespace: Mapping[str, Any]) -> Any:
    """The class, type or JSON schema of --format; None where there is none."""
    return None if options.format is None else type_named(options.format, namespace, "--format")


def handlers_named(options: Options, namespace: Mapping[str, Any]) -> dict[str, Any] | None:
    """The dict of --handlers; None where there is none."""
    if options.handlers is None:
        return None
    found = look_up(options.handlers, namespace, "--handlers")
    if not isinstance(found, dict):
        expected = 'a dict is expected, such as {"run_sql": function}'
        raise UsageError(f"--handlers: {options.handlers} is a {type(found).__name__}; {expected}")
    return found


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
