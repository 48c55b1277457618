"""From a job to its programs: layers, gradients, updates (spec/ops.md, "From a job to its programs")."""
from .numbers import Fraction, Refused, round64, square_root
from .ops import Gradient, find
from .program import Program

CROP = 4


class Net:
    """Appends layers. While discovering, parameters are only listed, and stand-ins are appended so that shapes follow."""

    def __init__(self, job, discovering, program):
        self.job, self.discovering, self.program, self.parameters = job, discovering, program, []
        self.part, self.sites = 0, 0

    def append(self, kind, name, inputs, ints=(), nums=()):
        """Names of the second part of a batch begin with part2., and so on."""
        return self.program.append(kind, f"part{self.part + 1}.{name}" if self.part else name, inputs, ints, nums)

    def shape(self, x):
        return self.program.values[x].shape

    def parameter(self, layer, suffix, shape, init, buffer=False):
        name = f"{layer}.{suffix}"
        if not self.discovering:
            return self.program.find(name)
        self.parameters.append({"name": name, "shape": shape, "init": init, "buffer": buffer,
                                "number": len(self.parameters)})
        return self.program.append("init_const", name, [], [0, 0, *shape], [0.0])

    def linear(self, x, name, out, std=None):
        if len(self.shape(x)) != 2:
            rows = self.shape(x)[0]
            x = self.program.append("reshape", f"{name}.flat", [x], [rows, self.program.values[x].count // rows])
        fan_in = self.shape(x)[1]
        weight_init = ("init_normal", std) if std else uniform(fan_in)
        weight = self.parameter(name, "weight", (out, fan_in), weight_init)
        bias = self.parameter(name, "bias", (out,), ("init_const", 0.0) if std else uniform(fan_in))
        return self.program.append("matmul", name, [x, weight, bias], [0, 1])

    def conv(self, x, name, out, kernel, stride, pad, bias=True, normal=False):
        channels, area = self.shape(x)[1], kernel * kernel
        init = ("init_normal", square_root(2.0 / float(out * area))) if normal else uniform(channels * area)
        inputs = [x, self.parameter(name, "weight", (out, channels, kernel, kernel), init)]
        if bias:
            inputs.append(self.parameter(name, "bias", (out,), ("init_const", 0.0) if normal else init))
        return self.program.append("conv2d", name, inputs, [stride, pad])

    def norm(self, x, name):
        n, channels, height, width = self.shape(x)
        count = float(n * height * width)
        if count < 2:
            raise Refused(f"{name}: one value per channel")
        kinds = (("weight", 1.0, False), ("bias", 0.0, False), ("running_mean", 0.0, True), ("running_var", 1.0, True))
        gamma, beta, mean, var = (self.parameter(name, k, (channels,), ("init_const", v), b) for k, v, b in kinds)
        m = self.program.append("channel_stats", name, [x])
        v = m + 1
        tenth = round64(Fraction(1, 10))
        self.program.append("running_average", f"{name}.running_mean", [mean, m], [], [tenth, 1.0])
        self.program.append("running_average", f"{name}.running_var", [var, v], [], [tenth, count / (count - 1.0)])
        r = self.program.append("rsqrt_eps", f"{name}.rsqrt", [v], [], [round64(Fraction(1, 100000))])
        return self.program.append("batch_norm", name, [x, m, r, gamma, beta])

    def op(self, kind, x, name, *ints):
        return self.program.append(kind, name, [x], ints)

    def activation(self, x, number):
        kind = self.job["model.activation"]
        return self.op(kind, x, f"{kind}{number}")

    def channels(self, count):
        """max(1, width·count to the nearest integer)."""
        shift = float.fromhex("0x1.8p52")
        return max(1, int((self.job["model.width"] * float(count) + shift) - shift))


def uniform(fan_in):
    return "init_uniform", 1.0 / square_root(float(fan_in))


# ---- models ----

SIZES = ("layers", "heads", "embedding", "context", "vocab")
PRESETS = {"none": (0, 0, 0, 0, 0), "124M": (12, 12, 768, 1024, 50257), "355M": (24, 16, 1024, 1024, 50257),
           "774M": (36, 20, 1280, 1024, 50257)}


class Gpt2:
    """The layers of gpt2, which are no layers of pictures."""

    def __init__(self, net):
        job = net.job
        sizes = [job[f"model.{key}"] or preset for key, preset in zip(SIZES, PRESETS[job["model.preset"]])]
        if not all(sizes):
            raise Refused("job: model: a size is missing")
        self.net, (self.layers, self.heads, self.width, self.context, self.vocab) = net, sizes
        if self.width % self.heads or job["width"] > self.context:
            raise Refused("job: model.heads does not divide model.embedding, or a sequence is longer than model.context")
        self.normal = "init_normal", round64(Fraction(2, 100))
        self.residual = "init_normal", round64(Fraction(2, 100)) / square_root(2.0 * float(self.layers))

    def dense(self, x, name, out, init=None):
        fan_in = self.net.shape(x)[1]
        weight = self.net.parameter(name, "weight", (fan_in, out), init or self.normal)
        bias = self.net.parameter(name, "bias", (out,), ("init_const", 0.0))
        return self.net.append("matmul", name, [x, weight, bias], [0, 0])

    def norm(self, x, name):
        weight = self.net.parameter(name, "weight", (self.width,), ("init_const", 1.0))
        bias = self.net.parameter(name, "bias", (self.width,), ("init_const", 0.0))
        mean = self.net.append("row_stats", name, [x])
        r = self.net.append("rsqrt_eps", f"{name}.rsqrt", [mean + 1], [], [round64(Fraction(1, 100000))])
        return self.net.append("layer_norm", name, [x, weight, bias, mean, r])

    def dropout(self, x, name):
        share = self.net.job["model.dropout"]
        if not share:
            return x
        self.net.sites += 1
        return self.net.append("dropout", name, [x], [self.net.job["train.seed"], self.net.sites - 1], [share])

    def attention(self, x, name):
        batch = self.net.shape(x)[0] // self.net.job["width"]
        q = self.net.append("split_columns", f"{name}.q", [self.dense(x, f"{name}.c_attn", 3 * self.width)], [3])
        x = self.net.append("attention_scores", f"{name}.products", [q, q + 1], [batch, self.heads])
        x = self.net.append("scale", f"{name}.scores", [x], [], [1.0 / square_root(float(self.width // self.heads))])
        x = self.dropout(self.net.append("causal_softmax", f"{name}.softmax", [x]), f"{name}.dropout")
        x = self.dense(self.net.append("attention_mix", f"{name}.mix", [x, q + 2], [0]), f"{name}.c_proj", self.width,
                       self.residual)
        return self.dropout(x, f"{name}.resid_dropout")

    def mlp(self, x, name):
        x = self.net.append("gelu", f"{name}.gelu", [self.dense(x, f"{name}.c_fc", 4 * self.width)])
        return self.dropout(self.dense(x, f"{name}.c_proj", self.width, self.residual), f"{name}.dropout")

    def logits(self, tokens):
        wte = self.net.parameter("transformer.wte", "weight", (self.vocab, self.width), self.normal)
        wpe = self.net.parameter("transformer.wpe", "weight", (self.context, self.width), self.normal)
        x = self.net.append("embedding", "embedded", [wte, tokens])
        x = self.net.append("position_add", "positioned", [x, wpe], [self.net.job["width"]])
        x = self.dropout(x, "embedded.dropout")
        for layer in range(self.layers):
            name = f"transformer.h.{layer}"
            y = self.attention(self.norm(x, f"{name}.ln_1"), f"{name}.attn")
            x = self.net.append("add", f"{name}.attn.add", [x, y])
            y = self.mlp(self.norm(x, f"{name}.ln_2"), f"{name}.mlp")
            x = self.net.append("add", f"{name}.mlp.add", [x, y])
        return self.net.append("matmul", "lm_head", [self.norm(x, "transformer.ln_f"), wte], [0, 1])


def gpt2(net, tokens):
    return Gpt2(net).logits(tokens)


def logreg(net, x):
    return net.linear(x, "fc", net.job["model.classes"])


def mlp(net, x):
    hidden = net.job["model.hidden"]
    if not hidden:
        raise Refused("job: model.hidden: missing")
    for i, width in enumerate(hidden, 1):
        x = net.activation(net.linear(x, f"fc{i}", width), i)
    return net.linear(x, f"fc{len(hidden) + 1}", net.job["model.classes"])


def lenet5(net, x):
    pool = "avgpool" if net.job["model.pool"] == "avg" else "maxpool"
    x = net.activation(net.conv(x, "conv1", 6, 5, 1, 2), 1)
    x = net.op(pool, x, "pool1", 2, 2, 0)
    x = net.activation(net.conv(x, "conv2", 16, 5, 1, 0), 2)
    x = net.op(pool, x, "pool2", 2, 2, 0)
    x = net.activation(net.linear(x, "fc1", 120), 3)
    x = net.activation(net.linear(x, "fc2", 84), 4)
    return net.linear(x, "fc3", net.job["model.classes"])


P = None
VGG = {"vgg11": [64, P, 128, P, 256, 256, P, 512, 512, P, 512, 512, P],
       "vgg16": [64, 64, P, 128, 128, P, 256, 256, 256, P, 512, 512, 512, P, 512, 512, 512, P]}


def vgg(net, x):
    if min(net.shape(x)[2:]) < 32:
        raise Refused("vgg: images below 32×32")
    i, std = 0, round64(Fraction(1, 100))
    for layer in VGG[net.job["model.arch"]]:
        if layer is P:
            x, i = net.op("maxpool", x, f"features.{i}", 2, 2, 0), i + 1
        else:
            x = net.conv(x, f"features.{i}", net.channels(layer), 3, 1, 1, normal=True)
            x, i = net.op("relu", x, f"features.{i + 1}"), i + 2
    if net.job["model.head"] == "cifar":
        return net.linear(x, "classifier.0", net.job["model.classes"], std)
    x = net.op("adaptive_avgpool", x, "avgpool", 7, 7)
    x = net.op("relu", net.linear(x, "classifier.0", net.channels(4096), std), "classifier.1")
    x = net.op("relu", net.linear(x, "classifier.3", net.channels(4096), std), "classifier.4")
    return net.linear(x, "classifier.6", net.job["model.classes"], std)


def conv_norm(net, x, block, suffix, norm, out, kernel, stride):
    x = net.conv(x, f"{block}.{suffix}", out, kernel, stride, kernel // 2, bias=False, normal=True)
    return net.norm(x, f"{block}.{norm}")


def basic(net, x, block, channels, stride):
    x = net.op("relu", conv_norm(net, x, block, "conv1", "bn1", channels, 3, stride), f"{block}.relu1")
    return conv_norm(net, x, block, "conv2", "bn2", channels, 3, 1)


def bottleneck(net, x, block, channels, stride):
    x = net.op("relu", conv_norm(net, x, block, "conv1", "bn1", channels, 1, 1), f"{block}.relu1")
    x = net.op("relu", conv_norm(net, x, block, "conv2", "bn2", channels, 3, stride), f"{block}.relu2")
    return conv_norm(net, x, block, "conv3", "bn3", 4 * channels, 1, 1)


RESNETS = {"resnet18": ((2, 2, 2, 2), 1, basic), "resnet50": ((3, 4, 6, 3), 4, bottleneck)}


def resnet(net, x):
    blocks, expansion, inner = RESNETS[net.job["model.arch"]]
    width = net.channels(64)
    x = net.conv(x, "conv1", width, 3, 1, 1, bias=False, normal=True)
    x = net.op("relu", net.norm(x, "bn1"), "relu")
    for stage in range(4):
        channels = net.channels(64 << stage)
        for i in range(blocks[stage]):
            block, stride = f"layer{stage + 1}.{i}", 2 if stage and not i else 1
            y = inner(net, x, block, channels, stride)
            if stride != 1 or width != expansion * channels:
                x = conv_norm(net, x, block, "downsample.0", "downsample.1", expansion * channels, 1, stride)
            width = expansion * channels
            x = net.op("relu", net.program.append("add", f"{block}.add", [y, x]), f"{block}.relu")
    x = net.op("adaptive_avgpool", x, "avgpool", 1, 1)
    return net.linear(x, "fc", net.job["model.classes"])


MODELS = {"logreg": logreg, "mlp": mlp, "lenet5": lenet5, "vgg11": vgg, "vgg16": vgg, "resnet18": resnet,
          "resnet50": resnet, "gpt2": gpt2}
TEXT = ("gpt2",)
READS = {"model.classes": tuple(name for name in MODELS if name not in TEXT), **dict.fromkeys(
         ("model.preset", "model.layers", "model.heads", "model.embedding", "model.context", "model.vocab", "model.dropout",
          "train.accumulate"), TEXT),
         "model.hidden": ("mlp",), "model.pool": ("lenet5",), "model.activation": ("mlp", "lenet5"),
         "model.width": ("vgg11", "vgg16", "resnet18", "resnet50"),
         "model.head": ("vgg11", "vgg16")}
DEFAULTS = {"model.classes": 0, "model.preset": "none", "model.dropout": 0.0, "train.accumulate": 1,
            **{f"model.{key}": 0 for key in SIZES},
            "model.hidden": [], "model.pool": "max", "model.activation": "relu", "model.width": 1.0, "model.head": "cifar"}


# ---- programs ----

def scaling(job, key):
    given = job[key]
    if len(given) not in (1, job["channels"]):
        raise Refused(f"job: {key}: {len(given)} numbers for {job['channels']} channels")
    return given * job["channels"] if len(given) == 1 else given


def forward(net):
    """load, layers, loss; the number of the loss."""
    job, parts = net.job, net.job["train.accumulate"]
    ints = [job["samples"], job["train.batch"], job["train.seed"], 1]
    scales = [*scaling(job, "data.mean"), *scaling(job, "data.std")]
    if job["model.arch"] in TEXT:
        rows = job["train.batch"] // parts
        x = net.append("load_tokens", "x", [], [*ints, job["width"], net.part * rows, rows])
    else:
        ints += [job["channels"], job["height"], job["width"]]
        if job["data.augment"]:
            ints += [CROP if "crop" in job["data.augment"] else 0, int("flip" in job["data.augment"])]
        x = net.append("load", "x", [], ints, scales)
    logits = MODELS[job["model.arch"]](net, x)
    logits = net.append("reshape", "logits", [logits], net.shape(logits))
    p = net.append("softmax", "softmax", [logits])
    loss = [logits, p, p + 1, p + 2, x + 1]
    return net.append("cross_entropy", "loss.of", loss, [parts]) if parts > 1 else net.append("cross_entropy", "loss", loss)


def differentiate(program, loss, wanted):
    """Appends the gradients; the numbers of those of `wanted`."""
    active, forward = set(wanted), list(program.ops)
    for op in program.ops:
        if active & set(op.inputs):
            active |= set(op.outputs)
    grads = {}
    for op in program.ops[::-1]:
        if not (any(o in grads or o == loss for o in op.outputs) and op.outputs[0] in active):
            continue
        g = Gradient(program, op, [grads.get(o) for o in op.outputs], [i in active for i in op.inputs], forward, grads)
        rule = find(op.kind)
        if rule.gradient:
            rule.gradient(g)
        elif op.kind != "softmax":
            raise Refused(f"{op.kind} has no gradient")
        for i in sorted(g.inputs):
            if g.wanted[i]:
                value = op.inputs[i]
                grads[value] = accumulate(program, value, grads[value], g.inputs[i]) if value in grads else g.inputs[i]
    return [grads[v] for v in wanted]


def accumulate(program, value, older, newer):
    base, n = "d." + program.values[value].name[:70], 2
    while program.find(f"{base}.sum{n}") >= 0:
        n += 1
    return program.append("add", f"{base}.sum{n}", [older, newer])


def differentiate_parts(net, wanted):
    """Forward and backward of each part of the batch; the gradients add up in the order of the parts."""
    program, parts = net.program, net.job["train.accumulate"]
    for net.part in range(parts):
        loss = forward(net)
        of_part = differentiate(program, loss, wanted)
        if not net.part:
            grads, total = of_part, loss
            continue
        names = ["d." + program.values[v].name[:70] + f".parts{net.part + 1}" for v in wanted]
        grads = [program.append("add", name, [older, newer]) for name, older, newer in zip(names, grads, of_part)]
        total = program.append("add", "loss" if net.part + 1 == parts else f"loss.parts{net.part + 1}", [total, loss])
    return grads


def clip(program, norm, grads):
    if not norm:
        return grads
    names = [program.values[g].name[:80] for g in grads]
    squares = [program.append("square_sum", f"{name}.square", [g]) for name, g in zip(names, grads)]
    scale = program.append("clip_scale", "clip", squares, [], [norm])
    return [program.append("scale_by", f"{name}.clipped", [g, scale]) for name, g in zip(names, grads)]


def slots_of(job):
    """Suffixes of what the optimizer keeps beside a parameter."""
    if job["optimizer.name"] != "sgd":
        return [".moment1", ".moment2"]
    return [".momentum"] if job["optimizer.momentum"] > 0 else []


def state_of(job, parameters):
    """Every tensor of the state, ascending by name: parameters, momentum, buffers."""
    state = [dict(p, slot=False) for p in parameters]
    trained = [p for p in parameters if not p["buffer"]]
    for suffix in slots_of(job):
        state += [dict(p, name=p["name"] + suffix, init=("init_const", 0.0), slot=True) for p in trained]
    return sorted(state, key=lambda p: p["name"].encode())


def build_init(job, state):
    program, values, weights = Program(job["arithmetic.grid"], job["arithmetic.state_grid"]), [], 0
    words = [int.from_bytes(job["import"][i:i + 8], "little", signed=True) for i in range(0, 32, 8)]
    for p in state:
        if any(job["import"]) and not p["slot"]:
            values.append(program.append("import", p["name"], [], [*words, weights, *p["shape"]]))
        else:
            kind, value = p["init"]
            values.append(program.append(kind, p["name"], [], [job["train.seed"], p["number"], *p["shape"]], [value]))
        weights += not p["slot"]
    program.append("commit", "state", values)
    return program


def build_step(job, parameters, state):
    program = Program(job["arithmetic.grid"], job["arithmetic.state_grid"])
    for p in state:
        program.add_state(p["name"], p["shape"])
    trained = [p for p in parameters if not p["buffer"]]
    wanted = [program.find(p["name"]) for p in trained]
    grads = clip(program, job["optimizer.clip"], differentiate_parts(Net(job, False, program), wanted))
    for p, w, g in zip(trained, wanted, grads):
        update(program, job, p, [w, g, *(program.find(p["name"] + suffix) for suffix in slots_of(job))])
    program.append("commit", "state", [program.find(p["name"] + ".next") for p in state])
    return program


def update(program, job, parameter, inputs):
    name, decay = job["optimizer.name"], job["optimizer.weight_decay"]
    schedule = ("constant", "step", "cosine", "linear").index(job["schedule.name"])
    rate = [schedule, job["schedule.every"] or 1, job["schedule.warmup"], job["steps"]]
    if name == "sgd":
        nums = [job["optimizer.lr"], job["optimizer.momentum"], decay, job["schedule.gamma"]]
        return program.append("sgd", parameter["name"], inputs, [job["optimizer.nesterov"], *rate], nums)
    decay = decay if len(parameter["shape"]) > 1 else 0.0
    nums = [job[f"optimizer.{key}"] for key in ("lr", "beta1", "beta2", "epsilon")] + [decay, job["schedule.gamma"]]
    return program.append("adam", parameter["name"], inputs, [int(name == "adamw"), *rate], nums)


OF_ADAM = {"optimizer.beta1": round64(Fraction(9, 10)), "optimizer.beta2": round64(Fraction(999, 1000)),
           "optimizer.epsilon": round64(Fraction(1, 10 ** 8))}
OF_SGD = {"optimizer.momentum": 0.0, "optimizer.nesterov": 0}


def check_reads(job):
    """Fields that the model or the optimizer does not read hold their defaults."""
    arch, optimizer = job["model.arch"], job["optimizer.name"]
    if arch not in MODELS or optimizer not in ("sgd", "adam", "adamw"):
        raise Refused(f"job: model '{arch}' or optimizer '{optimizer}' is not known")
    unread = {path: DEFAULTS[path] for path, readers in READS.items() if arch not in readers}
    for path, default in (unread | (OF_ADAM if optimizer == "sgd" else OF_SGD)).items():
        if job[path] != default:
            raise Refused(f"job: {path}: {arch} with {optimizer} does not read it")
    if arch not in TEXT and not job["model.classes"] or job["train.batch"] % job["train.accumulate"]:
        raise Refused("job: model.classes is missing, or train.accumulate does not divide train.batch")


def programs(job):
    """(init, step) of a job with its binding."""
    check_reads(job)
    net = Net(job, True, Program(job["arithmetic.grid"], job["arithmetic.state_grid"]))
    forward(net)
    state = state_of(job, net.parameters)
    return build_init(job, state), build_step(job, net.parameters, state)


def check_programs(job):
    """The two programs, whose digests must be the binding's."""
    init, step = programs(job)
    for key, program in (("init", init), ("program", step)):
        if program.digest() != job[key]:
            raise Refused(f"job: {key} digest {job[key].hex()}, by the fields {program.digest().hex()}")
    return init, step
