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
static int parameter(ls_net *net, const char *layer, const char *suffix, ls_shape shape, ls_init init)
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
	for (int i = 0; i < shape.rank; i++)
		stand_in.ints[2 + i] = shape.dim[i];
	return ls_op_append(net->program, &stand_in);
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

static int flatten(ls_net *net, int x, const char *layer)
{
	char name[LS_NAME_MAX];
	int64_t rows = shape_of(net, x)->dim[0];
	ls_op_spec spec = {.kind = "reshape", .name = name, .inputs = {x}, .input_count = 1,
	                   .ints = {rows, ls_shape_count(shape_of(net, x)) / rows}, .int_count = 2};
	snprintf(name, sizeof name, "%.80s.flat", layer);
	return ls_op_append(net->program, &spec);
}

int ls_net_linear(ls_net *net, int x, const char *name, int64_t out)
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
	weight = parameter(net, name, "weight", (ls_shape){2, {out, in}}, by_fan_in(in));
	bias = parameter(net, name, "bias", (ls_shape){1, {out}}, by_fan_in(in));
	return ls_op_append(net->program, &(ls_op_spec){.kind = "matmul", .name = name, .inputs = {x, weight, bias}, .input_count = 3,
	                                                .ints = {0, 1}, .int_count = 2});
}

int ls_net_conv(ls_net *net, int x, const char *name, int64_t out, int64_t kernel, int64_t stride, int64_t pad)
{
	int64_t in;
	int weight, bias;
	if (x < 0)
		return -1;
	if (shape_of(net, x)->rank != 4)
		return ls_program_fail(net->program, LS_ERR_INPUT, "layer '%s' expects images (N,C,H,W)", name);
	in = shape_of(net, x)->dim[1];
	weight = parameter(net, name, "weight", (ls_shape){4, {out, in, kernel, kernel}}, by_fan_in(in * kernel * kernel));
	bias = parameter(net, name, "bias", (ls_shape){1, {out}}, by_fan_in(in * kernel * kernel));
	return ls_op_append(net->program, &(ls_op_spec){.kind = "conv2d", .name = name, .inputs = {x, weight, bias}, .input_count = 3,
	                                                .ints = {stride, pad}, .int_count = 2});
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

int ls_net_maxpool(ls_net *net, int x, const char *name, int64_t kernel, int64_t stride, int64_t pad)
{
	return simple(net, "maxpool", x, name, (int64_t[]){kernel, stride, pad}, 3);
}

int ls_net_avgpool(ls_net *net, int x, const char *name, int64_t kernel, int64_t stride, int64_t pad)
{
	return simple(net, "avgpool", x, name, (int64_t[]){kernel, stride, pad}, 3);
}
