"""What both clients are made from: the same arguments, and an `Api` that does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from nbresponses.client.api import Api
from nbresponses.client.secret import hidden
from nbresponses.client.settings import Settings, secret_from_environment
from nbresponses.core.sse import DEFAULT_MAX_EVENT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from nbresponses.transports.timeouts import Timeouts

__all__ = ["BaseClient"]


class BaseClient:
    """A server that speaks the Responses API, and how to reach it.

    What isn't given comes from OPENAI_API_KEY (unless `headers` hold a key), OPENAI_BASE_URL, OPENAI_ORG_ID and
    OPENAI_PROJECT_ID. `api_key` may be a function that returns the key of the moment. `headers` and `query` go with
    every request; what authorises belongs into `headers`, which are never shown. `timeout` is a `Timeouts`, or a
    number: the total limit in seconds. `max_retries` counts attempts after the first, before the first event. Over
    plain http a key goes to this machine only, unless `allow_insecure`. An `http_client` is used as it is, and not
    closed.
    """

    def __init__(
        self,
        *,
        api_key: str | Callable[[], str] | None = None,
        base_url: str | None = None,
        organization: str | None = None,
        project: str | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        timeout: Timeouts | float | None = None,
        max_retries: int = 2,
        allow_insecure: bool = False,
        max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        secret = secret_from_environment(organization, project, headers=hidden(headers))
        secret = secret.with_key(api_key).with_headers(headers)
        del api_key, headers  # what is raised from here on shows no local variable that holds them
        settings = Settings.read(
            secret=secret,
            base_url=base_url,
            query=query,
            timeout=timeout,
            max_retries=max_retries,
            allow_insecure=allow_insecure,
            max_event_bytes=max_event_bytes,
        )
        self._api = Api(settings, http_client)
        self._set_up()

    @classmethod
    def from_openai(cls, client: Any, **settings: Any) -> Self:
        """A client that goes where an `openai` client (Azure's too) goes, with its key. `settings` go over its own."""
        from nbresponses.client.from_openai import settings_of

        return cls(**{**settings_of(client), **settings})

    def _set_up(self) -> None:
        """What a kind of client needs besides."""

    @property
    def base_url(self) -> str:
        """Where requests go: scheme, host and path up to `/v1`, without credentials and query."""
        return self._api.settings.base_url

    def __repr__(self) -> str:
        # A traceback out of the constructor shows a client that has nothing yet.
        return f"<{type(self).__name__} {self.base_url if hasattr(self, '_api') else 'without settings'}>"
