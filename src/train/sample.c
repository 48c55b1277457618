#include "train/eval.h"

#include <stdlib.h>

typedef struct sampler {
	const ls_sample_options *options;
	ls_model *model;
	ls_hasher *hasher;
	ls_exec *exec;
	ls_samples samples;
	int logits;               // number of the value
	int64_t length, vocabulary; // of the program; tokens that may be written
	uint16_t *window;         // what the model reads: the last tokens, at most `length`
	int64_t filled;
	float *sorted;
	bool *kept; // of the tokens: whether it is among the likeliest
} sampler;

static int32_t token(void *context, int64_t index)
{
	const sampler *s = context;
	return index < s->filled ? s->window[index] : 0; // what follows the text is not looked at
}

/* Positions for prompt and text, as far as the model has them. A model of `length` 1 says how many that is. */
static ls_status choose_length(sampler *s, const ls_job_plan *plan, ls_error *err)
{
	ls_status status;
	ls_model *model;
	const ls_program *program;
	int64_t context, wanted = s->options->tokens + (int64_t)s->options->count;
	LS_TRY(ls_plan_sampling_model(plan, 1, &model, err));
	program = ls_model_eval(model);
	context = ls_program_value(program, ls_program_find(program, "transformer.wpe.weight"))->shape.dim[0];
	ls_model_free(model);
	s->length = wanted < context ? wanted : context;
done:
	return status;
}

static ls_status open_exec(sampler *s, const ls_job_plan *plan, ls_platform *platform, ls_error *err)
{
	ls_exec_options o = LS_EXEC_OPTIONS_INIT;
	ls_status status;
	s->samples = (ls_samples){.context = s, .token = token};
	o.program = ls_model_eval(s->model);
	s->logits = ls_program_find(o.program, LS_MODEL_LOGITS);
	LS_TRY(ls_hasher_open(&s->hasher, ls_pool_threads(ls_platform_pool(platform)), err));
	o.platform = platform;
	o.hasher = s->hasher;
	o.samples = &s->samples;
	o.rounding = ls_train__eval_rounding(plan);
	o.keep = &s->logits;
	o.keep_count = 1;
	LS_TRY(ls_exec_open(&s->exec, &o, err));
done:
	return status;
}

static int descending(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return (x < y) - (x > y);
}

/* Of equal logits the token with the lower number stands first, so exactly k are left; `kept` says which. Returns the largest. */
static float keep_top(sampler *s, const float *logits)
{
	int64_t k = s->options->top_k, above = 0;
	float least;
	memcpy(s->sorted, logits, (size_t)s->vocabulary * sizeof *logits);
	qsort(s->sorted, (size_t)s->vocabulary, sizeof *logits, descending);
	if (k == 0 || k > s->vocabulary)
		k = s->vocabulary;
	least = s->sorted[k - 1];
	while (above < k && s->sorted[above] > least)
		above++;
	for (int64_t i = 0, equal = 0; i < s->vocabulary; i++)
		s->kept[i] = logits[i] > least || (logits[i] >= least && equal++ < k - above);
	return s->sorted[0];
}

/* exp((logit − largest)/temperature) is a token's weight. */
static int32_t draw(sampler *s, const float *logits, int64_t written)
{
	ls_stream stream = {s->options->seed, LS_PURPOSE_SAMPLE, 0};
	double sum = 0, at;
	float largest = keep_top(s, logits);
	int32_t last = 0;
	for (int64_t i = 0; i < s->vocabulary; i++) {
		s->sorted[i] = s->kept[i] ? ls_exp(ls_f32(((double)logits[i] - (double)largest) / s->options->temperature)) : 0;
		sum += (double)s->sorted[i];
	}
	at = ls_random_uniform(&stream, (uint64_t)written) * sum;
	for (int32_t i = 0; i < s->vocabulary && at >= 0; i++) {
		at -= (double)s->sorted[i];
		last = s->sorted[i] > 0 ? i : last; // what rounding leaves over belongs to the last token
	}
	return last;
}

static int32_t likeliest(const sampler *s, const float *logits)
{
	int32_t best = 0;
	for (int32_t i = 1; i < s->vocabulary; i++)
		if (logits[i] > logits[best])
			best = i;
	return best;
}

static void append(sampler *s, uint16_t next)
{
	if (s->filled == s->length)
		memmove(s->window, s->window + 1, (size_t)(--s->filled) * sizeof *s->window);
	s->window[s->filled++] = next;
}

static ls_status write_text(sampler *s, ls_error *err)
{
	ls_status status = LS_OK;
	for (int64_t written = 0; written < s->options->tokens; written++) {
		int64_t columns = ls_program_value(ls_model_eval(s->model), s->logits)->shape.dim[1];
		ls_step_result result;
		const float *logits;
		int32_t next;
		LS_TRY(ls_exec_step(s->exec, 1, NULL, false, &result, err));
		logits = (const float *)ls_exec_value(s->exec, s->logits) + (s->filled - 1) * columns;
		next = s->options->temperature > 0 ? draw(s, logits, written) : likeliest(s, logits);
		if (next == s->options->end || !s->options->on_token(s->options->context, next))
			break;
		append(s, (uint16_t)next);
	}
done:
	return status;
}

static ls_status make_room(sampler *s, ls_error *err)
{
	const ls_program *program = ls_model_eval(s->model);
	int64_t columns = ls_program_value(program, ls_program_find(program, LS_MODEL_LOGITS))->shape.dim[1];
	s->vocabulary = s->options->vocabulary < columns ? s->options->vocabulary : columns;
	s->window = ls_alloc((size_t)s->length, sizeof *s->window);
	s->sorted = ls_alloc((size_t)s->vocabulary, sizeof *s->sorted);
	s->kept = ls_alloc((size_t)s->vocabulary, sizeof *s->kept);
	if (!s->window || !s->sorted || !s->kept)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a text of %lld tokens", (long long)s->length);
	for (size_t i = s->options->count > (size_t)s->length ? s->options->count - (size_t)s->length : 0; i < s->options->count; i++) {
		if (s->options->prompt[i] >= columns)
			return ls_error_set(err, LS_ERR_INPUT, "prompt: found token %d, expected fewer than model.vocab = %lld",
			                    s->options->prompt[i], (long long)columns);
		s->window[s->filled++] = s->options->prompt[i];
	}
	return LS_OK;
}

ls_status ls_sample(const ls_job_plan *plan, ls_platform *platform, ls_exec *from, const ls_sample_options *options, ls_error *err)
{
	ls_status status;
	sampler s = {.options = options};
	if (options->version != LS_SAMPLE_OPTIONS_VERSION || options->count < 1 || options->tokens < 1 || options->vocabulary < 1 ||
	    options->top_k < 0 || !(options->temperature >= 0))
		return ls_error_set(err, LS_ERR_USAGE, "sample: found options out of their bounds");
	LS_TRY(choose_length(&s, plan, err));
	LS_TRY(ls_plan_sampling_model(plan, s.length, &s.model, err));
	LS_TRY(make_room(&s, err));
	LS_TRY(open_exec(&s, plan, platform, err));
	ls_train__copy_state(s.exec, from);
	status = write_text(&s, err);
done:
	ls_exec_free(s.exec);
	ls_hasher_free(s.hasher);
	ls_model_free(s.model);
	ls_free(s.window);
	ls_free(s.sorted);
	ls_free(s.kept);
	return status;
}
