"""The architecture is a table: who may import whom. Held against the imports in the source, lazy ones included."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FLOORS = {
    "errors": 0,
    "core": 0,
    "transports": 1,
    "render": 1,
    "client": 2,
    "capture": 2,
    "display": 3,
    "widgets": 3,
    "nbresponses_magics": 4,
}
"""Room → floor. A module imports its own room or a lower floor."""

NEIGHBOURS = {("client", "capture"), ("widgets", "display"), ("core", "errors"), ("errors", "core")}
"""Rooms of one floor that know each other."""

BESIDE = {"demo": ({"core", "errors"}, {"nbresponses_magics"})}
"""Room beside the floors → (rooms it may import, rooms that may import it)."""

UPWARD = {
    ("_extension", "nbresponses_magics"),
    ("capture/record.py", "client"),
    ("capture/record.py", "display"),
    ("core/response.py", "capture"),
    ("core/response.py", "client"),
    ("core/wire.py", "client"),
}
"""The few imports that go up, each inside a method of the module named: forwarding, for convenience."""

LIBRARIES = {
    "core": {"msgspec"},
    "errors": set(),
    "demo": {"starlette", "uvicorn", "msgspec", "websockets", "anyio"},
    "transports": {"httpx", "httpcore", "h11", "anyio", "websockets", "msgspec"},
    "render": {"markdown_it", "msgspec"},
    "client": {"httpx", "anyio", "msgspec", "numpy", "openai", "pandas", "tqdm", "nest_asyncio2"},
    "capture": {"msgspec", "PIL", "pandas", "pyarrow", "numpy", "matplotlib", "dask", "tqdm"},
    "display": {"IPython", "anywidget", "ipywidgets", "msgspec", "traitlets"},
    "widgets": {"IPython", "anywidget", "ipywidgets", "msgspec", "traitlets"},
}
"""Room → third-party packages it may import, at any depth of indentation."""


def modules() -> list[tuple[str, Path]]:
    rows = [(_room(path, "nbresponses"), path) for path in sorted((ROOT / "nbresponses").rglob("*.py"))]
    magics = ROOT / "magics" / "nbresponses_magics"
    return rows + [("nbresponses_magics", path) for path in sorted(magics.rglob("*.py"))]


def _room(path: Path, package: str) -> str:
    first = path.relative_to(ROOT / package).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> list[tuple[str, int]]:
    """(dotted module, line) of every import that runs; those for type checkers only are left out."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and ast.unparse(branch.test).endswith("TYPE_CHECKING")
        for statement in branch.body
        for node in ast.walk(statement)
    }
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            found.append((node.module or "", node.lineno))
            if node.module == "nbresponses":
                found += [(f"nbresponses.{alias.name}", node.lineno) for alias in node.names]
    return found


def allowed(room: str, target: str, module: str = "") -> bool:
    if room in (target, "__init__") or (room, target) in UPWARD or (module, target) in UPWARD:
        return True
    if room in BESIDE:
        return target in BESIDE[room][0]
    if target in BESIDE:
        return room in BESIDE[target][1]
    if room not in FLOORS or target not in FLOORS:
        return False
    return FLOORS[target] < FLOORS[room] or (room, target) in NEIGHBOURS


def target_of(name: str) -> str | None:
    """The room that an import reaches into; None for the package itself and for other packages."""
    first, _, rest = name.partition(".")
    room = first if first == "nbresponses_magics" else rest.split(".")[0] if first == "nbresponses" else ""
    is_room = room in FLOORS or room in BESIDE or room == "_extension"
    return room if is_room else None


def test_every_import_goes_down() -> None:
    wrong = []
    for room, path in modules():
        module = f"{path.parent.name}/{path.name}"
        for name, line in imports(path):
            target = target_of(name)
            if target is not None and not allowed(room, target, module):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {room} imports {target}")
    assert not wrong, "\n".join(wrong)


def test_every_room_stands_on_a_floor() -> None:
    assert {room for room, _ in modules()} <= {*FLOORS, *BESIDE, "__init__", "_extension"}


def test_every_room_keeps_to_its_libraries() -> None:
    wrong = []
    for room, path in modules():
        if room not in LIBRARIES:
            continue
        for name, line in imports(path):
            package = name.split(".")[0]
            if package in sys.stdlib_module_names or package in {"nbresponses", "nbresponses_magics", ""}:
                continue
            if package not in LIBRARIES[room]:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {room} imports {package}")
    assert not wrong, "\n".join(wrong)


def test_the_rule_can_be_broken() -> None:
    assert not allowed("core", "client")
    assert not allowed("render", "transports")
    assert not allowed("client", "demo")
    assert not allowed("display", "nbresponses_magics")
    assert not allowed("capture", "client")
    assert allowed("client", "capture")
    assert allowed("capture", "client", "capture/record.py")
    assert target_of("nbresponses.core.events") == "core"
    assert target_of("json") is None


HEAVY = (
    "httpx",
    "websockets",
    "IPython",
    "anywidget",
    "ipywidgets",
    "pandas",
    "pyarrow",
    "starlette",
    "uvicorn",
    "anyio",
    "asyncio",
)


def test_importing_the_package_loads_the_ground_floor_only() -> None:
    code = f"import sys, nbresponses; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "[]"


def test_importing_the_package_is_quick() -> None:
    code = "import time; start = time.process_time(); import nbresponses; print(time.process_time() - start)"
    costs = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
        costs.append(float(done.stdout))
    assert min(costs) < 1.0, f"CPU seconds of three imports: {costs} (about 0.1 expected)"


@pytest.mark.parametrize(
    ("room", "path"), modules(), ids=lambda value: value.name if isinstance(value, Path) else value
)
def test_every_module_says_what_it_is_for(room: str, path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} lacks its first lines"
