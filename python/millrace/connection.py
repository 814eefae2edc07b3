"""The socket to the local agent: one JSON object a packet, files of memory along with it."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

VERSION = 1
MAX_MESSAGE = 64 << 10
VARIABLE = "MILLRACE_AGENT"


class AgentError(RuntimeError):
    """The agent has ended this worker and says why.

    `kind` is one of "protocol", "group", "diverged" (the workers' parameters differ), "plan" (they
    reduce different gradients), "refused" and "unsupported".
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class AgentLost(AgentError):
    """The connection to the agent has ended without a word."""

    def __init__(self, text: str) -> None:
        super().__init__("lost", text)


class Connection:
    """A connection to an agent. It belongs to one thread."""

    def __init__(self, address: str | None = None) -> None:
        address = address or os.environ.get(VARIABLE, "")
        if not address:
            raise ValueError(
                f"no agent: start this program by `millrace agent -- COMMAND`, or set {VARIABLE} to unix:PATH"
            )
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.connect(address.removeprefix("unix:"))
        except OSError as e:
            self._socket.close()
            raise AgentLost(f"no agent answers at {address}: {e}") from e

    def send(self, kind: str, fd: int | None = None, **fields: Any) -> None:
        """Sends a message, and a file along with it."""
        packet = json.dumps({"type": kind, **fields}, allow_nan=False).encode()
        if len(packet) > MAX_MESSAGE:
            raise ValueError(f"a message of {len(packet)} bytes to the agent: at most {MAX_MESSAGE} are possible")
        try:
            if fd is None:
                self._socket.send(packet)
            else:
                socket.send_fds(self._socket, [packet], [fd])
            return
        except (BrokenPipeError, ConnectionResetError):
            pass  # what the agent said before it ended tells more
        while True:
            self.receive()

    def receive(self) -> tuple[dict[str, Any], int | None]:
        """Returns the agent's next message, and the file that came along, if one did."""
        try:
            packet, fds = self._receive()
        except ConnectionResetError:
            packet, fds = self._receive()  # the agent's last word, behind the news that it read no more of ours
        if not packet:
            raise AgentLost(f"the agent at {self.address} has ended")
        message = json.loads(packet)
        if message["type"] == "error":
            raise AgentError(message["kind"], message["text"])
        for extra in fds[1:]:
            os.close(extra)
        return message, fds[0] if fds else None

    def _receive(self) -> tuple[bytes, list[int]]:
        packet, fds, _, _ = socket.recv_fds(self._socket, MAX_MESSAGE, 4)
        return packet, fds

    def close(self) -> None:
        self._socket.close()
