"""Tensor programs through tinygrad on a CUDA device, each compared with NumPy, as tests of unittest.

tinygrad's package comes without its own tests, so these are ours: the operations of its basic tests, matrix products
of every type of number, and small trainings, also replayed as graphs. A case is a function in the table CASES.
"""

import unittest

import numpy as np
from tinygrad import Device, Tensor, TinyJit, dtypes, nn

rng = np.random.default_rng(20)
CASES = {}


class Programs(unittest.TestCase):
    """Gets a method for each case. The numbers of a case do not depend on what ran before it."""

    def setUp(self):
        global rng
        rng = np.random.default_rng(20)


def case(function):
    CASES[function.__name__] = function
    return function


def numbers(*shape, low=-2.0, high=2.0):
    return rng.uniform(low, high, shape).astype(np.float32)


def same(tensor, expected, rtol=1e-5, atol=1e-5):
    got = tensor.numpy()
    assert got.shape == expected.shape, f"shape {got.shape}, not {expected.shape}"
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol)


def elementwise(name, ours, reference, low=-2.0, high=2.0, rtol=1e-5):
    def run():
        x = numbers(45, 65, low=low, high=high)
        same(ours(Tensor(x)), reference(x), rtol=rtol)

    CASES[name] = run


def pairwise(name, operation):
    def run():
        x, y = numbers(45, 65), numbers(65)
        same(operation(Tensor(x), Tensor(y)), operation(x, y))

    CASES[name] = run


def erf(x):
    from math import erf as scalar

    return np.vectorize(scalar)(x)


for name, operation in {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "less": lambda x, y: x < y,
    "equal": lambda x, y: x == y,
}.items():
    pairwise(name, operation)

