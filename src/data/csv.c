/* Numeric tables. The reader is our own because what is accepted is far less than CSV: no quotes, no spaces, no empty fields,
 * one way to write a number. A CSV library would accept more than that, and everything it accepts beyond would be one more
 * way for two readers to take one file for two data sets. */
#include "data/dataset.h"

#include <stdio.h>

#define COLUMNS_MAX (1 << 24)
#define NAME_SHOWN 32
#define BLOCK 65536

typedef struct table {
	ls_data__source *source;
	uint8_t block[BLOCK];
	size_t at, filled;
	bool ended;
	int64_t line, column; // from 1; of the field being read
	int64_t columns, label; // number of columns, and which of them is the label
	ls_buf images, labels;
} table;

enum { END = -1 }; // of the file, where a byte is expected

static ls_status complain(const table *t, const char *found, const char *expected, const char *hint, ls_error *err)
{
	char place[64];
	snprintf(place, sizeof place, "line %lld, column %lld", (long long)t->line, (long long)t->column);
	return ls_error_input(err, t->source->path, place, found, expected, hint);
}

static ls_status next_byte(table *t, int *out, ls_error *err)
{
	ls_status status = LS_OK;
	if (t->at == t->filled && !t->ended) {
		t->at = 0;
		LS_TRY(ls_data__source_some(t->source, t->block, BLOCK, &t->filled, err));
		t->ended = t->filled == 0;
	}
	*out = t->at < t->filled ? t->block[t->at++] : END;
done:
	return status;
}

static void describe_byte(char out[32], int byte)
{
	if (byte == END)
		snprintf(out, 32, "the end of the file");
	else if (byte == '\n')
		snprintf(out, 32, "the end of the line");
	else if (byte > 0x20 && byte < 0x7f)
		snprintf(out, 32, "'%c'", byte);
	else
		snprintf(out, 32, "byte 0x%02x", (unsigned)byte);
}

/* What ends a field: ',', '\n' (for CR LF, too) or END. Other bytes are returned as they are. */
static ls_status next_sign(table *t, int *out, ls_error *err)
{
	ls_status status;
	char found[32];
	LS_TRY(next_byte(t, out, err));
	if (*out != '\r')
		goto done;
	LS_TRY(next_byte(t, out, err));
	if (*out != '\n') {
		describe_byte(found, *out);
		status = complain(t, found, "a line feed after the carriage return", NULL, err);
	}
done:
	return status;
}

static bool ends_field(int sign)
{
	return sign == ',' || sign == '\n' || sign == END;
}

/* ---- the line of names ---- */

/* One name; only its first bytes matter, as only `label` means something. */
static ls_status read_name(table *t, char name[NAME_SHOWN], int *sign, ls_error *err)
{
	ls_status status;
	char found[32];
	size_t len = 0;
	for (;;) {
		LS_TRY(next_sign(t, sign, err));
		if (ends_field(*sign))
			break;
		if (*sign == '"' || *sign < 0x20) {
			describe_byte(found, *sign);
			status = complain(t, found, "a column's name without quotes", NULL, err);
			goto done;
		}
		if (len + 1 < NAME_SHOWN)
			name[len++] = (char)*sign;
	}
	name[len] = 0;
	if (!len)
		status = complain(t, "an empty name", "a column's name", "the first line names the columns, one of them label", err);
done:
	return status;
}

static ls_status take_name(table *t, const char *name, ls_error *err)
{
	if (t->column > COLUMNS_MAX)
		return complain(t, "one column more", "at most 16777216 columns", NULL, err);
	if (strcmp(name, "label") != 0)
		return LS_OK;
	if (t->label)
		return complain(t, "a second column 'label'", "one", NULL, err);
	t->label = t->column;
	return LS_OK;
}

static ls_status read_names(table *t, ls_error *err)
{
	ls_status status;
	char name[NAME_SHOWN];
	int sign = ',';
	t->line = 1;
	for (t->column = 1; sign == ','; t->column++) {
		LS_TRY(read_name(t, name, &sign, err));
		LS_TRY(take_name(t, name, err));
		t->columns++;
	}
	t->column = t->columns;
	if (!t->label)
		status = complain(t, "no column 'label'", "one column of that name", "the first line names the columns", err);
done:
	return status;
}

