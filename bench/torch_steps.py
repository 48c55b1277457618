#!/usr/bin/env python3
"""Training steps of a model in plain PyTorch, timed on request: the other side of scripts/bench.

    torch_steps.py --arch A --channels C --side S --classes N --batch B --dtype fp32|fp64 --threads T --clock wall|cpu [--hidden M,N]

Reads numbers from standard input, one a line; for each it makes that many steps and prints the median of their seconds.
Inputs are normal random numbers; the optimizer is SGD with momentum and weight decay, as in the example jobs.
"""
import argparse
import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "torch"))
import models  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", required=True)
    for name in ("channels", "side", "classes", "batch", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--hidden", type=lambda text: [int(n) for n in text.split(",")], default=[])
    parser.add_argument("--dtype", choices=["fp32", "fp64"], required=True)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    dtype = torch.float32 if o.dtype == "fp32" else torch.float64
    clock = time.perf_counter if o.clock == "wall" else time.process_time
    model = models.build(o.arch, o.channels, o.side, o.classes, hidden=o.hidden).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, weight_decay=5e-4)
    x, labels = torch.randn(o.batch, o.channels, o.side, o.side, dtype=dtype), torch.randint(o.classes, (o.batch,))

    def step():
        start = clock()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()
        return clock() - start

    step()  # warms up
    for line in sys.stdin:
        print(statistics.median(step() for _ in range(int(line))), flush=True)


main()
