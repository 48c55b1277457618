#include <lockstep/plan.h>
#include <lockstep/platform.h>

#include "job/import.h"

#include <stdio.h>
#include <stdlib.h>

#define EVAL_BATCH 256
#define CROP_PIXELS 4 /* how far augmentation `crop` moves a sample at most */

struct ls_job_plan {
	const ls_job *job;
	ls_job_binding binding;
	ls_hash id;
	ls_buf bytes;
	ls_dataset *data, *eval_data;
	ls_samples samples, eval_samples;
	int64_t eval_batch;
	ls_model *model;
	ls_job__import import;
	char path[LS_PATH_MAX];
};

static const uint8_t *sample(void *context, int64_t index)
{
	return ls_dataset_sample(context, index);
}

static int32_t label(void *context, int64_t index)
{
	return ls_dataset_label(context, index);
}

static int32_t token(void *context, int64_t index)
{
	return ls_dataset_token(context, index);
}

/* `given` is a path from elsewhere than the job and taken as it is. */
static ls_status choose_path(char out[LS_PATH_MAX], const char *given, const char *of_job, ls_error *err)
{
	const char *path = given ? given : of_job, *root = getenv("LOCKSTEP_DATA");
	if (!given && root && root[0] && path[0] != '/') {
		ls_status status = ls_path_join(out, LS_PATH_MAX, root, path, err);
		if (status != LS_OK || ls_file_exists(out))
			return status;
	}
	if (strlen(path) >= LS_PATH_MAX)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", path);
	memcpy(out, path, strlen(path) + 1);
	return LS_OK;
}

/* Labels of pictures are classes of the model. Tokens are checked when it is built, see check_vocabulary. */
static ls_status check_classes(const ls_job_plan *p, const ls_dataset *data, const char *what, ls_error *err)
{
	uint64_t classes = ls_job_spec_of(p->job)->model.classes;
	if (ls_dataset_is_tokens(data) || (uint64_t)ls_dataset_classes(data) <= classes)
		return LS_OK;
	return ls_error_set(err, LS_ERR_INPUT, "%s: found %s up to %d, expected fewer than model.classes = %llu", p->path, what,
	                    ls_dataset_classes(data) - 1, (unsigned long long)classes);
}

/* The test split is read by the same network: samples of the training split's shape, labels that the model has. */
static ls_status check_eval_data(const ls_job_plan *p, ls_error *err)
{
	int64_t train[3], test[3];
	ls_dataset_shape(p->data, train);
	ls_dataset_shape(p->eval_data, test);
	if (memcmp(train, test, sizeof train))
		return ls_error_set(err, LS_ERR_INPUT, "%s: found test samples of %lld × %lld × %lld, expected %lld × %lld × %lld as in training",
		                    p->path, (long long)test[0], (long long)test[1], (long long)test[2], (long long)train[0],
		                    (long long)train[1], (long long)train[2]);
	return check_classes(p, p->eval_data, "test labels", err);
}

/* Where the files lie that options of tokens name; unset stays NULL. */
static ls_status choose_token_paths(ls_dataset_options *o, const ls_job_spec *spec, char vocab[LS_PATH_MAX],
                                    char eval_path[LS_PATH_MAX], ls_error *err)
{
	ls_status status = LS_OK;
	static const char *const tokenizers[] = {[LS_JOB_BYTES] = "bytes", [LS_JOB_GPT2] = "gpt2"};
	o->length = (int64_t)spec->data.length;
	o->holdout = spec->data.holdout;
	o->tokenizer = tokenizers[spec->data.tokenizer];
	if (spec->data.vocab[0]) {
		LS_TRY(choose_path(vocab, NULL, spec->data.vocab, err));
		o->vocab = vocab;
	}
	if (spec->data.eval_path[0]) {
		LS_TRY(choose_path(eval_path, NULL, spec->data.eval_path, err));
		o->eval_path = eval_path;
	}
done:
	return status;
}

/* The largest divisor of the number of samples that is not above `most`. */
static int64_t eval_batch(const ls_dataset *data, int64_t most)
{
	while (ls_dataset_count(data) % most)
		most--;
	return most;
}

