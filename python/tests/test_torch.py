"""Tests with PyTorch: what workers end with equals a serial replay of the log, bit for bit."""

from __future__ import annotations

import time
import unittest

import numpy as np

try:
    import torch
except ModuleNotFoundError:
    raise unittest.SkipTest("PyTorch is not installed: pip install -r python/requirements-test.txt") from None

import millrace

from . import train
from .support import AgentTest, free_ports


def replay(log: list[dict], epochs: int) -> tuple[str, float]:
    """Does serially what the log tells, and returns the fingerprint and the learning rate."""
    x, y = train.data()
    net, optimizer = train.model()
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)
    params = list(net.parameters())[::-1]
    buffers = list(net.buffers())
    used = set()
    for step in log:
        before = [b.clone() for b in buffers]
        total, weight = None, 0
        for part in step["parts"]:
            if part["samples"] == 0:
                continue
            positions = np.concatenate([np.arange(lo, hi) for lo, hi in part["ranges"]])
            indices = millrace.order(2, step["epoch"], train.SAMPLES)[positions]
            for i in indices:
                assert (step["epoch"], i) not in used, "a sample is used twice"
                used.add((step["epoch"], i))
            assert len(indices) == part["samples"]
            net.zero_grad()
            for b, old in zip(buffers, before):
                b.copy_(old)
            train.loss_of(net, x[indices], y[indices]).backward()
            vector = [p.grad.numpy().reshape(-1) for p in params] + [b.numpy().reshape(-1) for b in buffers]
            term = np.float32(part["samples"]) * np.concatenate(vector).astype(np.float32)
            total = term if total is None else total + term
            weight += part["samples"]
        assert step["outcome"] == "apply" and weight == step["weight"] and step["algorithm"] == "shared", step
        mean = torch.from_numpy(total * (np.float32(1) / np.float32(weight)))
        at = 0
        with torch.no_grad():
            for p in params:
                p.grad = mean[at : at + p.numel()].view_as(p)
                at += p.numel()
            for b in buffers:
                part = mean[at : at + b.numel()].view_as(b)
                b.copy_(part if b.is_floating_point() else part.round())
                at += b.numel()
        optimizer.step()
        schedule.step()
    assert len(used) == epochs * train.SAMPLES, f"{len(used)} samples were used"
    return train.fingerprint(net, optimizer), optimizer.param_groups[0]["lr"]


class TorchTest(AgentTest):
    def agrees(self, workers: set[str], epochs: int = 3) -> list[dict]:
        """Checks that all who reached the end ended with what a serial replay ends with."""
        torch.set_num_threads(1)
        reports = self.reports()
        self.assertEqual(set(reports), workers)
        log = self.log()
        self.assertEqual([s["step"] for s in log], list(range(1, len(log) + 1)))
        fingerprint, rate = replay(log, epochs)
        for name, report in reports.items():
            self.assertEqual(report["hash"], fingerprint, f"{name} does not end with what the replay ends with")
            self.assertEqual(report["rate"], rate)
        return log

    def test_three_workers(self) -> None:
        self.finish(self.start("--workers", "3", program="train.py"))
        self.agrees({"w0", "w1", "w2"})
        elements = sum(p.numel() for p in train.model()[0].parameters())
        for name, report in self.reports().items():
            self.assertEqual(set(report["overlapped"]), {elements}, f"{name} tells of its gradients too late")

    def test_gradients_that_are_told_of_at_the_end(self) -> None:
        self.finish(self.start("--workers", "2", program="train.py", READY_BYTES="1000000"))
        self.agrees({"w0", "w1"})
        for report in self.reports().values():
            self.assertEqual(set(report["overlapped"]), {0})

    def test_one_backward_pass_overlaps(self) -> None:
        self.finish(self.start(program="passes.py", OVERLAP="1"))
        report = self.reports()["w"]
        self.assertIs(report["once"], True)
        self.assertIs(report["unused"], True)
        self.assertRegex(report["in_turn"], "RuntimeError: the gradient of .* comes a second time")
        for what in ("changed", "zeroed"):
            self.assertRegex(report[what], "RuntimeError: the gradient of .* was changed after its backward pass")
        self.assertRegex(report["weighed"], "ValueError: the group reduces a gradient of 8 samples, not 3")

    def test_several_backward_passes_without_overlap(self) -> None:
        self.finish(self.start(program="passes.py", OVERLAP="0"))
        report = self.reports()["w"]
        for what in ("once", "in_turn", "changed", "zeroed", "unused"):
            self.assertIs(report[what], True, what)

    def test_parameters_of_the_first(self) -> None:
        self.finish(self.start("--workers", "2", program="train.py", OTHER_SEED="w1", BROADCAST="1"))
        self.agrees({"w0", "w1"})

    def test_gradients_that_are_no_views(self) -> None:
        self.finish(self.start("--workers", "2", program="train.py", SET_TO_NONE="1"))
        self.agrees({"w0", "w1"})

    def test_death_while_computing(self) -> None:
        said = self.finish(self.start("--workers", "3", program="train.py", KILL="w1:compute:7"))
        self.assertIn("killed", said)
        log = self.agrees({"w0", "w2"})
        self.assertEqual([len(s["parts"]) for s in log[5:7]], [3, 2])

    def test_death_in_the_backward_pass(self) -> None:
        said = self.finish(self.start("--workers", "3", program="train.py", KILL="w1:backward:7"))
        self.assertIn("killed", said)
        log = self.agrees({"w0", "w2"})
        self.assertEqual([len(s["parts"]) for s in log[5:7]], [3, 2])

    def test_death_while_committing(self) -> None:
        self.finish(self.start("--workers", "3", program="train.py", KILL="w0:commit:9"))
        log = self.agrees({"w1", "w2"})
        self.assertEqual(len(log[-1]["parts"]), 2)

    def test_joins_under_way(self) -> None:
        port = free_ports(2)
        founders = self.start(
            "--workers", "2", "--listen", f"127.0.0.1:{port}", program="train.py", AWAIT_LATE="1", EPOCHS="12"
        )
        while not all((self.out / f"w{i}.waits").exists() for i in range(2)):
            self.assertIsNone(founders.poll(), "the agent has ended")
            time.sleep(0.05)
        joiner = self.start("--name", "late", "--join", f"127.0.0.1:{port}", program="train.py", EPOCHS="12")
        self.finish(founders)
        self.finish(joiner)
        log = self.agrees({"w0", "w1", "late"}, epochs=12)
        given = [s["step"] for s in log if any(p["name"] == "late" and p["samples"] for p in s["parts"])]
        self.assertTrue(given, "the newcomer gave nothing")

    def test_different_parameters_are_found(self) -> None:
        said = self.finish(self.start("--workers", "2", program="train.py", OTHER_SEED="w1"), code=1)
        self.assertIn("parameters differ before step 1", said)

    def test_readme(self) -> None:
        self.finish(self.start("--workers", "2", program="readme.py", BLOCK="torch"))
        self.assertEqual(len({r["sum"] for r in self.reports().values()}), 1)
