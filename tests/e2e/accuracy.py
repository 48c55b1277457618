"""The example jobs on the real Fashion-MNIST learn what they should, and one step alone does not."""
import sys

from harness import DATASETS, JOBS, SKIPPED, Folder, Report, fashion_mnist, lockstep

DATA = ["--data", DATASETS / "fashion-mnist"]
WANTED = {"fashion-logreg": 0.82, "fashion-lenet": 0.88}


def accuracy_of(report, run, what):
    result = lockstep("eval", run, *DATA)
    report.check(result.code == 0 and result["samples"] == 10000, f"{what}: expected an evaluation of 10,000 samples", result)
    return result["accuracy"] or 0.0


def main():
    if not fashion_mnist():
        sys.exit(SKIPPED)
    report = Report("accuracy")
    with Folder(large=True) as folder:
        for name, wanted in WANTED.items():
            job = JOBS / f"{name}.yaml"
            whole = lockstep("train", job, "--run", folder / name, *DATA)
            report.check(whole.code == 0 and whole["complete"], f"{name}: training", whole)
            found = accuracy_of(report, folder / name, name)
            report.check(found >= wanted, f"{name}: found accuracy {found}, expected at least {wanted}")
            lockstep("train", job, "--run", folder / f"{name}-1", *DATA, "--set", "train.steps=1")
            after_one = accuracy_of(report, folder / f"{name}-1", f"{name}, one step")
            report.check(after_one < wanted, f"{name}: one step gives {after_one}, expected less than {wanted}")
            print(f"{name}: {100 * found:.2f} % after {whole['steps']} steps in {whole['seconds']:.0f} s, "
                  f"{100 * after_one:.2f} % after one")
    report.finish()


main()