static ls_status open_data(ls_job_plan *p, bool eval, ls_error *err)
{
	const ls_job_spec *spec = ls_job_spec_of(p->job);
	ls_dataset_options o = LS_DATASET_OPTIONS_INIT;
	char vocab[LS_PATH_MAX], eval_path[LS_PATH_MAX];
	ls_status status;
	o.format = spec->data.format;
	o.path = p->path;
	o.limit = (int64_t)spec->data.limit;
	for (uint64_t i = 0; i < spec->data.shape.count && i < 3; i++)
		o.shape[i] = (int64_t)spec->data.shape.item[i];
	LS_TRY(choose_token_paths(&o, spec, vocab, eval_path, err));
	LS_TRY(ls_dataset_open(&p->data, &o, err));
	p->samples = (ls_samples){.context = p->data, .sample = sample, .label = label, .token = token};
	LS_TRY(check_classes(p, p->data, "labels", err));
	if (!eval)
		goto done;
	o.split = "test";
	o.limit = 0;
	LS_TRY(ls_dataset_open(&p->eval_data, &o, err));
	LS_TRY(check_eval_data(p, err));
	p->eval_samples = (ls_samples){.context = p->eval_data, .sample = sample, .label = label, .token = token};
	// the logits of a text are large, so a batch of it is no larger than in training
	p->eval_batch = eval_batch(p->eval_data, ls_dataset_is_tokens(p->data) ? (int64_t)spec->train.batch : EVAL_BATCH);
done:
	return status;
}

void ls_plan_schedule(const ls_job_plan *p, ls_schedule *out)
{
	const ls_job_spec *spec = ls_job_spec_of(p->job);
	*out = (ls_schedule){.kind = (ls_schedule_kind)spec->schedule.name, .lr = spec->optimizer.lr, .gamma = spec->schedule.gamma,
	                     .every = spec->schedule.every ? (int64_t)spec->schedule.every : 1,
	                     .warmup = (int64_t)spec->schedule.warmup, .steps = (int64_t)p->binding.steps};
}

static void fill_optim(const ls_job_plan *p, ls_optim_options *o)
{
	const ls_job_spec *spec = ls_job_spec_of(p->job);
	o->name = spec->optimizer.name;
	o->momentum = spec->optimizer.momentum;
	o->weight_decay = spec->optimizer.weight_decay;
	o->nesterov = spec->optimizer.nesterov;
	o->beta1 = spec->optimizer.beta1;
	o->beta2 = spec->optimizer.beta2;
	o->epsilon = spec->optimizer.epsilon;
	o->clip = spec->optimizer.clip;
	ls_plan_schedule(p, &o->schedule);
}

static void fill_scaling(const ls_job_spec *spec, ls_model_options *o)
{
	for (int c = 0; c < LS_MODEL_CHANNELS_MAX; c++) {
		o->mean[c] = spec->data.mean.item[spec->data.mean.count > 1 ? c : 0];
		o->std[c] = spec->data.std.item[spec->data.std.count > 1 ? c : 0];
	}
}

/* One number, or one per channel. */
static ls_status check_scaling(const ls_job_plan *p, const char *key, const ls_job_reals *reals, ls_error *err)
{
	char found[32], expected[64];
	if (reals->count == 1 || reals->count == p->binding.shape[0])
		return LS_OK;
	snprintf(found, sizeof found, "%llu numbers", (unsigned long long)reals->count);
	snprintf(expected, sizeof expected, "one, or one for each of %llu channels", (unsigned long long)p->binding.shape[0]);
	return ls_error_input(err, ls_job_spec_of(p->job)->name, key, found, expected, NULL);
}

static bool is_zero(const uint8_t bytes[32])
{
	uint8_t any = 0;
	for (int i = 0; i < 32; i++)
		any |= bytes[i];
	return !any;
}

