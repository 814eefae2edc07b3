"""Writes the golden .npy and .npz files beside it with NumPy itself.

Run: python3 make_numpy.py
The values of every array are v(i) = (7·i) mod 50 − 20 in row-major order (+20 for unsigned ones).
"""
import os
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))


def values(n, low):
    return (np.arange(n) * 7) % 50 + low


for descr in ["<f4", ">f4", "<f8", ">f8", "|u1", "<i4", ">i4", "<i8", ">i8", "<u2", ">u2", "<u4", ">u4"]:
    a = values(24, 0 if "u" in descr else -20).astype(descr).reshape(2, 3, 4)
    name = descr.replace("<", "little-").replace(">", "big-").replace("|", "")
    np.save(f"{name}-c.npy", a)
    np.save(f"{name}-fortran.npy", np.asfortranarray(a))
with open("version2.npy", "wb") as f:
    np.lib.format.write_array(f, values(3, -20).astype("<f4"), version=(2, 0))
with open("version3.npy", "wb") as f:
    np.lib.format.write_array(f, values(3, -20).astype("<f4"), version=(3, 0))
np.save("scalar.npy", np.float32(-20))
np.save("truths.npy", values(6, 0) % 2 == 1)
np.save("objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
np.save("records.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]))
np.save("complex.npy", np.zeros(2, dtype="<c8"))
split = dict(
    x_train=values(6 * 4, 0).astype("u1").reshape(6, 2, 2),
    y_train=np.arange(6) % 3,
    x_test=values(2 * 4, 0).astype("u1").reshape(2, 2, 2),
    y_test=np.arange(2)[:, None].astype("u1"),
)
np.savez("keras.npz", **split)
np.savez_compressed("compressed.npz", x=values(10, -20).astype("<f8").reshape(5, 2), y=np.arange(5).astype("<i4") % 2)
