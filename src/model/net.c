#include "model/net.h"

#include <stdio.h>

static ls_parameter *new_parameter(ls_net *net)
{
	if (net->count == net->room) {
		int room = net->room ? 2 * net->room : 32;
		ls_parameter *bigger = ls_alloc((size_t)room, sizeof *bigger);
		if (!bigger) {
			ls_program_fail(net->program, LS_ERR_NOMEM, "no memory for %d parameters", room);
			return NULL;
		}
		if (net->count)
			memcpy(bigger, net->parameter, (size_t)net->count * sizeof *bigger);
		ls_free(net->parameter);
		net->parameter = bigger;
		net->room = room;
	}
	net->parameter[net->count].number = net->count;
	return &net->parameter[net->count++];
}

/* While discovering, a constant stands in for the parameter so that shapes can be followed. */
static int state(ls_net *net, const char *layer, const char *suffix, ls_shape shape, ls_init init, bool buffer)
{
	ls_parameter *p;
	char name[LS_NAME_MAX];
	ls_op_spec stand_in = {.kind = "init_const", .name = name, .int_count = 2 + shape.rank, .num_count = 1};
	if (ls_program_failed(net->program))
		return -1;
	if (snprintf(name, sizeof name, "%s.%s", layer, suffix) >= (int)sizeof name)
		return ls_program_fail(net->program, LS_ERR_INPUT, "the name '%s.%s' is too long", layer, suffix);
	if (!net->discovering)
		return ls_program_find(net->program, name);
	p = new_parameter(net);
	if (!p)
		return -1;
	memcpy(p->name, name, sizeof name);
	p->shape = shape;
	p->init = init;
	p->buffer = buffer;
	for (int i = 0; i < shape.rank; i++)
		stand_in.ints[2 + i] = shape.dim[i];
	return ls_op_append(net->program, &stand_in);
}

static int parameter(ls_net *net, const char *layer, const char *suffix, ls_shape shape, ls_init init)
{
	return state(net, layer, suffix, shape, init, false);
}

/* PyTorch's default for linear and convolution: uniform within ±1/√fan_in. */
static ls_init by_fan_in(int64_t fan_in)
{
	return (ls_init){LS_INIT_UNIFORM, 1.0 / ls_sqrt((double)fan_in)};
}

static const ls_shape *shape_of(const ls_net *net, int value)
{
	return &ls_program_value(net->program, value)->shape;
}

static const ls_init zero = {LS_INIT_CONST, 0};

static int flatten(ls_net *net, int x, const char *layer)
{
	char name[LS_NAME_MAX];
	int64_t rows = shape_of(net, x)->dim[0];
	ls_op_spec spec = {.kind = "reshape", .name = name, .inputs = {x}, .input_count = 1,
	                   .ints = {rows, ls_shape_count(shape_of(net, x)) / rows}, .int_count = 2};
	snprintf(name, sizeof name, "%.80s.flat", layer);
	return ls_op_append(net->program, &spec);
}

static int linear(ls_net *net, int x, const char *name, int64_t out, const ls_init *init)
{
	int64_t in;
	int weight, bias;
	if (x < 0)
		return -1;
	if (shape_of(net, x)->rank != 2)
		x = flatten(net, x, name);
	if (x < 0)
		return -1;
	in = shape_of(net, x)->dim[1];
	weight = parameter(net, name, "weight", (ls_shape){2, {out, in}}, init ? *init : by_fan_in(in));
	bias = parameter(net, name, "bias", (ls_shape){1, {out}}, init ? zero : by_fan_in(in));
	return ls_op_append(net->program, &(ls_op_spec){.kind = "matmul", .name = name, .inputs = {x, weight, bias}, .input_count = 3,
	                                                .ints = {0, 1}, .int_count = 2});
}

int ls_net_linear(ls_net *net, int x, const char *name, int64_t out)
{
	return linear(net, x, name, out, NULL);
}

int ls_net_linear_normal(ls_net *net, int x, const char *name, int64_t out, double std)
{
	return linear(net, x, name, out, &(ls_init){LS_INIT_NORMAL, std});
}

static int convolution(ls_net *net, int x, const char *name, const ls_conv *conv, bool normal)
{
	int64_t in, area = conv->kernel * conv->kernel;
	ls_init weight_init;
	ls_op_spec spec = {.kind = "conv2d", .name = name, .input_count = conv->bias ? 3 : 2, .ints = {conv->stride, conv->pad},
	                   .int_count = 2};
	if (x < 0)
		return -1;
	if (shape_of(net, x)->rank != 4)
		return ls_program_fail(net->program, LS_ERR_INPUT, "layer '%s' expects images (N,C,H,W)", name);
	in = shape_of(net, x)->dim[1];
	weight_init = normal ? (ls_init){LS_INIT_NORMAL, ls_sqrt(2.0 / (double)(conv->out * area))} : by_fan_in(in * area);
	spec.inputs[0] = x;
	spec.inputs[1] = parameter(net, name, "weight", (ls_shape){4, {conv->out, in, conv->kernel, conv->kernel}}, weight_init);
	if (conv->bias)
		spec.inputs[2] = parameter(net, name, "bias", (ls_shape){1, {conv->out}}, normal ? zero : weight_init);
	return ls_op_append(net->program, &spec);
}

