"""Kernels of Triton for sm_100a, and the PTX that Triton makes of them in `ptx/`, which is committed.

`python tests/nvcc/triton/kernels.py` makes the PTX anew; it needs Triton 3.9, and no GPU. What the kernels should compute
is in `tests/nvcc/triton.rs`.
"""

import os
import pathlib
import re

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_copy,
    tcgen05_mma,
    tcgen05_mma_scaled,
)
from triton.experimental.gluon.language.nvidia.hopper import cluster, fence_async_shared, mbarrier


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), SUM)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        y = tl.load(b + (k + depth)[:, None] * N + columns[None, :])
        sums = tl.dot(x, y, sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def transposed(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The first factor is stored column by column, the second one too."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[None, :] + (k + depth)[:, None] * M)
        y = tl.load(b + (k + depth)[None, :] + columns[:, None] * K)
        sums = tl.dot(x.T, y.T, sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def layer(a, b, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A layer of a network: product, bias, ReLU, rounded to halves."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        y = tl.load(b + (k + depth)[:, None] * N + columns[None, :])
        sums = tl.dot(x, y, sums)
    sums = tl.maximum(sums + tl.load(bias + columns)[None, :], 0.0)
    tl.store(c + rows[:, None] * N + columns[None, :], sums.to(tl.float16))


@triton.jit
def boxes(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Factors by tensor maps, which the kernel makes itself."""
    of_a = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    of_b = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    of_c = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(of_a.load([row, k]), of_b.load([column, k]).T, sums)
    of_c.store([row, column], sums)


@triton.jit
def attention(q, k, v, out, keys, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    wide = tl.arange(0, D)
    queries = tl.load(q + rows[:, None] * D + wide[None, :])
    most = tl.full((BM,), -1.0e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in range(0, keys, BN):
        these = start + tl.arange(0, BN)
        scores = tl.dot(queries, tl.load(k + these[None, :] * D + wide[:, None])) * scale
        larger = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - larger[:, None])
        shrink = tl.exp2(most - larger)
        total = total * shrink + tl.sum(weights, 1)
        sums = sums * shrink[:, None]
        sums = tl.dot(weights.to(tl.float16), tl.load(v + these[:, None] * D + wide[None, :]), sums)
        most = larger
    tl.store(out + rows[:, None] * D + wide[None, :], sums / total[:, None])


@triton.jit
def scaled(a, sa, b, sb, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           TA: tl.constexpr, TB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr, GROUP: tl.constexpr):
    """Block-scaled numbers, with a scale factor for each GROUP of them."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth_a, depth_b = tl.arange(0, BK // PA), tl.arange(0, BK // PB)
    groups = tl.arange(0, BK // GROUP)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * (K // PA) + (k // PA + depth_a)[None, :])
        y = tl.load(b + columns[None, :] * (K // PB) + (k // PB + depth_b)[:, None])
        of_x = tl.load(sa + rows[:, None] * (K // GROUP) + (k // GROUP + groups)[None, :])
        of_y = tl.load(sb + columns[:, None] * (K // GROUP) + (k // GROUP + groups)[None, :])
        sums = tl.dot_scaled(x, of_x, TA, y, of_y, TB, sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


@triton.jit
def softmax(x, out, columns, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, values / tl.sum(values, 0), mask=at < columns)


@triton.jit
def norm(x, weight, bias, out, columns, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    there = at < columns
    values = tl.load(x + row * columns + at, mask=there, other=0.0)
    mean = tl.sum(values, 0) / columns
    apart = tl.where(there, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(apart * apart, 0) / columns + 1e-5)
    values = apart * scale * tl.load(weight + at, mask=there) + tl.load(bias + at, mask=there)
    tl.store(out + row * columns + at, values, mask=there)


@triton.jit
def total(x, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0), 0))


@triton.jit
def prefix(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@gluon.jit
def pair(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    """A product of two blocks: each has half of the rows of a, and half of the columns of b."""
    of_a: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0], cga_layout=[[1, 0]])
    of_b: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0], cga_layout=[[0, 1]])
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, of_a))
    x = gl.load(a + rows[:, None] * K + gl.arange(0, K, layout=gl.SliceLayout(0, of_a))[None, :])
    columns = gl.arange(0, N, layout=gl.SliceLayout(0, of_b))
    y = gl.load(b + gl.arange(0, K, layout=gl.SliceLayout(1, of_b))[:, None] * N + columns[None, :])
    by_rows: gl.constexpr = gl.NVMMASharedLayout(128, element_bitwidth=16, rank=2, cga_layout=[[1, 0]])
    by_columns: gl.constexpr = gl.NVMMASharedLayout(128, element_bitwidth=16, rank=2, cga_layout=[[0, 1]])
    tile_a = gl.allocate_shared_memory(gl.float16, [M, K], by_rows, x)
    tile_b = gl.allocate_shared_memory(gl.float16, [K, N], by_columns, y)
    layout: gl.constexpr = TensorMemoryLayout([M // 2, N], col_stride=1, cga_layout=[[1, 0]], two_ctas=True)
    sums = allocate_tensor_memory(gl.float32, [M, N], layout)
    over = mbarrier.allocate_mbarrier()
    mbarrier.init(over, count=1)
    fence_async_shared(cluster=True)
    cluster.barrier()
    tcgen05_mma(tile_a, tile_b, sums, use_acc=False, mbarriers=[over])
    mbarrier.wait(over, phase=0)
    mbarrier.invalidate(over)
    out = sums.load()
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, out.type.layout))
    columns = gl.arange(0, N, layout=gl.SliceLayout(0, out.type.layout))
    gl.store(c + rows[:, None] * N + columns[None, :], out)


@gluon.jit
def copied(a, c, M: gl.constexpr, N: gl.constexpr, WIDTH: gl.constexpr):
    """From shared memory, where rows are swizzled, to tensor memory, and from there to registers."""
    of_a: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, of_a))
    x = gl.load(a + rows[:, None] * N + gl.arange(0, N, layout=gl.SliceLayout(0, of_a))[None, :])
    tile = gl.allocate_shared_memory(gl.float32, [M, N], gl.NVMMASharedLayout(WIDTH, element_bitwidth=32, rank=2), x)
    memory = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    over = mbarrier.allocate_mbarrier()
    mbarrier.init(over, count=1)
    fence_async_shared()
    gl.barrier()
    tcgen05_copy(tile, memory)
    tcgen05_commit(over)
    mbarrier.wait(over, phase=0)
    mbarrier.invalidate(over)
    out = memory.load()
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, out.type.layout))
    columns = gl.arange(0, N, layout=gl.SliceLayout(0, out.type.layout))
    gl.store(c + rows[:, None] * N + columns[None, :], out)


@gluon.jit
def shared_bytes(p, R: gl.constexpr, C: gl.constexpr, PER_THREAD: gl.constexpr, layout: gl.constexpr):
    of: gl.constexpr = gl.BlockedLayout([1, PER_THREAD], [4, 8], [4, 1], [1, 0])
    rows = gl.arange(0, R, layout=gl.SliceLayout(1, of))
    x = gl.load(p + rows[:, None] * C + gl.arange(0, C, layout=gl.SliceLayout(0, of))[None, :])
    return gl.allocate_shared_memory(p.dtype.element_ty, [R, C], layout, x)


@gluon.jit
def tensor_scales(p):
    """Four factors for each of 128 rows: 32 rows of sixteen bytes in shared memory, copied to all lanes."""
    tile = shared_bytes(p, 32, 16, 4, gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0]))
    memory = allocate_tensor_memory(gl.uint8, [128, 4], TensorMemoryScalesLayout())
    over = mbarrier.allocate_mbarrier()
    mbarrier.init(over, count=1)
    fence_async_shared()
    gl.barrier()
    tcgen05_copy(tile.reshape((32, 4, 4)).permute((1, 0, 2)).reshape((128, 4)), memory)
    # The tile's memory is used again.
    tcgen05_commit(over)
    mbarrier.wait(over, phase=0)
    mbarrier.invalidate(over)
    return memory


@gluon.jit
def copied_scales(a, sa, b, sb, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    layout: gl.constexpr = gl.NVMMASharedLayout(128, element_bitwidth=8, rank=2)
    tile_a, tile_b = shared_bytes(a, M, K, 16, layout), shared_bytes(b, N, K, 16, layout)
    of_a, of_b = tensor_scales(sa), tensor_scales(sb)
    sums = allocate_tensor_memory(gl.float32, [M, N], TensorMemoryLayout([M, N], col_stride=1))
    over = mbarrier.allocate_mbarrier()
    mbarrier.init(over, count=1)
    fence_async_shared()
    gl.barrier()
    tcgen05_mma_scaled(tile_a, tile_b.permute((1, 0)), sums, of_a, of_b, "e4m3", "e4m3", use_acc=False)
    tcgen05_commit(over)
    mbarrier.wait(over, phase=0)
    mbarrier.invalidate(over)
    out = sums.load()
    rows = gl.arange(0, M, layout=gl.SliceLayout(1, out.type.layout))
    columns = gl.arange(0, N, layout=gl.SliceLayout(0, out.type.layout))
    gl.store(c + rows[:, None] * N + columns[None, :], out)


FACTORS = {"M": "i32", "N": "i32", "K": "i32"}


def of_product(a, c, sums, m, n, k, warps=4):
    return product, {"a": a, "b": a, "c": c, **FACTORS}, {"BM": m, "BN": n, "BK": k, "SUM": sums}, warps, 100


def of_scaled(ta, tb, group, scale, k):
    pack = {"e4m3": 1, "e2m1": 2}
    types = {"a": "*u8" if pack[ta] == 2 else "*fp8e4nv", "sa": scale, "b": "*u8" if pack[tb] == 2 else "*fp8e4nv", "sb": scale}
    constants = {"BM": 128, "BN": 64, "BK": k, "TA": ta, "TB": tb, "PA": pack[ta], "PB": pack[tb], "GROUP": group}
    return scaled, {**types, "c": "*fp32", **FACTORS}, constants, 4, 100


BLOCK = {"BM": 128, "BN": 64, "BK": 64}
HALVES = {"a": "*fp16", "b": "*fp16", "c": "*fp32", **FACTORS}
KERNELS = {
    "product_f16": of_product("*fp16", "*fp32", tl.float32, 128, 64, 64),
    "product_bf16": of_product("*bf16", "*fp32", tl.float32, 128, 128, 64),
    "product_tf32": of_product("*fp32", "*fp32", tl.float32, 128, 64, 32),
    "product_e4m3": of_product("*fp8e4nv", "*fp32", tl.float32, 128, 64, 128),
    "product_e5m2": of_product("*fp8e5", "*fp32", tl.float32, 64, 64, 64),
    "product_s8": of_product("*i8", "*i32", tl.int32, 128, 64, 64),
    "product_64": of_product("*fp16", "*fp32", tl.float32, 64, 128, 64),
    "product_256": of_product("*fp16", "*fp32", tl.float32, 256, 64, 64, 8),
    "transposed": (transposed, HALVES, BLOCK, 4, 100),
    "layer": (layer, {"a": "*fp16", "b": "*fp16", "bias": "*fp32", "c": "*fp16", **FACTORS}, BLOCK, 8, 100),
    "boxes": (boxes, HALVES, BLOCK, 4, 100),
    "attention": (
        attention,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "keys": "i32", "scale": "fp32"},
        {"BM": 128, "BN": 64, "D": 64},
        4,
        100,
    ),
    "scaled_e4m3": of_scaled("e4m3", "e4m3", 32, "*u8", 128),
    "scaled_e2m1": of_scaled("e2m1", "e2m1", 32, "*u8", 128),
    "scaled_mixed": of_scaled("e4m3", "e2m1", 32, "*u8", 128),
    "scaled_nvf4": of_scaled("e2m1", "e2m1", 16, "*fp8e4nv", 128),
    "pair_256": (pair, {"a": "*fp16", "b": "*fp16", "c": "*fp32"}, {"M": 256, "N": 128, "K": 64}, 4, 100),
    "pair_128": (pair, {"a": "*fp16", "b": "*fp16", "c": "*fp32"}, {"M": 128, "N": 128, "K": 64}, 4, 100),
    "copied": (copied, {"a": "*fp32", "c": "*fp32"}, {"M": 128, "N": 64, "WIDTH": 128}, 4, 100),
    "copied_scales": (
        copied_scales,
        {"a": "*fp8e4nv", "sa": "*u8", "b": "*fp8e4nv", "sb": "*u8", "c": "*fp32"},
        {"M": 128, "N": 128, "K": 128},
        4,
        100,
    ),
    "softmax": (softmax, {"x": "*fp32", "out": "*fp32", "columns": "i32"}, {"B": 512}, 4, 100),
    "norm": (
        norm,
        {"x": "*fp32", "weight": "*fp32", "bias": "*fp32", "out": "*fp32", "columns": "i32"},
        {"B": 512},
        4,
        120,
    ),
    "total": (total, {"x": "*i32", "out": "*i32", "n": "i32"}, {"B": 1024}, 4, 120),
    "prefix": (prefix, {"x": "*i32", "out": "*i32"}, {"B": 512}, 4, 120),
}


def compiled(name):
    """The PTX of a kernel. Its first lines say how to launch it."""
    function, types, constants, warps, architecture = KERNELS[name]
    aligned = [n for n, t in types.items() if t.startswith("*") or n in ("M", "N", "K", "keys")]
    attributes = {(list(types).index(n),): [["tt.divisibility", 16]] for n in aligned}
    signature = {**types, **{constant: "constexpr" for constant in constants}}
    kind = GluonASTSource if function in (pair, copied, copied_scales) else ASTSource
    source = kind(fn=function, signature=signature, constexprs=constants, attrs=attributes)
    options = {"num_warps": warps, "num_ctas": 2 if function is pair else 1}
    made = triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options)
    known = made.metadata
    text = re.sub(r"\n\t?//[^\n]*", "", "\n" + made.asm["ptx"])
    text = re.sub(r"[ \t]+//[^\n]*", "", text)
    # Without `.explicitcluster`, a launch takes the size of clusters from the kernel.
    text = "\n".join(line for line in text.split("\n") if line.strip() not in ("", ".explicitcluster"))
    words = f"// shared {known.shared} threads {32 * known.num_warps} scratch {known.global_scratch_size}\n"
    return words + text + "\n"


if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent / "ptx"
    for name in KERNELS:
        (folder / f"{name}.ptx").write_text(compiled(name))
        print(name)
