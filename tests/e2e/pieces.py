# ctest: labels=full timeout=600
"""Snapshots by piece: what two snapshots have in common lies on the disk once, compressed or not; each byte is checked; a
compressed file cannot ask for more memory than its tensor takes; runs of the older form, all words in the snapshot, stay readable.
"""
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

from harness import (INLINE, LOCKSTEP, PIECE, SKIPPED, Folder, Report, environment, lockstep, noise_data, piece_roots as roots, read_leaves,
                     snapshot_tensors as tensors, write_job)

NONCE = "07" + 31 * "00"
WIDE = ", hidden: [4096, 1100]"  # its second weight has 4096 × 1100 words: five pieces, the last one short


def pieces(run):
    return {p.name: p for p in (run / "pieces").iterdir()}


def as_older_form(run):
    """The same run as versions before pieces wrote it."""
    for path in (run / "snapshots").iterdir():
        data, out, done = path.read_bytes(), b"", 0
        for _, count, s in tensors(data):
            words = b"".join((run / "pieces" / data[s][i:i + 32].hex()).read_bytes() for i in range(0, s.stop - s.start, 32)) if count > INLINE else data[s]
            out += data[done:s.start] + words
            done = s.stop
        path.write_bytes(b"ls1/snapshot" + out[12:])
    shutil.rmtree(run / "pieces")


def verify_in(run, megabytes):
    """`verify` with so much address space; the exit code, and what it said."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    done = subprocess.run([str(LOCKSTEP), "verify", str(run)], capture_output=True, text=True, env=environment(), preexec_fn=limit)
    return done.returncode, done.stdout + done.stderr


def zstd(*words, data=b""):
    """As a file, for then its length is known and written down."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return subprocess.run(["zstd", "-q", "-c", *words, file.name], capture_output=True, check=True).stdout


def damage(report, folder, run):
    """A bit, a length, a name, a form: none passes."""
    def after(what, change, file=None):
        copy = folder / "bad"
        shutil.copytree(run, copy)
        change(copy)
        said = lockstep("verify", copy)
        report.check(said.code == 1 and said["verdict"] == "damaged" and str(said["file"]).startswith(file or "pieces/"), f"verify: {what}", said)
        shutil.rmtree(copy)

    name = sorted(pieces(run))[0]
    other = sorted(pieces(run))[1]
    data = (run / "pieces" / name).read_bytes()
    after("a bit", lambda r: (r / "pieces" / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1])))
    after("a byte less", lambda r: (r / "pieces" / name).write_bytes(data[:-1]))
    after("a byte more", lambda r: (r / "pieces" / name).write_bytes(data + b"\0"))
    after("missing", lambda r: (r / "pieces" / name).unlink())
    after("exchanged", lambda r: shutil.copy(r / "pieces" / other, r / "pieces" / name))
    after("one that nothing names", lambda r: (r / "pieces" / ("0" * 64)).write_bytes(b"\0" * 4))
    after("a name that is none", lambda r: (r / "pieces" / "notes.txt").write_bytes(b""))
    after("both forms", lambda r: (r / "pieces" / f"{name}.zst").write_bytes(zstd(data=data)))
    after("upper case", lambda r: (r / "pieces" / name.upper()).write_bytes(data))
    last = f"snapshots/{max(p.name for p in (run / 'snapshots').iterdir())}"
    snapshot = (run / last).read_bytes()
    place = next(s for _, count, s in tensors(snapshot) if count > INLINE)
    after("another root in the snapshot", lambda r: (r / last).write_bytes(snapshot[:place.start] + bytes(32) + snapshot[place.start + 32:]))
    after("the older tag", lambda r: (r / last).write_bytes(b"ls1/snapshot" + snapshot[12:]), "snapshots/")


def bombs(report, folder, run):
    """Compressed files that would grow, or that hold more than the piece."""
    name, path = sorted(pieces(run).items())[0]
    data = path.read_bytes()
    gigabyte = subprocess.run("head -c 1073741824 /dev/zero | zstd -q -c --stream-size=1073741824", shell=True, capture_output=True, check=True).stdout
    cases = {"a gigabyte": gigabyte, "more than the piece": zstd(data=data + b"\0"), "less": zstd(data=data[:-4]),
             "two frames": zstd(data=data[:8]) + zstd(data=data[8:]), "a byte behind": zstd(data=data) + b"\0",
             "no length": zstd("--no-content-size", data=data), "no zstd": data[:64], "empty": b"",
             "a frame to skip": struct.pack("<II", 0x184d2a50, 4) + b"junk" + zstd(data=data)}
    for what, packed in cases.items():
        copy = folder / "bomb"
        shutil.copytree(run, copy)
        (copy / "pieces" / name).unlink()
        (copy / "pieces" / f"{name}.zst").write_bytes(packed)
        code, said = verify_in(copy, 600)
        report.check(code == 1 and f"pieces/{name}.zst" in said, f"bomb: {what}: expected damage of that file", f"exit {code} {said}")
        (copy / "pieces" / f"{name}.zst").write_bytes(zstd(data=data))
        code, said = verify_in(copy, 600)
        report.check(code == 0, f"{what}: the twin, packed rightly, verifies", f"exit {code} {said}")
        shutil.rmtree(copy)


def sizes(run):
    return sum(p.stat().st_size for p in pieces(run).values())


