#include "data/dataset.h"

#include <stdio.h>

typedef struct loader {
	const char *format;
	ls_data__open_fn open;
	bool tokens;
} loader;

static const loader loaders[] = {
	{"cifar10", ls_data__cifar10_open, false},
	{"csv", ls_data__csv_open, false},
	{"idx", ls_data__idx_open, false},
	{"npy", ls_data__npy_open, false},
	{"text", ls_data__text_open, true},
	{"tokens", ls_data__tokens_open, true},
};

static const loader *find_loader(const char *format)
{
	for (size_t i = 0; format && i < sizeof loaders / sizeof *loaders; i++)
		if (strcmp(loaders[i].format, format) == 0)
			return &loaders[i];
	return NULL;
}

static ls_status complain_about_format(ls_error *err, const char *format)
{
	ls_buf known;
	ls_status status;
	ls_buf_init(&known, 1024);
	for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++)
		ls_buf_printf(&known, "%s%s", i ? ", " : "", loaders[i].format);
	ls_buf_u8(&known, 0);
	status = ls_error_set(err, LS_ERR_USAGE, "data.format: found %s, expected one of: %s", format ? format : "nothing",
	                      known.status == LS_OK ? (const char *)known.data : "(no memory for the list)");
	ls_buf_free(&known);
	return status;
}

static ls_status check_token_options(const ls_dataset_options *o, ls_error *err)
{
	bool tokens = ls_data_format_is_tokens(o->format);
	if (!tokens && (o->length || o->eval_path || o->holdout != 0))
		return ls_error_set(err, LS_ERR_USAGE, "%s: found it in a job of data.format %s, expected it with text or tokens only",
		                    o->length ? "data.length" : o->eval_path ? "data.eval_path" : "data.holdout", o->format);
	if (!tokens)
		return LS_OK;
	if (o->length < 1 || o->length > LS_DATASET_LENGTH_MAX)
		return ls_error_set(err, LS_ERR_USAGE, "data.length: found %lld, expected 1 to %lld tokens in one sequence",
		                    (long long)o->length, (long long)LS_DATASET_LENGTH_MAX);
	if (!(o->holdout >= 0 && o->holdout <= LS_DATASET_HOLDOUT_MAX) || (o->eval_path && o->holdout != 0))
		return ls_error_set(err, LS_ERR_USAGE, "data.holdout: found %g, expected 0 to %g, and 0 beside data.eval_path", o->holdout,
		                    LS_DATASET_HOLDOUT_MAX);
	if (strcmp(o->split, "test") == 0 && !o->eval_path && o->holdout == 0)
		return ls_error_set(err, LS_ERR_USAGE, "data.holdout: found nothing held out to measure on, expected data.holdout or data.eval_path\n"
		                    "  hint: data.holdout is part of the job; data.eval_path may be set at any time");
	return LS_OK;
}

static ls_status check_options(const ls_dataset_options *o, ls_error *err)
{
	if (o->version != 1)
		return ls_error_set(err, LS_ERR_USAGE, "ls_dataset_options: found version %u, expected 1", o->version);
	if (!o->split || (strcmp(o->split, "train") != 0 && strcmp(o->split, "test") != 0))
		return ls_error_set(err, LS_ERR_USAGE, "data.split: found %s, expected train or test",
		                    o->split ? o->split : "nothing");
	if (o->limit < 0)
		return ls_error_set(err, LS_ERR_USAGE, "data.limit: found %lld, expected 0 (all) or more", (long long)o->limit);
	if (o->shape[0] || o->shape[1] || o->shape[2])
		for (int i = 0; i < 3; i++)
			if (o->shape[i] < 1 || o->shape[i] > LS_DATASET_SIDE_MAX)
				return ls_error_set(err, LS_ERR_USAGE, "data.shape: found %lld, expected channels, height and width of 1 to %d each",
				                    (long long)o->shape[i], LS_DATASET_SIDE_MAX);
	return find_loader(o->format) ? check_token_options(o, err) : complain_about_format(err, o->format);
}

bool ls_data_format_is_tokens(const char *format)
{
	const loader *l = find_loader(format);
	return l && l->tokens;
}

/* At most LS_DATASET_CLASSES_MAX, as labels are bytes, and tokens have 16 bits. */
static int32_t count_classes(const ls_dataset *ds)
{
	int32_t largest = 0;
	for (int64_t i = 0; i < ds->tokens; i++)
		if (ls_dataset_token(ds, i) > largest)
			largest = ls_dataset_token(ds, i);
	for (int64_t i = 0; i < ds->count && ds->labels; i++)
		if (ds->labels[i] > largest)
			largest = ds->labels[i];
	return largest + 1;
}

