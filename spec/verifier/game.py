"""A dispute, played again from its turns (spec/dispute.md): straight down from the heads to one element. Whatever a turn may
not hold raises Refused; the end is a Verdict."""
from fractions import Fraction

from . import entries, leaves, merkle, products
from .evidence import AUDITOR, REFEREE, TRAINER, TURN_MAX, Verdict, counted, path, signed, wrong
from .leaves import CHUNK, F32, FRAME
from .numbers import NAN, Refused, bits64, f64 as f64_of, round_exact
from .ops import View, element as op_element, find
from .products import Bound
from .program import Op, Program, read_record
from .reader import Reader, f64, u32, u64, u8, words

KINDS = ("claim", "leaves", "steps", "ops", "op", "groups", "chunk", "entry", "sums", "open", "state", "loss")
SILENCE = 13
SIDES = (TRAINER, AUDITOR)
SUM_FAN, GROUP_FAN, STEPS_MAX = 128, 64, 1024
LIMBS = 11
SAMPLE_MAX = 1 << 20
PARTS_MAX = 4  # of a data tree


def fan_size(n, fan):
    """The largest power of `fan` below n, at least 1."""
    size = 1
    while size * fan < n:
        size *= fan
    return size


def first_difference(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), None)


def check(condition, what):
    if not condition:
        raise Refused(f"turn: {what}")


def read_entry(r):
    """Name, type, shape and root of a tensor, as a state or step leaf has them."""
    name, dtype, rank = r.string(), r.u8(), r.u8()
    check(rank <= 4, f"a tensor of rank {rank}")
    return name, dtype, tuple(r.u64() for _ in range(rank)), r.take(32)


def read_state_leaf(data):
    r = Reader(data, "state leaf")
    r.expect(b"ls1/state")
    entry = read_entry(r)
    r.end()
    return entry


def read_step_leaf(data, op):
    r = Reader(data, "step leaf")
    r.expect(b"ls1/step" + u32(op))
    found = [read_entry(r) for _ in range(min(r.u32(), 5))]
    r.end()
    return found


def count_of(shape):
    n = 1
    for d in shape:
        n *= d
    return n


class Opened:
    """Chunks of something, read by number; every one must be read in the end, and no other may be asked for."""

    def __init__(self, chunks):
        self.chunks, self.unread = chunks, set(chunks)

    def chunk(self, number):
        check(number in self.chunks, f"chunk {number} was not opened")
        self.unread.discard(number)
        return self.chunks[number]


