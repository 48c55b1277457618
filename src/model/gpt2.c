/* GPT-2 (Radford et al. 2019): blocks of attention and a two-layer perceptron, each behind a layer normalisation and beside a
 * path that leaves it out. Names and shapes are Hugging Face's: its dense layers keep their weights as (in, out). The output
 * layer is the table of tokens again. Letters: B sequences, T tokens each, C numbers for a token, H heads, V tokens in all. */
#include "model/net.h"

#include <stdio.h>

typedef struct size {
	int64_t layers, heads, embedding, context, vocab;
} size;

static const size presets[] = {
	[LS_MODEL_PRESET_NONE] = {0},
	[LS_MODEL_124M] = {12, 12, 768, 1024, 50257},
	[LS_MODEL_355M] = {24, 16, 1024, 1024, 50257},
	[LS_MODEL_774M] = {36, 20, 1280, 1024, 50257},
};

static const ls_init zero = {LS_INIT_CONST, 0}, one = {LS_INIT_CONST, 1}, normal = {LS_INIT_NORMAL, 0.02};

static int64_t chosen(ls_net *net, const char *key, int64_t given, int64_t of_preset)
{
	int64_t value = given ? given : of_preset;
	if (!value)
		ls_program_fail(net->program, LS_ERR_INPUT, "model.%s: found nothing, expected a number\n"
		                "  hint: or a model.preset, which has all of them", key);
	return value;
}

static bool sizes(ls_net *net, size *s)
{
	const ls_model_options *o = net->options;
	const size *p = &presets[o->preset];
	*s = (size){chosen(net, "layers", o->layers, p->layers), chosen(net, "heads", o->heads, p->heads),
	            chosen(net, "embedding", o->embedding, p->embedding), chosen(net, "context", o->context, p->context),
	            chosen(net, "vocab", o->vocab, p->vocab)};
	if (ls_program_failed(net->program))
		return false;
	if (s->embedding % s->heads)
		ls_program_fail(net->program, LS_ERR_INPUT, "model.heads: found %lld, expected a divisor of model.embedding = %lld",
		                (long long)s->heads, (long long)s->embedding);
	if (o->width > s->context)
		ls_program_fail(net->program, LS_ERR_INPUT, "data.length: found %lld, expected at most model.context = %lld\n"
		                "  hint: the model has no positions beyond that", (long long)o->width, (long long)s->context);
	return !ls_program_failed(net->program);
}

/* The name of a part of block `layer`, or of a layer outside the blocks where that is −1. */
static const char *place(char out[LS_NAME_MAX], int64_t layer, const char *part)
{
	if (layer < 0)
		snprintf(out, LS_NAME_MAX, "transformer.%s", part);
	else
		snprintf(out, LS_NAME_MAX, "transformer.h.%lld.%s", (long long)layer, part);
	return out;
}

static int64_t columns_of(const ls_net *net, int x)
{
	return ls_program_value(net->program, x)->shape.dim[1];
}

static int table(ls_net *net, const char *part, int64_t rows, int64_t columns)
{
	char name[LS_NAME_MAX];
	return ls_net_parameter(net, place(name, -1, part), "weight", (ls_shape){2, {rows, columns}}, normal);
}

static int dense(ls_net *net, int x, const char *name, int64_t out, ls_init init)
{
	int64_t in = x < 0 ? 1 : columns_of(net, x);
	int weight = ls_net_parameter(net, name, "weight", (ls_shape){2, {in, out}}, init);
	int bias = ls_net_parameter(net, name, "bias", (ls_shape){1, {out}}, zero);
	return x < 0 ? -1 : ls_net_append(net, &(ls_op_spec){.kind = "matmul", .name = name, .inputs = {x, weight, bias},
	                                                     .input_count = 3, .ints = {0, 0}, .int_count = 2});
}

static int layer_norm(ls_net *net, int x, const char *name)
{
	char root[LS_NAME_MAX];
	ls_shape shape = {1, {x < 0 ? 1 : columns_of(net, x)}};
	int weight = ls_net_parameter(net, name, "weight", shape, one), bias = ls_net_parameter(net, name, "bias", shape, zero);
	int mean = x < 0 ? -1 : ls_net_append(net, &(ls_op_spec){.kind = "row_stats", .name = name, .inputs = {x}, .input_count = 1}), r;
	if (mean < 0)
		return -1;
	snprintf(root, sizeof root, "%.80s.rsqrt", name);
	r = ls_net_append(net, &(ls_op_spec){.kind = "rsqrt_eps", .name = root, .inputs = {mean + 1}, .input_count = 1, .nums = {1e-5},
	                                     .num_count = 1});
	return ls_net_append(net, &(ls_op_spec){.kind = "layer_norm", .name = name, .inputs = {x, weight, bias, mean, r},
	                                        .input_count = 5});
}

