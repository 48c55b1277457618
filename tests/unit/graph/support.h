/* One step of a small network, written out by hand: what graph tests run, and helpers around the executor. */
#ifndef LS_TEST_GRAPH_SUPPORT_H
#define LS_TEST_GRAPH_SUPPORT_H

#include "op/support.h"

#include <lockstep/graph.h>

enum { NET_SAMPLES = 19, NET_BATCH = 6, NET_SIDE = 8, NET_CLASSES = 4 };

static inline const uint8_t *net_sample(void *context, int64_t index)
{
	return (const uint8_t *)context + index * NET_SIDE * NET_SIDE;
}

static inline int32_t net_label(void *context, int64_t index)
{
	return (int32_t)(((const uint8_t *)context)[index * NET_SIDE * NET_SIDE] % NET_CLASSES);
}

/* Samples over `bytes`, which it fills: NET_SAMPLES images. */
static inline ls_samples net_samples(uint8_t bytes[NET_SAMPLES * NET_SIDE * NET_SIDE])
{
	ls_stream stream = {4, LS_PURPOSE_TEST, 0};
	for (uint64_t i = 0; i < NET_SAMPLES * NET_SIDE * NET_SIDE; i++)
		bytes[i] = (uint8_t)ls_random_u32(&stream, i);
	return (ls_samples){.context = bytes, .sample = net_sample, .label = net_label};
}

static inline int append(ls_program *p, const char *kind, const char *name, const int *inputs, int input_count, const int64_t *ints,
                         int int_count)
{
	ls_op_spec spec = {.kind = kind, .name = name, .input_count = input_count, .int_count = int_count};
	for (int i = 0; i < input_count; i++)
		spec.inputs[i] = inputs[i];
	for (int i = 0; i < int_count; i++)
		spec.ints[i] = ints[i];
	return ls_op_append(p, &spec);
}

static inline int append_load(ls_program *p, int64_t batch, int64_t side)
{
	return ls_op_append(p, &(ls_op_spec){.kind = "load", .name = "x", .ints = {NET_SAMPLES, batch, 3, 1, 1, side, side},
	                                     .int_count = 7, .nums = {128, 64}, .num_count = 2});
}

/* softmax and cross-entropy; returns the loss. */
static inline int append_loss(ls_program *p, int logits, int labels)
{
	int s = append(p, "softmax", "p", &logits, 1, NULL, 0);
	return append(p, "cross_entropy", "loss", (int[]){logits, s, s + 1, s + 2, labels}, 5, NULL, 0);
}

static inline int append_commit_of(ls_program *p, const int *values, int count)
{
	return ls_op_append(p, &(ls_op_spec){.kind = "commit", .name = "state", .more_inputs = values, .input_count = count});
}

static const char *const net_names[] = {"conv.b", "conv.w", "fc1.b", "fc1.w", "fc2.b", "fc2.w"};
static const ls_shape net_shapes[] = {{1, {3}}, {4, {3, 1, 3, 3}}, {1, {10}}, {2, {10, 48}}, {1, {NET_CLASSES}}, {2, {NET_CLASSES, 10}}};
enum { NET_PARAMETERS = 6 };