for name, ours, reference, *bounds in [
    ("exp", Tensor.exp, np.exp),
    ("exp2", Tensor.exp2, np.exp2),
    ("log", Tensor.log, np.log, 0.1, 5.0),
    ("log2", Tensor.log2, np.log2, 0.1, 5.0),
    ("sqrt", Tensor.sqrt, np.sqrt, 0.0, 5.0),
    ("rsqrt", Tensor.rsqrt, lambda x: 1 / np.sqrt(x), 0.1, 5.0),
    ("reciprocal", Tensor.reciprocal, lambda x: 1 / x, 0.1, 5.0),
    ("sin", Tensor.sin, np.sin, -100.0, 100.0),
    ("cos", Tensor.cos, np.cos, -10.0, 10.0),
    ("tan", Tensor.tan, np.tan, -1.0, 1.0),
    ("tanh", Tensor.tanh, np.tanh),
    ("sigmoid", Tensor.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    ("relu", Tensor.relu, lambda x: np.maximum(x, 0)),
    ("gelu", Tensor.gelu, lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    ("erf", Tensor.erf, erf),
    ("abs", Tensor.abs, np.abs),
    ("sign", Tensor.sign, np.sign),
    ("floor", Tensor.floor, np.floor),
    ("ceil", Tensor.ceil, np.ceil),
    ("trunc", Tensor.trunc, np.trunc),
    ("round", Tensor.round, np.round),
    ("square", Tensor.square, np.square),
    ("clip", lambda x: x.clip(-1, 1), lambda x: np.clip(x, -1, 1)),
    ("power", lambda x: x**3, lambda x: x**3),
    ("where", lambda x: (x > 0).where(x, -2 * x), lambda x: np.where(x > 0, x, -2 * x)),
    ("sum", Tensor.sum, lambda x: x.sum(keepdims=False)),
    ("sum_rows", lambda x: x.sum(axis=1), lambda x: x.sum(axis=1)),
    ("sum_columns", lambda x: x.sum(axis=0), lambda x: x.sum(axis=0)),
    ("max", lambda x: x.max(axis=1), lambda x: x.max(axis=1)),
    ("min", lambda x: x.min(axis=0), lambda x: x.min(axis=0)),
    ("mean", lambda x: x.mean(axis=0), lambda x: x.mean(axis=0)),
    ("variance", lambda x: x.var(axis=1), lambda x: x.var(axis=1, ddof=1)),
    ("product", lambda x: x.prod(axis=1), lambda x: x.prod(axis=1), 0.8, 1.2),
    ("argmax", lambda x: x.argmax(axis=1), lambda x: x.argmax(axis=1)),
    ("cumsum", lambda x: x.cumsum(axis=1), lambda x: x.cumsum(axis=1)),
    ("sort", lambda x: x.sort(dim=1)[0], lambda x: np.sort(x, axis=1)),
    ("transpose", lambda x: x.T.contiguous(), lambda x: x.T),
    ("reshape", lambda x: x.reshape(65, 45) + 0, lambda x: x.reshape(65, 45)),
    ("flip", lambda x: x.flip(0).contiguous(), lambda x: x[::-1]),
    ("pad", lambda x: x.pad(((1, 2), (3, 4))).contiguous(), lambda x: np.pad(x, ((1, 2), (3, 4)))),
    ("shrink", lambda x: x[3:20, 5:50:3].contiguous(), lambda x: x[3:20, 5:50:3]),
    ("expand", lambda x: x.unsqueeze(1).expand(45, 3, 65).contiguous(), lambda x: np.repeat(x[:, None], 3, 1)),
    ("concatenate", lambda x: x.cat(x * 2, dim=1), lambda x: np.concatenate([x, x * 2], 1)),
    ("gather", lambda x: x[Tensor([3, 1, 44, 0])], lambda x: x[[3, 1, 44, 0]]),
    ("triangle", lambda x: x.tril(), np.tril),
]:
    low, high = bounds or (-2.0, 2.0)
    elementwise(name, ours, reference, low, high, rtol=1e-4)


@case
def matmul():
    a, b = numbers(65, 45), numbers(45, 33)
    same(Tensor(a) @ Tensor(b), a @ b, 1e-4, 1e-4)


@case
def matmul_256():
    a, b = numbers(256, 256), numbers(256, 256)
    same(Tensor(a) @ Tensor(b), a @ b, 1e-4, 1e-3)


@case
def matmul_half():
    a, b = numbers(64, 64).astype(np.float16), numbers(64, 64).astype(np.float16)
    same(Tensor(a) @ Tensor(b), a.astype(np.float32) @ b.astype(np.float32), 1e-2, 5e-2)


@case
def matmul_half_into_float():
    a, b = numbers(64, 64).astype(np.float16), numbers(64, 64).astype(np.float16)
    same(Tensor(a).matmul(Tensor(b), dtype=dtypes.float), a.astype(np.float32) @ b.astype(np.float32), 1e-4, 1e-3)


@case
def matmul_bfloat():
    a, b = numbers(32, 32), numbers(32, 32)
    ours = (Tensor(a).cast(dtypes.bfloat16) @ Tensor(b).cast(dtypes.bfloat16)).float()
    same(ours, a @ b, 5e-2, 2e-1)


@case
def matmul_double():
    a, b = numbers(33, 17).astype(np.float64), numbers(17, 40).astype(np.float64)
    same(Tensor(a) @ Tensor(b), a @ b, 1e-12, 1e-12)


@case
def softmax():
    x = numbers(45, 65)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    same(Tensor(x).softmax(axis=1), e / e.sum(axis=1, keepdims=True), 1e-5, 1e-6)


@case
def layernorm():
    x = numbers(45, 65)
    expected = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    same(Tensor(x).layernorm(), expected, 1e-4, 1e-4)


@case
def conv2d():
    x, w = numbers(2, 3, 12, 12), numbers(4, 3, 3, 3)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    same(Tensor(x).conv2d(Tensor(w)), np.einsum("nchwij,ocij->nohw", windows, w), 1e-4, 1e-4)


@case
def max_pool():
    x = numbers(2, 3, 12, 12)
    same(Tensor(x).max_pool2d((2, 2)), x.reshape(2, 3, 6, 2, 6, 2).max(axis=(3, 5)))


@case
def attention():
    q, k, v = (numbers(2, 4, 16, 8) for _ in range(3))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(8)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    expected = (scores / scores.sum(axis=-1, keepdims=True)) @ v
    same(Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v)), expected, 1e-4, 1e-4)