static int dropout(ls_net *net, int x, const char *name)
{
	const ls_model_options *o = net->options;
	if (x < 0 || !net->training || o->dropout <= 0)
		return x;
	return ls_net_append(net, &(ls_op_spec){.kind = "dropout", .name = name, .inputs = {x}, .input_count = 1,
	                                        .ints = {o->seed, net->sites++}, .int_count = 2, .nums = {o->dropout}, .num_count = 1});
}

static int add(ls_net *net, int a, int b, const char *name)
{
	return a < 0 || b < 0 ? -1 : ls_net_append(net, &(ls_op_spec){.kind = "add", .name = name, .inputs = {a, b}, .input_count = 2});
}

/* From q, k, v side by side (B·T, 3C) to what the heads mix (B·T, C). */
static int mixed(ls_net *net, int qkv, int64_t layer, const size *s)
{
	char name[LS_NAME_MAX];
	int64_t batch = qkv < 0 ? 1 : ls_program_value(net->program, qkv)->shape.dim[0] / net->options->width;
	int q, x;
	if (qkv < 0)
		return -1;
	q = ls_net_append(net, &(ls_op_spec){.kind = "split_columns", .name = place(name, layer, "attn.q"), .inputs = {qkv},
	                                     .input_count = 1, .ints = {3}, .int_count = 1});
	x = ls_net_append(net, &(ls_op_spec){.kind = "attention_scores", .name = place(name, layer, "attn.products"),
	                                     .inputs = {q, q + 1}, .input_count = 2, .ints = {batch, s->heads}, .int_count = 2});
	x = ls_net_append(net, &(ls_op_spec){.kind = "scale", .name = place(name, layer, "attn.scores"), .inputs = {x}, .input_count = 1,
	                                     .nums = {1.0 / ls_sqrt((double)(s->embedding / s->heads))}, .num_count = 1});
	x = ls_net_append(net, &(ls_op_spec){.kind = "causal_softmax", .name = place(name, layer, "attn.softmax"), .inputs = {x},
	                                     .input_count = 1});
	x = dropout(net, x, place(name, layer, "attn.dropout"));
	return ls_net_append(net, &(ls_op_spec){.kind = "attention_mix", .name = place(name, layer, "attn.mix"), .inputs = {x, q + 2},
	                                        .input_count = 2, .ints = {0}, .int_count = 1});
}

/* The layers that write to the path through all blocks start smaller, so that their sum does not. */
static int block(ls_net *net, int x, int64_t layer, const size *s)
{
	const ls_init of_sum = {LS_INIT_NORMAL, 0.02 / ls_sqrt(2.0 * (double)s->layers)};
	char name[LS_NAME_MAX];
	int y = layer_norm(net, x, place(name, layer, "ln_1"));
	y = dense(net, y, place(name, layer, "attn.c_attn"), 3 * s->embedding, normal);
	y = mixed(net, y, layer, s);
	y = dense(net, y, place(name, layer, "attn.c_proj"), s->embedding, of_sum);
	y = dropout(net, y, place(name, layer, "attn.resid_dropout"));
	x = add(net, x, y, place(name, layer, "attn.add"));
	y = layer_norm(net, x, place(name, layer, "ln_2"));
	y = dense(net, y, place(name, layer, "mlp.c_fc"), 4 * s->embedding, normal);
	y = y < 0 ? -1 : ls_net_append(net, &(ls_op_spec){.kind = "gelu", .name = place(name, layer, "mlp.gelu"), .inputs = {y},
	                                                  .input_count = 1});
	y = dense(net, y, place(name, layer, "mlp.c_proj"), s->embedding, of_sum);
	y = dropout(net, y, place(name, layer, "mlp.dropout"));
	return add(net, x, y, place(name, layer, "mlp.add"));
}

static int build(ls_net *net, int tokens)
{
	char name[LS_NAME_MAX];
	size s;
	int wte, wpe, x;
	if (!sizes(net, &s))
		return -1;
	wte = table(net, "wte", s.vocab, s.embedding);
	wpe = table(net, "wpe", s.context, s.embedding);
	x = ls_net_append(net, &(ls_op_spec){.kind = "embedding", .name = "embedded", .inputs = {wte, tokens}, .input_count = 2});
	x = ls_net_append(net, &(ls_op_spec){.kind = "position_add", .name = "positioned", .inputs = {x, wpe}, .input_count = 2,
	                                     .ints = {net->options->width}, .int_count = 1});
	x = dropout(net, x, "embedded.dropout");
	for (int64_t layer = 0; layer < s.layers; layer++)
		x = block(net, x, layer, &s);
	x = layer_norm(net, x, place(name, -1, "ln_f"));
	return ls_net_append(net, &(ls_op_spec){.kind = "matmul", .name = "lm_head", .inputs = {x, wte}, .input_count = 2,
	                                        .ints = {0, 1}, .int_count = 2});
}

const ls_model_def ls_model__gpt2 = {
	.name = "gpt2",
	.text = "GPT-2: causal attention over text; 124M, 355M, 774M, or any size",
	.reads = LS_READS_TEXT,
	.build = build,
};