static ls_status check_shape(const table *t, const int64_t shape[3], ls_error *err)
{
	char found[48], expected[96];
	int64_t product = shape[0] * shape[1]; // ≤ 2^32, as each is ≤ 2^16
	bool fits = product > 0 && product <= COLUMNS_MAX && product * shape[2] == t->columns - 1;
	if (!shape[0])
		return complain(t, "no data.shape", "the shape of a sample in the job", "for example data.shape: [1, 8, 8] for 64 columns",
		                err);
	if (fits)
		return LS_OK;
	snprintf(found, sizeof found, "%lld columns beside label", (long long)t->columns - 1);
	snprintf(expected, sizeof expected, "%lld × %lld × %lld as in data.shape", (long long)shape[0], (long long)shape[1],
	         (long long)shape[2]);
	return complain(t, found, expected, NULL, err);
}

/* ---- the lines of numbers ---- */

/* 0…255 in the one way to write it; `first` is the field's first byte, already read. */
static ls_status read_number(table *t, int first, uint8_t *out, int *sign, ls_error *err)
{
	ls_status status = LS_OK;
	char found[32];
	int value = -1;
	for (*sign = first; *sign >= '0' && *sign <= '9' && value != 0 && value < 256;) {
		value = (value < 0 ? 0 : 10 * value) + (*sign - '0');
		LS_TRY(next_sign(t, sign, err));
	}
	if (value > 255) {
		status = complain(t, "a number above 255", "an integer from 0 to 255", NULL, err);
	} else if (value < 0 || !ends_field(*sign)) {
		describe_byte(found, *sign);
		status = complain(t, found, "an integer from 0 to 255 and nothing else", "no sign, space, quote, fraction or leading zero",
		                  err);
	}
	*out = (uint8_t)value;
done:
	return status;
}

static ls_status keep_number(table *t, uint8_t value, ls_error *err)
{
	ls_buf *to = t->column == t->label ? &t->labels : &t->images;
	ls_buf_u8(to, value);
	if (to->status == LS_ERR_LIMIT)
		return ls_data__too_large(err, t->source);
	if (to->status != LS_OK)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for its samples", t->source->path);
	return LS_OK;
}

static ls_status check_end(const table *t, int sign, ls_error *err)
{
	char found[48], expected[64];
	bool more = t->column == t->columns && sign == ',', fewer = t->column < t->columns && sign != ',';
	if (!more && !fewer)
		return LS_OK;
	snprintf(found, sizeof found, "%s %lld columns", more ? "more than" : "only", (long long)t->column);
	snprintf(expected, sizeof expected, "%lld, as many as the first line names", (long long)t->columns);
	return complain(t, found, expected, NULL, err);
}

/* A line whose first byte is `first`. */
static ls_status read_line(table *t, int first, ls_error *err)
{
	ls_status status = LS_OK;
	int sign = first;
	for (t->column = 1; t->column <= t->columns; t->column++) {
		uint8_t value;
		if (t->column > 1)
			LS_TRY(next_sign(t, &sign, err));
		LS_TRY(read_number(t, sign, &value, &sign, err));
		LS_TRY(keep_number(t, value, err));
		LS_TRY(check_end(t, sign, err));
	}
done:
	return status;
}

static ls_status read_lines(table *t, int64_t limit, ls_error *err)
{
	ls_status status = LS_OK;
	int first = 0;
	for (t->line = 2; !limit || (int64_t)t->labels.len < limit; t->line++) {
		LS_TRY(next_sign(t, &first, err));
		if (first == END)
			break;
		LS_TRY(read_line(t, first, err));
	}
	t->column = 1;
	if (first == END)
		LS_TRY(ls_data__source_finish(t->source, err));
	if (first == END && !t->labels.len)
		status = complain(t, "the end of the file", "at least one sample", NULL, err);
	else if (limit && (int64_t)t->labels.len < limit)
		status = ls_data__too_few(err, t->source, (int64_t)t->labels.len, limit);
done:
	return status;
}

ls_status ls_data__csv_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err)
{
	ls_status status;
	bool test = strcmp(options->split, "test") == 0;
	table *t = ls_alloc(1, sizeof *t);
	if (!t)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory to read a table");
	ls_buf_init(&t->images, LS_DATASET_BYTES_MAX);
	ls_buf_init(&t->labels, LS_DATASET_BYTES_MAX);
	LS_TRY(ls_data__source_open(&t->source, options->path ? options->path : "", test ? "test.csv" : "train.csv", err));
	LS_TRY(read_names(t, err));
	LS_TRY(check_shape(t, options->shape, err));
	LS_TRY(read_lines(t, options->limit, err));
	memcpy(ds->shape, options->shape, sizeof ds->shape);
	ls_data__take_over(ds, &t->images, &t->labels);
done:
	ls_data__source_free(t->source);
	ls_buf_free(&t->images);
	ls_buf_free(&t->labels);
	ls_free(t);
	return status;
}
