"""A finished run that was damaged: every file flipped, cut, emptied, lengthened, removed, reordered or taken from another
run. `verify` names the file; `audit` says damaged, forged or mismatch wherever the file is one it works from; nothing ends
by a signal; and the run is byte for byte as it was handed in.
"""
import base64
import json
import shutil

from harness import (Folder, Report, lockstep, merkle_root, noise_data, read_leaves, remove_snapshot, tree_digest, write_job,
                     write_leaves)

STEPS = 6
# what the auditor works from too; the rest concerns it only where it starts from a snapshot
AUDITED = ("leaves", "job.bin", "job.yaml", "nonce", "rounding-log/frames", "heads/7", "heads/1")

# what a run may lack: earlier heads, and snapshots, which the policy drops
OPTIONAL = ("heads/1", "snapshots/0000000000", "snapshots/0000000005", "snapshots/0000000006")


def flip(at):
    def change(data):
        at_byte = at if at >= 0 else len(data) + at
        return data[:at_byte] + bytes([data[at_byte] ^ 1 << at_byte % 8]) + data[at_byte + 1:]
    return change


def flips(data, count):
    """Places all over a file, its first and last byte among them."""
    last = len(data) - 1
    return sorted({i * last // (count - 1) for i in range(count)})


def replace(old, new):
    def change(data):
        assert old in data, old
        return data.replace(old, new, 1)
    return change


def swap_metrics_lines(data):
    lines = data.split(b"\n")
    lines[1], lines[3] = lines[3], lines[1]
    return b"\n".join(lines)


def metric(key, value):
    def change(data):
        lines = data.split(b"\n")
        line = json.loads(lines[2])
        line[key] = value
        lines[2] = json.dumps(line).encode()
        return b"\n".join(lines)
    return change


def swap_records(data, header, length_at, length_size):
    """Exchanges records 2 and 3, counted from 0, of a file of length-prefixed records."""
    records, at = [], 0
    while at < len(data):
        size = header + int.from_bytes(data[at + length_at:at + length_at + length_size], "little")
        records.append(data[at:at + size])
        at += size
    records[2], records[3] = records[3], records[2]
    return b"".join(records)


def swap_block_contents(data):
    """The same with the headers made right, so that only the contents are out of order."""
    swapped = bytearray(swap_records(data, 16, 8, 8))
    at = leaf = 0
    while at < len(swapped):
        leaf += 1
        swapped[at:at + 8] = leaf.to_bytes(8, "little")
        at += 16 + int.from_bytes(swapped[at + 8:at + 16], "little")
    return bytes(swapped)


def mutations(files, other):
    """(file, what, change), change being a function of the bytes, or None to remove the file."""
    for name, data in sorted(files.items()):
        for at in flips(data, 8) if name not in ("job.yaml", "metrics.jsonl") else ():
            yield name, f"bit flipped in byte {at} of {len(data)}", flip(at)
        yield name, "cut in half", lambda d: d[:len(d) // 2]
        yield name, "last byte gone", lambda d: d[:-1]
        yield name, "empty", lambda d: b""
        yield name, "a byte more", lambda d: d + b"\n"
        if name not in OPTIONAL:
            yield name, "removed", None
        if name in other and other[name] != data:
            yield name, "of another run", lambda d, name=name: other[name]
    yield "job.yaml", "another learning rate", replace(b"lr: 0.05", b"lr: 0.06")
    yield "job.yaml", "another seed", replace(b"seed: 7", b"seed: 8")
    yield "job.yaml", "another key", replace(b"seed: 7", b"sead: 7")
    yield "metrics.jsonl", "lines exchanged", swap_metrics_lines
    yield "metrics.jsonl", "another loss", metric("loss_bits", "3f800000")
    yield "metrics.jsonl", "another rate", metric("lr", 0.5)
    yield "leaves", "leaves exchanged", lambda d: swap_records(d, 4, 0, 4)
    yield "rounding-log/frames", "blocks exchanged", lambda d: swap_records(d, 16, 8, 8)
    yield "rounding-log/frames", "contents of blocks exchanged", swap_block_contents
    yield "rounding-log/frames", "a length of 2^63", lambda d: d[:8] + (1 << 63).to_bytes(8, "little") + d[16:]
    yield "leaves", "a length of 2^32 − 1", lambda d: b"\xff" * 4 + d[4:]
    yield "snapshots/0000000006", "that of step 5", lambda d: files["snapshots/0000000005"]


def read_run(run):
    return {str(p.relative_to(run)): p.read_bytes() for p in run.rglob("*") if p.is_file()}


def harmless(name, what):
    """JSON and YAML have more than one spelling: white space at the end says nothing."""
    return name == "job.yaml" and what in ("a byte more", "last byte gone")


def check_verify(report, run, name, what):
    result = lockstep("verify", run)
    title = f"verify: {name}: {what}"
    if harmless(name, what):
        return report.check(result.code in (0, 1), f"{title}: expected a verdict", result)
    good = result.code == 1 and result["verdict"] == "damaged" and result["file"] and result["text"]
    report.check(good, f"{title}: expected exit 1, damaged, with a file and a reason", result)
    family = {name, name.split("/")[0]}
    if name.startswith("snapshots/") and result["file"].startswith("pieces/"):  # that of another run names others
        family.add(result["file"])
    # leaf 0, head, job and nonce are tied to each other: any of them may be the one that no longer fits
    tied = {"leaves", "heads/1", "heads/7", "heads", "job.bin", "job.yaml", "nonce"}
    report.check(result["file"] in (family | tied if family & tied else family), f"{title}: expected the file to be named", result)
    if name.startswith("snapshots/"):
        report.check(result["step"] == int(name.split("/")[1]), f"{title}: expected the step of the snapshot", result)


def check_audit(report, run, data, name, what):
    result = lockstep("audit", run, "--data", data, "--threads", 1)
    title = f"audit: {name}: {what}"
    if name in AUDITED and not harmless(name, what):
        report.check(result.code == 1 and result["verdict"] in ("damaged", "forged-rounding-log", "mismatch"),
                     f"{title}: expected exit 1 and another verdict than match", result)
    else:
        report.check(result.code in (0, 1), f"{title}: expected a verdict", result)


def damage_one(report, folder, name, what, change):
    run = folder / "damaged"
    shutil.copytree(folder / "run", run)
    if change is None:
        (run / name).unlink()
    else:
        (run / name).write_bytes(change((run / name).read_bytes()))
    before = tree_digest(run)
    check_verify(report, run, name, what)
    check_audit(report, run, folder / "data", name, what)
    report.check(tree_digest(run) == before, f"{name}: {what}: expected the run to be left as it was")
    shutil.rmtree(run)


def damaged_snapshot_under_audit(report, folder):
    """An audit of late steps starts from a snapshot, and so must notice."""
    run = folder / "start"
    shutil.copytree(folder / "run", run)
    good = lockstep("audit", run, "--data", folder / "data", "--steps", "5:6")
    report.check(good.code == 0 and good["verdict"] == "match" and good["first"] == 5, "steps 5:6 of the whole run", good)
    snapshot = run / "snapshots" / "0000000004"
    snapshot.write_bytes(flip(-20)(snapshot.read_bytes()))
    bad = lockstep("audit", run, "--data", folder / "data", "--steps", "5:6")
    report.check(bad.code == 1 and bad["verdict"] == "damaged" and bad["file"] == "snapshots/0000000004" and
                 bad["first_bad_step"] == 4, "a weight edited in the snapshot that the audit starts from", bad)


def other_data(report, folder):
    """The auditor's own data differs in one bit, in a pixel or in a label; the run's data root says so."""
    for name, place in (("train-images-idx3-ubyte", 20), ("train-images-idx3-ubyte", -1), ("train-labels-idx1-ubyte", -1)):
        data = folder / "other-data"
        shutil.copytree(folder / "data", data)
        file = data / name
        content = bytearray(file.read_bytes())
        content[place] ^= 1
        file.write_bytes(content)
        result = lockstep("audit", folder / "run", "--data", data)
        report.check(result.code == 1 and result["verdict"] == "damaged" and "data" in (result["file"] or ""),
                     f"one bit of {name} differs: expected damaged, data", result)
        file.write_bytes(content[:-1])
        cut = lockstep("audit", folder / "run", "--data", data)
        report.check(cut.code == 2 and name in (cut["error"] or ""), f"{name} is cut: expected exit 2 and the file's name", cut)
        shutil.rmtree(data)


def forged_leaf(report, folder):
    """One leaf names another state and every head is made anew: the bytes fit each other, the training does not."""
    for step in (1, 4, STEPS):
        run = folder / "false-leaf"
        shutil.copytree(folder / "run", run)
        leaves = read_leaves(run)
        check_heads(report, run, leaves)
        # tag, kind, run id, step; then state, log and metrics digests of 32 bytes each
        at = len(leaves[step]) - 96
        leaves[step] = flip(at)(leaves[step])
        write_leaves(run, leaves)
        rewrite_heads(run, leaves)
        remove_snapshot(run, step)
        whole = lockstep("verify", run)
        if step == STEPS:  # the end's snapshot is always kept: either it or its absence gives the lie away
            report.check(whole.code == 1 and whole["file"] == f"snapshots/{step:010}", "the end's snapshot is missed", whole)
        else:
            report.check(whole.code == 0 and whole["root"] == merkle_root(leaves).hex(), "a consistent forgery verifies", whole)
        result = lockstep("audit", run, "--data", folder / "data")
        report.check(result.code == 1 and result["verdict"] == "mismatch" and result["first_bad_step"] == step,
                     f"a false state root in leaf {step}: expected a mismatch there", result)
        shutil.rmtree(run)


def heads_of(run):
    """Heads are C2SP notes: origin, size, root in base64."""
    for head in sorted((run / "heads").iterdir()):
        origin, size, root = head.read_text().splitlines()
        yield head, origin, int(size), base64.b64decode(root)


def check_heads(report, run, leaves):
    for head, _, size, root in heads_of(run):
        report.check(root == merkle_root(leaves[:size]), f"{head.name}: the head is the RFC 9162 root of the leaves")


def rewrite_heads(run, leaves):
    for head, origin, size, _ in heads_of(run):
        head.write_text(f"{origin}\n{size}\n{base64.b64encode(merkle_root(leaves[:size])).decode()}\n")


def main():
    report = Report("damage")
    with Folder() as folder:
        noise_data(folder / "data", 64)
        job = write_job(folder / "job.yaml", arch="lenet5", steps=STEPS)
        runs = {name: lockstep("train", job, "--run", folder / name, "--data", folder / "data", "--snapshots", "all", *extra)
                for name, extra in (("run", []), ("other", ["--set", "train.seed=8"]))}
        for name, result in runs.items():
            report.check(result.code == 0, f"training {name}", result)
        for command in (["verify", folder / "run"], ["audit", folder / "run", "--data", folder / "data"]):
            twin = lockstep(*command)
            report.check(twin.code == 0 and twin["verdict"] == "match", f"the whole run: {command[0]} expects a match", twin)
        files, other = read_run(folder / "run"), read_run(folder / "other")
        keep = {n: d for n, d in files.items() if not (n.startswith("heads/") and n not in AUDITED)}
        slim = {n: d for n, d in keep.items() if not n.startswith("snapshots/") or n[-1] in "06"}
        for name, what, change in mutations({**slim, **{"snapshots/0000000005": files["snapshots/0000000005"]}}, other):
            damage_one(report, folder, name, what, change)
        damaged_snapshot_under_audit(report, folder)
        other_data(report, folder)
        forged_leaf(report, folder)
    report.finish()


if __name__ == "__main__":
    main()
