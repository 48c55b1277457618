"""The recipe of examples/jobs/cifar-resnet18-quarter.yaml in PyTorch, in FP32, for docs/cifar.md.

    cifar_resnet18.py --data FOLDER [--epochs 12] [--width 0.25] [--threads 2] [--seed 1]

FOLDER holds CIFAR-10's binary version. Network, initial distributions, augmentation, schedule, optimizer and order of
dropping are those of the job; the random numbers are PyTorch's own, so this is another run of one recipe, not the same run.
Prints a line per epoch and a JSON object at the end.
"""
import argparse
import json
import math
import pathlib
import time

import numpy
import torch
from torch import nn

from models import build

MEAN, STD = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)
LR, MOMENTUM, DECAY, BATCH, WARMUP, PAD = 0.05, 0.9, 5e-4, 64, 78, 4
EVAL_BATCH = 250


def read(path, limit=None):
    records = numpy.fromfile(path, numpy.uint8).reshape(-1, 3073)[:limit]
    return torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy()), torch.from_numpy(records[:, 0].astype("int64"))


def scale(images):
    return (images.float() - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)


def augment(images, draw):
    """Each image moved by up to PAD pixels over zero bytes, and mirrored or not."""
    framed = nn.functional.pad(images, (PAD, PAD, PAD, PAD))
    places = torch.randint(2 * PAD + 1, (len(images), 2), generator=draw).tolist()
    moved = torch.stack([image[:, y:y + 32, x:x + 32] for image, (y, x) in zip(framed, places)])
    mirrored = torch.rand(len(images), generator=draw) < 0.5
    moved[mirrored] = moved[mirrored].flip(3)
    return moved


def start(model):
    """Convolutions as the job starts them (normal, by fan-out); the dense layer and batch norm are PyTorch's defaults there too."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def rate(step, steps):
    if step <= WARMUP:
        return LR * step / WARMUP
    return LR * 0.5 * (1 + math.cos(math.pi * (step - 1 - WARMUP) / (steps - WARMUP)))


def train_epoch(model, optimizer, data, draw, first, steps):
    """Returns the mean loss; what does not fill a batch is dropped."""
    model.train()
    images, labels = data
    order, total, batches = torch.randperm(len(images), generator=draw), 0.0, len(images) // BATCH
    for i in range(batches):
        chosen = order[i * BATCH:(i + 1) * BATCH]
        for group in optimizer.param_groups:
            group["lr"] = rate(first + i, steps)
        loss = nn.functional.cross_entropy(model(scale(augment(images[chosen], draw))), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / batches


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    right = 0
    for i in range(0, len(data[0]), EVAL_BATCH):
        logits = model(scale(data[0][i:i + EVAL_BATCH]))
        right += (logits.argmax(1) == data[1][i:i + EVAL_BATCH]).sum().item()
    return right / len(data[0])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--width", type=float, default=0.25)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    draw = torch.Generator().manual_seed(args.seed)
    data, test = read(args.data / "data_batch_1.bin", 10000), read(args.data / "test_batch.bin")
    model = build("resnet18", 3, 32, 10, width=args.width)
    start(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM, weight_decay=DECAY, nesterov=True)
    per_epoch = len(data[0]) // BATCH
    begun, cpu = time.monotonic(), time.process_time()
    for epoch in range(args.epochs):
        loss = train_epoch(model, optimizer, data, draw, 1 + epoch * per_epoch, args.epochs * per_epoch)
        print(f"epoch {epoch + 1}: loss {loss:.4f}, {time.monotonic() - begun:.0f} s", flush=True)
    seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
    print(json.dumps({"accuracy": accuracy(model, test), "samples": len(test[0]), "steps": args.epochs * per_epoch,
                      "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1), "torch": torch.__version__,
                      "parameters": sum(p.numel() for p in model.parameters())}))


main()
