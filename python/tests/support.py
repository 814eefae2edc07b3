"""What the tests share: the built binary, agents with programs, and the logs of steps."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 300  # seconds that only a hang takes

_binary: str | None = None
_scratch: tempfile.TemporaryDirectory[str] | None = None


def binary() -> str:
    """Builds millrace once, unless MILLRACE_BINARY names one to be tested."""
    global _binary, _scratch
    _binary = _binary or os.environ.get("MILLRACE_BINARY")
    if _binary is None:
        _scratch = tempfile.TemporaryDirectory(prefix="millrace-python-")
        path = os.path.join(_scratch.name, "millrace")
        subprocess.run(["go", "build", "-o", path, "./cmd/millrace"], cwd=ROOT, check=True)
        _binary = path
    return _binary


def free_ports(n: int) -> int:
    """Returns the first of n ports in a row that nobody uses now."""
    while True:
        with contextlib.ExitStack() as held:
            first = held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            try:
                for port in range(first + 1, first + n):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
            except (OSError, OverflowError):
                continue
            return first


class AgentTest(unittest.TestCase):
    """A test that starts agents."""

    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory(prefix="millrace-python-")
        self.addCleanup(held.cleanup)
        self.out = pathlib.Path(held.name)

    def start(self, *flags: str, program: str, **variables: str) -> subprocess.Popen[str]:
        """Starts an agent with a program of this folder."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "OUT": str(self.out), **variables}
        agent = subprocess.Popen(
            [binary(), "agent", *flags, "--log", str(self.out / "log"), "--", sys.executable, str(HERE / program)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self._end, agent)
        return agent

    def _end(self, agent: subprocess.Popen[str]) -> None:
        if agent.poll() is None:
            agent.kill()
        agent.communicate()

    def finish(self, agent: subprocess.Popen[str], code: int = 0) -> str:
        """Waits for an agent's end and returns what it and its programs said."""
        try:
            out, err = agent.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            agent.kill()
            out, err = agent.communicate()
            self.fail(f"the agent hangs\n{out}\n{err}")
        self.assertEqual(agent.returncode, code, f"{out}\n{err}")
        return out + err

    def reports(self) -> dict[str, dict]:
        """What the programs left behind, by worker."""
        return {p.stem: json.loads(p.read_text()) for p in sorted(self.out.glob("*.json"))}

    def log(self) -> list[dict]:
        """The steps that were committed, once each, from the logs of all workers."""
        steps: dict[int, dict] = {}
        for path in sorted(self.out.glob("log/*/steps-*.log")):
            for line in path.read_text().splitlines():
                if not re.fullmatch(r'\{"crc32c":"[0-9a-f]{8}","step":\{.*\}\}', line):
                    continue  # torn by a kill
                step = json.loads(line)["step"]
                step.pop("hash", None)
                known = steps.setdefault(step["step"], step)
                self.assertEqual(known["parts"], step["parts"], "the logs differ")
        return [steps[number] for number in sorted(steps)]
