"""Rumba's linear algebra beside NVIDIA's libraries, through PyTorch: both in turns on one GPU, in one run.

    python beside_torch.py PROGRAM [CASES]      PROGRAM: the binary `libraries`; CASES: part of the names of cases
    python beside_torch.py PROGRAM step         the table of book/src/product.md
    python beside_torch.py PROGRAM network      Stable Diffusion's networks; takes diffusers and transformers
    python beside_torch.py PROGRAM --profile C  the same, and how long each of our kernels takes in a case of several

Each side runs a graph of launches without a pause; after a warm-up they take turns. A line per case: the median of our time,
that of the library, the median of the ratios of neighbours, our speed, and the error of both against f64.
"""

import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

ROUNDS = 9
# A graph runs about so long: the speed is the one that the chip keeps up.
MICROSECONDS = 20_000


class Ours:
    """The program, which answers a line for each line."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the program ended with {self.process.wait()}")
        answer = json.loads(line)
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
        return answer

    def time(self, times):
        return self.ask(time=times)["microseconds"]


class Theirs:
    """A function of PyTorch, as a graph of launches."""

    def __init__(self, work):
        self.work, self.graphs = work, {}
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                work()
        torch.cuda.synchronize()

    def time(self, times):
        if times not in self.graphs:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for _ in range(times):
                    self.work()
            self.graphs[times] = graph
            graph.replay()
            torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.graphs[times].replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1000 / times


ELEMENTS = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "tf32": torch.float32,
    "f32": torch.float32,
    "f64": torch.float64,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "s8": torch.int8,
}


def product(element, m, n, k, layout="nt", epilogue=(), only=None):
    """c = a b, by cuBLAS and cuBLASLt. `layout` says of a and b whether they lie in row-major order (n) or transposed (t): with
    `nt` the sums run along the rows of both. Results are of the elements' type, f16 for 8 bits and s32 for integers. What the library
    has no epilogue for, another kernel does behind it."""
    torch.backends.cuda.matmul.allow_tf32 = element == "tf32"
    kind = ELEMENTS[element]
    if element == "s8":
        a, b = (torch.randn(size, device="cuda").mul(32).to(kind) for size in ((m, k), (n, k)))
        return lambda: torch._int_mm(a, b.t())
    # The library has no products of two matrices of e5m2: one of them is of e4m3 then.
    kinds = (kind, torch.float8_e4m3fn if element == "e5m2" else kind)
    # Drawn with as many bits as the elements have: a multiplier takes less power for numbers that end in zeros, and runs faster.
    drawn = torch.float64 if element == "f64" else torch.float32
    a, b = (torch.randn(size, dtype=drawn, device="cuda").to(kind) for size, kind in zip(((m, k), (n, k)), kinds))
    if layout[0] == "t":
        a = a.t().contiguous().t()
    if layout[1] == "n":
        b = b.t().contiguous().t()
    output = torch.float16 if element in ("e4m3", "e5m2") else kind
    bias = torch.randn(n, device="cuda").mul(math.sqrt(k)).to(output) if "bias" in epilogue else None
    residual = torch.randn((m, n), device="cuda").mul(math.sqrt(k)).to(output) if "residual" in epilogue else None

    def behind(c):
        if "relu" in epilogue:
            c = torch.relu_(c)
        if "gelu" in epilogue:
            c = torch.nn.functional.gelu(c, approximate="tanh")
        if "silu" in epilogue:
            c = torch.nn.functional.silu(c, inplace=True)
        return c if residual is None else c.add_(residual)

    if element in ("e4m3", "e5m2"):
        one = torch.ones((), device="cuda")
        return lambda: behind(torch._scaled_mm(a, b.t(), one, one, bias=bias, out_dtype=output, use_fast_accum=True))
    if bias is not None and residual is None and ("relu" in epilogue or "gelu" in epilogue):
        return lambda: torch._addmm_activation(bias, a, b.t(), use_gelu="gelu" in epilogue)
    if bias is not None:
        return lambda: behind(torch.addmm(bias, a, b.t()))
    if list(epilogue) == ["residual"]:
        return lambda: torch.addmm(residual, a, b.t())
    c = torch.empty((m, n), dtype=kind, device="cuda")
    return lambda: behind(torch.matmul(a, b.t(), out=c))


def attention(element, batch, heads, length, size, causal, only=None):
    """softmax(q kT / sqrt(size)) v, by cuDNN."""
    q, k, v = (torch.randn((batch, heads, length, size), device="cuda").to(ELEMENTS[element]) for _ in range(3))

    def work():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)

    return work


def convolution(element, images, outputs, taps, stride, padding):
    """A convolution of images whose channels lie one after the other, by the algorithm that cuDNN finds to be the fastest."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    count, rows, columns, channels = images
    shapes = (count, channels, rows, columns), (outputs, channels, taps, taps)
    x, w = (torch.randn(shape, device="cuda").to(ELEMENTS[element]).to(memory_format=torch.channels_last) for shape in shapes)
    return lambda: torch.nn.functional.conv2d(x, w, None, stride, padding)


