"""Which response came from which, what each was asked and answered, and what a server's cache holds. Sends nothing.

Rules
1. A node is one response. Its context is its parent's context, its own input, and its output; a node without a parent
   began anew.
2. A compacted window stands for a node's whole context, and so does a compaction item in its output for all before it.
3. The output is the terminal event's, joined with the items that were finished before it where it lacks some. Both are
   kept as text and opened when a context is rebuilt.
4. An output goes back as it came, apart from reasoning without encrypted content, half-written calls and null fields.
   Inputs and windows go back exactly as they came.
5. With store=false a server keeps the latest response of each lane, for the life of the connection. A same-lane
   continuation that fails loses its parent; a failed fork leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbresponses.core.output import merged_output
from nbresponses.core.wire import open_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Lineage", "Node", "ServerCache", "as_input"]


@dataclass(slots=True, eq=False)
class Node:
    """One response. `state` is "running" or its ending, "steered" where a steering message cut it short."""

    id: str
    lane: str | None
    parent: str | None
    ticket: int
    generation: int
    stored: bool
    items: tuple[dict[str, Any], ...] | None
    """Its own input; None where it is not known, and so no context can be rebuilt from here."""
    how: str
    state: str = "running"
    addressable: bool = True
    """False: the server gave no id, so only its context can be continued."""
    window: tuple[dict[str, Any], ...] | None = None
    payloads: tuple[bytes, ...] = ()

    def output(self) -> list[dict[str, Any]]:
        """The output items in wire shape, in order."""
        final: Any = None
        rows: list[tuple[int, dict[str, Any]]] = []
        for payload in self.payloads:
            fields = open_json(payload)
            item, index = fields.get("item"), fields.get("output_index")
            if isinstance(item, dict):
                row = (index if isinstance(index, int) else len(rows), item)
                if row not in rows:  # a message that came twice
                    rows.append(row)
            elif isinstance(fields.get("response"), dict):
                final = fields["response"].get("output")
        own = sorted(rows, key=lambda row: row[0])
        return [item for item in merged_output(final, own) if isinstance(item, dict)]

    def row(self, depth: int, children: list[str]) -> dict[str, Any]:
        return {
            "id": self.id,
            "parent": self.parent,
            "lane": self.lane,
            "state": self.state,
            "stored": self.stored,
            "compacted": self.window is not None,
            "continued_by": self.how,
            "ticket": self.ticket,
            "depth": depth,
            "children": children,
        }


def as_input(item: dict[str, Any]) -> dict[str, Any] | None:
    """An output item as input; None for what no server takes back. Null fields are left out, as if never sent."""
    if item.get("type") == "reasoning" and not item.get("encrypted_content"):
        return None  # its id means nothing where it was not stored
    if item.get("status") == "incomplete" and "call_id" in item:
        return None  # a half-written call: nobody can answer it
    return {name: value for name, value in item.items() if value is not None}


@dataclass(slots=True)
class Lineage:
    """All responses that went over the lanes, whatever connection carried them."""

    max_nodes: int = 10_000
    _nodes: dict[str, Node] = field(default_factory=dict)
    _prune_at: int = 0

    def get(self, response_id: str | None) -> Node | None:
        return self._nodes.get(response_id) if response_id is not None else None

    def add(self, node: Node) -> None:
        self._nodes[node.id] = node

    def rename(self, node: Node, response_id: str) -> None:
        """Some servers give a response another id in each event: the last counts, the earlier ones still lead here."""
        node.id = response_id
        node.addressable = True
        self._nodes[response_id] = node

    def context(self, response_id: str | None) -> list[dict[str, Any]] | None:
        """The whole input that this response's continuation would need, oldest first. None where a part is unknown."""
        pieces: list[list[dict[str, Any]]] = []
        seen: set[int] = set()
        while response_id is not None:
            node = self._nodes.get(response_id)
            if node is None or node.items is None or node.state == "running" or id(node) in seen:
                return None
            seen.add(id(node))
            if node.window is not None:
                pieces.append(list(node.window))
                break
            output = [ready for item in node.output() if (ready := as_input(item)) is not None]
            compaction = max((i for i, item in enumerate(output) if item.get("type") == "compaction"), default=None)
            if compaction is not None:
                pieces.append(output[compaction:])
                break
            pieces.append([*node.items, *output])
            response_id = node.parent
        return [item for piece in reversed(pieces) for item in piece]

    def compacted(self, response_id: str) -> bool:
        """Whether a compacted window lies somewhere on the way to this response."""
        return any(node.window is not None for node in self._ancestors(response_id))

    def rows(self) -> list[dict[str, Any]]:
        """The tree as plain data: parents before children, `depth` from the root, `children` by id."""
        nodes = list(dict.fromkeys(self._nodes.values()))
        children: dict[str | None, list[Node]] = {}
        for node in nodes:
            parent = self.get(node.parent)
            children.setdefault(parent.id if parent else None, []).append(node)
        rows: dict[int, dict[str, Any]] = {}
        # Nodes that continue one another in a ring have no root; each that was not reached begins a tree.
        for start in [*children.get(None, []), *nodes]:
            pending = [(start, 0)]
            while pending:
                node, depth = pending.pop()
                if id(node) not in rows:
                    below = children.get(node.id, [])
                    pending += [(child, depth + 1) for child in reversed(below)]
                    rows[id(node)] = node.row(depth, [child.id for child in below])
        return list(rows.values())

    @property
    def crowded(self) -> bool:
        """Whether it is time to prune."""
        return len(self._nodes) > max(self._prune_at, self.max_nodes)

    def prune(self, needed: Iterable[str]) -> None:
        """Forget the oldest nodes that none of the needed ones stands on; `max_nodes` / 2 of them stay."""
        kept = {id(node) for start in needed for node in self._ancestors(start)}
        loose = [key for key, node in self._nodes.items() if id(node) not in kept and node.state != "running"]
        for key in loose[: max(0, len(loose) - self.max_nodes // 2)]:
            del self._nodes[key]
        self._prune_at = len(self._nodes) + self.max_nodes // 2  # so that pruning costs a constant per response

    def _ancestors(self, response_id: str | None) -> Iterator[Node]:
        seen: set[int] = set()
        node = self.get(response_id)
        while node is not None and id(node) not in seen:
            seen.add(id(node))
            yield node
            node = self.get(node.parent)


@dataclass(slots=True)
class ServerCache:
    """What one connection's server still has of responses that are not stored, as far as its documentation says."""

    one_lane: bool = False
    """True for a server that ignores stream_id: all requests share one lane there."""
    _latest: dict[str | None, str] = field(default_factory=dict)

    def holds(self, response_id: str) -> bool:
        return response_id in self._latest.values()

    def completed(self, lane: str | None, response_id: str) -> None:
        self._latest[self._lane(lane)] = response_id

    def continuation_failed(self, lane: str | None, parent: str) -> None:
        if self._latest.get(self._lane(lane)) == parent:
            del self._latest[self._lane(lane)]

    def lost(self, response_id: str) -> None:
        """The server said that it does not have this response."""
        self._latest = {lane: held for lane, held in self._latest.items() if held != response_id}

    def _lane(self, lane: str | None) -> str | None:
        return None if self.one_lane else lane
