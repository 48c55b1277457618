#include "job/schema.h"

#include <stdio.h>
#include <string.h>

#define AT(member) offsetof(ls_job_spec, member)
#define BIT(choice) (1u << (choice))

static const char *const pools[] = {"max", "avg", NULL};
static const char *const activations[] = {"relu", "tanh", "sigmoid", "gelu", NULL};
static const char *const heads[] = {"cifar", "torchvision", NULL};
static const char *const presets[] = {"none", "124M", "355M", "774M", NULL};
static const char *const augmentations[] = {"crop", "flip", NULL};
static const char *const tokenizers[] = {"bytes", "gpt2", NULL};
static const char *const schedules[] = {"constant", "step", "cosine", "linear", NULL};
static const char *const modes[] = {"logged", "plain", "exact", "pinned", NULL};
static const char *const computes[] = {"fp64", "fp32", NULL};
static const char *const thresholds[] = {"certified", "fixed", "adaptive", NULL};
static const char *const encodings[] = {"sparse", "dense", NULL};

/* τ itself may be neither 0 nor ½; ½ less its last place keeps ½−τ above 2^-54. */
static const ls_job__field threshold_values[] = {
	[LS_JOB_FIXED] = {.path = "arithmetic.threshold.fixed", .type = LS_JOB__REAL, .offset = AT(arithmetic.tau), .min = 0x1p-52,
	                  .max = 0.5 - 0x1p-54, .example = "0 < T < 0.5"},
	[LS_JOB_ADAPTIVE] = {.path = "arithmetic.threshold.adaptive", .type = LS_JOB__PATH, .offset = AT(arithmetic.threshold_file),
	                     .min = 1, .max = LS_JOB_DATA_PATH_MAX, .example = "FILE"},
};
static const ls_job__field threshold_signed_values[] = {
	[LS_JOB_FIXED] = {.path = "arithmetic.threshold.fixed", .type = LS_JOB__REAL, .offset = AT(arithmetic.tau), .min = 0x1p-52,
	                  .max = 0.5 - 0x1p-54},
	[LS_JOB_ADAPTIVE] = {.path = "arithmetic.threshold.adaptive", .type = LS_JOB__WORD, .offset = AT(arithmetic.threshold_digest),
	                     .min = LS_JOB_DIGEST_LEN, .max = LS_JOB_DIGEST_LEN},
};

