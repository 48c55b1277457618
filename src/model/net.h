/* Internal to src/model: what a model's file writes with. */
#ifndef LS_MODEL_NET_H
#define LS_MODEL_NET_H

#include <lockstep/model.h>

/* How a parameter starts. */
typedef enum ls_init_kind { LS_INIT_UNIFORM, LS_INIT_CONST, LS_INIT_NORMAL } ls_init_kind;
typedef struct ls_init {
	ls_init_kind kind;
	double value; /* bound, the constant, or the standard deviation */
} ls_init;

typedef struct ls_parameter {
	char name[LS_NAME_MAX];
	ls_shape shape;
	ls_init init;
	bool slot; /* a tensor that the optimizer keeps beside a parameter */
	int number; /* in the order of the layers: its stream of random numbers, whatever the optimizer keeps beside it */
	bool buffer; /* state that the forward pass itself replaces: no gradient, no optimizer */
} ls_parameter;

/* A network being listed. The layers are walked twice: once to learn the parameters (a state is declared before the first
 * op, in order of name), once to emit. */
typedef struct ls_net {
	const ls_model_options *options;
	ls_program *program;
	bool discovering;
	bool training; /* batch norm takes its statistics from the batch, and averages them */
	ls_parameter *parameter;
	int count, room;
} ls_net;

/* All take and return value numbers, −1 after a failure (which is sticky on the program). Names are those of torchvision:
 * `name`.weight, `name`.bias. */
int ls_net_linear(ls_net *net, int x, const char *name, int64_t out); /* (N, …) → (N, out); flattens */
int ls_net_conv(ls_net *net, int x, const char *name, int64_t out, int64_t kernel, int64_t stride, int64_t pad);

/* Convolution and linear layer as torchvision's own models start them: weights normal with standard deviation
 * √(2/(out·kernel²)) (He et al. by fan-out) or `std`, biases zero. */
typedef struct ls_conv {
	int64_t out, kernel, stride, pad;
	bool bias;
} ls_conv;
int ls_net_conv_normal(ls_net *net, int x, const char *name, const ls_conv *conv);
int ls_net_linear_normal(ls_net *net, int x, const char *name, int64_t out, double std);
/* ε 1e-5, momentum 0.1; `name`.weight 1, .bias 0, and the buffers .running_mean 0, .running_var 1. */
int ls_net_batch_norm(ls_net *net, int x, const char *name);

int ls_net_relu(ls_net *net, int x, const char *name);
/* The job's activation, named after its kind and `number`: "relu1", "tanh1". */
int ls_net_activation(ls_net *net, int x, int number);
int ls_net_maxpool(ls_net *net, int x, const char *name, int64_t kernel, int64_t stride, int64_t pad);
int ls_net_avgpool(ls_net *net, int x, const char *name, int64_t kernel, int64_t stride, int64_t pad);
int ls_net_adaptive_avgpool(ls_net *net, int x, const char *name, int64_t out_height, int64_t out_width);
int ls_net_add(ls_net *net, int a, int b, const char *name);

/* `channels` under model.width: the integer nearest the FP64 product, ties to even, at least 1. */
int64_t ls_net_channels(const ls_net *net, int64_t channels);

/* Options of a job's `model` that not every model has. One that a model does not read must keep its default: otherwise two
 * jobs of one meaning would have two ids. */
enum { LS_READS_HIDDEN = 1, LS_READS_POOL = 2, LS_READS_WIDTH = 4, LS_READS_HEAD = 8, LS_READS_ACTIVATION = 16 };

typedef struct ls_model_def {
	const char *name;
	const char *text; /* one line for people */
	unsigned reads; /* LS_READS_… */
	/* From the batch x (N, C, H, W) to the logits (N, classes). */
	int (*build)(ls_net *net, int x);
} ls_model_def;

extern const ls_model_def ls_model__logreg, ls_model__mlp, ls_model__lenet5, ls_model__vgg11, ls_model__vgg16, ls_model__resnet18,
	ls_model__resnet50;
const ls_model_def *ls_model__find(const char *arch, ls_error *err);

#endif