static ls_model_options model_options(const ls_job_plan *p)
{
	const ls_job_spec *spec = ls_job_spec_of(p->job);
	ls_model_options o = LS_MODEL_OPTIONS_INIT;
	o.arch = spec->model.arch;
	o.classes = (int64_t)spec->model.classes;
	o.hidden_count = (int)spec->model.hidden.count;
	for (int i = 0; i < o.hidden_count; i++)
		o.hidden[i] = (int64_t)spec->model.hidden.item[i];
	o.activation = (ls_model_activation)spec->model.activation;
	o.average_pool = spec->model.pool == LS_JOB_POOL_AVG;
	o.width_scale = spec->model.width;
	o.head = spec->model.head == LS_JOB_HEAD_TORCHVISION ? LS_MODEL_HEAD_TORCHVISION : LS_MODEL_HEAD_CIFAR;
	o.preset = (ls_model_preset)spec->model.preset;
	o.layers = (int64_t)spec->model.layers;
	o.heads = (int64_t)spec->model.heads;
	o.embedding = (int64_t)spec->model.embedding;
	o.context = (int64_t)spec->model.context;
	o.vocab = (int64_t)spec->model.vocab;
	o.dropout = spec->model.dropout;
	o.accumulate = (int64_t)spec->train.accumulate;
	o.channels = (int64_t)p->binding.shape[0];
	o.height = (int64_t)p->binding.shape[1];
	o.width = (int64_t)p->binding.shape[2];
	fill_scaling(spec, &o);
	o.crop = spec->data.augment & LS_JOB_AUGMENT_CROP ? CROP_PIXELS : 0;
	o.flip = spec->data.augment & LS_JOB_AUGMENT_FLIP;
	o.samples = (int64_t)p->binding.samples;
	o.batch = (int64_t)spec->train.batch;
	o.seed = (uint32_t)spec->train.seed;
	o.import = is_zero(p->binding.import) ? NULL : p->binding.import;
	o.bits = (int)spec->arithmetic.grid;
	o.state_bits = (int)spec->arithmetic.state_grid;
	fill_optim(p, &o.optim);
	if (p->eval_data) {
		o.eval_samples = ls_dataset_count(p->eval_data);
		o.eval_batch = p->eval_batch;
	}
	return o;
}

static ls_status build_model(ls_job_plan *p, ls_error *err)
{
	ls_model_options o = model_options(p);
	return ls_model_open(&p->model, &o, err);
}

ls_status ls_plan_sampling_model(const ls_job_plan *p, int64_t length, ls_model **out, ls_error *err)
{
	ls_model_options o = model_options(p);
	*out = NULL;
	if (!ls_model_reads_text(o.arch))
		return ls_error_set(err, LS_ERR_INPUT, "model.arch: found %s, expected a model that reads text", o.arch);
	o.width = length;
	o.batch = o.samples = o.accumulate = 1;
	o.eval_samples = o.eval_batch = 1;
	o.import = NULL;
	return ls_model_open(out, &o, err);
}

ls_status ls_plan_vocab_path(const ls_job_plan *p, char out[LS_PATH_MAX], ls_error *err)
{
	return choose_path(out, NULL, ls_job_spec_of(p->job)->data.vocab, err);
}

/* The data's part of the binding. */
static ls_status bind_data(ls_job_plan *p, ls_error *err)
{
	int64_t shape[3];
	ls_hash data;
	ls_status status = ls_dataset_root(p->data, &data);
	if (status != LS_OK)
		return ls_error_set(err, status, "%s: could not hash the data: %s", p->path, ls_status_text(status));
	memcpy(p->binding.data, data.byte, 32);
	ls_dataset_shape(p->data, shape);
	for (int i = 0; i < 3; i++)
		p->binding.shape[i] = (uint64_t)shape[i];
	p->binding.samples = (uint64_t)ls_dataset_count(p->data);
	return ls_job_steps(p->job, p->binding.samples, &p->binding.steps, err);
}

/* Every kind of product that the program has must have its threshold. */
static ls_status check_thresholds(const ls_job_plan *p, ls_error *err)
{
	const ls_program *program = ls_model_step(p->model);
	ls_arithmetic a;
	ls_status status = ls_job_arithmetic(p->job, &a, err);
	for (int i = 0; status == LS_OK && a.threshold_count && i < ls_program_ops(program); i++) {
		const char *kind = ls_program_op(program, i)->kind;
		ls_product product;
		if (ls_op_find(kind)->class != LS_OP_PRODUCT)
			continue;
		ls_op_find(kind)->product(program, ls_program_op(program, i), &product);
		if (ls_product_bound(&a, kind, &product).kind != LS_BOUND_WINDOW)
			status = ls_error_set(err, LS_ERR_INPUT, "%s: tau: found nothing for %s, which the program has, expected its threshold\n"
			                      "  hint: calibrate again with this job", ls_job_spec_of(p->job)->arithmetic.threshold_file, kind);
	}
	return status;
}

/* A depth that even native cannot keep, which every machine has, makes a job that nobody can train. Platforms that need more
 * say so when they are given the job. */
static ls_status check_depth(const ls_job_plan *p, ls_error *err)
{
	ls_arithmetic a;
	ls_status status = ls_job_arithmetic(p->job, &a, err);
	return status == LS_OK ? ls_platform_check_depth("native", ls_model_step(p->model), &a, err) : status;
}