/* load, conv, relu, maxpool, two dense layers, loss, backward, SGD with momentum, commit. */
static inline ls_program *net_program(int bits)
{
	ls_error err = LS_ERROR_INIT;
	ls_program *p;
	int w[NET_PARAMETERS], m[NET_PARAMETERS], g[NET_PARAMETERS], next[2 * NET_PARAMETERS], x, y, loss;
	char name[32];
	assert_ok(ls_program_open(&p, bits, 32, &err));
	for (int i = 0; i < NET_PARAMETERS; i++) {
		snprintf(name, sizeof name, "%s.momentum", net_names[i]);
		w[i] = ls_program_add_state(p, net_names[i], &net_shapes[i]);
		m[i] = ls_program_add_state(p, name, &net_shapes[i]);
	}
	x = append_load(p, NET_BATCH, NET_SIDE);
	y = append(p, "conv2d", "conv", (int[]){x, w[1], w[0]}, 3, INTS(1, 1));
	y = append(p, "relu", "relu", &y, 1, NULL, 0);
	y = append(p, "maxpool", "pool", &y, 1, INTS(2, 2, 0));
	y = append(p, "reshape", "flat", &y, 1, INTS(NET_BATCH, 48));
	y = append(p, "matmul", "fc1", (int[]){y, w[3], w[2]}, 3, INTS(0, 1));
	y = append(p, "relu", "relu2", &y, 1, NULL, 0);
	y = append(p, "matmul", "fc2", (int[]){y, w[5], w[4]}, 3, INTS(0, 1));
	loss = append_loss(p, y, x + 1);
	ls_autodiff(p, loss, w, NET_PARAMETERS, g);
	for (int i = 0; i < NET_PARAMETERS; i++) {
		next[2 * i] = ls_op_append(p, &(ls_op_spec){.kind = "sgd", .name = net_names[i], .inputs = {w[i], g[i], m[i]},
		                                            .input_count = 3, .ints = {0, 0, 1, 0, 100}, .int_count = 5,
		                                            .nums = {0.1, 0.9, 0.001, 0}, .num_count = 4});
		next[2 * i + 1] = next[2 * i] + 1;
	}
	append_commit_of(p, next, 2 * NET_PARAMETERS);
	assert_ok(ls_program_finish(p, &err));
	return p;
}

/* Random weights, momenta zero. */
static inline void net_start(ls_exec *e, uint32_t seed)
{
	for (int i = 0; i < NET_PARAMETERS; i++) {
		float *w = ls_exec_state(e, 2 * i);
		int64_t count = ls_shape_count(&net_shapes[i]);
		for (int64_t k = 0; k < count; k++)
			w[k] = ls_f32((2 * ls_random_uniform(&(ls_stream){seed, LS_PURPOSE_TEST, (uint64_t)i}, (uint64_t)k) - 1) * 0.4);
		memset(ls_exec_state(e, 2 * i + 1), 0, (size_t)count * 4);
	}
}

static inline ls_platform *platform_named(const char *name)
{
	ls_platform_options o = LS_PLATFORM_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	ls_platform *p;
	ls_status status;
	o.threads = 2;
	status = ls_platform_open(&p, name, &o, &err);
	if (status == LS_ERR_UNSUPPORTED) {
		print_message("%s\n", err.text);
		return NULL;
	}
	assert_ok(status);
	return p;
}

typedef struct bench {
	ls_platform *platform;
	ls_hasher *hasher;
	ls_exec *exec;
	ls_step_log log;
} bench;

/* `o` comes with program, samples, rounding and whatever else is not the default. */
static inline void bench_open(bench *b, ls_platform *platform, ls_exec_options o)
{
	ls_error err = LS_ERROR_INIT;
	*b = (bench){.platform = platform};
	assert_ok(ls_hasher_open(&b->hasher, 2, &err));
	assert_ok(ls_step_log_open(&b->log, ls_program_ops(o.program), &err));
	o.version = LS_EXEC_OPTIONS_VERSION;
	o.platform = platform;
	o.hasher = b->hasher;
	assert_ok(ls_exec_open(&b->exec, &o, &err));
}

static inline void bench_close(bench *b)
{
	ls_exec_free(b->exec);
	ls_step_log_free(&b->log);
	ls_hasher_free(b->hasher);
}

static inline ls_step_result bench_step(bench *b, uint64_t step)
{
	ls_error err = LS_ERROR_INIT;
	ls_step_result r;
	assert_ok(ls_exec_step(b->exec, step, &b->log, true, &r, &err));
	return r;
}

static inline ls_op_stats bench_totals(const bench *b)
{
	ls_op_stats all = {0};
	for (int i = 0; i < ls_program_ops(ls_exec_program(b->exec)); i++) {
		const ls_op_stats *s = ls_exec_stats(b->exec, i);
		all.elements += s->elements;
		all.ambiguous += s->ambiguous;
		all.entries += s->entries;
		all.corrections += s->corrections;
		all.exact += s->exact;
	}
	return all;
}

#endif