def resume_with_the_other_form(report, job, data, run, root):
    """Half a run without compression, the rest with it."""
    half = ["train", job, "--run", run, "--data", data, "--nonce", NONCE, "--snapshots", "all"]
    end = lockstep(*half)
    report.check(end.code == 0 and end["root"] == root, "the run before", end)
    leaves = read_leaves(run)
    newest = max((run / "snapshots").iterdir())
    newest.unlink()
    (run / "heads" / str(len(leaves))).unlink()
    on = lockstep(*half, "--resume", "--compress")
    report.check(on.code == 0 and on["root"] == root, "--resume with --compress", on)
    said = lockstep("verify", run)
    forms = {name[64:] for name in pieces(run)}
    report.check(said.code == 0 and forms == {"", ".zst"}, f"both forms in one run, found {forms}", said)


def main():
    report = Report("pieces")
    if not shutil.which("zstd"):
        print("SKIPPED: the program zstd is not there (Debian: zstd): NO snapshot by piece was tried")
        sys.exit(SKIPPED)
    with Folder() as folder:
        data = folder / "data"
        noise_data(data, 16, side=8)
        job = write_job(folder / "job.yaml", arch="mlp", steps=4, batch=8, model=WIDE, momentum=0.0)
        small = write_job(folder / "small.yaml", arch="mlp", steps=4, batch=8, model=", hidden: [300, 100]", momentum=0.9)
        run, packed = folder / "run", folder / "packed"
        made = lockstep("train", job, "--run", run, "--data", data, "--nonce", NONCE, "--snapshots", "all")
        report.check(made.code == 0, "train", made)
        stored_once(report, folder, data)
        again = lockstep("train", job, "--run", packed, "--data", data, "--nonce", NONCE, "--snapshots", "all", "--compress")
        report.check(again.code == 0 and again["root"] == made["root"], "the same root with --compress", again)
        report.check(all(n.endswith(".zst") for n in pieces(packed)) and 0 < sizes(packed) < sizes(run),
                     f"compressed: {sizes(packed)} bytes, expected fewer than {sizes(run)}")
        said = lockstep("verify", packed)
        report.check(said.code == 0 and said["root"] == made["root"], "verify compressed", said)
        audited = lockstep("audit", packed, "--data", data, "--steps", "4:4")
        report.check(audited.code == 0 and audited["first"] == 4, "an audit from a compressed snapshot", audited)
        small_run = folder / "small"
        lockstep("train", small, "--run", small_run, "--data", data, "--nonce", NONCE, "--snapshots", "all")
        damage(report, folder, small_run)
        bombs(report, folder, small_run)
        kept_few(report, folder, data, small)
        resume_with_the_other_form(report, job, data, folder / "mixed", made["root"])
        old = folder / "old"
        shutil.copytree(small_run, old)
        as_older_form(old)
        for words in (["verify", old], ["audit", old, "--data", data, "--steps", "3:4"]):
            said = lockstep(*words)
            report.check(said.code == 0 and said["verdict"] == "match", f"the older form: {words[0]}", said)
    report.finish()


def stored_once(report, folder, data):
    """With a rate that moves nothing: weights that stay are stored once, those that move are not."""
    still = write_job(folder / "still.yaml", arch="mlp", steps=6, batch=8, model=WIDE, momentum=0.0)
    run = folder / "still"
    made = lockstep("train", still, "--run", run, "--data", data, "--snapshots", "all", "--set", "optimizer.lr=1e-30")
    report.check(made.code == 0, "a run whose weights stay", made)
    snapshots = [p.read_bytes() for p in sorted((run / "snapshots").iterdir())]
    named = [roots(d) for d in snapshots]
    report.check(len(snapshots) == 7 and all(n == named[0] for n in named) and set(pieces(run)) == named[0],
                 f"seven snapshots of the same weights, their pieces once: {len(pieces(run))} files, {len(named[0])} roots")
    report.check(max(p.stat().st_size for p in pieces(run).values()) == 4 * PIECE and len(named[0]) >= 6, "tensors of several pieces")
    moved = [roots(p.read_bytes()) for p in sorted((folder / "run" / "snapshots").iterdir())]
    report.check(len(set.union(*moved)) > len(moved[0]) and set(pieces(folder / "run")) == set.union(*moved), "weights that move are stored anew")


def kept_few(report, folder, data, job):
    """last:1 removes pieces with the snapshots that named them; what others still name stays."""
    run = folder / "few"
    made = lockstep("train", job, "--run", run, "--data", data, "--nonce", NONCE, "--snapshots", "all")
    before = set(pieces(run))
    steps = sorted(p.name for p in (run / "snapshots").iterdir())
    (run / "snapshots" / steps[-1]).unlink()
    (run / "heads" / str(len(read_leaves(run)))).unlink()
    (run / "pieces" / ("ab" * 32)).write_bytes(b"left by a crash")
    on = lockstep("train", job, "--run", run, "--data", data, "--resume", "--snapshots", "last:1")
    after = set(pieces(run))
    named = set().union(*(roots(p.read_bytes()) for p in (run / "snapshots").iterdir()))
    report.check(on.code == 0 and on["root"] == made["root"] and after == named and "ab" * 32 not in after and after < before,
                 f"last:1: {len(after)} pieces of {len(before)}, {len(named)} named", on)


main()