/* The order is that of the signed bytes: a change of order, type or meaning is a new LS_JOB_VERSION. */
const ls_job__field ls_job__fields[] = {
	{.path = "lockstep", .type = LS_JOB__INT, .offset = AT(version), .min = LS_JOB_VERSION, .max = LS_JOB_VERSION,
	 .flags = LS_JOB__REQUIRED | LS_JOB__UNSIGNED, .example = "1", // the signed bytes begin with the version
	 .help = "version of this format and of the specification"},
	{.path = "name", .type = LS_JOB__NAME, .offset = AT(name), .min = 1, .max = LS_JOB_NAME_MAX,
	 .flags = LS_JOB__REQUIRED, .help = "what people call this job"},
	{.path = "model.arch", .type = LS_JOB__WORD, .offset = AT(model.arch), .min = 1, .max = LS_JOB_WORD_MAX,
	 .flags = LS_JOB__REQUIRED, .help = "the model; lockstep init --list shows them"},
	{.path = "model.classes", .type = LS_JOB__INT, .offset = AT(model.classes), .min = 2, .max = 65536,
	 .flags = LS_JOB__UNSET, .example = "10", .for_arch = "!gpt2", .help = "number of classes (all but gpt2)"},
	{.path = "model.hidden", .type = LS_JOB__INTS, .offset = AT(model.hidden), .min = 1, .max = 65536,
	 .flags = LS_JOB__UNSET, .example = "[256, 128]", .for_arch = "mlp", .help = "widths of the hidden layers (mlp)"},
	{.path = "model.pool", .type = LS_JOB__CHOICE, .offset = AT(model.pool), .choices = pools, .fallback = "max",
	 .example = "max", .for_arch = "lenet5", .help = "kind of pooling (lenet5)"},
	{.path = "model.activation", .type = LS_JOB__CHOICE, .offset = AT(model.activation), .choices = activations,
	 .fallback = "relu", .help = "what stands between the layers (mlp, lenet5)"},
	{.path = "model.width", .type = LS_JOB__REAL, .offset = AT(model.width), .min = 0.001, .max = 16, .fallback = "1",
	 .help = "factor of all channels, rounded to at least one each (vgg, resnet)"},
	{.path = "model.head", .type = LS_JOB__CHOICE, .offset = AT(model.head), .choices = heads, .fallback = "cifar",
	 .help = "one dense layer, or torchvision's three (vgg)"},
	{.path = "model.preset", .type = LS_JOB__CHOICE, .offset = AT(model.preset), .choices = presets, .fallback = "none",
	 .help = "a published size, in place of the next five (gpt2)"},
	{.path = "model.layers", .type = LS_JOB__INT, .offset = AT(model.layers), .min = 1, .max = 256,
	 .flags = LS_JOB__UNSET, .example = "2", .for_arch = "gpt2", .help = "blocks, one behind the other (gpt2)"},
	{.path = "model.heads", .type = LS_JOB__INT, .offset = AT(model.heads), .min = 1, .max = 1024,
	 .flags = LS_JOB__UNSET, .example = "2", .for_arch = "gpt2", .help = "heads of attention, a divisor of model.embedding (gpt2)"},
	{.path = "model.embedding", .type = LS_JOB__INT, .offset = AT(model.embedding), .min = 1, .max = 65536,
	 .flags = LS_JOB__UNSET, .example = "32", .for_arch = "gpt2", .help = "numbers that stand for a token (gpt2)"},
	{.path = "model.context", .type = LS_JOB__INT, .offset = AT(model.context), .min = 1, .max = 0x1p20,
	 .flags = LS_JOB__UNSET, .example = "64", .for_arch = "gpt2", .help = "tokens of the longest sequence (gpt2)"},
	{.path = "model.vocab", .type = LS_JOB__INT, .offset = AT(model.vocab), .min = 2, .max = 65536,
	 .flags = LS_JOB__UNSET, .example = "256", .for_arch = "gpt2", .help = "different tokens (gpt2)"},
	{.path = "model.dropout", .type = LS_JOB__REAL, .offset = AT(model.dropout), .min = 0, .max = 0.9, .fallback = "0",
	 .help = "share of activations that a training step leaves out (gpt2)"},
	{.path = "model.init_from", .type = LS_JOB__PATH, .offset = AT(model.init_from), .min = 1, .max = LS_JOB_DATA_PATH_MAX,
	 .flags = LS_JOB__UNSIGNED | LS_JOB__UNSET, .example = "weights.safetensors", .for_arch = "",
	 .help = "weights to start from; their root is part of the job id, this path is not"},
	{.path = "data.format", .type = LS_JOB__WORD, .offset = AT(data.format), .min = 1, .max = LS_JOB_WORD_MAX,
	 .flags = LS_JOB__REQUIRED, .example = "idx", .text_example = "text", .help = "how the data is stored: cifar10, csv, idx, npy; text, tokens"},
	{.path = "data.path", .type = LS_JOB__PATH, .offset = AT(data.path), .min = 1, .max = LS_JOB_DATA_PATH_MAX,
	 .flags = LS_JOB__UNSIGNED | LS_JOB__UNSET, .example = "fashion-mnist", .text_example = "builtin:verses",
	 .help = "where the data lies, below $LOCKSTEP_DATA where that is set; not part of the job id"},
	{.path = "data.limit", .type = LS_JOB__INT, .offset = AT(data.limit), .min = 0, .max = 0x1p40, .fallback = "0",
	 .help = "use the first so many samples; 0 uses all"},
	{.path = "data.shape", .type = LS_JOB__INTS, .offset = AT(data.shape), .min = 1, .max = 65536, .items = 3,
	 .flags = LS_JOB__UNSET, .example = "[1, 28, 28]", .for_arch = "",
	 .help = "channels, height, width of a sample; needed for csv"},
	{.path = "data.mean", .type = LS_JOB__REALS, .offset = AT(data.mean), .min = 0, .max = 255, .fallback = "0",
	 .example = "72.94", .help = "subtracted from each byte of a sample"},
	{.path = "data.std", .type = LS_JOB__REALS, .offset = AT(data.std), .min = 1, .max = 1000, .fallback = "255",
	 .example = "90.02", .help = "divides it after that; 255 with mean 0 gives 0 to 1"},
	{.path = "data.augment", .type = LS_JOB__FLAGS, .offset = AT(data.augment), .choices = augmentations,
	 .flags = LS_JOB__UNSET, .example = "[crop, flip]", .for_arch = "",
	 .help = "changes to training samples: moved by up to 4 pixels over zeros, mirrored"},
	{.path = "data.length", .type = LS_JOB__INT, .offset = AT(data.length), .min = 1, .max = 0x1p20,
	 .flags = LS_JOB__UNSET, .example = "64", .for_arch = "gpt2", .help = "tokens of one sequence (text, tokens)"},
	{.path = "data.tokenizer", .type = LS_JOB__CHOICE, .offset = AT(data.tokenizer), .choices = tokenizers,
	 .fallback = "bytes", .help = "what makes tokens of a text"},
	{.path = "data.vocab", .type = LS_JOB__PATH, .offset = AT(data.vocab), .min = 1, .max = LS_JOB_DATA_PATH_MAX,
	 .flags = LS_JOB__UNSIGNED | LS_JOB__UNSET, .example = "gpt2", .for_arch = "",
	 .help = "folder with vocab.json and merges.txt (tokenizer gpt2); found as data.path is"},
	{.path = "data.holdout", .type = LS_JOB__REAL, .offset = AT(data.holdout), .min = 0, .max = 0.5, .fallback = "0",
	 .help = "share of the end of the data that is kept for eval (text, tokens)"},
	{.path = "data.eval_path", .type = LS_JOB__PATH, .offset = AT(data.eval_path), .min = 1, .max = LS_JOB_DATA_PATH_MAX,
	 .flags = LS_JOB__UNSIGNED | LS_JOB__UNSET, .example = "held-out.txt", .for_arch = "",
	 .help = "file for eval instead (text, tokens); not part of the job id"},
	{.path = "train.steps", .type = LS_JOB__INT, .offset = AT(train.steps), .min = 1, .max = 0x1p40,
	 .flags = LS_JOB__REQUIRED | LS_JOB__UNSET, .rival = "train.epochs", .example = "1000", .for_arch = "",
	 .help = "length of the run in optimizer steps (this or epochs)"},
	{.path = "train.epochs", .type = LS_JOB__INT, .offset = AT(train.epochs), .min = 1, .max = 0x1p20,
	 .flags = LS_JOB__REQUIRED | LS_JOB__UNSET, .rival = "train.steps", .example = "2",
	 .help = "length of the run in passes over the data (this or steps)"},
	{.path = "train.batch", .type = LS_JOB__INT, .offset = AT(train.batch), .min = 1, .max = 0x1p20,
	 .flags = LS_JOB__REQUIRED, .example = "64", .text_example = "8", .help = "samples in one step"},
	{.path = "train.accumulate", .type = LS_JOB__INT, .offset = AT(train.accumulate), .min = 1, .max = 1024, .fallback = "1",
	 .help = "parts that a batch is computed in, one after the other (gpt2)"},
	{.path = "train.seed", .type = LS_JOB__INT, .offset = AT(train.seed), .min = 0, .max = UINT32_MAX, .fallback = "1",
	 .help = "key of all random numbers of the run"},
	{.path = "train.commit_every", .type = LS_JOB__INT, .offset = AT(train.commit_every), .min = 1, .max = 0x1p40,
	 .fallback = "1", .help = "steps between two leaves of the run's tree"},
	{.path = "optimizer.name", .type = LS_JOB__WORD, .offset = AT(optimizer.name), .min = 1, .max = LS_JOB_WORD_MAX,
	 .flags = LS_JOB__REQUIRED, .example = "sgd", .text_example = "adamw", .help = "the optimizer: sgd, adam, adamw"},
	{.path = "optimizer.lr", .type = LS_JOB__REAL, .offset = AT(optimizer.lr), .min = 0, .max = 1000,
	 .flags = LS_JOB__REQUIRED, .example = "0.01", .help = "learning rate"},
	{.path = "optimizer.momentum", .type = LS_JOB__REAL, .offset = AT(optimizer.momentum), .min = 0, .max = 1,
	 .fallback = "0", .example = "0.9", .text_example = "0", .help = "share of the last step that is kept (sgd)"},
	{.path = "optimizer.weight_decay", .type = LS_JOB__REAL, .offset = AT(optimizer.weight_decay), .min = 0,
	 .max = 1000, .fallback = "0", .help = "this times the weight is added to its gradient; adam, adamw: of matrices only"},
	{.path = "optimizer.nesterov", .type = LS_JOB__BOOL, .offset = AT(optimizer.nesterov), .fallback = "false",
	 .help = "Nesterov's form of momentum (sgd)"},
	{.path = "optimizer.beta1", .type = LS_JOB__REAL, .offset = AT(optimizer.beta1), .min = 0, .max = 0.9999999,
	 .fallback = "0.9", .help = "share of the mean gradient that is kept (adam, adamw)"},
	{.path = "optimizer.beta2", .type = LS_JOB__REAL, .offset = AT(optimizer.beta2), .min = 0, .max = 0.9999999,
	 .fallback = "0.999", .help = "the same for its square (adam, adamw)"},
	{.path = "optimizer.epsilon", .type = LS_JOB__REAL, .offset = AT(optimizer.epsilon), .min = 1e-30, .max = 1,
	 .fallback = "1e-8", .help = "is added to the root of that (adam, adamw)"},
	{.path = "optimizer.clip", .type = LS_JOB__REAL, .offset = AT(optimizer.clip), .min = 0, .max = 1000000,
	 .fallback = "0", .help = "largest norm of all gradients together; 0: any"},
	{.path = "schedule.name", .type = LS_JOB__CHOICE, .offset = AT(schedule.name), .choices = schedules,
	 .fallback = "constant", .help = "how the learning rate changes"},
	{.path = "schedule.warmup", .type = LS_JOB__INT, .offset = AT(schedule.warmup), .min = 0, .max = 0x1p40,
	 .fallback = "0", .help = "steps over which the rate grows to lr"},
	{.path = "schedule.gamma", .type = LS_JOB__REAL, .offset = AT(schedule.gamma), .min = 0, .max = 1,
	 .fallback = "0.1", .selector = "schedule.name", .reads = BIT(LS_JOB_STEP), .example = "0.1",
	 .for_arch = "", .help = "factor of each drop (schedule step)"},
	{.path = "schedule.every", .type = LS_JOB__INT, .offset = AT(schedule.every), .min = 1, .max = 0x1p40,
	 .flags = LS_JOB__REQUIRED | LS_JOB__UNSET, .selector = "schedule.name", .reads = BIT(LS_JOB_STEP),
	 .example = "1000", .for_arch = "", .help = "steps between two drops (schedule step)"},
	{.path = "arithmetic.mode", .type = LS_JOB__CHOICE, .offset = AT(arithmetic.mode), .choices = modes,
	 .fallback = "logged", .help = "who decides how products round: logged, exact and pinned can be audited; plain cannot"},
	{.path = "arithmetic.grid", .type = LS_JOB__INT, .offset = AT(arithmetic.grid), .min = 16, .max = 32,
	 .fallback = "32", .help = "bits of activations and gradients: 32 FP32, 19 TF32, 16 bfloat16"},
	{.path = "arithmetic.state_grid", .type = LS_JOB__INT, .offset = AT(arithmetic.state_grid), .min = 16, .max = 32,
	 .fallback = "32", .help = "bits of weights and optimizer state"},
	{.path = "arithmetic.compute", .type = LS_JOB__CHOICE, .offset = AT(arithmetic.compute), .choices = computes,
	 .fallback = "fp64", .selector = "arithmetic.mode",
	 .reads = BIT(LS_JOB_LOGGED) | BIT(LS_JOB_PLAIN), .help = "precision in which platforms sum products"},
	{.path = "arithmetic.threshold", .type = LS_JOB__CHOICE, .offset = AT(arithmetic.threshold), .choices = thresholds,
	 .with_value = BIT(LS_JOB_FIXED) | BIT(LS_JOB_ADAPTIVE), .values = threshold_values, .signed_values = threshold_signed_values,
	 .fallback = "certified", .selector = "arithmetic.mode", .reads = BIT(LS_JOB_LOGGED),
	 .help = "how close to a rounding boundary is logged"},
	{.path = "arithmetic.encoding", .type = LS_JOB__CHOICE, .offset = AT(arithmetic.encoding), .choices = encodings,
	 .fallback = "sparse", .selector = "arithmetic.mode", .reads = BIT(LS_JOB_LOGGED),
	 .help = "coding of the rounding log"},
	{.path = "arithmetic.depth", .type = LS_JOB__INT, .offset = AT(arithmetic.depth), .min = 0, .max = LS_DEPTH_MAX,
	 .fallback = "0", .selector = "arithmetic.mode", .reads = BIT(LS_JOB_LOGGED),
	 .help = "depth of sums that a platform may use; 0: 512 + K/512"},
};