/* What the job says of a sample's shape has to be what the data are, whether or not the format needs to be told. */
static ls_status check_shape(const ls_dataset *ds, const ls_dataset_options *o, ls_error *err)
{
	const int64_t *want = o->shape, *have = ds->shape;
	char found[80], expected[112];
	if (!want[0] || !memcmp(want, have, sizeof ds->shape))
		return LS_OK;
	snprintf(found, sizeof found, "[%lld, %lld, %lld]", (long long)want[0], (long long)want[1], (long long)want[2]);
	snprintf(expected, sizeof expected, "[%lld, %lld, %lld], the shape of the samples in %s", (long long)have[0],
	         (long long)have[1], (long long)have[2], o->path && o->path[0] ? "these files" : "the current folder");
	return ls_error_input(err, o->path, "data.shape", found, expected, "format csv alone needs data.shape");
}

ls_status ls_dataset_open(ls_dataset **out, const ls_dataset_options *options, ls_error *err)
{
	ls_status status = LS_OK;
	ls_dataset *ds = NULL;
	const loader *chosen;
	*out = NULL;
	LS_TRY(check_options(options, err));
	chosen = find_loader(options->format);
	ds = ls_alloc(1, sizeof *ds);
	if (!ds) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a data set");
		goto done;
	}
	ds->format = chosen->format;
	LS_TRY(chosen->open(ds, options, err));
	LS_TRY(check_shape(ds, options, err));
	ds->classes = count_classes(ds);
	*out = ds;
	ds = NULL;
done:
	ls_dataset_free(ds);
	return status;
}

void ls_dataset_free(ls_dataset *ds)
{
	if (!ds)
		return;
	ls_free(ds->images);
	ls_free(ds->labels);
	ls_free(ds->stream);
	ls_free(ds->text);
	ls_free(ds->tokenizer);
	ls_free(ds);
}

int64_t ls_dataset_count(const ls_dataset *ds)
{
	return ds->count;
}

void ls_dataset_shape(const ls_dataset *ds, int64_t shape[3])
{
	memcpy(shape, ds->shape, sizeof ds->shape);
}

const char *ls_dataset_format(const ls_dataset *ds)
{
	return ds->format;
}

static int64_t sample_bytes(const ls_dataset *ds)
{
	return ds->shape[0] * ds->shape[1] * ds->shape[2];
}

const uint8_t *ls_dataset_sample(const ls_dataset *ds, int64_t i)
{
	return ds->images + i * sample_bytes(ds);
}

int32_t ls_dataset_label(const ls_dataset *ds, int64_t i)
{
	return ds->labels[i];
}

int32_t ls_dataset_classes(const ls_dataset *ds)
{
	return ds->classes;
}

bool ls_dataset_is_tokens(const ls_dataset *ds)
{
	return ds->stream != NULL;
}

int64_t ls_dataset_tokens(const ls_dataset *ds)
{
	return ds->tokens;
}

int32_t ls_dataset_token(const ls_dataset *ds, int64_t i)
{
	return ds->stream[2 * i] | ds->stream[2 * i + 1] << 8;
}

uint32_t ls_dataset_parts(const ls_dataset *ds, ls_data_part out[LS_DATASET_PARTS_MAX])
{
	if (!ds->stream) {
		out[0] = (ls_data_part){"images", ds->images, (uint64_t)(ds->count * sample_bytes(ds))};
		out[1] = (ls_data_part){"labels", ds->labels, (uint64_t)ds->count};
		return 2;
	}
	out[0] = (ls_data_part){"tokenizer", ds->tokenizer, ds->tokenizer_len};
	out[1] = (ls_data_part){"text", ds->text, ds->text_len};
	out[ds->text ? 2 : 0] = (ls_data_part){"tokens", ds->stream, 2 * (uint64_t)ds->tokens};
	return ds->text ? 3 : 1;
}

ls_status ls_dataset_root(const ls_dataset *ds, ls_hash *out)
{
	ls_status status = LS_OK;
	ls_hasher *h = NULL;
	ls_data_part parts[LS_DATASET_PARTS_MAX];
	uint32_t count = ls_dataset_parts(ds, parts);
	LS_TRY(ls_hasher_open(&h, 1, NULL));
	LS_TRY(ls_data_root(out, ds->format, (uint64_t)ds->count, ds->shape, 3, parts, count, h));
done:
	ls_hasher_free(h);
	return status;
}