class Words(Opened):
    """Words of a tensor."""

    def __getitem__(self, index):
        data = self.chunk(index // CHUNK)
        at = 4 * (index % CHUNK)
        return int.from_bytes(data[at:at + 4], "little")


class Places:
    """In place of an input's words: where they are, so that a product's terms can be read one by one."""

    def __init__(self, number):
        self.number = number

    def __getitem__(self, index):
        return self.number, index


class Samples(Opened):
    """Pictures with labels, or tokens; `last`: number of the chunk where the labels, or tokens, begin."""

    def __init__(self, chunks, sample_bytes, last):
        super().__init__(chunks)
        self.size, self.last = sample_bytes, last

    def bytes(self, index):
        at, end = index * self.size, (index + 1) * self.size
        first = at // 1024
        data = b"".join(self.chunk(c) for c in range(first, (end - 1) // 1024 + 1))
        return data[at - first * 1024:end - first * 1024]

    def label(self, index):
        return self.chunk(self.last + index // 1024)[index % 1024]

    def token(self, index):
        at = 2 * index
        return int.from_bytes(self.chunk(self.last + at // 1024)[at % 1024:at % 1024 + 2], "little")


class Game:
    def __init__(self, terms, turns):
        self.terms, self.job, self.turns = terms, terms.job, list(turns)
        self.number, self.last, self.clock = 0, bytes(32), 0
        self.step = self.op = self.element = self.record = None
        self.output, self.entry, self.word = 0, None, {}

    def known(self):
        out = {"step": self.step, "op": self.op, "element": self.element}
        if self.record:
            out |= {"kind": self.record["kind"], "value": self.record["outputs"][self.output][0]}
        if self.word:
            out |= {"trainer_word": self.word[TRAINER], "auditor_word": self.word[AUDITOR]}
        return out

    # ---- turns ----

    def take(self, role, kind):
        """The payload of the next turn, which must be this one."""
        number = KINDS.index(kind) + 1
        if not self.turns:
            raise Verdict("undecided", f"the game is not over: turn {self.number}, '{kind}', is missing")
        data, what = self.turns.pop(0), f"turn {self.number}"
        check(len(data) <= TURN_MAX, "more bytes than a turn may have")
        r = Reader(data, what)
        r.expect(b"ls1/turn" + self.terms.id + u32(self.number))
        author = r.u8()
        r.expect(self.last)
        silent = author == REFEREE
        check(silent or author == role, "another player's turn")
        r.expect(u8(SILENCE if silent else number))
        payload = counted(r)
        body = data[:r.at]
        check(signed(self.terms.key[author], body, r.take(64)), "a signature that is not its player's")
        self.check_receipt(r, data[:r.at], silent, role)
        self.last, self.number = merkle.leaf_hash(data), self.number + 1
        if silent:
            check(not payload, "silence with a payload")
            wrong(role == TRAINER, role == AUDITOR, "it was silent: its turn did not come by the deadline")
        return Reader(payload, what)

    def check_receipt(self, r, turn, silent, role):
        seconds, referee = r.u64(), self.terms.key[REFEREE]
        message = b"ls1/receipt" + self.terms.id + u32(self.number) + merkle.leaf_hash(turn) + u64(seconds)
        check(signed(referee, message, r.take(64)), "a receipt that is not the referee's")
        r.end()
        check(seconds == 0 if referee == bytes(32) else seconds >= self.clock, "a receipt whose time goes back")
        if silent:
            check(self.number and any(referee) and seconds - self.clock >= self.terms.deadline, "silence before the deadline")
        self.clock = seconds

    def both(self, kind, read):
        """Both players' turns of one kind, the trainer's first."""
        found = {}
        for side in SIDES:
            r = self.take(side, kind)
            found[side] = read(r, side)
            r.end()
        return found

    # ---- from the heads to a step ----

    def included(self, root, size, index, leaf, r):
        merkle.check_inclusion(root, size, index, merkle.leaf_hash(leaf), path(r))

    def read_leaf(self, r, side, index):
        data = counted(r)
        leaf = leaves.read_leaf(data)
        check(leaf["run"] == self.terms.run and ("job" in leaf) == (index == 0) and leaf.get("job", self.terms.job_id) == self.terms.job_id,
              "a leaf of another run, job or kind")
        size, root = self.terms.head[side]
        self.included(root, size, index, data, r)
        return leaf, data

    def read_op(self, r, digest, ops=None):
        data = counted(r)
        record = read_record(data)
        self.included(digest, record["index"] + 1 if ops is None else ops, record["index"], data, r)
        return record

    def play(self):
        self.read_claim()
        self.read_leaves()
        if self.leaf:
            self.read_steps()
        else:
            self.enter_step(0, {side: (self.own[side]["state"], 0) for side in SIDES}, None)
        self.read_ops()
        self.read_record()
        if not self.by_entry:
            self.read_output()
            self.read_element()
        if find(self.record["kind"]).product and self.job["arithmetic.mode"] == "logged":
            self.read_entry()
        self.read_sums()

    def read_claim(self):
        r = self.take(AUDITOR, "claim")
        road, self.leaf = r.u8(), r.u64()
        check(road <= 1, f"road {road}")
        self.by_entry = road == 1
        self.program = self.job["program"] if self.leaf else self.job["init"]
        self.commit = self.read_op(r, self.program)
        check(self.commit["kind"] == "commit" and len(self.commit["outputs"]) == 1, "the last op's record is not commit's")
        self.ops, self.own, self.before = self.commit["index"] + 1, {}, {"step": 0}
        if self.leaf:
            self.before, self.before_bytes = self.read_leaf(r, AUDITOR, self.leaf - 1)
        if self.by_entry:
            self.named = r.u64(), r.u32(), r.u64()
            check(self.leaf and self.named[0] > self.before["step"] and self.named[1] < self.ops - 1 and self.named[2] < 1 << 40,
                  "an entry in a place that there is not")
        else:
            self.own[AUDITOR], _ = self.read_leaf(r, AUDITOR, self.leaf)
        r.end()

    def read_leaves(self):
        r = self.take(TRAINER, "leaves")
        if self.leaf:
            size, root = self.terms.head[TRAINER]
            self.included(root, size, self.leaf - 1, self.before_bytes, r)
        self.own[TRAINER], _ = self.read_leaf(r, TRAINER, self.leaf)
        r.end()
        trainer, auditor = self.own[TRAINER], self.own.get(AUDITOR)
        if auditor and auditor["step"] != trainer["step"]:
            raise Verdict("undecided", "the leaves end with different steps")
        if auditor and self.leaf and auditor["log"] != trainer["log"]:
            wrong(False, True, "the auditor's leaf does not carry the root of the trainer's rounding log")
        if auditor and auditor["state"] == trainer["state"] and auditor.get("metrics") == trainer.get("metrics"):
            raise Verdict("evidence-invalid", "the leaves are the same")
        steps = trainer["step"] - self.before["step"]
        if self.leaf and not (1 <= steps <= STEPS_MAX and (not self.by_entry or self.named[0] <= trainer["step"])):
            raise Verdict("undecided", "the leaf covers no steps, too many, or not the step that is named")

    def read_steps(self):
        first = self.before["step"] + 1
        every = self.own[TRAINER]["step"] - self.before["step"]

        def read(r, side):
            whole = side == TRAINER or not self.by_entry
            found = [(r.take(32), r.u32(), r.take(8)) for _ in range(every if whole else self.named[0] - first)]
            if whole:
                metrics = b"".join(u64(first + i) + u32(loss) + rate for i, (_, loss, rate) in enumerate(found))
                check(found[-1][0] == self.own[side]["state"] and merkle.tagged("ls1/metrics", metrics) == self.own[side]["metrics"],
                      "steps that are not those of the leaf")
            return found

        steps = self.both("steps", read)
        at = first_difference(steps[TRAINER], steps[AUDITOR])
        if at is not None:
            self.by_entry = False
            if steps[TRAINER][at][:2] == steps[AUDITOR][at][:2]:
                self.step = first + at
                raise Verdict("undecided", "only the learning rate in the metrics differs")
        else:
            at = len(steps[AUDITOR])
        self.enter_step(first + at, {side: steps[side][at][:2] for side in SIDES if at < len(steps[side])},
                        steps[TRAINER][at - 1][0] if at else self.before["state"])

    def enter_step(self, step, claimed, state_before):
        """`claimed`: state root and loss after the step, of those who say something about it."""
        self.step, self.claimed, self.state_before = step, claimed, state_before

    # ---- from a step to an element ----

    def commit_leaf(self, root):
        return self.step_leaf(self.commit, [root])

    def step_leaf(self, record, roots):
        return leaves.step_leaf(record["index"], [(name, dtype, shape, root)
                                                  for (name, dtype, _, shape), root in zip(record["outputs"], roots)])

    def read_ops(self):
        def read(r, side):
            found = [r.take(32) for _ in range(self.ops if side in self.claimed else self.named[1])]
            if side in self.claimed:
                check(found[-1] == merkle.leaf_hash(self.commit_leaf(self.claimed[side][0])), "commit does not give the state root")
            return found

        self.op_hash = self.both("ops", read)
        at = first_difference(self.op_hash[TRAINER], self.op_hash[AUDITOR])
        if at is None and len(self.op_hash[AUDITOR]) == self.ops:
            self.judge_loss()
        self.by_entry = at is None
        self.op = self.named[1] if at is None else at

    def judge_loss(self):
        r = self.take(AUDITOR, "loss")
        record = self.read_op(r, self.job["program"], self.ops)
        check(record["index"] < self.ops and record["outputs"][0][0] == "loss", "another op than the one that gives the loss")
        data = counted(r)
        r.end()
        check(merkle.leaf_hash(data) == self.op_hash[TRAINER][record["index"]], "another leaf than in the step tree")
        root, self.op = read_step_leaf(data, record["index"])[0][3], record["index"]
        bad = [leaves.tensor_root([self.claimed[side][1]]) != root for side in SIDES]
        wrong(*bad, "the metrics say another loss than the step tree, on which both agree")

    def read_given(self, r, source, place):
        data = counted(r)
        if source:
            check(source <= self.op and merkle.leaf_hash(data) == self.op_hash[TRAINER][source - 1], "an input's leaf that is not agreed")
            found = read_step_leaf(data, source - 1)
            check(place < len(found), "an output that the op does not have")
            return found[place]
        check(self.state_before is not None, "a state before step 0")
        self.included(self.state_before, len(self.commit["inputs"]), place, data, r)
        return read_state_leaf(data)

    def read_roots(self, r, side):
        roots = [r.take(32) for _ in self.record["outputs"]]
        check(merkle.leaf_hash(self.step_leaf(self.record, roots)) == self.op_hash[side][self.op], "roots that are not the step leaf's")
        return roots

    def read_record(self):
        r = self.take(AUDITOR, "op")
        record = self.read_op(r, self.program, self.ops)
        check(record["index"] == self.op, "another op's record")
        last = self.op == self.ops - 1
        if not last:
            self.given = [self.read_given(r, *reference) for reference in record["inputs"]]
            self.view = self.one_op(record)
        self.record = record
        product = not last and find(record["kind"]).product
        if self.by_entry:
            check(product and self.job["arithmetic.mode"] == "logged" and self.named[2] < count_of(record["outputs"][0][3]),
                  "an entry of an op that has none")
        else:
            self.roots = {AUDITOR: self.read_roots(r, AUDITOR)}
        r.end()
        if product and self.job["arithmetic.mode"] == "plain":
            raise Verdict("undecided", "mode plain leaves the sums of products to platforms")
        if product and self.job["arithmetic.mode"] == "logged" and self.job["arithmetic.threshold"] != "certified":
            raise Verdict("undecided", "the job's thresholds are empirical")
        if record["kind"] == "import":
            raise Verdict("undecided", "imported weights are not opened in this version")
        if self.by_entry:
            self.element = self.named[2]

    def one_op(self, record):
        """The op alone, over given values; its shape rule must give the record's outputs."""
        program = Program(self.job["arithmetic.grid"], self.job["arithmetic.state_grid"])
        bits = record["outputs"][0][2]
        inputs = [program.add_op(Op("given", [], [], []), [(f"given {i}", dtype, bits if dtype == F32 else 32, shape)])
                  for i, (_, dtype, shape, _) in enumerate(self.given)]
        name = record["outputs"][0][0].removesuffix(find(record["kind"]).suffixes[0])
        program.append(record["kind"], name, inputs, record["ints"], record["nums"])
        made = [(v.name, v.dtype, v.bits, v.shape) for v in (program.values[o] for o in program.ops[-1].outputs)]
        check(made == record["outputs"], "outputs that are not those of the op's shape rule")
        return View(program, len(program.ops) - 1, [Places(i) for i in range(len(inputs))], self.step)

    def read_output(self):
        r = self.take(TRAINER, "op")
        self.roots[TRAINER] = self.read_roots(r, TRAINER)
        r.end()
        self.output = first_difference(self.roots[TRAINER], self.roots[AUDITOR])
        if self.op == self.ops - 1:
            self.judge_state()

    def judge_state(self):
        r, after, before = self.take(AUDITOR, "state"), [], []
        for place, (source, output) in enumerate(self.commit["inputs"]):
            if self.state_before is not None:
                data = counted(r)
                before.append(merkle.leaf_hash(data))
                old = read_state_leaf(data)
            if not source:
                check(self.state_before is not None and output == place, "a tensor that stays, in another place")
                after.append(old)
                continue
            data = counted(r)
            check(merkle.leaf_hash(data) == self.op_hash[TRAINER][source - 1], "a leaf that is not agreed")
            found = read_step_leaf(data, source - 1)
            check(output < len(found), "an output that the op does not have")
            after.append((old[0] if self.state_before is not None else found[output][0], *found[output][1:]))
        r.end()
        check(self.state_before is None or merkle.head_of_hashes(before) == self.state_before, "another state before the step")
        root = leaves.state_root(after)
        wrong(*[root != self.claimed[side][0] for side in SIDES], "the state root is not that of the tensors on which both agree")

    def read_element(self):
        node = {side: self.roots[side][self.output] for side in SIDES}
        size = count_of(self.record["outputs"][self.output][3])
        at, chunks = 0, -(-size // CHUNK)
        while chunks > 1:
            group = fan_size(chunks, GROUP_FAN)

            def read(r, side):
                found = [r.take(32) for _ in range(-(-chunks // group))]
                check(merkle.head_of_hashes(found) == node[side], "hashes that are not below their node")
                return found

            found = self.both("groups", read)
            i = first_difference(found[TRAINER], found[AUDITOR])
            node = {side: found[side][i] for side in SIDES}
            at, chunks = at + i * group, min(group, chunks - i * group)

        def read_chunk(r, side):
            data = r.take(4 * min(CHUNK, size - at * CHUNK))
            check(merkle.leaf_hash(b"ls1/chunk" + data) == node[side], "another chunk")
            return [int.from_bytes(data[i:i + 4], "little") for i in range(0, len(data), 4)]

        found = self.both("chunk", read_chunk)
        i = first_difference(found[TRAINER], found[AUDITOR])
        self.element = at * CHUNK + i
        self.word = {side: found[side][i] for side in SIDES}

    def read_entry(self):
        r, frame = self.take(AUDITOR, "entry"), self.element // FRAME
        data, size, index = counted(r), None, None
        size, index = r.u64(), r.u64()
        self.included(self.own[TRAINER]["log"], size, index, leaves.log_leaf(self.step, self.op, frame, data), r)
        r.end()
        elements = min(FRAME, count_of(self.record["outputs"][0][3]) - frame * FRAME)
        self.entry = dict(entries.decode(data, elements, self.job["arithmetic.encoding"])).get(self.element - frame * FRAME)
        if self.by_entry and self.entry is None:
            wrong(False, True, "the rounding log has no entry where the auditor says that one is forged")

    # ---- sums ----

    def read_sums(self):
        rule = find(self.record["kind"])
        if not rule.product:
            blocks = getattr(rule, "blocks", lambda v, output: 0)(self.view, self.output)
            self.judge_blocks(rule, blocks) if blocks > 1 else self.judge_element()
            return
        terms, bias = rule.terms(self.view, self.element)
        if self.job["arithmetic.mode"] == "pinned":
            self.judge_pinned(terms, bias)
        terms = terms if bias is None else [*terms, (bias, products.ONE)]
        self.judge_tree(terms)

    def rule(self, both, places):
        """("forged" or another word, value) of a product's element, from E and S."""
        bits = self.record["outputs"][0][2]
        if self.entry is None:
            return "value", NAN if both is None else round_exact(both[0], bits)
        bound = Bound(depth=self.job["arithmetic.depth"], fp32=self.job["arithmetic.compute"] == "fp32")
        return products.judge_sums(both, places, bits, bound, self.entry)

    def end(self, meaning, word):
        forged = meaning == "forged"
        if self.by_entry:
            wrong(forged, not forged, "the entry names an inadmissible value" if forged else "the entry names an admissible value")
        wrong(forged or self.word[TRAINER] != word, self.word[AUDITOR] != word, "the op's definition admits one value")

    def follows(self, side, both, places):
        meaning, word = self.rule(both, places)
        forged = meaning == "forged"
        if self.by_entry:
            return forged == (side == AUDITOR)
        return word == self.word[side] and not (forged and side == TRAINER)

    def judge_tree(self, terms):
        places, first, count, node = len(terms), 0, len(terms), None
        while count > SUM_FAN:
            child = fan_size(count, SUM_FAN)
            found = self.both("sums", lambda r, side: [read_wide(r) for _ in range(-(-count // child))])
            whole = {side: tuple(map(sum, zip(*found[side]))) for side in SIDES}
            good = {side: whole[side][:2] == node[side][:2] and bool(whole[side][2]) == node[side][2] if node else
                    self.follows(side, as_fractions(whole[side]), places) for side in SIDES}
            if not all(good.values()):
                wrong(not good[TRAINER], not good[AUDITOR], "its own partial sums do not make up what it said of the element")
            i = first_difference(found[TRAINER], found[AUDITOR])
            check(i is not None, "equal partial sums of different values")
            node = {side: found[side][i] for side in SIDES}
            first, count = first + i * child, min(child, count - i * child)
        read, _ = self.open_inputs()
        part = wide_sum([read(term) for term in terms[first:first + count]])
        self.all_read()
        if node:
            wrong(*[part != node[side] for side in SIDES], "a partial sum of the element is not that of its terms")
        self.end(*self.rule(as_fractions(part), places))

    def judge_pinned(self, terms, bias):
        bits, every = self.record["outputs"][0][2], len(terms) + (bias is not None)
        if every <= SUM_FAN:
            read, _ = self.open_inputs()
            word = products.pinned([read(t) for t in terms], None if bias is None else read((bias,))[0], bits)
            self.all_read()
            self.end("value", word)
        count = -(-every // SUM_FAN)
        check_length(count, 9)
        found = self.both("sums", lambda r, side: [read_state(r) for _ in range(count)])
        good = {side: products.pinned_end(found[side][-1], len(terms), bits) == self.word[side] for side in SIDES}
        if not all(good.values()):
            wrong(not good[TRAINER], not good[AUDITOR], "its own partial sums do not make up what it said of the element")
        at = first_difference(found[TRAINER], found[AUDITOR])
        state = found[TRAINER][at - 1] if at else (0, 0, True)
        read, _ = self.open_inputs()
        for k in range(at * SUM_FAN, min(every, (at + 1) * SUM_FAN)):
            placed = k < len(terms)
            term = read(terms[k]) if placed else (read((bias,))[0], products.ONE)
            state = products.pinned_step(state, k, placed, term)
        self.all_read()
        wrong(*[found[side][at] != state for side in SIDES], "a partial sum of the element is not that of its terms")

    def judge_blocks(self, rule, count):
        check_length(count, 8)
        view, output, element = self.view, self.output, self.element
        found = self.both("sums", lambda r, side: [read_block(r) for _ in range(count)])
        good = {side: rule.whole(view, output, element, list(map(f64_of, found[side]))) == self.word[side] for side in SIDES}
        if not all(good.values()):
            wrong(not good[TRAINER], not good[AUDITOR], "its own partial sums do not make up what it said of the element")
        at = first_difference(found[TRAINER], found[AUDITOR])
        _, opened = self.open_inputs()
        view.words = opened
        made = bits64(rule.block(view, output, element, at, list(map(f64_of, found[TRAINER][:at]))))
        self.all_read()
        wrong(*[found[side][at] != made for side in SIDES], "a partial sum of the element is not that of its terms")

    def judge_element(self):
        _, self.view.words = self.open_inputs()
        _, word = op_element(self.view, self.output, self.element)
        self.all_read()
        self.end("value", word)

    # ---- the last turn ----

    def open_inputs(self):
        """Reads the turn; returns how to read a product's term, and the words of all inputs."""
        r = self.take(AUDITOR, "open")
        self.opened = [self.read_tensor(r, shape, root) for _, _, shape, root in self.given]
        if self.record["kind"] in ("load", "load_tokens"):
            self.view.samples = self.read_data(r)
            self.opened.append(self.view.samples)
        r.end()
        words_of = self.opened

        def read(term):
            """Words for places; the bias's factor of one is no place."""
            return None if term is None else tuple(words_of[p[0]][p[1]] if isinstance(p, tuple) else p for p in term)

        return read, self.opened[:len(self.given)]

    def read_chunks(self, r, count, length, most):
        numbers, found = [], {}
        for _ in range(count):
            n = r.u64()
            check(n < most and (not numbers or n > numbers[-1]), f"chunk {n} in no place")
            numbers.append(n)
            found[n] = r.take(length(n))
        return found

    def read_proof(self, r):
        n = r.u32()
        check(n <= TURN_MAX // 32, f"a proof of {n} hashes")
        return [r.take(32) for _ in range(n)]

    def read_tensor(self, r, shape, root):
        count, size = r.u32(), count_of(shape)
        if not count:
            return Words({})
        chunks = -(-size // CHUNK)
        found = self.read_chunks(r, count, lambda n: 4 * min(CHUNK, size - n * CHUNK), chunks)
        merkle.check_multiproof(root, chunks, {n: merkle.leaf_hash(b"ls1/chunk" + data) for n, data in found.items()}, self.read_proof(r))
        return Words(found)

    def read_data(self, r):
        ints, data = self.record["ints"], counted(r)
        head = Reader(data, "data")
        head.expect(b"ls1/data\0")
        head.string()
        pictures = self.record["kind"] == "load"
        samples, shape = ints[0], tuple(ints[4:7]) if pictures else (1, 1, ints[4])
        head.expect(u64(samples) + u8(3) + b"".join(map(u64, shape)))
        count = head.u32()
        check(1 <= count <= PARTS_MAX, f"data of {count} parts")
        parts = [(head.string(), head.u64()) for _ in range(count)]
        check(all(n <= 1 << 62 for _, n in parts), "a part of too many bytes")
        head.end()
        size = count_of(shape)
        if pictures:
            check(size <= SAMPLE_MAX and parts == [("images", samples * size), ("labels", samples)], "other parts than the op's pictures have")
        else:
            check(parts[-1] == ("tokens", 2 * (samples * size + 1)), "other parts than the op's tokens have")
        chunks = [-(-n // 1024) for _, n in parts]
        total, last = 1 + sum(chunks), sum(chunks[:-1])
        self.included(self.job["data"], total, 0, data, r)

        def length(n):
            for (_, size), count in zip(parts, chunks):
                if n < count:
                    return min(1024, size - n * 1024)
                n -= count

        found = self.read_chunks(r, r.u32(), length, total - 1)
        merkle.check_multiproof(self.job["data"], total, {n + 1: merkle.leaf_hash(b"ls1/data\1" + part) for n, part in found.items()},
                                self.read_proof(r))
        return Samples(found, size if pictures else 0, last)

    def all_read(self):
        check(not any(o.unread for o in self.opened), "a chunk was opened that nothing reads")


# ---- partial sums as they are written ----

def check_length(count, size):
    if count > TURN_MAX // 2 // size:
        raise Verdict("undecided", "the element is a sum of more terms than this version opens")


def read_wide(r):
    """(E, S, whether a factor is not finite), E and S in units of 2^-298."""
    e = int.from_bytes(r.take(8 * LIMBS), "little", signed=True)
    s = int.from_bytes(r.take(8 * LIMBS), "little")
    flag = r.u8()
    check(flag <= 1 and abs(e) < 1 << 600 and s < 1 << 600, "a partial sum that no terms have")
    return e, s, bool(flag)


def as_fractions(wide):
    return None if wide[2] else (Fraction(wide[0], 1 << products.UNIT), Fraction(wide[1], 1 << products.UNIT))


def wide_sum(terms):
    e, s, bad = 0, 0, False
    for term in terms:
        both = products.sums([term])
        if both is None:
            bad = True
            continue
        e, s = e + int(both[0] * (1 << products.UNIT)), s + int(both[1] * (1 << products.UNIT))
    return e, s, bad


def one_nan(word):
    return NAN if word & 0x7FFFFFFF > 0x7F800000 else word


def read_state(r):
    total, acc, finite = r.u32(), r.u32(), r.u8()
    check(finite <= 1 and total == one_nan(total) and acc == one_nan(acc), "a NaN or a flag in another spelling")
    return total, acc, bool(finite)


def read_block(r):
    bits = r.u64()
    check(bits64(f64_of(bits)) == bits, "a NaN in another spelling")
    return bits