const size_t ls_job__field_count = sizeof ls_job__fields / sizeof ls_job__fields[0];

const ls_job__field *ls_job__find(const char *path)
{
	for (size_t i = 0; i < ls_job__field_count; i++)
		if (strcmp(ls_job__fields[i].path, path) == 0)
			return &ls_job__fields[i];
	return NULL;
}

size_t ls_job__section_len(const char *path)
{
	const char *dot = strchr(path, '.');
	return dot ? (size_t)(dot - path) : 0;
}

bool ls_job__is_section(const char *path)
{
	size_t len = strlen(path);
	if (len == 0)
		return true;
	for (size_t i = 0; i < ls_job__field_count; i++)
		if (ls_job__section_len(ls_job__fields[i].path) == len && memcmp(ls_job__fields[i].path, path, len) == 0)
			return true;
	return false;
}

bool ls_job__is_read(const ls_job__field *field, const ls_job_spec *spec)
{
	uint32_t choice;
	if (!field->selector)
		return true;
	memcpy(&choice, (const char *)spec + ls_job__find(field->selector)->offset, sizeof choice);
	return field->reads >> choice & 1;
}

/* ---- the nearest key ---- */

#define KEY_MAX 48

static const char *last_part(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot ? dot + 1 : path;
}

/* A right key in the wrong section is one step away, so that `batch` leads to train.batch. */
static size_t unlikeness(const char *path, const char *candidate)
{
	size_t whole = ls_edit_distance(path, candidate), part = ls_edit_distance(last_part(path), last_part(candidate)) + 1;
	return whole < part ? whole : part;
}

static void consider(char *out, size_t out_size, size_t *best, const char *path, const char *candidate)
{
	size_t d = unlikeness(path, candidate);
	if (d < *best) {
		*best = d;
		snprintf(out, out_size, "%s", candidate);
	}
}

void ls_job__nearest(char *out, size_t out_size, const char *path)
{
	size_t best = SIZE_MAX;
	for (size_t i = 0; i < ls_job__field_count; i++) {
		const char *candidate = ls_job__fields[i].path;
		char section[KEY_MAX];
		snprintf(section, sizeof section, "%.*s", (int)ls_job__section_len(candidate), candidate);
		if (section[0])
			consider(out, out_size, &best, path, section);
		consider(out, out_size, &best, path, candidate);
	}
}
