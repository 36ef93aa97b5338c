"""WebSocket mode as state tables: many conversations on one connection. No I/O, no clock; the driver is in `client`.

`table` is the door (`LaneTable`), `actions` what goes in and comes out, `tables` the states as data. The rules stand at
the head of `sending` (what goes out when), `receiving` and `errors` (whose event it is), `lineage` (what the server
still has), `recovery` (how a context gets there) and `steering`; `state` holds the records they work on.
"""

from __future__ import annotations

from nbresponses.core.lanes.actions import LaneRequest, LaneSettings
from nbresponses.core.lanes.table import LaneTable, check_lane_name

__all__ = ["LaneRequest", "LaneSettings", "LaneTable", "check_lane_name"]