/* The weights' part of the binding. Their names and shapes are those of the model, which is therefore built before. */
static ls_status bind_import(ls_job_plan *p, const ls_plan_options *o, ls_error *err)
{
	ls_status status;
	const char *of_job = ls_job_spec_of(p->job)->model.init_from;
	char path[LS_PATH_MAX];
	ls_hash root;
	if (!of_job[0] && !o->init_from)
		return LS_OK;
	LS_TRY(choose_path(path, o->init_from, of_job, err));
	if (o->run && !o->init_from && !ls_file_exists(path)) {
		memcpy(p->binding.import, o->run->import, 32);
		goto done;
	}
	LS_TRY(build_model(p, err));
	LS_TRY(ls_job__import_read(&p->import, path, p->model, &root, err));
	memcpy(p->binding.import, root.byte, 32);
	ls_model_free(p->model);
	p->model = NULL;
done:
	return status;
}

/* Builds the programs, then the bytes and the job id. */
static ls_status bind_programs(ls_job_plan *p, ls_error *err)
{
	ls_status status;
	ls_hash program, init;
	LS_TRY(check_scaling(p, "data.mean", &ls_job_spec_of(p->job)->data.mean, err));
	LS_TRY(check_scaling(p, "data.std", &ls_job_spec_of(p->job)->data.std, err));
	LS_TRY(build_model(p, err));
	LS_TRY(ls_program_digest(ls_model_step(p->model), &program, err));
	LS_TRY(ls_program_digest(ls_model_init(p->model), &init, err));
	memcpy(p->binding.program, program.byte, 32);
	memcpy(p->binding.init, init.byte, 32);
	LS_TRY(ls_job_encode(p->job, &p->binding, &p->bytes, err));
	status = ls_hash_tagged(&p->id, LS_TAG_JOB, p->bytes.data, p->bytes.len);
	if (status != LS_OK)
		ls_error_set(err, status, "could not hash the job: %s", ls_status_text(status));
done:
	return status;
}

static ls_status check_kind_of_data(const ls_job *job, ls_error *err)
{
	const ls_job_spec *spec = ls_job_spec_of(job);
	bool text = ls_model_reads_text(spec->model.arch);
	if (ls_data_format_is_tokens(spec->data.format) == text)
		return LS_OK;
	return ls_error_input(err, spec->name, "data.format", spec->data.format,
	                      text ? "text or tokens, which is what model.arch reads" : "pictures, which is what model.arch reads", NULL);
}

/* Every token must have a row in the model's table. */
static ls_status check_vocabulary(const ls_job_plan *p, const ls_dataset *data, ls_error *err)
{
	const ls_program *program = ls_model_step(p->model);
	int64_t rows;
	if (!data || !ls_dataset_is_tokens(data))
		return LS_OK;
	rows = ls_program_value(program, ls_program_find(program, LS_MODEL_LOGITS))->shape.dim[1];
	if (ls_dataset_classes(data) <= rows)
		return LS_OK;
	return ls_error_set(err, LS_ERR_INPUT, "%s: found tokens up to %d, expected fewer than model.vocab = %lld", p->path,
	                    ls_dataset_classes(data) - 1, (long long)rows);
}

static void bind_keys(ls_job_plan *p, const ls_plan_options *o)
{
	const uint8_t *trainer = o->trainer ? o->trainer : o->run ? o->run->trainer : NULL;
	const uint8_t *referee = o->referee ? o->referee : o->run ? o->run->referee : NULL;
	if (trainer)
		memcpy(p->binding.trainer, trainer, 32);
	if (referee)
		memcpy(p->binding.referee, referee, 32);
}

static ls_status new_plan(ls_job_plan **out, const ls_job *job, ls_error *err)
{
	*out = ls_alloc(1, sizeof **out);
	if (!*out)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a plan");
	(*out)->job = job;
	ls_buf_init(&(*out)->bytes, LS_JOB_BYTES_MAX);
	return LS_OK;
}

