"""Evidence files (spec/evidence.md): their frame, and the two kinds that show equivocation. A whole game is in game.py."""
from . import jobs, leaves, merkle
from .ed25519 import verify
from .numbers import Refused
from .reader import Reader, u32, u64

BYTES_MAX = 4 << 20
TURN_MAX = 1 << 20
TURNS_MAX = 256
NOBODY, UNSIGNED = bytes(32), bytes(64)
TRAINER, AUDITOR, REFEREE = 1, 2, 3
NAMES = {TRAINER: "trainer", AUDITOR: "auditor"}


class Verdict(Exception):
    """The end of a game: a ruling and a reason."""

    def __init__(self, ruling, reason):
        super().__init__(reason)
        self.ruling, self.reason = ruling, reason


def wrong(trainer, auditor, reason):
    raise Verdict("both-wrong" if trainer and auditor else "trainer-wrong" if trainer else "auditor-wrong", reason)


def counted(r, most=TURN_MAX):
    n = r.u32()
    if n > most:
        raise Refused(f"{r.what}: byte {r.at - 4}: {n} bytes, at most {most} expected")
    return r.take(n)


def path(r):
    n = r.u8()
    if n > 64:
        raise Refused(f"{r.what}: a path of {n} hashes")
    return [r.take(32) for _ in range(n)]


def signed(key, message, signature):
    """Signed by the key; where there is none, with zeros."""
    return signature == UNSIGNED if key == NOBODY else verify(key, message, signature)


class Terms:
    def __init__(self, data):
        r = Reader(data, "terms")
        r.expect(b"ls1/dispute")
        self.bytes, self.job_bytes = data, counted(r)
        self.job = jobs.decode(self.job_bytes)
        self.key = {TRAINER: r.take(32), AUDITOR: r.take(32), REFEREE: self.job["referee"]}
        nonce, _, self.deadline = r.take(32), r.take(32), r.u32()
        self.job_id = jobs.job_id(self.job_bytes)
        self.run = leaves.run_id(self.job_id, self.key[TRAINER], nonce)
        self.id = merkle.tagged("ls1/dispute", data)
        if self.job["trainer"] not in (NOBODY, self.key[TRAINER]):
            raise Refused("terms: another trainer than the job names")
        self.head = {side: self.read_head(r, self.key[side]) for side in (TRAINER, AUDITOR)}
        r.end()

    def read_head(self, r, key):
        size, root, signature = r.u64(), r.take(32), r.take(64)
        if size < 1 or not signed(key, leaves.head_text(self.run, size, root), signature):
            raise Refused("terms: a head that its key did not sign")
        return size, root


def two_turns(r):
    terms = Terms(counted(r))
    turns = [counted(r), counted(r)]
    r.end()
    place = 8 + 32 + 4 + 1 + 32  # tag, dispute id, number, role, hash of the turn before
    heads = [turn[:place] for turn in turns]
    role = heads[0][44] if len(heads[0]) == place else 0
    if turns[0] == turns[1] or heads[0] != heads[1] or heads[0][:40] != b"ls1/turn" + terms.id or role not in NAMES or \
            terms.key[role] == NOBODY:
        raise Refused("evidence: not two different turns for one place of this dispute")
    for turn in turns:
        if len(turn) < place + 64 or not verify(terms.key[role], turn[:-64], turn[-64:]):
            raise Refused("evidence: a turn that its player did not sign")
    wrong(role == TRAINER, role == AUDITOR, "equivocation: two different turns for one place of the dispute")


def two_heads(r):
    job_bytes = counted(r)
    trainer, nonce, signer, index = r.take(32), r.take(32), r.take(32), r.u64()
    jobs.decode(job_bytes)
    run, found = leaves.run_id(jobs.job_id(job_bytes), trainer, nonce), []
    for _ in range(2):
        size, root, signature, leaf = r.u64(), r.take(32), r.take(64), r.take(32)
        merkle.check_inclusion(root, size, index, leaf, path(r))
        if signer == NOBODY or not verify(signer, leaves.head_text(run, size, root), signature):
            raise Refused("evidence: a head that the key did not sign")
        found.append(leaf)
    r.end()
    if found[0] == found[1]:
        raise Refused("evidence: the leaf is the same in both heads")
    wrong(signer == trainer, signer != trainer, f"equivocation: two heads of one run in which leaf {index} is not the same")


def judge(data):
    """(ruling, reason, what is known of step, op and element)."""
    from .game import Game
    game = None
    try:
        if len(data) > BYTES_MAX:
            raise Refused(f"evidence: {len(data)} bytes")
        for tag in (b"ls1/evidence", b"ls1/two-heads", b"ls1/two-turns"):
            if data.startswith(tag) and len(data) >= len(tag) + 32:
                break
        else:
            raise Refused("evidence: another tag")
        if merkle.tagged(tag.decode(), data[:-32]) != data[-32:]:
            raise Refused("evidence: not the digest of its bytes")
        r = Reader(data[:-32], "evidence")
        r.expect(tag)
        if tag == b"ls1/two-heads":
            two_heads(r)
        if tag == b"ls1/two-turns":
            two_turns(r)
        terms, count = Terms(counted(r)), r.u32()
        if count > TURNS_MAX:
            raise Refused(f"evidence: {count} turns")
        turns = [counted(r) for _ in range(count)]
        r.end()
        game = Game(terms, turns)
        game.play()
    except Verdict as end:
        if not game or not game.turns:
            return end.ruling, end.reason, game.known() if game else {}
        return "evidence-invalid", "turns behind the end of the game", {}
    except Refused as why:
        return "evidence-invalid", str(why), {}
    raise AssertionError("a game ends in a verdict")