# Images, outputs, taps along an axis, stride: of the networks that draw pictures by diffusion, and of those that tell what is on them.
CONVOLUTIONS = [
    ([2, 64, 64, 320], 320, 3, 1),
    ([2, 32, 32, 640], 640, 3, 1),
    ([2, 16, 16, 1280], 1280, 3, 1),
    ([16, 64, 64, 320], 320, 3, 1),
    ([2, 64, 64, 320], 320, 3, 2),
    ([2, 32, 32, 640], 1280, 1, 1),
    ([32, 56, 56, 64], 64, 3, 1),
    ([32, 28, 28, 128], 128, 3, 1),
    ([32, 14, 14, 256], 256, 3, 1),
    ([2, 128, 128, 512], 512, 3, 1),
]

# Elements, and what is done with the sums.
EPILOGUES = [
    ("f16", "bias"),
    ("f16", "bias+relu"),
    ("f16", "bias+gelu"),
    ("f16", "bias+silu"),
    ("f16", "residual"),
    ("f16", "bias+residual"),
    ("bf16", "bias+gelu"),
    ("e4m3", "bias"),
    ("e4m3", "bias+gelu"),
    ("tf32", "bias+relu"),
]

# The steps of book/src/product.md.
STEPS = [
    "naive",
    "tiled",
    "registers",
    "tensor_cores",
    "warp_group",
    "queue",
    "two_consumers",
    "persistent",
    "cluster",
    "bands",
    "small",
]

SQUARES = [1024, 2048, 4096, 8192, 16384]
RAGGED = [(4095, 4097, 4100), (16384, 512, 1024), (512, 16384, 1024), (512, 512, 16384), (8192, 8192, 200)]


def networks(wanted):
    """Stable Diffusion's networks, beside PyTorch's with channels before or behind pixels."""
    from networks import BLOCKS, PARTS, Networks

    with tempfile.TemporaryDirectory() as folder:
        # To make one takes longer than to measure it.
        for version in [version for version in "12" if any(f"network {version}"[: len(part)] in part for part in wanted)]:
            made = Networks(folder, int(version))
            # bf16 at last: PyTorch's weights are rounded to it in place.
            for part, numbers in [(part, "f16") for part in PARTS + BLOCKS] + [("unet", "f32"), ("unet", "bf16")]:
                case = dict(folder=str(made.folder), part=part, numbers=numbers)
                for last in (False, True) if part not in ("text", *BLOCKS) else (False,):
                    name = f"network {version} {part} {numbers}{' NHWC' if last else ''}"
                    library = lambda part=part, numbers=numbers, last=last: made.library(part, numbers, last)
                    yield name, {"network": case}, library, made.operations[part]


