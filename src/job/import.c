#include "job/import.h"

#include <lockstep/safetensors.h>

#include <stdio.h>

/* What libraries put before all names of a model, depending on which object was saved. */
static const char *const prefixes[] = {"", "module.", "model.", "transformer."};
#define PREFIXES (sizeof prefixes / sizeof *prefixes)

/* Ends of names of buffers that are saved beside weights and that no model here reads: PyTorch's count of batches, and the
 * causal mask of Hugging Face's GPT-2. */
static const char *const buffers[] = {".num_batches_tracked", ".attn.bias", ".attn.masked_bias"};

/* A tensor that some files repeat under a second name: GPT-2's output head is its token embedding. */
static const char tied[] = "lm_head.weight", tied_to[] = "wte.weight";

typedef struct matching {
	const ls_safetensors *file;
	const ls_program *program; // of the step, whose state the weights are part of
	const ls_model *model;
	const char *path;
	const char *prefix;
	bool in_file; // the prefix stands before the file's names; else before the model's
	ls_error *err;
} matching;

/* ---- which tensor of the file is which weight ---- */

static const ls_safetensor *find(const matching *m, const char *name)
{
	char longer[LS_NAME_MAX + 32];
	size_t len = strlen(m->prefix);
	if (!m->in_file)
		return strncmp(name, m->prefix, len) == 0 ? ls_safetensors_find(m->file, name + len) : NULL;
	snprintf(longer, sizeof longer, "%s%s", m->prefix, name);
	return ls_safetensors_find(m->file, longer);
}

static int count_found(const matching *m)
{
	int found = 0;
	for (int s = 0; s < ls_program_states(m->program); s++)
		found += ls_model_is_weight(m->model, s) && find(m, ls_program_value(m->program, s)->name);
	return found;
}

/* The prefix under which most weights are there; of equals the first, which is none. */
static void choose_prefix(matching *m)
{
	matching best = *m;
	int most = -1;
	for (size_t i = 0; i < 2 * PREFIXES; i++) {
		int found;
		m->prefix = prefixes[i / 2];
		m->in_file = i % 2;
		found = count_found(m);
		if (found > most) {
			most = found;
			best = *m;
		}
	}
	*m = best;
}

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), e = strlen(end);
	return n >= e && strcmp(name + n - e, end) == 0;
}

static bool is_buffer(const char *name)
{
	for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
		if (ends_with(name, buffers[i]))
			return true;
	return false;
}

/* Is a tensor of the file one of the weights under the chosen prefix? */
static bool is_wanted(const matching *m, const ls_safetensor *t)
{
	for (int s = 0; s < ls_program_states(m->program); s++)
		if (ls_model_is_weight(m->model, s) && find(m, ls_program_value(m->program, s)->name) == t)
			return true;
	return false;
}

static ls_status complain(const matching *m, const char *name, const char *found, const char *expected)
{
	char place[LS_NAME_MAX + 16];
	snprintf(place, sizeof place, "tensor '%.*s'", LS_NAME_MAX - 1, name);
	return ls_error_input(m->err, m->path, place, found, expected, "model.init_from takes exactly the weights of model.arch");
}

static size_t count_not_buffers(const ls_safetensors *file)
{
	size_t count = 0;
	for (size_t i = 0; i < ls_safetensors_count(file); i++)
		count += !is_buffer(ls_safetensors_at(file, i)->name);
	return count;
}

/* ---- reading ---- */

static ls_status check_shape(const matching *m, const ls_value *v, const ls_safetensor *t)
{
	ls_shape found = {.rank = t->rank < LS_RANK_MAX ? t->rank : LS_RANK_MAX};
	char found_text[96], expected_text[96];
	bool same = t->rank == v->shape.rank;
	for (int i = 0; i < found.rank; i++) {
		found.dim[i] = t->dim[i];
		same = same && t->dim[i] == v->shape.dim[i];
	}
	if (same)
		return LS_OK;
	ls_shape_text(found_text, sizeof found_text, &found);
	ls_shape_text(expected_text, sizeof expected_text, &v->shape);
	if (t->rank > LS_RANK_MAX)
		snprintf(found_text, sizeof found_text, "%d dimensions", t->rank);
	return complain(m, v->name, found_text, expected_text);
}

static ls_status read_weight(ls_job__import *out, const matching *m, const ls_value *v)
{
	ls_status status;
	const ls_safetensor *t = find(m, v->name);
	float *words;
	if (!t)
		return complain(m, v->name, "no such tensor", "every weight of the model");
	LS_TRY(check_shape(m, v, t));
	words = ls_alloc((size_t)t->count, sizeof *words);
	if (!words)
		return ls_error_set(m->err, LS_ERR_NOMEM, "%s: no memory for its weights", m->path);
	out->tensor[out->count++] = words;
	LS_TRY(ls_safetensors_read(m->file, t, v->bits, words, m->err));
done:
	return status;
}

