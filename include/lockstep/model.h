/* Lockstep: models. A model is one file src/model/NAME.c, which lists layers from the batch to the logits, and one row in
 * src/model/table.c. From it follow three programs: `init` (step 0, makes the state), `step` (load, forward, backward,
 * update, commit) and `eval` (load in order, forward).
 */
#ifndef LOCKSTEP_MODEL_H
#define LOCKSTEP_MODEL_H

#include <lockstep/optim.h>

#define LS_MODEL_HIDDEN_MAX 16
#define LS_MODEL_CHANNELS_MAX 3

/* What follows the convolutions of vgg: one dense layer, or torchvision's pooling to 7×7 and three. */
typedef enum ls_model_head { LS_MODEL_HEAD_CIFAR = 0, LS_MODEL_HEAD_TORCHVISION = 1 } ls_model_head;

/* What stands between the layers of mlp and lenet5. */
typedef enum ls_model_activation {
	LS_MODEL_RELU = 0,
	LS_MODEL_TANH = 1,
	LS_MODEL_SIGMOID = 2,
	LS_MODEL_GELU = 3
} ls_model_activation;

typedef struct ls_model_options {
	int version;
	const char *arch;
	int64_t classes;
	int64_t hidden[LS_MODEL_HIDDEN_MAX]; /* mlp */
	int hidden_count;
	bool average_pool; /* lenet5: average instead of max pooling */
	ls_model_activation activation; /* mlp, lenet5 */
	double width_scale; /* vgg, resnet: factor of all channels, > 0 */
	ls_model_head head; /* vgg */
	int64_t channels, height, width; /* one sample */
	double mean[LS_MODEL_CHANNELS_MAX], std[LS_MODEL_CHANNELS_MAX]; /* of bytes, per channel */
	int64_t crop; /* training samples are moved by up to so many pixels, over zeros; 0: not */
	bool flip;    /* and every other one is mirrored */
	const uint8_t *import; /* 32 bytes: state root of the weights to start from; NULL: they are drawn */
	int64_t samples, batch;
	uint32_t seed;
	int bits, state_bits;
	ls_optim_options optim;
	int64_t eval_samples, eval_batch; /* 0: no eval program is built */
} ls_model_options;
#define LS_MODEL_OPTIONS_VERSION 1
#define LS_MODEL_OPTIONS_INIT {.version = LS_MODEL_OPTIONS_VERSION, .width_scale = 1, .optim = LS_OPTIM_OPTIONS_INIT}

typedef struct ls_model ls_model;

/* LS_ERR_NOT_FOUND names the models there are; LS_ERR_INPUT where an option or a shape does not fit. */
ls_status ls_model_open(ls_model **out, const ls_model_options *options, ls_error *err);
void ls_model_free(ls_model *model);
/* LS_OK, or LS_ERR_NOT_FOUND with the models there are. */
ls_status ls_model_check(const char *arch, ls_error *err);
/* The models there are, from number 0 on: what model.arch may be, and a line about it. NULL behind the last. */
const char *ls_model_name(size_t index);
const char *ls_model_text(size_t index);

/* Borrowed. The outputs of init's ops carry the names of step's state; eval's state is the parameters and buffers
 * (running statistics) without the optimizer's tensors. */
const ls_program *ls_model_init(const ls_model *model);
const ls_program *ls_model_step(const ls_model *model);
const ls_program *ls_model_eval(const ls_model *model); /* NULL where not asked for */

/* Elements of all parameters: what is trained, buffers not among them. */
int64_t ls_model_parameters(const ls_model *model);
/* Is tensor `state` of step's state a weight (a parameter or running statistic), not a tensor of the optimizer? */
bool ls_model_is_weight(const ls_model *model, int state);

/* Names of the values that others read. */
#define LS_MODEL_LOSS "loss"
#define LS_MODEL_LOGITS "logits"
#define LS_MODEL_LABELS "x.labels"

#endif