ls_status ls_plan_open(ls_job_plan **out, const ls_job *job, const ls_plan_options *options, ls_error *err)
{
	ls_status status;
	ls_job_plan *p = NULL;
	*out = NULL;
	if (options->version != LS_PLAN_OPTIONS_VERSION)
		return ls_error_set(err, LS_ERR_USAGE, "plan options of version %d", options->version);
	LS_TRY(ls_model_check(ls_job_spec_of(job)->model.arch, err)); // before the data is read
	LS_TRY(check_kind_of_data(job, err));
	LS_TRY(new_plan(&p, job, err));
	bind_keys(p, options);
	LS_TRY(choose_path(p->path, options->data_dir, ls_job_spec_of(job)->data.path, err));
	LS_TRY(open_data(p, options->eval, err));
	LS_TRY(bind_data(p, err));
	LS_TRY(bind_import(p, options, err));
	LS_TRY(bind_programs(p, err));
	LS_TRY(check_vocabulary(p, p->data, err));
	LS_TRY(check_vocabulary(p, p->eval_data, err));
	LS_TRY(check_thresholds(p, err));
	LS_TRY(check_depth(p, err));
	*out = p;
	p = NULL;
done:
	ls_plan_free(p);
	return status;
}

ls_status ls_plan_open_offline(ls_job_plan **out, const ls_job *job, const ls_job_binding *binding, ls_error *err)
{
	ls_status status;
	ls_job_plan *p = NULL;
	*out = NULL;
	LS_TRY(new_plan(&p, job, err));
	p->binding = *binding;
	LS_TRY(bind_programs(p, err));
	if (memcmp(p->binding.program, binding->program, 32) || memcmp(p->binding.init, binding->init, 32)) {
		status = ls_error_set(err, LS_ERR_INPUT,
		                      "job '%s': found other program digests than its fields expand to here\n"
		                      "  hint: the job was made by another version, or is damaged", ls_job_spec_of(job)->name);
		goto done;
	}
	*out = p;
	p = NULL;
done:
	ls_plan_free(p);
	return status;
}

void ls_plan_free(ls_job_plan *p)
{
	if (!p)
		return;
	ls_buf_free(&p->bytes);
	ls_dataset_free(p->data);
	ls_dataset_free(p->eval_data);
	ls_model_free(p->model);
	ls_job__import_free(&p->import);
	ls_free(p);
}

const ls_job_spec *ls_plan_spec(const ls_job_plan *p) { return ls_job_spec_of(p->job); }
const ls_job *ls_plan_job(const ls_job_plan *p) { return p->job; }
const ls_job_binding *ls_plan_binding(const ls_job_plan *p) { return &p->binding; }
const ls_hash *ls_plan_job_id(const ls_job_plan *p) { return &p->id; }
const ls_model *ls_plan_model(const ls_job_plan *p) { return p->model; }
const ls_dataset *ls_plan_data(const ls_job_plan *p) { return p->data; }
const ls_dataset *ls_plan_eval_data(const ls_job_plan *p) { return p->eval_data; }
const ls_samples *ls_plan_samples(const ls_job_plan *p) { return &p->samples; }
const ls_samples *ls_plan_eval_samples(const ls_job_plan *p) { return &p->eval_samples; }
const ls_imports *ls_plan_imports(const ls_job_plan *p) { return p->import.source.word ? &p->import.source : NULL; }
int64_t ls_plan_eval_batch(const ls_job_plan *p) { return p->eval_batch; }
const char *ls_plan_data_path(const ls_job_plan *p) { return p->path; }

const uint8_t *ls_plan_bytes(const ls_job_plan *p, size_t *len)
{
	*len = p->bytes.len;
	return p->bytes.data;
}

void ls_plan_estimate(const ls_job_plan *p, ls_plan_cost *out)
{
	const ls_program *program = ls_model_step(p->model);
	*out = (ls_plan_cost){.ops = ls_program_ops(program)};
	for (int i = 0; i < out->ops; i++) {
		const ls_op *op = ls_program_op(program, i);
		const ls_op_def *def = ls_op_find(op->kind);
		ls_product product;
		int64_t elements = ls_shape_count(&ls_program_value(program, op->outputs[0])->shape);
		if (def->class != LS_OP_PRODUCT)
			continue;
		def->product(program, op, &product);
		out->products++;
		out->elements += elements;
		out->product_terms += (double)elements * (double)product.terms;
		// per frame of 65,536 elements one tag byte, five decisions a byte, and the length in the file
		for (int64_t left = elements; left > 0; left -= LS_FRAME_ELEMENTS)
			out->dense_log_bytes += 5 + ((left < LS_FRAME_ELEMENTS ? left : (int64_t)LS_FRAME_ELEMENTS) + 4) / 5;
	}
	for (int s = 0; s < ls_program_states(program); s++)
		out->state_bytes += 4 * ls_shape_count(&ls_program_value(program, s)->shape);
	out->parameters = ls_model_parameters(p->model);
}
