/* CIFAR-10, binary version: records of one label byte and 3 × 32 × 32 pixels, channel after channel. */
#include "data/dataset.h"

#include <stdio.h>

#define SIDE 32
#define PIXELS (3 * SIDE * SIDE)
#define RECORD (1 + PIXELS)
#define CLASSES 10
#define BATCH_LAST 99 /* highest number of a data_batch file that is looked for */

typedef struct batches {
	ls_buf images, labels;
	int64_t limit; // 0: none
} batches;

static bool full(const batches *b)
{
	return b->limit && (int64_t)b->labels.len == b->limit;
}

/* `*ended` where the data end before the record's first byte. */
static ls_status read_record(uint8_t record[RECORD], bool *ended, ls_data__source *s, ls_error *err)
{
	ls_status status;
	int64_t at = s->offset;
	size_t got;
	LS_TRY(ls_data__source_some(s, record, 1, &got, err));
	*ended = got == 0;
	if (*ended)
		goto done;
	if (record[0] >= CLASSES) {
		status = ls_data__complain(err, s, at, "a label from 0 to 9", "is it the binary version of CIFAR-10?", "%u", record[0]);
		goto done;
	}
	LS_TRY(ls_data__source_read(s, record + 1, PIXELS, "this record", err));
done:
	return status;
}

static ls_status keep_record(batches *b, const uint8_t record[RECORD], const ls_data__source *s, ls_error *err)
{
	ls_buf_u8(&b->labels, record[0]);
	ls_buf_bytes(&b->images, record + 1, PIXELS);
	if (b->images.status == LS_ERR_LIMIT)
		return ls_data__too_large(err, s);
	if (b->images.status != LS_OK || b->labels.status != LS_OK)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its images", s->path);
	return LS_OK;
}

static ls_status read_batch(batches *b, const char *dir, const char *name, bool last, ls_error *err)
{
	ls_status status;
	uint8_t record[RECORD];
	bool ended = false;
	size_t before = b->labels.len;
	ls_data__source *s = NULL;
	LS_TRY(ls_data__source_open(&s, dir, name, err));
	while (!full(b)) {
		LS_TRY(read_record(record, &ended, s, err));
		if (ended)
			break;
		LS_TRY(keep_record(b, record, s, err));
	}
	if (ended)
		LS_TRY(ls_data__source_finish(s, err));
	if (ended && b->labels.len == before)
		status = ls_data__complain(err, s, 0, "at least one record of 3073 bytes", NULL, "an empty file");
	else if (last && b->limit && !full(b))
		status = ls_data__too_few(err, s, (int64_t)b->labels.len, b->limit);
done:
	ls_data__source_free(s);
	return status;
}

static void batch_name(char out[32], int number)
{
	snprintf(out, 32, "data_batch_%d.bin", number);
}

static int next_batch(const char *dir, int after)
{
	char name[32];
	for (int number = after + 1; number <= BATCH_LAST; number++) {
		batch_name(name, number);
		if (ls_data__source_exists(dir, name))
			return number;
	}
	return 0;
}

static ls_status read_training(batches *b, const char *dir, ls_error *err)
{
	ls_status status = LS_OK;
	int number = next_batch(dir, 0);
	char name[32];
	if (!number)
		number = 1; // opening it finds the words for what is missing
	while (number && !full(b)) {
		int next = next_batch(dir, number);
		batch_name(name, number);
		LS_TRY(read_batch(b, dir, name, !next, err));
		number = next;
	}
done:
	return status;
}

ls_status ls_data__cifar10_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err)
{
	ls_status status;
	const char *dir = options->path ? options->path : "";
	batches b = {.limit = options->limit};
	ls_buf_init(&b.images, LS_DATASET_BYTES_MAX);
	ls_buf_init(&b.labels, LS_DATASET_BYTES_MAX);
	if (strcmp(options->split, "test") == 0)
		LS_TRY(read_batch(&b, dir, "test_batch.bin", true, err));
	else
		LS_TRY(read_training(&b, dir, err));
	ds->shape[0] = 3;
	ds->shape[1] = ds->shape[2] = SIDE;
	ls_data__take_over(ds, &b.images, &b.labels);
done:
	ls_buf_free(&b.images);
	ls_buf_free(&b.labels);
	return status;
}
