"""A program of the tests: steps with one backward pass and with several."""

import json
import os
import pathlib

import torch

import millrace.torch
from millrace.torch import Worker

NAME, OUT = os.environ["MILLRACE_WORKER"], pathlib.Path(os.environ["OUT"])
OVERLAP = os.environ["OVERLAP"] == "1"
millrace.torch._READY_BYTES = 1
torch.set_num_threads(1)
torch.manual_seed(3)
net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
report = {}
with Worker(net, torch.optim.SGD(net.parameters(), 0.1), samples=64, batch=8, overlap=OVERLAP) as worker:

    def attempt(name, doing):
        step = worker.begin()
        x = torch.randn(8, 6)
        try:
            report[name] = doing(step, x)
        except (RuntimeError, ValueError) as e:
            report[name] = f"{type(e).__name__}: {e}"
            worker.commit()

    def in_turn(_step, x):
        for part in x.split(4):
            (net(part).mean() / 2).backward()
        result = worker.allreduce_grads()
        gradients = [p.grad.clone() for p in net.parameters()]
        wanted = torch.autograd.grad(net(x).mean(), list(net.parameters()))
        return bool(result) and all(torch.allclose(g, w, atol=1e-6) for g, w in zip(gradients, wanted))

    def changed(_step, x):
        net(x).mean().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
        result = worker.allreduce_grads()
        return bool(result) and float(torch.cat([p.grad.flatten() for p in net.parameters()]).norm()) < 1.1e-3

    def zeroed(_step, x):
        net(x).mean().backward()
        net.zero_grad(set_to_none=True)
        return bool(worker.allreduce_grads()) and all(float(p.grad.abs().max()) == 0 for p in net.parameters())

    def weighed(_step, x):
        net(x).mean().backward()
        return bool(worker.allreduce_grads(samples=3))

    def once(_step, x):
        net(x).mean().backward()
        wanted = [p.grad.clone() for p in net.parameters()]
        result = worker.allreduce_grads()
        return bool(result) and all(torch.equal(p.grad, w) for p, w in zip(net.parameters(), wanted))

    def unused(_step, x):
        net[0](x).mean().backward()
        result = worker.allreduce_grads()
        return bool(result) and float(net[2].weight.grad.abs().max()) == 0 < float(net[0].weight.grad.abs().max())

    for f in (once, in_turn, changed, zeroed, weighed, unused):
        attempt(f.__name__, f)
net(torch.randn(2, 6)).mean().backward()  # the worker is gone; the model is not
(OUT / (NAME + ".json")).write_text(json.dumps(report))
