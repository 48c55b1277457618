"""The two ends of a program: what makes values of nothing, and commit (spec/ops.md)."""
from .draws import AUGMENT, INIT, Stream, order
from .leaves import I32, ROOT
from .ops import Rule, arity, expect, grid_value, register, state_value, unflat


def dimensions(op, first):
    shape = tuple(op.ints[first:])
    expect(1 <= len(shape) <= 4, op, "1 to 4 dimensions")
    return shape


class Init(Rule):
    def infer(self, program, op, given):
        expect(not given and len(op.nums) == 1 and len(op.ints) >= 2, op, "no input, one number")
        shape = dimensions(op, 2)
        expect(0 <= op.ints[0] < 1 << 32, op, "a seed of 32 bits")
        return [state_value(program, shape)]

    def stream(self, v):
        return Stream(v.ints[0], INIT, v.ints[1] & (1 << 64) - 1)


@register
class InitUniform(Init):
    kind = "init_uniform"

    def element(self, v, output, i):
        return v.round((2.0 * self.stream(v).uniform(i) - 1.0) * v.nums[0])


@register
class InitNormal(Init):
    kind = "init_normal"

    def element(self, v, output, i):
        return v.round(self.stream(v).normal(i) * v.nums[0])


@register
class InitConst(Init):
    kind = "init_const"

    def element(self, v, output, i):
        return v.round(v.nums[0])


@register
class Import(Rule):
    kind = "import"

    def infer(self, program, op, given):
        expect(not given and not op.nums and len(op.ints) >= 5, op, "neither input nor number")
        shape = dimensions(op, 5)
        expect(0 <= op.ints[4] < 1 << 31, op, "the number of a tensor")
        return [state_value(program, shape)]

    def element(self, v, output, i):
        return v.imports(v.ints[4], i)


@register
class Load(Rule):
    kind = "load"
    suffixes = ("", ".labels")

    def infer(self, program, op, given):
        expect(len(op.ints) in (7, 9) and 1 <= op.ints[4] <= 6, op, "7 or 9 ints, 1 to 6 channels")
        samples, batch, seed, _, channels, height, width, *augment = op.ints
        arity(op, 0, 0, len(op.ints), 2 * channels)
        expect(1 <= batch <= samples and 0 <= seed < 1 << 32, op, "a batch no larger than the data set, a seed of 32 bits")
        expect(not augment or 0 <= augment[0] <= 256 and augment[1] in (0, 1) and any(augment), op,
               "a crop up to 256, or a flip")
        expect(all(std > 0 for std in op.nums[channels:]), op, "positive std")
        return [grid_value(program, (batch, channels, height, width)), (I32, 32, (batch,))]

    def sample(self, v, row):
        samples, batch, seed, shuffle = v.ints[:4]
        epoch, place = divmod(v.step - 1, samples // batch)
        position = place * batch + row
        return order(seed, epoch, position, samples) if shuffle else position

    def element(self, v, output, index):
        if output == 1:
            return v.samples.label(self.sample(v, index))
        channels, height, width = v.ints[4:7]
        row, c, y, x = unflat(v.out().shape, index)
        sample = v.samples.bytes(self.sample(v, row))
        byte = self.byte(v, sample, row, c, y, x) if len(v.ints) == 9 else sample[(c * height + y) * width + x]
        return v.round((float(byte) - v.nums[c]) / v.nums[channels + c])

    def byte(self, v, sample, row, c, y, x):
        """The byte of the cropped, flipped sample."""
        (height, width, crop, flip), stream = v.ints[5:], Stream(v.ints[2], AUGMENT, v.step)
        if flip and stream.u32(3 * row + 2) < 1 << 31:
            x = width - 1 - x
        if crop:
            y += stream.below(3 * row, 2 * crop + 1) - crop
            x += stream.below(3 * row + 1, 2 * crop + 1) - crop
            if not (0 <= y < height and 0 <= x < width):
                return 0
        return sample[(c * height + y) * width + x]


@register
class Commit(Rule):
    kind = "commit"

    def infer(self, program, op, given):
        expect(given and not op.ints and not op.nums, op, "the whole state")
        if program.states:
            expect(len(given) == program.states, op, "one input per tensor of the state")
        for i in range(program.states):
            expect(given[i].shape == program.values[i].shape, op, "inputs of the state's shapes")
            expect(op.inputs[i] >= program.states or op.inputs[i] == i, op,
                   "a tensor of the old state at its own place only")
        return [(ROOT, 32, (8,))]
