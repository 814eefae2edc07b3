"""numpy (the OpenBLAS in its PyPI wheel) as a peer for matrix products: python numpy_gemm.py."""
import numpy as np

from serve import serve


def build(row, _variant):
    shape, *flags = row.split(":")
    m, n, k = map(int, shape.split("x"))
    rng = np.random.default_rng(1)

    def operand(rows, cols, transposed):
        x = rng.uniform(-1, 1, (cols, rows) if transposed else (rows, cols)).astype(np.float32)
        return x.T if transposed else x

    a, b = operand(m, k, "tA" in flags), operand(k, n, "tB" in flags)
    c = np.empty((m, n), np.float32)

    def run(steps):
        for _ in range(steps):
            np.matmul(a, b, out=c)
        return float(c[0, 0])

    return run, 0


if __name__ == "__main__":
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    serve({"name": "numpy", "version": np.__version__,
           "settings": f"{blas['name']} {blas['version']}"}, build)
