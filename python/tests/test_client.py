"""Tests of the client without PyTorch."""

from __future__ import annotations

import math
import os
import signal
import socket
import tempfile
import threading
import time
import unittest
import unittest.mock

import numpy as np

import millrace
from millrace import state
from millrace.connection import Connection

from .support import AgentTest


class OrderTest(unittest.TestCase):
    def test_is_a_permutation_that_depends_on_seed_and_epoch(self) -> None:
        first = millrace.order(1, 0, 1000)
        self.assertEqual(sorted(first.tolist()), list(range(1000)))
        self.assertEqual(first.tolist(), millrace.order(1, 0, 1000).tolist())
        for other in (millrace.order(2, 0, 1000), millrace.order(1, 1, 1000)):
            self.assertLess((first == other).mean(), 0.05)

    def test_stays_the_same(self) -> None:
        self.assertEqual(millrace.order(7, 3, 8).tolist(), [3, 1, 2, 0, 5, 7, 6, 4])


class StateTest(unittest.TestCase):
    def pack(self, tree: object) -> bytes:
        head, arrays, size = state.pack(tree)
        memory = bytearray(size)
        memory[: len(head)] = head
        for offset, data in arrays:
            memory[offset : offset + data.nbytes] = data.tobytes()
        return bytes(memory)

    def test_round_trip(self) -> None:
        tree = {
            "a": np.arange(6, dtype=np.float32).reshape(2, 3),
            "n": {3: [1, 2.5, None, True, "x"], 1: (math.inf, -0.0)},
            "empty": np.empty((0, 4), np.int64),
            "scalar": np.float64(0.1),
        }
        back = state.unpack(self.pack(tree))
        np.testing.assert_array_equal(back["a"], tree["a"])
        self.assertEqual(back["empty"].shape, (0, 4))
        self.assertEqual(back["n"], tree["n"])
        self.assertEqual(back["scalar"], 0.1)

    def test_types_that_numpy_does_not_know(self) -> None:
        raw = state.Raw("torch.bfloat16", (2,), np.arange(4, dtype=np.uint8))
        back = state.unpack(self.pack({"b": raw}))["b"]
        self.assertEqual((back.dtype, back.shape, back.data.tolist()), ("torch.bfloat16", (2,), [0, 1, 2, 3]))

    def test_gives_back_no_objects(self) -> None:
        packed = self.pack({"a": np.ones(1, np.float64)})
        with self.assertRaises(ValueError):
            state.unpack(packed.replace(b'"<f8"', b'"|O" '))

    def test_same_bytes_whatever_the_order_of_keys(self) -> None:
        self.assertEqual(self.pack({"a": 1, "b": np.ones(3)}), self.pack({"b": np.ones(3), "a": 1}))

    def test_refuses_what_it_cannot_give_back(self) -> None:
        for bad in ({1.5: 0}, {True: 0}, object(), {"x": {1, 2}}):
            with self.assertRaises(TypeError):
                state.pack(bad)

    def test_refuses_what_is_no_state(self) -> None:
        good = self.pack({"a": np.ones(100)})
        for bad in (b"", good[:40], b"x" + good[1:], good[:8] + b"\xff" * 8 + good[16:], good[:-64]):
            with self.assertRaises(ValueError):
                state.unpack(bad)


class ConnectionTest(unittest.TestCase):
    def test_says_what_is_missing(self) -> None:
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("MILLRACE_AGENT", None)
            with self.assertRaisesRegex(ValueError, "millrace agent"):
                Connection()
        with self.assertRaisesRegex(millrace.AgentLost, "no agent answers"):
            Connection("unix:/nowhere/agent")

    def test_tells_an_agent_that_ends_from_one_that_says_why(self) -> None:
        for packet, wanted in ((b'{"type":"error","kind":"plan","text":"why"}', "why"), (b"", "has ended")):
            with tempfile.TemporaryDirectory() as place:
                listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                listener.bind(place + "/agent")
                listener.listen()
                self.addCleanup(listener.close)

                def agent() -> None:
                    peer, _ = listener.accept()
                    if packet:
                        peer.send(packet)
                    peer.close()

                thread = threading.Thread(target=agent)
                thread.start()
                with self.assertRaisesRegex(millrace.AgentError, wanted):
                    millrace.Worker(10, agent="unix:" + place + "/agent")
                thread.join()


class GroupTest(AgentTest):
    def same(self, reports: dict) -> None:
        self.assertEqual(len({tuple(r["p"]) for r in reports.values()}), 1, reports)

    def test_three_workers(self) -> None:
        self.finish(self.start("--workers", "3", program="toy.py"))
        reports = self.reports()
        self.assertEqual(set(reports), {"w0", "w1", "w2"})
        self.same(reports)
        used = [tuple(x) for r in reports.values() for x in r["used"]]
        self.assertEqual(sorted(used), [(epoch, i) for epoch in range(2) for i in range(500)])

    def test_a_step_that_is_not_finite_is_skipped_by_all(self) -> None:
        self.finish(self.start("--workers", "3", program="toy.py", NAN="w1:5"))
        reports = self.reports()
        self.same(reports)
        for r in reports.values():
            self.assertEqual([o[:3] for o in r["outcomes"] if o[1] != "apply"], [[5, "skip", "w1"]])
            self.assertEqual(r["outcomes"][0][3], 1.5)

    def test_other_gradients_are_named(self) -> None:
        said = self.finish(self.start("--workers", "2", program="toy.py", ODD="w1"), code=1)
        self.assertRegex(said, r"w[01]")
        self.assertRegex(said, "gradient|elements")

    def test_death_of_a_program_whose_forks_live_on(self) -> None:
        self.finish(self.start("--workers", "3", program="toy.py", FORK="w1:5"))
        reports = self.reports()
        self.assertEqual(set(reports), {"w0", "w2"})
        self.same(reports)

    def test_agent_that_is_told_to_end_lets_workers_leave(self) -> None:
        agent = self.start("--workers", "2", program="endless.py")
        while len(list(self.out.glob("*.going"))) < 2:
            self.assertIsNone(agent.poll(), "the agent has ended")
            time.sleep(0.05)
        agent.send_signal(signal.SIGTERM)
        self.finish(agent, code=130)
        self.assertEqual({r["end"] for r in self.reports().values()}, {"left"})

    def test_readme(self) -> None:
        self.finish(self.start("--workers", "2", program="readme.py", BLOCK="numpy"))
        self.assertEqual(len({r["sum"] for r in self.reports().values()}), 1)
