"""Measures torch.distributed as the program `exchange` measures rumba::ranks, in turns with that program.

    python3 beside_torch.py target/release/exchange [--ranks 2] [--largest 1024] [--turns 3]

Both use the NCCL of PyTorch. Prints the median of the turns for each operation and size, and the ratio of both times.
"""

import argparse
import csv
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

# As in exchange.rs.
WARM_UP, ENOUGH, FEWEST = 5, 8 << 30, 20


def sizes(largest):
    bytes = 8
    while bytes < largest:
        yield bytes
        bytes *= 4
    yield largest


def rank(args):
    """One rank of torch.distributed: writes its times."""
    import torch
    import torch.distributed as dist

    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    me, count = dist.get_rank(), dist.get_world_size()
    rows = []

    def measure(name, bytes, in_place, run):
        repeat = min(args.repeat, max(ENOUGH // bytes, FEWEST))
        for _ in range(min(WARM_UP, repeat)):
            run()
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(repeat):
            run()
        torch.cuda.synchronize()
        rows.append((name, bytes, in_place, 1e6 * (time.perf_counter() - begin) / repeat))

    for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
        for bytes in sizes(args.largest << 20):
            elements = -(-bytes // 4 // count) * count
            source, target = torch.zeros(elements, device=device), torch.zeros(elements, device=device)
            part = elements // count
            own = slice(me * part, (me + 1) * part)
            # torch.distributed reduces in place only.
            runs = {
                "all_reduce": [None, lambda: dist.all_reduce(target)],
                "all_gather": [
                    lambda: dist.all_gather_into_tensor(target, source[:part]),
                    lambda: dist.all_gather_into_tensor(target, target[own]),
                ],
                "reduce_scatter": [
                    lambda: dist.reduce_scatter_tensor(target[:part], source),
                    lambda: dist.reduce_scatter_tensor(target[own], target),
                ],
                "broadcast": [None, lambda: dist.broadcast(target, 0)],
            }
            for in_place, run in enumerate(runs[name]):
                if run:
                    measure(name, bytes, in_place, run)
    if me == 0:
        with open(args.csv, "w") as file:
            csv.writer(file).writerows([("operation", "bytes", "in_place", "microseconds"), *rows])
    dist.destroy_process_group()


def run_torch(args, file):
    command = [sys.executable, __file__, "--rank", "--csv", file, "--largest", str(args.largest), "--repeat", str(args.repeat), "-"]
    variables = {"WORLD_SIZE": str(args.ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    ranks = [
        subprocess.Popen(command, env={**os.environ, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(args.ranks)
    ]
    if any([rank.wait() for rank in ranks]):
        sys.exit("a rank of torch.distributed failed")


def run_exchange(args, file):
    command = [args.exchange, "--ranks", str(args.ranks), "--largest", str(args.largest)]
    command += ["--repeat", str(args.repeat), "--csv", file]
    subprocess.run(command, check=True, env={**os.environ, "RUMBA_RANK_TRANSPORT": "nccl"})


def read(file):
    with open(file) as opened:
        return {(row["operation"], int(row["bytes"]), row["in_place"]): float(row["microseconds"]) for row in csv.DictReader(opened)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("exchange")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--largest", type=int, default=1024, help="MiB")
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--csv", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.rank:
        return rank(args)
    if "RUMBA_NCCL_LIBRARY" not in os.environ:
        import nvidia.nccl

        [os.environ["RUMBA_NCCL_LIBRARY"]] = glob.glob(os.path.join(list(nvidia.nccl.__path__)[0], "lib", "libnccl.so.2"))
    times = {"rumba": [], "torch": []}
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "times.csv")
        for _ in range(args.turns):
            for name, run in (("torch", run_torch), ("rumba", run_exchange)):
                run(args, file)
                times[name].append(read(file))
    print(f"\n{'median of ' + str(args.turns):14} {'bytes':>12} {'in place':>8} {'rumba':>12} {'torch':>12} {'ratio':>7}")
    worst = 0
    for key in times["torch"][0]:
        rumba, torch = (statistics.median(turn[key] for turn in times[name]) for name in ("rumba", "torch"))
        worst = max(worst, rumba / torch)
        print(f"{key[0]:14} {key[1]:12} {'yes' if key[2] == '1' else 'no':>8} {rumba:9.1f} us {torch:9.1f} us {rumba / torch:7.3f}")
    print(f"the largest ratio is {worst:.3f}")


main()
