"""What one shell's magics remember: connections, the embedded server, the last completed answer, model names seen.

Lives from load to unload. The key is read from the environment when a client is made, and stays inside that client.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from IPython.core.error import UsageError

from nbresponses_magics.lanes import SessionLanes
from nbresponses_magics.records import Turn
from nbresponses_magics.settings import DEFAULTS, environment, read_project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbresponses import Client, DemoServer
    from nbresponses.client.stream import ResponseStream
    from nbresponses_magics.options import Options
    from nbresponses_magics.settings import Responses

__all__ = ["Endpoint", "Session"]

DEMO_MODEL = "demo-text"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a request goes. `base_url` None is the API's own address; `source` says who chose it."""

    base_url: str | None
    source: str
    demo: bool = False

    @property
    def shown(self) -> str:
        """The address without a user name, a password or a query, which can hold a key."""
        from nbresponses.client.settings import OPENAI_BASE_URL

        parts = urlsplit(self.base_url or OPENAI_BASE_URL)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


class Session:
    """One per loaded extension."""

    def __init__(self, settings: Responses) -> None:
        self.settings = settings
        self.last_completed: str | None = None
        self.turns: list[Turn] = []
        """What was asked and came, oldest first, until reset."""
        self._models: set[str] = set()
        self._demo: DemoServer | None = None
        self.demo_asked = False
        """Whether the user chose the embedded server, and so needs no reminder."""
        self._clients: dict[tuple[Any, ...], Client] = {}
        self.lanes = SessionLanes()

    # ── where requests go ──

    def endpoint(self, options: Options | None = None) -> Endpoint:
        """The option, else the setting, else OPENAI_BASE_URL, else the project; without these and a key, the demo."""
        if options is not None and options.base_url:
            return Endpoint(options.base_url, "--base-url")
        if self.demo_asked:
            return self._demo_endpoint("asked for by %responses demo")
        found = (
            (self.settings.base_url, "%config Responses.base_url"),
            (environment("OPENAI_BASE_URL"), "OPENAI_BASE_URL"),
            (read_project().get("base_url"), "pyproject.toml"),
        )
        for url, source in found:
            if url:
                return Endpoint(url, source)
        if self.key_variable is None:
            return self._demo_endpoint(f"no {self.settings.value('api_key_env')} and no base URL")
        return Endpoint(None, "default")

    @property
    def key_variable(self) -> str | None:
        """The name of the environment variable that holds the key; None where it is not set."""
        name: str = self.settings.value("api_key_env")
        return name if environment(name) else None

    @property
    def demo_url(self) -> str | None:
        """The address of the embedded server while it runs."""
        return self._demo.base_url if self._demo is not None else None

    def start_demo(self) -> str:
        """Use the embedded server from now on, whatever key there is. Returns its address."""
        self.demo_asked = True
        return self._server().base_url

    def _demo_endpoint(self, source: str) -> Endpoint:
        return Endpoint(self.demo_url, source, demo=True)

    def _server(self) -> DemoServer:
        if self._demo is None:
            from nbresponses import DemoServer

            self._demo = DemoServer().start()
        return self._demo

    # ── what requests need ──

    def model_for(self, endpoint: Endpoint, body: dict[str, Any]) -> None:
        """Fill in the demo's model. UsageError where a request to a real server names none."""
        if body.get("model"):
            return
        if endpoint.demo:
            body["model"] = DEMO_MODEL
        elif "prompt" not in body:  # a stored prompt brings its own model
            raise UsageError("no model: add -m MODEL, or set %config Responses.model = '...'")

    def client(self, endpoint: Endpoint, *, insecure: bool = False) -> Client:
        """The client for this endpoint and the present settings; made once and kept, so connections are reused."""
        from nbresponses import Client, Timeouts

        key = "demo" if endpoint.demo else self._key()
        url = self._server().base_url if endpoint.demo else endpoint.base_url
        limits, retries = self.settings.value("timeouts"), self.settings.value("max_retries")
        insecure = insecure or self.settings.value("allow_insecure")
        wanted = (url, key, insecure, tuple(sorted(limits.items())), retries)
        if wanted not in self._clients:
            keywords: dict[str, Any] = {} if retries is None else {"max_retries": retries}
            try:
                keywords["timeout"] = Timeouts(**limits)
            except (TypeError, ValueError) as error:
                raise UsageError(f"Responses.timeouts: {error}") from None
            self._clients[wanted] = Client(api_key=key, base_url=url, allow_insecure=insecure, **keywords)
        return self._clients[wanted]

    def _key(self) -> str | None:
        name: str = self.settings.value("api_key_env")
        key = environment(name)
        if key is None and name != DEFAULTS["api_key_env"]:
            # Without a key the client takes OPENAI_API_KEY, which is not meant for this server.
            raise UsageError(f"{name} is not set (Responses.api_key_env names it)")
        return key

    def scrubbed(self, text: str) -> str:
        """A text to be printed, without the key, should somebody have written it into the cell."""
        from nbresponses.client.secret import Secret

        key = environment(self.settings.value("api_key_env"))
        return Secret(key, {}).scrub(text) if key is not None else text

    def previous(self, options: Options) -> str | None:
        """The response that a request continues from. UsageError where --continue has nothing to continue."""
        if options.continue_ and self.last_completed is None:
            raise UsageError("--continue: there is no completed answer in this session yet")
        return self.last_completed if options.continue_ else options.previous

    def prices(self) -> Mapping[str, Mapping[str, float]]:
        """The price table. UsageError where it is none, or lacks a price."""
        from nbresponses.capture.prices import check_prices

        prices: Mapping[str, Mapping[str, float]] = self.settings.value("prices")
        try:
            check_prices(prices)
        except ValueError as error:
            raise UsageError(f"Responses.{error}") from None
        return prices

    def remember(self, stream: ResponseStream) -> None:
        """Note a stream that has ended. A response that was taken up again is the same turn, not another one."""
        request, response = stream.request, stream.response
        if not request:
            earlier = next((turn for turn in self.turns if response.id and turn.response.id == response.id), None)
            if earlier is not None:
                request = earlier.request
                self.turns = [turn for turn in self.turns if turn is not earlier]
        self.turns.append(Turn(request, response))
        if stream.ending == "completed" and response.id:
            self.last_completed = response.id
        if response.model:
            self.saw_models([response.model])

    def saw_models(self, names: Iterable[str]) -> None:
        """Note names of models, for completion."""
        self._models.update(names)

    def model_names(self) -> list[str]:
        """Names that completion offers: seen ones, and the demo's while it would answer. Asks no server."""
        names = set(self._models)
        with suppress(UsageError):  # a wrong project file is reported when a cell runs
            names.update(filter(None, [self.settings.value("model")]))
            if self.endpoint().demo:
                from nbresponses.demo.scenarios import SCENARIOS

                names.update(SCENARIOS)
        return sorted(names)

    # ── its end ──

    def reset(self) -> None:
        """Forget the last answer, leave the embedded server, close every connection. Settings stay."""
        self.last_completed = None
        self.turns = []
        self.demo_asked = False
        self.close()

    def close(self) -> None:
        """Close connections and stop the embedded server. Can be called twice."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()
        self.lanes.close()  # last: it waits for the views of streams that the clients have just stopped
        demo, self._demo = self._demo, None
        if demo is not None:
            demo.stop()
