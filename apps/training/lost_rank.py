"""Kills one of two ranks in the middle of a program again and again, and measures how long the other rank takes to end with its error.

    python3 lost_rank.py COUNT AT_ONCE PROGRAM ARGUMENT...

PROGRAM is `training` or `exchange`. As many pairs of ranks as AT_ONCE says run at a time.
"""

import os
import random
import socket
import subprocess
import sys
import threading
import time

count, at_once, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
results, lock, left = [], threading.Lock(), list(range(count))


def start():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [
        subprocess.Popen(command, env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank)}, **pipes)
        for rank in range(2)
    ]


def lose(victim):
    """Kills a rank a moment after the first exchanges. The verdict, the seconds until the other rank has ended, and its last words."""
    ranks = start()
    for line in ranks[0].stdout:
        if line.startswith(("parameters:", "f32 ")):
            break
    time.sleep(random.uniform(0.3, 1.5))
    if any(rank.poll() is not None for rank in ranks):
        return "ended by itself", 0, [rank.communicate()[1] for rank in ranks]
    ranks[victim].kill()
    begin, other = time.monotonic(), ranks[1 - victim]
    try:
        errors = other.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        other.kill()
        return "hangs", 60, other.communicate()[1]
    took = time.monotonic() - begin
    ranks[victim].communicate()
    return "told" if f"rank {victim} is lost" in errors else "other error", took, errors


def work():
    while True:
        with lock:
            if not left:
                return
            number = left.pop()
        result = lose(number % 2)
        with lock:
            results.append(result)


threads = [threading.Thread(target=work) for _ in range(at_once)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
times = sorted(took for verdict, took, _ in results if verdict == "told")
print(f"{len(times)} of {count} told, after", " ".join(f"{took:.2f}" for took in times), "s")
for result in results:
    if result[0] != "told":
        print(result)
sys.exit(len(times) < count)