def cases():
    """Names, what our side prepares, the library's function, and operations."""
    sizes = [(n, n, n) for n in SQUARES] + RAGGED
    eight = sizes[1:4]
    types = {"bf16": sizes, "f16": sizes, "e4m3": eight, "e5m2": eight, "s8": eight, "tf32": eight, "f32": eight, "f64": sizes[1:3]}
    for element, shapes in types.items():
        for m, n, k in shapes:
            case = dict(element=element, m=m, n=n, k=k)
            yield f"product {element} {m}x{n}x{k}", {"product": case}, lambda case=case: product(**case), 2 * m * n * k
    for element, epilogue in EPILOGUES:
        for m, n, k in ((2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 16384, 4096)):
            case = dict(element=element, m=m, n=n, k=k, epilogue=epilogue.split("+"))
            name = f"product {element} {m}x{n}x{k} {epilogue}"
            yield name, {"product": case}, lambda case=case: product(**case), 2 * m * n * k
    # Operands that lie otherwise, and the kernel that reads them as they lie, beside which no choice may be slower.
    for element in ("f16", "tf32"):
        for layout in ("nn", "tn", "tt"):
            case = dict(element=element, m=4096, n=4096, k=4096, layout=layout)
            yield f"product {element} 4096x4096x4096 {layout}", {"product": case}, lambda case=case: product(**case), 2 * 4096**3
    # Sums that end within a step, tiles at the edges, and rows that are not aligned to vectors.
    for element in ("f64", "f32"):
        for m, n, k in ((4096, 4096, 4096), (4096, 4096, 4100), (4095, 4097, 4100), (4096, 4097, 4097)):
            for layout in ("nt", "nn", "tn", "tt"):
                case = dict(element=element, m=m, n=n, k=k, layout=layout)
                yield f"layout {element} {m}x{n}x{k} {layout}", {"product": case}, lambda case=case: product(**case), 2 * m * n * k
    for m, n, k in ((16, 16, 16), (64, 64, 64), (1, 1024, 1024), (256, 256, 256)):
        for only in (None, "elements"):
            case = dict(element="f16", m=m, n=n, k=k, only=only)
            name = f"product f16 {m}x{n}x{k} {only or 'small'}"
            yield name, {"product": case}, lambda case=case: product(**case), 2 * m * n * k
    for n in (4096, 8192):
        for name in STEPS:
            case, library = dict(name=name, m=n, n=n, k=n), dict(element="f16", m=n, n=n, k=n)
            yield f"step {name} {n}", {"step": case}, lambda library=library: product(**library), 2 * n**3
    # 16384 positions with heads of 2048 numbers together, as in FlashAttention-3's paper; of sizes that do not divide it, the most.
    sizes = {"f16": [64, 128, 40, 80, 160], "bf16": [64, 128]}
    for element, size in ((element, size) for element in sizes for size in sizes[element]):
        for length in (1024, 4096, 16384):
            for causal in (False, True):
                case = dict(
                    element=element, batch=16384 // length, heads=2048 // size, length=length, size=size, causal=causal
                )
                operations = 4 * 16384 * (2048 // size) * length * size // (2 if causal else 1)
                name = f"attention {element} {size} {length} {'causal' if causal else 'full'}"
                yield name, {"attention": case}, lambda case=case: attention(**case), operations

    # By warps, as on devices before compute capability 9.0.
    for size, length, causal in ((64, 4096, False), (64, 4096, True), (128, 4096, False), (128, 4096, True), (80, 4096, False)):
        case = dict(
            element="f16", batch=4, heads=2048 // size, length=length, size=size, causal=causal, only="vectors"
        )
        operations = 4 * 16384 * (2048 // size) * length * size // (2 if causal else 1)
        name = f"attention f16 {size} {length} {'causal' if causal else 'full'} by warps"
        yield name, {"attention": case}, lambda case=case: attention(**case), operations

    for element in ("f16", "bf16", "f32"):
        for images, outputs, taps, stride in CONVOLUTIONS:
            padding = taps // 2
            case = dict(element=element, images=images, outputs=outputs, taps=taps, stride=stride, padding=padding)
            count, rows, columns, channels = images
            places = [(length + 2 * padding - taps) // stride + 1 for length in (rows, columns)]
            operations = 2 * count * places[0] * places[1] * outputs * taps * taps * channels
            name = f"convolution {element} {count}x{rows}x{columns}x{channels} {taps}x{taps}/{stride} to {outputs}"
            yield name, {"convolution": case}, lambda case=case: convolution(**case), operations


def main():
    ours, wanted = Ours(sys.argv[1]), sys.argv[2:]
    profile = "--profile" in wanted
    wanted = [part for part in wanted if part != "--profile"]
    of_networks = networks(wanted) if any(part.startswith("network") for part in wanted) else ()
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    print(f"# {'case':<36} {'ours us':>10} {'library us':>10} {'ratio':>7} {'ours T/s':>9} {'error':>9}  kernel")
    for name, case, library, operations in itertools.chain(of_networks, cases()):
        if wanted and not any(part in name for part in wanted):
            continue
        try:
            kernel = ours.ask(prepare=case)["prepared"]
            if profile:
                print(ours.ask(profile=None)["profile"])
            function = library()
            theirs = Theirs(function)
            # Each side for about as long.
            sides = [(side, max(1, min(200, math.ceil(MICROSECONDS / side.time(1))))) for side in (ours, theirs)]
            turns = []
            for turn in range(ROUNDS + 2):
                turns.append([side.time(times) for side, times in sides])
            turns = turns[2:]
            us, them = (statistics.median(side) for side in zip(*turns))
            ratio = statistics.median(a / b for a, b in turns)
            error = ours.ask(check=None)["error"]
            print(f"{name:<38} {us:>10.2f} {them:>10.2f} {ratio:>7.3f} {operations / us / 1e6:>9.1f} {error:>9.2e}  {kernel}")
            if hasattr(function, "error"):
                print(f"{'':<38} the library's error {function.error:.2e}, memory {function.bytes / 1e9:.2f} GB")
        except Exception as problem:
            print(f"{name:<38} {problem}")
        sys.stdout.flush()
        torch.cuda.empty_cache()


main()
