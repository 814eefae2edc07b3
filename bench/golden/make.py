"""Makes learn/engine/testdata/golden/*.npz with PyTorch; the README there describes them.

Everything is computed in float64 from numbers that float32 holds exactly, and
stored as float32. With --check it computes in float32 too and prints how far that lies off,
which says what tolerance a test can ask for.
"""
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

OUT = Path(__file__).resolve().parents[2] / "learn/engine/testdata/golden"
STEPS = 10

# Constants as the README states them.
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "adam": lambda p: torch.optim.Adam(p, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-4, alpha=0.99, eps=1e-8, momentum=0.9),
}


class Net:
    """A network as functions of named weights in this project's layout (NHWC, HWIO, [in][out])."""

    def __init__(self, name, seed):
        self.name = name
        self.random = np.random.default_rng(seed)
        self.initial, self.states, self.inputs = {}, {}, {}
        self.train = True
        self.used = {}

    def draw(self, *shape, mean=0.0, scale=1.0):
        return (mean + scale * self.random.standard_normal(shape)).astype(np.float32)

    def weight(self, name, *shape, mean=0.0, scale):
        """Declares a weight the first time and gives it in the numbers of the current run."""
        name = f"{self.name}/{name}"
        if name not in self.initial:
            self.initial[name] = self.draw(*shape, mean=mean, scale=scale)
        return self.used.get(name, torch.tensor(self.initial[name]))

    def state(self, name, value):
        name = f"{self.name}/{name}"
        self.states.setdefault(name, value.astype(np.float32))
        return self.used.get(name, torch.tensor(self.states[name]))

    def dense(self, layer, x, units):
        w = self.weight(f"{layer}/kernel", x.shape[-1], units, scale=1.2 * x.shape[-1] ** -0.5)
        return x @ w + self.weight(f"{layer}/bias", units, scale=0.1)

    def conv(self, layer, x, filters, k, stride=1, pads=None, dilation=1, groups=1, bias=False):
        """x is NHWC; pads are top, bottom, left, right, by default what SAME means."""
        cin = x.shape[-1] // groups
        w = self.weight(f"{layer}/kernel", k, k, cin, filters, scale=1.4 * (k * k * cin) ** -0.5)
        if pads is None:
            def same(n):
                total = max((-(-n // stride) - 1) * stride + (k - 1) * dilation + 1 - n, 0)
                return total // 2, total - total // 2
            pads = (*same(x.shape[1]), *same(x.shape[2]))
        top, bottom, left, right = pads
        x = F.pad(x.permute(0, 3, 1, 2), (left, right, top, bottom))
        y = F.conv2d(x, w.permute(3, 2, 0, 1), stride=stride, dilation=dilation, groups=groups)
        y = y.permute(0, 2, 3, 1)
        return y + self.weight(f"{layer}/bias", filters, scale=0.1) if bias else y

    def batch_norm(self, layer, x):
        c = x.shape[-1]
        gamma, beta = self.scale_and_shift(layer, c)
        mean, var = self.state(f"{layer}/mean", np.zeros(c)), self.state(f"{layer}/variance", np.ones(c))
        x = x.permute(0, 3, 1, 2)
        y = F.batch_norm(x, mean, var, gamma, beta, training=self.train, momentum=0.1, eps=1e-5)
        return y.permute(0, 2, 3, 1)

    def layer_norm(self, layer, x):
        c = x.shape[-1]
        return F.layer_norm(x, (c,), *self.scale_and_shift(layer, c), eps=1e-5)

    def scale_and_shift(self, layer, c):
        return self.weight(f"{layer}/gamma", c, mean=1, scale=0.2), self.weight(f"{layer}/beta", c, scale=0.2)


def max_pool(x, size, stride, pad=0):
    return F.max_pool2d(x.permute(0, 3, 1, 2), size, stride, pad).permute(0, 2, 3, 1)


def flatten(x):
    return x.reshape(x.shape[0], -1)


def mlp(net, x):
    return {"logits": net.dense("logits", F.relu(net.dense("hidden", x["x"], 16)), 5)}


def lenet(net, x):
    y = max_pool(F.relu(net.conv("conv1", x["x"], 4, 5, bias=True)), 2, 2)
    y = max_pool(F.relu(net.conv("conv2", y, 6, 5, bias=True)), 2, 2)
    return {"logits": net.dense("logits", F.relu(net.dense("hidden", flatten(y), 16)), 5)}


def residual(net, x):
    y = F.relu(net.batch_norm("stem_norm", net.conv("stem", x["x"], 8, 3, stride=2)))
    skip = net.batch_norm("skip_norm", net.conv("skip", y, 8, 1, stride=2))
    z = F.relu(net.batch_norm("a_norm", net.conv("a", y, 8, 3, stride=2, pads=(1, 1, 1, 1), groups=2)))
    z = net.batch_norm("b_norm", net.conv("b", z, 8, 3, dilation=2, pads=(2, 2, 2, 2)))
    y = F.relu(z + skip)
    y = F.relu(net.conv("depthwise", y, 8, 3, pads=(1, 1, 1, 1), groups=8, bias=True))
    y = max_pool(y, 3, 2, 1)
    return {"logits": net.dense("logits", y.mean((1, 2)), 5)}


def gelu_mlp(net, x):
    y = net.dense("embed", x["x"], 16)
    for block, approximate in (("block1", "none"), ("block2", "tanh")):
        z = net.layer_norm(f"{block}_norm", y)
        z = F.gelu(net.dense(f"{block}_up", z, 32), approximate=approximate)
        y = y + net.dense(f"{block}_down", z, 16)
    return {"logits": net.dense("logits", net.layer_norm("norm", y), 5)}


def embedding(net, x):
    table = net.weight("table/table", 11, 8, scale=0.5)
    y = torch.tanh(net.dense("hidden", flatten(table[x["tokens"].long()]), 12))
    return {"logits": net.dense("logits", y, 11)}


def siamese(net, x):
    a, b = (F.relu(net.dense("shared", x[name], 8)) for name in ("a", "b"))
    y = torch.cat((a, b), 1)
    return {"logits": net.dense("logits", y, 5), "value": net.dense("value", y, 3)}


def cross_entropy(net, out):
    return F.cross_entropy(out["logits"], torch.tensor(net.labels).long())


def smoothed(net, out):
    return F.cross_entropy(out["logits"], torch.tensor(net.labels).long(), label_smoothing=0.1, ignore_index=-1)


def two_losses(net, out):
    target = torch.tensor(net.target).to(out["value"].dtype)
    return cross_entropy(net, out) + F.mse_loss(out["value"], target)


NETS = {
    "mlp": (mlp, cross_entropy, {"x": (8, 20)}, 5),
    "mlp_smoothed": (mlp, smoothed, {"x": (8, 20)}, 5),
    "lenet": (lenet, cross_entropy, {"x": (4, 12, 12, 1)}, 5),
    "residual": (residual, cross_entropy, {"x": (4, 18, 18, 3)}, 5),
    "gelu_mlp": (gelu_mlp, cross_entropy, {"x": (6, 12)}, 5),
    "embedding": (embedding, cross_entropy, {"tokens": (7, 6)}, 11),
    "siamese": (siamese, two_losses, {"a": (6, 10), "b": (6, 10)}, 5),
}


def tensors(arrays, dtype):
    return {k: torch.tensor(v, dtype=dtype if v.dtype == np.float32 else None) for k, v in arrays.items()}


def make(name, dtype):
    """All arrays of one network, computed in dtype."""
    forward, loss_of, shapes, classes = NETS[name]
    net = Net(name.removesuffix("_smoothed"), seed=sorted(NETS).index(name) + 1)
    for key, shape in shapes.items():
        net.inputs[key] = net.random.integers(11, size=shape, dtype=np.int32) if key == "tokens" else net.draw(*shape)
    batch = next(iter(shapes.values()))[0]
    net.labels = net.random.integers(classes, size=batch, dtype=np.int32)
    if name == "mlp_smoothed":
        net.labels[[2, 5]] = -1
    net.target = net.draw(batch, 3)
    inputs = tensors(net.inputs, dtype)
    with torch.no_grad():
        forward(net, tensors(net.inputs, torch.float32))  # declares the weights

    arrays = {f"input/{k}": v for k, v in net.inputs.items()}
    arrays["labels"] = net.labels
    if name == "siamese":
        arrays["target"] = net.target
    arrays |= {f"initial/{k}": v for k, v in (net.initial | net.states).items()}
    for optimizer, build in OPTIMIZERS.items():
        params = tensors(net.initial, dtype)
        states = tensors(net.states, dtype)
        for p in params.values():
            p.requires_grad_()
        net.used, net.train = params | states, True
        rule, losses = build(params.values()), []
        for step in range(STEPS):
            rule.zero_grad()
            out = forward(net, inputs)
            loss = loss_of(net, out)
            loss.backward()
            losses.append(loss.item())
            if step == 0 and optimizer == "sgd":
                arrays |= {f"output/{k}": v.detach().numpy() for k, v in out.items()}
                arrays |= {f"gradient/{k}": v.grad.numpy().copy() for k, v in params.items()}
            rule.step()
        arrays[f"{optimizer}/loss"] = np.array(losses)
        net.train = False
        with torch.no_grad():
            arrays |= {f"{optimizer}/eval/{k}": v.numpy() for k, v in forward(net, inputs).items()}
        arrays |= {f"{optimizer}/final/{k}": v.detach().numpy().copy() for k, v in net.used.items()}
    return {k: v if v.dtype == np.int32 else v.astype(np.float32) for k, v in arrays.items()}


def main():
    torch.set_num_threads(1)
    for name in NETS:
        arrays = make(name, torch.float64)
        assert all(np.isfinite(v).all() for v in arrays.values()), name
        np.savez(OUT / f"{name}.npz", **arrays)
        print(f"{name}: {len(arrays)} arrays, losses", *(f"{o} {arrays[o + '/loss'][0]:.4f}→{arrays[o + '/loss'][-1]:.4f}" for o in OPTIMIZERS))
        if "--check" in sys.argv:
            report(arrays, make(name, torch.float32))


def report(exact, single):
    """Prints the largest differences of a float32 run, relative to each array's largest number."""
    worst = {}
    for key, want in exact.items():
        kind = key.split("/")[1] if key.split("/")[0] in OPTIMIZERS else key.split("/")[0]
        off = np.abs(single[key] - want).max() / max(np.abs(want).max(), 1e-30)
        worst[kind] = max(worst.get(kind, 0), off)
    print("  float32 is off by", *(f"{k} {v:.1e}" for k, v in worst.items()))


if __name__ == "__main__":
    main()
