"""What a docstring says of a function and its parameters: Google, NumPy and Sphinx style. Pure text."""

from __future__ import annotations

import inspect
import re

__all__ = ["read_docstring"]

_HEADING = re.compile(r"(args|arguments|parameters|params)\s*:?\s*", re.IGNORECASE)
_OTHER = re.compile(
    r"(returns?|raises?|yields?|examples?|notes?|see also|warnings?|references|attributes)\s*:{0,2}\s*", re.IGNORECASE
)
_FIELD = re.compile(r":(param|parameter|arg|argument)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY = re.compile(r"\*{0,2}(\w+)\s*(?::.*)?")


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """(what the function does, parameter → what it is). Sections on results, errors and examples are left out."""
    lines = inspect.cleandoc(text or "").splitlines()
    told: list[str] = []
    parameters: dict[str, str] = {}
    section, name = "text", ""
    for place, line in enumerate(lines):
        heading = _heading(line, lines[place + 1] if place + 1 < len(lines) else "")
        if heading:
            section, name = heading, ""
        elif (field := _FIELD.match(line.strip())) is not None:
            section, name = "field", field[2]
            parameters[name] = field[3].strip()
        elif line.strip().startswith(":") and section in {"text", "field"}:
            section = "other"
        elif section == "text":
            told.append(line)
        elif section == "field" and line.strip():
            parameters[name] = f"{parameters[name]} {line.strip()}".strip()
        elif section == "google" and line[:1].strip():  # what is not indented is no part of the section
            section = "text"
            told.append(line)
        elif section in {"google", "numpy"} and line.strip() and set(line.strip()) != {"-"}:
            name = _parameter(line, section, name, parameters)
    return "\n".join(told).strip(), parameters


def _heading(line: str, following: str) -> str | None:
    """Which section begins here, if one does."""
    if line[:1].isspace():
        return None
    underlined = bool(following.strip()) and set(following.strip()) == {"-"}
    if not underlined and not line.rstrip().endswith(":"):
        return None
    if _HEADING.fullmatch(line):
        return "numpy" if underlined else "google"
    return "other" if _OTHER.fullmatch(line) else None


def _parameter(line: str, section: str, name: str, parameters: dict[str, str]) -> str:
    """Take one line of a parameter section; the name of the parameter that it is about."""
    indent = len(line) - len(line.lstrip())
    begins = (_GOOGLE if section == "google" else _NUMPY).fullmatch(line.strip())
    if begins is not None and (indent == 0 if section == "numpy" else (indent <= 4 or not name)):
        parameters[begins[1]] = begins[2].strip() if section == "google" else ""
        return begins[1]
    if name:
        parameters[name] = f"{parameters[name]} {line.strip()}".strip()
    return name
