"""A program of the tests: trains a small network on numbers that look like images."""

import json
import os
import pathlib
import signal
import sys
import time

import torch

import millrace.torch
from millrace.torch import Worker

torch.set_num_threads(1)
OUT, NAME = pathlib.Path(os.environ.get("OUT", "")), os.environ.get("MILLRACE_WORKER", "")
SAMPLES, BATCH = 192, 24
EPOCHS = int(os.environ.get("EPOCHS", "3"))


def data():
    g = torch.Generator().manual_seed(11)
    x = torch.randn(SAMPLES, 1, 8, 8, generator=g)
    y = (x.mean((1, 2, 3)) > 0).long() + 2 * (x[:, 0, 0, 0] > 0).long()
    return x, y


def model(seed=5):
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(288, 4),
    )
    return net, torch.optim.Adam(net.parameters(), lr=0.01)


def loss_of(net, x, y):
    return torch.nn.functional.cross_entropy(net(x), y)


def main():
    x, y = data()
    net, optimizer = model(seed=6 if os.environ.get("OTHER_SEED") == NAME else 5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)
    who, _, rest = os.environ.get("KILL", "").partition(":")
    point, _, number = rest.partition(":")
    doomed = int(number) if who == NAME else 0
    steps, await_late = [], bool(os.environ.get("AWAIT_LATE"))
    millrace.torch._READY_BYTES = int(os.environ.get("READY_BYTES", "1"))  # the network is small
    overlapped = []  # elements told of before the end of each backward pass
    with Worker(net, optimizer, samples=SAMPLES, batch=BATCH, seed=2, also={"schedule": schedule}) as worker:
        (OUT / f"{NAME}.started").touch()
        if os.environ.get("BROADCAST"):
            worker.broadcast_parameters()
        for step in worker.steps(epochs=EPOCHS):
            if doomed == step.number and point == "compute":
                os.kill(os.getpid(), signal.SIGKILL)
            if step.weight:
                loss = loss_of(net, x[step.indices], y[step.indices])
                optimizer.zero_grad(set_to_none=os.environ.get("SET_TO_NONE") == "1")
                if doomed == step.number and point == "backward":
                    net[1].weight.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
                tell = millrace.worker.Worker._ready
                told = []
                worker._ready = lambda step, lo, hi, n: (told.append(hi - lo), tell(worker, step, lo, hi, n))
                loss.backward()
                overlapped.append(sum(told))
                if doomed == step.number and point == "commit":
                    worker._gather()
                    worker._connection.send("commit", samples=step.weight)
                    os.kill(os.getpid(), signal.SIGKILL)
                result = worker.allreduce_grads(net, loss=loss)
            else:
                result = worker.allreduce_grads(net)
            if result:
                optimizer.step()
                schedule.step()
            steps.append([result.step, result.outcome.value, step.weight, result.view, list(result.members)])
            if await_late and "late" not in result.members:
                if step.number == 8:
                    (OUT / f"{NAME}.waits").touch()
                    while not (OUT / "late.started").exists():
                        time.sleep(0.05)
                time.sleep(0.2 if step.number >= 8 else 0)
    with open(OUT / (NAME + ".json"), "w") as f:
        report = {"hash": fingerprint(net, optimizer), "steps": steps, "rate": optimizer.param_groups[0]["lr"]}
        json.dump({**report, "overlapped": overlapped}, f)


def fingerprint(net, optimizer):
    """The bits of parameters, buffers and optimizer, as a text."""
    import hashlib

    h = hashlib.sha256()
    for _, t in sorted(net.state_dict().items()):
        h.update(t.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    for _, s in sorted(optimizer.state_dict()["state"].items()):
        for _, t in sorted(s.items()):
            h.update(torch.as_tensor(t).reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())
    return h.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
