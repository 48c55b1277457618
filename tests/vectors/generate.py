#!/usr/bin/env python3
"""Writes the vectors of this folder from the lists in generators/, expected values by the verifier in spec/verifier.

    generate.py [--check] [--out DIR]

--check writes nothing and exits with 1 where a file differs from what would be written.
"""
import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "spec"), str(HERE)]

from generators import commitments, ends, jobs, maps, numbers, products, sums  # noqa: E402

FILES = {
    "elements/products.txt": products.write,
    "elements/logged.txt": products.write_logged,
    "elements/pinned.txt": products.write_pinned,
    "elements/sums.txt": sums.write,
    "elements/maps.txt": maps.write,
    "elements/functions.txt": maps.write_functions,
    "elements/ends.txt": ends.write,
    "elements/refusals.txt": ends.write_refusals,
    "num/rounding.txt": numbers.write_rounding,
    "num/functions.txt": numbers.write_functions,
    "num/sigmoids.txt": numbers.write_sigmoids,
    "num/sums.txt": numbers.write_sums,
    "num/random.txt": numbers.write_random,
    "num/rates.txt": numbers.write_rates,
    "num/frames.txt": numbers.write_frames,
    "commit/trees.txt": commitments.write_trees,
    "commit/multiproofs.txt": commitments.write_multiproofs,
    "commit/jobs.txt": jobs.write,
    "commit/leaves.txt": commitments.write_leaves,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    options = parser.parse_args()
    different = 0
    for name, write in FILES.items():
        text, path = write(), options.out / name
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            different += 1
            print(f"{path}: differs from what generate.py writes")
    if options.check:
        print(f"generate.py: {len(FILES)} files, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
