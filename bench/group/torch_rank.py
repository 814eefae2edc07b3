"""One rank of PyTorch's gloo as a peer; cmd/allreduce starts it.

The row is the list of the tensors' sizes; all of them are reduced in one step, in place, side by side when there are
several.
"""
import os
import socket
import sys
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.append(str(Path(__file__).parent.parent / "peers"))
from serve import serve  # noqa: E402


def connect(rank):
    """Takes requests from the crew instead of stdin, and answers there."""
    control = socket.socket(socket.AF_UNIX)
    control.connect(os.environ["BENCH_CONTROL"])
    control.sendall(f"rank {rank}\n".encode())
    os.dup2(control.fileno(), 0)
    os.dup2(control.fileno(), 1)


def build(row, variant):
    size = dist.get_world_size()
    tensors = [torch.full((int(n),), float(dist.get_rank() + 1)) for n in row.split(",")]

    def step():
        if len(tensors) == 1:
            dist.all_reduce(tensors[0])
            return
        for work in [dist.all_reduce(t, async_op=True) for t in reversed(tensors)]:
            work.wait()

    step()
    for t in tensors:
        assert t[0] == t[-1] == size * (size + 1) / 2, "wrong sum"
        t.zero_()

    def run(steps):
        for _ in range(steps):
            step()
        return tensors[0][0].item()

    return run, sum(t.numel() for t in tensors)


if __name__ == "__main__":
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    store = dist.FileStore(os.environ["BENCH_DIR"] + "/store", size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    connect(rank)
    serve({"name": "PyTorch gloo", "version": torch.__version__, "settings": ""}, build)