/* The weight whose name ends so, as it was read; NULL where there is none. */
static const float *numbers_of(const ls_job__import *in, const matching *m, const char *end, int64_t *count)
{
	int n = 0;
	for (int s = 0; s < ls_program_states(m->program); s++) {
		const ls_value *v = ls_program_value(m->program, s);
		if (!ls_model_is_weight(m->model, s))
			continue;
		*count = ls_shape_count(&v->shape);
		if (ends_with(v->name, end))
			return in->tensor[n];
		n++;
	}
	return NULL;
}

/* A second copy must be one: a file whose head was trained apart is another model. */
static ls_status check_tied(const matching *m, const ls_safetensor *t, const float *first, int64_t count)
{
	ls_status status = LS_OK;
	float *second = NULL;
	bool same = t->count == count;
	if (same && !(second = ls_alloc((size_t)count, sizeof *second)))
		return ls_error_set(m->err, LS_ERR_NOMEM, "%s: no memory for its weights", m->path);
	if (same)
		LS_TRY(ls_safetensors_read(m->file, t, 32, second, m->err));
	if (!same || memcmp(first, second, (size_t)count * sizeof *second))
		status = complain(m, tied, "numbers of its own", "those of wte.weight: the model's output head is its token embedding");
done:
	ls_free(second);
	return status;
}

/* Quadratic, but only where the counts differ. */
static ls_status check_extra(const ls_job__import *in, const matching *m)
{
	ls_status status = LS_OK;
	int64_t count = 0;
	const float *embedding = numbers_of(in, m, tied_to, &count);
	for (size_t i = 0; i < ls_safetensors_count(m->file); i++) {
		const ls_safetensor *t = ls_safetensors_at(m->file, i);
		char shown[LS_NAME_MAX];
		if (is_buffer(t->name) || is_wanted(m, t))
			continue;
		if (embedding && ends_with(t->name, tied)) {
			LS_TRY(check_tied(m, t, embedding, count));
			continue;
		}
		snprintf(shown, sizeof shown, "%s", t->name);
		for (char *c = shown; *c; c++)
			if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
				*c = '?';
		return complain(m, shown, "a tensor that the model does not have", "no other tensors");
	}
done:
	return status;
}

static ls_status read_weights(ls_job__import *out, const matching *m)
{
	ls_status status = LS_OK;
	out->tensor = ls_alloc((size_t)ls_program_states(m->program), sizeof *out->tensor);
	if (!out->tensor)
		return ls_error_set(m->err, LS_ERR_NOMEM, "%s: no memory for its weights", m->path);
	for (int s = 0; s < ls_program_states(m->program); s++)
		if (ls_model_is_weight(m->model, s))
			LS_TRY(read_weight(out, m, ls_program_value(m->program, s)));
	if (count_not_buffers(m->file) != (size_t)out->count)
		LS_TRY(check_extra(out, m));
done:
	return status;
}

static ls_status hash_weights(const ls_job__import *in, const matching *m, ls_hash *root)
{
	ls_status status;
	ls_hasher *h = NULL;
	ls_tensor_entry *entry = ls_alloc((size_t)in->count, sizeof *entry);
	int n = 0;
	if (!entry)
		return ls_error_set(m->err, LS_ERR_NOMEM, "%s: no memory to hash its weights", m->path);
	LS_TRY(ls_hasher_open(&h, 1, m->err));
	for (int s = 0; s < ls_program_states(m->program); s++) {
		const ls_value *v = ls_program_value(m->program, s);
		if (!ls_model_is_weight(m->model, s))
			continue;
		entry[n] = (ls_tensor_entry){.name = v->name, .dtype = (uint8_t)v->dtype, .rank = (uint8_t)v->shape.rank};
		memcpy(entry[n].dims, v->shape.dim, sizeof v->shape.dim);
		LS_TRY(ls_tensor_root(&entry[n].root, in->tensor[n], ls_shape_count(&v->shape), NULL, h));
		n++;
	}
	LS_TRY(ls_state_root(root, entry, (size_t)n, h, m->err));
done:
	ls_hasher_free(h);
	ls_free(entry);
	return status;
}

static uint32_t word(void *context, int64_t tensor, int64_t index)
{
	const ls_job__import *import = context;
	return ls_bits_f32(import->tensor[tensor][index]);
}

ls_status ls_job__import_read(ls_job__import *out, const char *path, const ls_model *model, ls_hash *root, ls_error *err)
{
	ls_status status;
	ls_safetensors *file = NULL;
	matching m = {.program = ls_model_step(model), .model = model, .path = path, .err = err};
	LS_TRY(ls_safetensors_open(&file, path, err));
	m.file = file;
	choose_prefix(&m);
	LS_TRY(read_weights(out, &m));
	LS_TRY(hash_weights(out, &m, root));
	out->source = (ls_imports){out, word};
done:
	ls_safetensors_free(file);
	return status;
}

void ls_job__import_free(ls_job__import *import)
{
	for (int i = 0; i < import->count; i++)
		ls_free(import->tensor[i]);
	ls_free(import->tensor);
	*import = (ls_job__import){0};
}
