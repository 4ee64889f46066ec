"""A connection that gives its client only so long to send a request's headers. uvicorn by itself would wait for ever.

Knows nothing about what is asked.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


def patient_connection(header_seconds: float) -> type[H11Protocol]:
    class PatientConnection(H11Protocol):
        """Closed when, between two answers, a request was begun and did not become one in time."""

        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._mind_headers()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._mind_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_minding()
            super().connection_lost(exc)

        @property
        def _is_answering(self) -> bool:
            begun = self.cycle is not None
            return begun and not self.cycle.response_complete

        def _mind_headers(self) -> None:
            if self._is_answering:
                self._stop_minding()
            elif self._deadline is None and not self.transport.is_closing():
                self._deadline = self.loop.call_later(header_seconds, self._too_late)

        def _stop_minding(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _too_late(self) -> None:
            self._deadline = None
            if not self._is_answering:
                self.transport.abort()

    return PatientConnection
