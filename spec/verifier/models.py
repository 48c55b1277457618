"""From a job to its programs: layers, gradients, updates (spec/ops.md, "From a job to its programs")."""
from .numbers import Fraction, Refused, round64, square_root
from .ops import Gradient, find
from .program import Program

CROP = 4


class Net:
    """Appends layers. While discovering, parameters are only listed, and stand-ins are appended so that shapes follow."""

    def __init__(self, job, discovering, program):
        self.job, self.discovering, self.program, self.parameters = job, discovering, program, []

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
          "resnet50": resnet}
READS = {"model.hidden": ("mlp",), "model.pool": ("lenet5",), "model.activation": ("mlp", "lenet5"),
         "model.width": ("vgg11", "vgg16", "resnet18", "resnet50"),
         "model.head": ("vgg11", "vgg16")}
DEFAULTS = {"model.hidden": [], "model.pool": "max", "model.activation": "relu",
            "model.width": 1.0, "model.head": "cifar"}


# ---- programs ----

def scaling(job, key):
    given = job[key]
    if len(given) not in (1, job["channels"]):
        raise Refused(f"job: {key}: {len(given)} numbers for {job['channels']} channels")
    return given * job["channels"] if len(given) == 1 else given


def forward(net):
    """load, layers, loss; the number of the loss."""
    job, program = net.job, net.program
    ints = [job["samples"], job["train.batch"], job["train.seed"], 1, job["channels"], job["height"], job["width"]]
    if job["data.augment"]:
        ints += [CROP if "crop" in job["data.augment"] else 0, int("flip" in job["data.augment"])]
    x = program.append("load", "x", [], ints, [*scaling(job, "data.mean"), *scaling(job, "data.std")])
    logits = MODELS[job["model.arch"]](net, x)
    logits = program.append("reshape", "logits", [logits], net.shape(logits))
    p = program.append("softmax", "softmax", [logits])
    return program.append("cross_entropy", "loss", [logits, p, p + 1, p + 2, x + 1])


def differentiate(program, loss, wanted):
    """Appends the gradients; the numbers of those of `wanted`."""
    active = set(wanted)
    for op in program.ops:
        if active & set(op.inputs):
            active |= set(op.outputs)
    grads = {}
    for op in program.ops[::-1]:
        if not (any(o in grads or o == loss for o in op.outputs) and op.outputs[0] in active):
            continue
        g = Gradient(program, op, [grads.get(o) for o in op.outputs], [i in active for i in op.inputs])
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


def is_momentum(job):
    return job["optimizer.momentum"] > 0


def state_of(job, parameters):
    """Every tensor of the state, ascending by name: parameters, momentum, buffers."""
    state = [dict(p, slot=False) for p in parameters]
    if is_momentum(job):
        trained = [p for p in parameters if not p["buffer"]]
        state += [dict(p, name=p["name"] + ".momentum", init=("init_const", 0.0), slot=True) for p in trained]
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
    loss = forward(Net(job, False, program))
    trained = [p for p in parameters if not p["buffer"]]
    wanted = [program.find(p["name"]) for p in trained]
    schedule = ("constant", "step", "cosine").index(job["schedule.name"])
    ints = [job["optimizer.nesterov"], schedule, job["schedule.every"] or 1, job["schedule.warmup"], job["steps"]]
    nums = [job["optimizer.lr"], job["optimizer.momentum"], job["optimizer.weight_decay"], job["schedule.gamma"]]
    for p, w, g in zip(trained, wanted, differentiate(program, loss, wanted)):
        slots = [program.find(p["name"] + ".momentum")] if is_momentum(job) else []
        program.append("sgd", p["name"], [w, g, *slots], ints, nums)
    program.append("commit", "state", [program.find(p["name"] + ".next") for p in state])
    return program


def programs(job):
    """(init, step) of a job with its binding."""
    arch = job["model.arch"]
    if arch not in MODELS or job["optimizer.name"] != "sgd":
        raise Refused(f"job: model '{arch}' or optimizer '{job['optimizer.name']}' is not known")
    for path, readers in READS.items():
        if arch not in readers and job[path] != DEFAULTS[path]:
            raise Refused(f"job: {path}: {arch} does not read it")
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
