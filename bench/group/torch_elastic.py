"""One rank of an elastic PyTorch job as a peer; torchrun starts it, cmd/recover kills it.

The model is trivial and nothing is restored, so that a restart costs as little as it can.
"""
import os
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, restart = dist.get_rank(), os.environ["TORCHELASTIC_RESTART_COUNT"]
model = torch.nn.Linear(10, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(16, 10)
step = 0
while True:
    optimizer.zero_grad()
    model(data).square().mean().backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    optimizer.step()
    step += 1
    os.write(1, f"step {os.getpid()} {rank} {restart} {step} {time.monotonic_ns()}\n".encode())
    time.sleep(0.02)
