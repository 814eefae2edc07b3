"""PyTorch as a peer: python torch_step.py THREADS.

Variants: eager, channels-last, compile and compile-max (torch.compile in the modes
default and max-autotune, channels-last for networks with convolutions). The optimiser is
PyTorch's fused SGD; denormals are flushed, as XLA does.
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn

from serve import serve

BATCHES = 8
LR, MOMENTUM = 0.01, 0.9


def mlp():
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(7 * 7 * 64, 512), nn.ReLU(), nn.Linear(512, 10),
    )


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.project = None
        if stride != 1 or cin != cout:
            self.project = nn.Sequential(
                nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        return F.relu(y + (x if self.project is None else self.project(x)), inplace=True)


def resnet20():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    cin = 16
    for cout in (16, 32, 64):
        for i in range(3):
            layers.append(Block(cin, cout, 2 if i == 0 and cout != 16 else 1))
            cin = cout
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


MODELS = {"mlp": (mlp, (784,)), "lenet": (lenet, (1, 28, 28)), "resnet20": (resnet20, (3, 32, 32))}


def build(row, variant):
    name, batch = row.split("/B=")
    network, shape = MODELS[name]
    torch.manual_seed(1)
    model = network().train()
    xs = [0.1 * torch.randn(int(batch), *shape) for _ in range(BATCHES)]
    ys = [torch.randint(10, (int(batch),)) for _ in range(BATCHES)]
    if len(shape) == 3 and variant != "eager":
        model = model.to(memory_format=torch.channels_last)
        xs = [x.to(memory_format=torch.channels_last) for x in xs]
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM, fused=True)

    def loss_of(x, y):
        return F.cross_entropy(model(x), y)

    if variant == "compile":
        loss_of = torch.compile(loss_of)
    elif variant == "compile-max":
        loss_of = torch.compile(loss_of, mode="max-autotune")

    def run(steps):
        loss = None
        for i in range(steps):
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(xs[i % BATCHES], ys[i % BATCHES])
            loss.backward()
            optimizer.step()
        return loss.item()

    return run, sum(p.numel() for p in model.parameters())


if __name__ == "__main__":
    threads = int(sys.argv[1])
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(True)
    serve({"name": "PyTorch", "version": torch.__version__,
           "settings": f"torch.set_num_threads({threads}), fused SGD, set_flush_denormal"}, build)
