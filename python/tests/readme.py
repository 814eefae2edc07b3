"""A program of the tests: runs the Python blocks of the README."""

import os
import pathlib
import re

NAME, OUT = os.environ["MILLRACE_WORKER"], pathlib.Path(os.environ["OUT"])
text = (pathlib.Path(__file__).resolve().parents[1] / "README.md").read_text()
blocks = re.findall(r"```python\n(.*?)```", text, re.S)
wanted = os.environ["BLOCK"]
scope: dict = {}
if wanted == "torch":
    import torch

    g = torch.Generator().manual_seed(1)
    scope = {"x": torch.randn(300, 784, generator=g), "y": torch.randint(10, (300,), generator=g)}
else:
    scope = {"gradient": lambda p, indices: p + 1}
(block,) = [b for b in blocks if (wanted == "torch") == ("torch" in b)]
exec(block, scope)  # noqa: S102 - it is ours
last = scope["model"].weight.detach().numpy() if wanted == "torch" else scope["p"]
(OUT / (NAME + ".json")).write_text(f'{{"sum": {float(last.sum())!r}}}')