@case
def long_sum():
    x = numbers(1 << 18)
    same(Tensor(x).sum(), x.astype(np.float64).sum().reshape(()), 1e-4, 1e-1)


@case
def integers():
    a = rng.integers(-1000, 1000, (31, 33)).astype(np.int32)
    b = rng.integers(1, 50, (31, 33)).astype(np.int32)
    same(Tensor(a) * Tensor(b) + Tensor(a), a * b + a)
    same(Tensor(a) // Tensor(b), a // b)
    same(Tensor(a) % Tensor(b), a % b)
    same((Tensor(a) ^ Tensor(b)) & 255 | 3, (a ^ b) & 255 | 3)
    same(Tensor(a) << 3, a << 3)
    same(Tensor(a) >> 2, a >> 2)


def conversion(source, target):
    def run():
        x = rng.integers(0, 100, (300,)).astype(source)
        same(Tensor(x).cast(target).cast(dtypes.float), x.astype(np.float32))

    CASES["_".join(["cast", np.dtype(source).name, "to", *target.name.strip("_").split()])] = run


for source in (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64,
               np.float16, np.float32, np.float64):
    for target in (dtypes.int8, dtypes.uint16, dtypes.int32, dtypes.int64, dtypes.uint64, dtypes.half,
                   dtypes.bfloat16, dtypes.double):
        conversion(source, target)


@case
def random():
    Tensor.manual_seed(7)
    x = Tensor.rand(10_000).numpy()
    assert 0 <= x.min() and x.max() < 1 and abs(x.mean() - 0.5) < 0.02, (x.min(), x.max(), x.mean())
    y = Tensor.randn(10_000).numpy()
    assert abs(y.mean()) < 0.05 and abs(y.std() - 1) < 0.05, (y.mean(), y.std())


@case
def gradient():
    x, w = numbers(8, 5), numbers(5, 3)
    ours = Tensor(w)
    (Tensor(x) @ ours).relu().sum().backward()
    same(ours.grad, x.T @ ((x @ w) > 0).astype(np.float32), 1e-4, 1e-4)


class Net:
    def __init__(self):
        self.first, self.second = nn.Linear(2, 16), nn.Linear(16, 2)

    def __call__(self, x):
        return self.second(self.first(x).tanh())


def train(steps, jit):
    Tensor.manual_seed(1)
    points = np.random.default_rng(1).standard_normal((64, 2)).astype(np.float32)
    labels = (points[:, 0] * points[:, 1] > 0).astype(np.int32)
    x, y = Tensor(points).realize(), Tensor(labels).realize()
    net = Net()
    optimizer = nn.optim.Adam(nn.state.get_parameters(net), lr=0.05)

    def step():
        optimizer.zero_grad()
        loss = net(x).sparse_categorical_crossentropy(y).backward()
        optimizer.step()
        return loss.realize()

    step = TinyJit(step) if jit else step
    with Tensor.train():
        losses = [step().item() for _ in range(steps)]
    assert losses[-1] < 0.8 * losses[0], losses
    return losses


@case
def training():
    train(12, jit=False)


@case
def training_replayed():
    assert np.allclose(train(30, jit=True)[:12], train(12, jit=False), rtol=1e-4)


@case
def replayed():
    step = TinyJit(lambda a: ((a + 1) * 2).contiguous().sum(axis=0).realize())
    for _ in range(5):
        x = numbers(16, 16)
        same(step(Tensor(x).realize()), ((x + 1) * 2).sum(axis=0), 1e-4, 1e-4)


for name, run in CASES.items():
    setattr(Programs, f"test_{name}", lambda self, run=run: run())

if Device.DEFAULT != "CUDA":
    raise RuntimeError(f"tinygrad chose {Device.DEFAULT} instead of CUDA")
