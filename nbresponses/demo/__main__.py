"""`python -m nbresponses.demo`: the demo server until it is interrupted."""

from __future__ import annotations

import argparse
import signal
import threading

from nbresponses.demo.scenarios import SCENARIOS
from nbresponses.demo.server import DemoServer


def main(arguments: list[str] | None = None) -> int:
    """Runs the server, prints its base URL first; 0 after an interrupt, 2 for a port or a fault it cannot take."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        server = DemoServer(**vars(given)).start()
    except (OSError, ValueError, OverflowError) as error:
        parser.error(str(error))
    ended = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: ended.set())
    print(server.base_url, flush=True)
    print("No key is needed. Interrupt to end. The models:", flush=True)
    for scenario in SCENARIOS.values():
        print(f"  {scenario.model:<17} {scenario.about}", flush=True)
    while not ended.wait(0.5):  # a wait without a timeout would hold off signals on some systems
        pass
    server.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m nbresponses.demo", description="A server with demo models on 127.0.0.1."
    )
    parser.add_argument("--port", type=int, default=0, help="0 (the default) takes a free one")
    parser.add_argument("--delay", type=float, default=0.015, metavar="SECONDS", help="between events (0.015)")
    parser.add_argument("--fault", default=None, help="what goes wrong in every answer, such as cut_at:5,crlf")
    parser.add_argument("--seed", type=int, default=None, help="the same ids from run to run")
    parser.add_argument("--in-flight", type=int, default=16, help="responses at a time on one WebSocket (16)")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