int ls_net_conv(ls_net *net, int x, const char *name, int64_t out, int64_t kernel, int64_t stride, int64_t pad)
{
	return convolution(net, x, name, &(ls_conv){out, kernel, stride, pad, true}, false);
}

int ls_net_conv_normal(ls_net *net, int x, const char *name, const ls_conv *conv)
{
	return convolution(net, x, name, conv, true);
}

/* Statistics of the batch, averaged into the running ones, whose next values these ops make. */
static void batch_statistics(ls_net *net, int x, const char *name, int statistic[2], const int running[2])
{
	const ls_shape *s = shape_of(net, x);
	double n = (double)(s->dim[0] * s->dim[2] * s->dim[3]);
	char next[LS_NAME_MAX];
	if (n < 2) {
		ls_program_fail(net->program, LS_ERR_INPUT, "layer '%s': found one value per channel, expected more\n"
		                "  hint: batch norm divides by the spread of a batch; a larger train.batch has one", name);
		return;
	}
	statistic[0] = ls_op_append(net->program, &(ls_op_spec){.kind = "channel_stats", .name = name, .inputs = {x}, .input_count = 1});
	statistic[1] = statistic[0] + 1;
	for (int i = 0; i < 2; i++) {
		snprintf(next, sizeof next, "%.80s.running_%s", name, i ? "var" : "mean");
		ls_op_append(net->program, &(ls_op_spec){.kind = "running_average", .name = next, .inputs = {running[i], statistic[i]},
		                                         .input_count = 2, .nums = {0.1, i ? n / (n - 1.0) : 1.0}, .num_count = 2});
	}
}

int ls_net_batch_norm(ls_net *net, int x, const char *name)
{
	const ls_init one = {LS_INIT_CONST, 1};
	int weight, bias, running[2], *statistic = running, of_batch[2] = {-1, -1}, r;
	char root[LS_NAME_MAX];
	ls_shape shape = {1, {0}};
	if (x < 0)
		return -1;
	shape.dim[0] = shape_of(net, x)->dim[1];
	weight = parameter(net, name, "weight", shape, one);
	bias = parameter(net, name, "bias", shape, zero);
	running[0] = state(net, name, "running_mean", shape, zero, true);
	running[1] = state(net, name, "running_var", shape, one, true);
	if (net->training) {
		batch_statistics(net, x, name, of_batch, running);
		statistic = of_batch;
	}
	snprintf(root, sizeof root, "%.80s.rsqrt", name);
	r = ls_op_append(net->program, &(ls_op_spec){.kind = "rsqrt_eps", .name = root, .inputs = {statistic[1]}, .input_count = 1,
	                                             .nums = {1e-5}, .num_count = 1});
	return ls_op_append(net->program, &(ls_op_spec){.kind = "batch_norm", .name = name,
	                                                .inputs = {x, statistic[0], r, weight, bias}, .input_count = 5});
}

static int simple(ls_net *net, const char *kind, int x, const char *name, const int64_t *ints, int count)
{
	ls_op_spec spec = {.kind = kind, .name = name, .inputs = {x}, .input_count = 1, .int_count = count};
	for (int i = 0; i < count; i++)
		spec.ints[i] = ints[i];
	return ls_op_append(net->program, &spec);
}

int ls_net_relu(ls_net *net, int x, const char *name)
{
	return simple(net, "relu", x, name, NULL, 0);
}

int ls_net_activation(ls_net *net, int x, int number)
{
	static const char *const kind[] = {
		[LS_MODEL_RELU] = "relu", [LS_MODEL_TANH] = "tanh", [LS_MODEL_SIGMOID] = "sigmoid", [LS_MODEL_GELU] = "gelu"};
	char name[16];
	snprintf(name, sizeof name, "%s%d", kind[net->options->activation], number);
	return simple(net, kind[net->options->activation], x, name, NULL, 0);
}

int ls_net_maxpool(ls_net *net, int x, const char *name, int64_t kernel, int64_t stride, int64_t pad)
{
	return simple(net, "maxpool", x, name, (int64_t[]){kernel, stride, pad}, 3);
}

int ls_net_avgpool(ls_net *net, int x, const char *name, int64_t kernel, int64_t stride, int64_t pad)
{
	return simple(net, "avgpool", x, name, (int64_t[]){kernel, stride, pad}, 3);
}

int ls_net_adaptive_avgpool(ls_net *net, int x, const char *name, int64_t out_height, int64_t out_width)
{
	return simple(net, "adaptive_avgpool", x, name, (int64_t[]){out_height, out_width}, 2);
}

int ls_net_add(ls_net *net, int a, int b, const char *name)
{
	return ls_op_append(net->program, &(ls_op_spec){.kind = "add", .name = name, .inputs = {a, b}, .input_count = 2});
}

int64_t ls_net_channels(const ls_net *net, int64_t channels)
{
	double shift = 0x1.8p52, product = net->options->width_scale * (double)channels;
	int64_t scaled = (int64_t)((product + shift) - shift); // |product| < 2^51: the sum rounds to an integer, ties to even
	return scaled < 1 ? 1 : scaled;
}
