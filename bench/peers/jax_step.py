"""JAX as a peer: python jax_step.py.

One jitted function per step with weights, momenta and running statistics donated. Variants:
jit (pooling by reduce_window) and jit-reshape (2x2 pooling by reshape and max, whose gradient
XLA compiles to faster code on CPUs). scan does eight steps per call by lax.scan, which saves
the dispatch of seven but takes the batches out of the program's hands: it is shown, not raced.
The driver sets XLA_FLAGS and pins the process.
"""
import os

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from serve import serve

BATCHES = 8
LR, MOMENTUM, BN_MOMENTUM, EPS = 0.01, 0.9, 0.1, 1e-5


class Params:
    """Collects the initial weights and running statistics of a network as flat lists."""

    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.weights, self.stats = [], []

    def dense(self, n_in, n_out):
        bound = n_in ** -0.5
        self.weights += [self.uniform(bound, n_in, n_out), np.zeros(n_out, np.float32)]

    def conv(self, k, cin, cout, bias):
        self.weights.append(self.uniform((k * k * cin) ** -0.5, k, k, cin, cout))
        if bias:
            self.weights.append(np.zeros(cout, np.float32))

    def norm(self, c):
        self.weights += [np.ones(c, np.float32), np.zeros(c, np.float32)]
        self.stats += [np.zeros(c, np.float32), np.ones(c, np.float32)]

    def uniform(self, bound, *shape):
        return self.rng.uniform(-bound, bound, shape).astype(np.float32)


def conv(x, w, stride=1):
    pad = (w.shape[0] - 1) // 2
    return lax.conv_general_dilated(x, w, (stride, stride), ((pad, pad), (pad, pad)),
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool_window(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def pool_reshape(x):
    b, h, w, c = x.shape
    return x.reshape(b, h // 2, 2, w // 2, 2, c).max((2, 4))


def mlp(_pool):
    p = Params()
    p.dense(784, 256)
    p.dense(256, 10)

    def forward(w, stats, x):
        return jax.nn.relu(x @ w[0] + w[1]) @ w[2] + w[3], stats

    return p, forward


def lenet(pool):
    p = Params()
    p.conv(5, 1, 32, True)
    p.conv(5, 32, 64, True)
    p.dense(3136, 512)
    p.dense(512, 10)

    def forward(w, stats, x):
        x = pool(jax.nn.relu(conv(x, w[0]) + w[1]))
        x = pool(jax.nn.relu(conv(x, w[2]) + w[3]))
        x = jax.nn.relu(x.reshape(x.shape[0], -1) @ w[4] + w[5])
        return x @ w[6] + w[7], stats

    return p, forward


BLOCKS = [(cin if i == 0 else cout, cout, 2 if i == 0 and cout != 16 else 1)
          for cin, cout in ((16, 16), (16, 32), (32, 64)) for i in range(3)]


def resnet20(_pool):
    p = Params()
    p.conv(3, 3, 16, False)
    p.norm(16)
    for cin, cout, stride in BLOCKS:
        p.conv(3, cin, cout, False)
        p.norm(cout)
        p.conv(3, cout, cout, False)
        p.norm(cout)
        if stride != 1:
            p.conv(1, cin, cout, False)
            p.norm(cout)
    p.dense(64, 10)

    def forward(w, stats, x):
        w, old, new = iter(w), iter(stats), []

        def conv_norm(x, stride=1):
            x = conv(x, next(w), stride)
            mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
            n = x.size // x.shape[-1]
            for running, batch in ((next(old), mean), (next(old), var * n / (n - 1))):
                new.append((1 - BN_MOMENTUM) * running + BN_MOMENTUM * batch)
            return (x - mean) * (lax.rsqrt(var + EPS) * next(w)) + next(w)

        x = jax.nn.relu(conv_norm(x))
        for _, _, stride in BLOCKS:
            y = conv_norm(jax.nn.relu(conv_norm(x, stride)))
            x = jax.nn.relu(y + (x if stride == 1 else conv_norm(x, stride)))
        return x.mean((1, 2)) @ next(w) + next(w), new

    return p, forward


MODELS = {"mlp": (mlp, (784,)), "lenet": (lenet, (28, 28, 1)), "resnet20": (resnet20, (32, 32, 3))}


def build(row, variant):
    name, batch = row.split("/B=")
    network, shape = MODELS[name]
    params, forward = network(pool_reshape if variant == "jit-reshape" else pool_window)
    rng = np.random.default_rng(2)
    xs = [jnp.asarray(0.1 * rng.standard_normal((int(batch), *shape), np.float32)) for _ in range(BATCHES)]
    ys = [jnp.asarray(rng.integers(10, size=int(batch), dtype=np.int32)) for _ in range(BATCHES)]

    def loss_of(weights, stats, x, y):
        logits, stats = forward(weights, stats, x)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)
        return -picked.mean(), stats

    def step(weights, moments, stats, x, y):
        (loss, stats), grads = jax.value_and_grad(loss_of, has_aux=True)(weights, stats, x, y)
        moments = [MOMENTUM * m + g for m, g in zip(moments, grads)]
        weights = [w - LR * m for w, m in zip(weights, moments)]
        return weights, moments, stats, loss

    state = ([jnp.asarray(w) for w in params.weights],
             [jnp.zeros_like(w) for w in params.weights],
             [jnp.asarray(s) for s in params.stats])

    params = sum(w.size for w in params.weights)
    if variant == "scan":
        return scan(step, state, jnp.stack(xs), jnp.stack(ys)), params
    step = jax.jit(step, donate_argnums=(0, 1, 2))

    def run(steps):
        nonlocal state
        weights, moments, stats = state
        for i in range(steps):
            weights, moments, stats, loss = step(weights, moments, stats, xs[i % BATCHES], ys[i % BATCHES])
        state = jax.block_until_ready((weights, moments, stats))
        return float(loss)

    return run, params


def scan(step, state, xs, ys):
    def one(state, batch):
        *state, loss = step(*state, *batch)
        return tuple(state), loss

    eight = jax.jit(lambda state, xs, ys: lax.scan(one, state, (xs, ys)), donate_argnums=0)
    state = tuple(state)

    def run(steps):
        nonlocal state
        if steps % BATCHES:
            raise ValueError(f"scan does {BATCHES} steps at a time, not {steps}")
        for _ in range(steps // BATCHES):
            state, losses = eight(state, xs, ys)
        return float(jax.block_until_ready(losses)[-1])

    return run


if __name__ == "__main__":
    serve({"name": "JAX", "version": jax.__version__,
           "settings": f"jit, donated buffers, XLA_FLAGS={os.environ.get('XLA_FLAGS', '')}"}, build)
