"""Calls the data API. `endpoints.py` beside this file has the types of each endpoint."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urljoin

import httpx


class ApiError(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, detail: str, request_id: str | None) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail
        #: Quote it when you ask the operator.
        self.request_id = request_id


class BaseClient:
    """Sends requests: retries after 429, 503 and lost connections, and asks with `If-None-Match` for what it has."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        retries: int = 3,
        cache_entries: int = 100,
        timeout: float = 60,
    ) -> None:
        headers = {"accept": "application/json"} | ({"x-api-key": api_key} if api_key else {})
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=timeout)
        self._retries = retries
        self._cache_entries = cache_entries
        self._cache: OrderedDict[str, tuple[str, list[dict[str, Any]], str | None]] = OrderedDict()

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> "BaseClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, path: str, query: Mapping[str, Any]) -> list[dict[str, Any]]:
        return self._page(self._address(path, query))[0]

    def _iterate(self, path: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        address: str | None = self._address(path, query)
        while address is not None:
            rows, address = self._page(address)
            yield from rows

    def _address(self, path: str, query: Mapping[str, Any]) -> str:
        given = {name: value for name, value in query.items() if value is not None}
        return str(self._http.build_request("GET", path, params=given).url)

    def _page(self, address: str) -> tuple[list[dict[str, Any]], str | None]:
        cached = self._cache.get(address)
        response = self._send(address, {"if-none-match": cached[0]} if cached else {})
        if response.status_code == 304 and cached:
            self._cache.move_to_end(address)
            return cached[1], cached[2]
        if response.status_code != 200:
            raise _error(response)
        body = response.json()
        rows = body["items"] if isinstance(body, dict) else body
        link = re.search(r'<([^>]*)>\s*;\s*rel="?next"?', response.headers.get("link", ""))
        following = urljoin(address, link[1]) if link else None
        if "etag" in response.headers:
            self._cache[address] = (response.headers["etag"], rows, following)
            while len(self._cache) > self._cache_entries:
                self._cache.popitem(last=False)
        return rows, following

    def _send(self, address: str, headers: Mapping[str, str]) -> httpx.Response:
        left = self._retries
        while True:
            try:
                response = self._http.get(address, headers=headers)
            except httpx.TransportError:
                if left <= 0:
                    raise
                wait = 1.0
            else:
                if left <= 0 or response.status_code not in (429, 503):
                    return response
                wait = float(response.headers.get("retry-after", 1))
            left -= 1
            time.sleep(wait)


def _error(response: httpx.Response) -> ApiError:
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        detail = response.text  # A proxy in between answers with a page of its own.
    return ApiError(response.status_code, str(detail), response.headers.get("x-request-id"))
