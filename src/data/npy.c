/* NPY (numpy.lib.format): a magic, a version, the length of a header, the header, the elements. The header is a Python
 * dictionary; of Python, only what NumPy itself writes there is read: the three keys in any order, a quoted type, True or
 * False, a tuple of integers. Types that would be unpickled are refused by name. */
#include "data/dataset.h"

#include <stdio.h>

#define HEADER_MAX 4096
#define RANK_MAX 4
#define LABEL_BLOCK 4096

typedef struct npy_header {
	char type[16]; // "|u1"
	bool fortran;
	int rank;
	int64_t dim[RANK_MAX];
	int64_t data; // offset of the first element
} npy_header;

/* ---- the header's text ---- */

typedef struct header_text {
	const char *text; // NUL-terminated
	size_t at;
	int64_t offset; // of the text in the file
	const ls_data__source *source;
	ls_error *err;
} header_text;

static ls_status wrong(const header_text *h, const char *expected)
{
	char found[24];
	snprintf(found, sizeof found, "%.16s", h->text + h->at);
	for (char *c = found; *c; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	return ls_data__complain(h->err, h->source, h->offset + (int64_t)h->at, expected, "write the file again with numpy.save",
	                         "%s", found[0] ? found : "the end of the header");
}

static void skip_spaces(header_text *h)
{
	while (h->text[h->at] == ' ')
		h->at++;
}

static bool accept(header_text *h, const char *word)
{
	size_t len = strlen(word);
	skip_spaces(h);
	if (strncmp(h->text + h->at, word, len) != 0)
		return false;
	h->at += len;
	return true;
}

static ls_status expect(header_text *h, const char *word)
{
	char expected[32];
	if (accept(h, word))
		return LS_OK;
	snprintf(expected, sizeof expected, "%s", word);
	return wrong(h, expected);
}

static ls_status read_quoted(header_text *h, char *out, size_t size)
{
	size_t len = 0;
	if (!accept(h, "'"))
		return wrong(h, "a text in single quotes");
	for (; h->text[h->at] && h->text[h->at] != '\''; h->at++)
		if (len + 1 < size)
			out[len++] = h->text[h->at]; // longer ones are cut, and then are none of the texts that are known
	out[len] = 0;
	return expect(h, "'");
}

static ls_status read_integer(header_text *h, int64_t *out)
{
	int digits = 0;
	skip_spaces(h);
	for (*out = 0; h->text[h->at] >= '0' && h->text[h->at] <= '9'; digits++) {
		if (digits == 15)
			return wrong(h, "a dimension of at most 15 digits");
		*out = 10 * *out + (h->text[h->at++] - '0');
	}
	return digits ? LS_OK : wrong(h, "a dimension");
}

static ls_status read_shape(header_text *h, npy_header *out)
{
	ls_status status;
	LS_TRY(expect(h, "("));
	while (!accept(h, ")")) {
		if (out->rank == RANK_MAX) {
			status = wrong(h, "at most 4 dimensions");
			goto done;
		}
		LS_TRY(read_integer(h, &out->dim[out->rank]));
		if (!accept(h, ",") && (out->rank == 0 || h->text[h->at] != ')')) { // (5) is a number, (5,) a tuple
			status = wrong(h, "a comma");
			goto done;
		}
		out->rank++;
	}
done:
	return status;
}

static ls_status read_item(header_text *h, npy_header *out, unsigned *seen)
{
	ls_status status;
	char key[32];
	unsigned bit;
	size_t at = h->at;
	LS_TRY(read_quoted(h, key, sizeof key));
	bit = strcmp(key, "descr") == 0 ? 1 : strcmp(key, "fortran_order") == 0 ? 2 : strcmp(key, "shape") == 0 ? 4 : 0;
	if (!bit || *seen & bit) {
		h->at = at;
		status = wrong(h, "descr, fortran_order and shape, each once");
		goto done;
	}
	*seen |= bit;
	LS_TRY(expect(h, ":"));
	if (bit == 1)
		LS_TRY(read_quoted(h, out->type, sizeof out->type));
	else if (bit == 4)
		LS_TRY(read_shape(h, out));
	else if (accept(h, "True"))
		out->fortran = true;
	else
		LS_TRY(expect(h, "False"));
done:
	return status;
}

static ls_status read_dictionary(header_text *h, npy_header *out)
{
	ls_status status;
	unsigned seen = 0;
	LS_TRY(expect(h, "{"));
	while (!accept(h, "}")) {
		LS_TRY(read_item(h, out, &seen));
		if (!accept(h, ",") && h->text[h->at] != '}') {
			status = wrong(h, "a comma");
			goto done;
		}
	}
	if (seen != 7) {
		status = wrong(h, "descr, fortran_order and shape before the end");
		goto done;
	}
	accept(h, "\n");
	if (h->text[h->at])
		status = wrong(h, "the end of the header");
done:
	return status;
}

/* ---- the file's beginning ---- */

static ls_status read_length(ls_data__source *s, int64_t *len, ls_error *err)
{
	ls_status status;
	static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
	uint8_t raw[8] = {0}, size[4] = {0};
	LS_TRY(ls_data__source_read(s, raw, 8, "the header", err));
	if (memcmp(raw, magic, sizeof magic) != 0)
		status = ls_data__complain(err, s, 0, "\\x93NUMPY", "an .npz archive has to be unpacked first", "another beginning");
	else if (raw[6] < 1 || raw[6] > 3 || raw[7] != 0)
		status = ls_data__complain(err, s, 6, "version 1.0, 2.0 or 3.0", NULL, "version %u.%u", raw[6], raw[7]);
	if (status != LS_OK)
		goto done;
	LS_TRY(ls_data__source_read(s, size, raw[6] == 1 ? 2 : 4, "the header", err));
	*len = ls_get_le32(size);
	if (*len > HEADER_MAX)
		status = ls_data__complain(err, s, 8, "at most 4096 bytes", NULL, "a header of %lld bytes", (long long)*len);
done:
	return status;
}

static ls_status read_header(npy_header *out, ls_data__source *s, ls_error *err)
{
	ls_status status;
	char text[HEADER_MAX + 1] = {0};
	header_text h = {.text = text, .source = s, .err = err};
	int64_t len = 0;
	*out = (npy_header){0};
	LS_TRY(read_length(s, &len, err));
	h.offset = s->offset;
	LS_TRY(ls_data__source_read(s, text, len, "the header", err));
	if (strlen(text) != (size_t)len) {
		h.at = strlen(text);
		status = wrong(&h, "text without zero bytes");
		goto done;
	}
	LS_TRY(read_dictionary(&h, out));
	out->data = s->offset;
	if (out->fortran)
		status = ls_data__complain(err, s, h.offset, "C order", "save numpy.ascontiguousarray(…) instead", "Fortran order");
done:
	return status;
}

/* ---- images ---- */

static ls_status check_images(const npy_header *h, ls_dataset *ds, const ls_data__source *s, ls_error *err)
{
	int64_t size = 1;
	if (strcmp(h->type, "|u1") != 0)
		return ls_data__complain(err, s, 10, "'|u1', unsigned bytes",
		                         strchr(h->type, 'O') ? "objects would have to be unpickled, which is never done" : "save images.astype('uint8')",
		                         "elements of type '%s'", h->type);
	if (h->rank != 3 && h->rank != 4)
		return ls_data__complain(err, s, 10, "(N, H, W) or (N, C, H, W)", NULL, "%d dimensions", h->rank);
	for (int i = 0; i < h->rank; i++)
		if (h->dim[i] < 1 || (i && h->dim[i] > LS_DATASET_SIDE_MAX))
			return ls_data__complain(err, s, 10, i ? "1 to 65536" : "at least 1", NULL, "a dimension of %lld", (long long)h->dim[i]);
	ds->shape[0] = h->rank == 4 ? h->dim[1] : 1;
	ds->shape[1] = h->dim[h->rank - 2];
	ds->shape[2] = h->dim[h->rank - 1];
	for (int i = 0; i < 3; i++)
		size *= ds->shape[i]; // ≤ 2^48
	return size > LS_DATASET_BYTES_MAX / ds->count ? ls_data__too_large(err, s) : LS_OK;
}

static ls_status read_images(ls_dataset *ds, bool all, ls_data__source *s, ls_error *err)
{
	ls_status status = LS_OK;
	int64_t bytes = ds->count * ds->shape[0] * ds->shape[1] * ds->shape[2];
	ds->images = ls_alloc((size_t)bytes, 1);
	if (!ds->images)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for %lld bytes of images", s->path, (long long)bytes);
	LS_TRY(ls_data__source_read(s, ds->images, bytes, "images", err));
	if (all)
		LS_TRY(ls_data__source_finish(s, err));
done:
	return status;
}

/* ---- labels ---- */

/* Bytes of an element, and whether the most significant comes first; 0 where the type is no integer. */
static int integer_size(const char *type, bool *big_endian)
{
	static const char sizes[] = "1248";
	char size = type[0] && type[1] ? type[2] : 0;
	*big_endian = type[0] == '>';
	if (!size || !strchr(sizes, size) || type[3] || (type[1] != 'u' && type[1] != 'i'))
		return 0;
	return type[0] == '<' || type[0] == '>' || (type[0] == '|' && size == '1') ? size - '0' : 0;
}

/* The label's byte, or −1 where the value is not 0…255 (the bits of a negative number read as a large one). */
static int label_of(const uint8_t *element, int size, bool big_endian, bool is_signed)
{
	int low = element[big_endian ? size - 1 : 0];
	for (int i = 1; i < size; i++)
		if (element[big_endian ? size - 1 - i : i])
			return -1;
	return size == 1 && is_signed && low > 127 ? -1 : low;
}

static ls_status read_label_block(ls_dataset *ds, int64_t first, int64_t count, const npy_header *h, ls_data__source *s,
                                  ls_error *err)
{
	ls_status status;
	uint8_t block[LABEL_BLOCK * 8];
	bool big_endian;
	int size = integer_size(h->type, &big_endian);
	int64_t at = s->offset;
	LS_TRY(ls_data__source_read(s, block, count * size, "labels", err));
	for (int64_t i = 0; i < count; i++) {
		int label = label_of(block + i * size, size, big_endian, h->type[1] == 'i');
		if (label < 0) {
			status = ls_data__complain(err, s, at + i * size, "0 to 255", NULL, "a label outside these bounds");
			goto done;
		}
		ds->labels[first + i] = (uint8_t)label;
	}
done:
	return status;
}

static ls_status check_labels(const npy_header *h, int64_t images, const ls_data__source *s, ls_error *err)
{
	bool big_endian;
	char expected[64];
	if (!integer_size(h->type, &big_endian))
		return ls_data__complain(err, s, 10, "integers of 1, 2, 4 or 8 bytes", "save labels.astype('uint8')",
		                         "elements of type '%s'", h->type);
	if (h->rank == 1 && h->dim[0] == images)
		return LS_OK;
	snprintf(expected, sizeof expected, "(%lld,), one label per image", (long long)images);
	return ls_data__complain(err, s, 10, expected, "images and labels must be of the same split", "%d dimensions, the first of %lld",
	                         h->rank, h->rank ? (long long)h->dim[0] : 0);
}

static ls_status read_labels(ls_dataset *ds, const npy_header *h, ls_data__source *s, ls_error *err)
{
	ls_status status = LS_OK;
	ds->labels = ls_alloc((size_t)ds->count, 1);
	if (!ds->labels)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for %lld labels", s->path, (long long)ds->count);
	for (int64_t i = 0; i < ds->count; i += LABEL_BLOCK)
		LS_TRY(read_label_block(ds, i, ds->count - i < LABEL_BLOCK ? ds->count - i : LABEL_BLOCK, h, s, err));
	if (ds->count == h->dim[0])
		LS_TRY(ls_data__source_finish(s, err));
done:
	return status;
}

static ls_status read_pair(ls_dataset *ds, int64_t limit, ls_data__source *images, ls_data__source *labels, ls_error *err)
{
	ls_status status;
	npy_header ih, lh;
	LS_TRY(read_header(&ih, images, err));
	LS_TRY(read_header(&lh, labels, err));
	ds->count = limit ? limit : ih.rank && ih.dim[0] ? ih.dim[0] : 1;
	LS_TRY(check_images(&ih, ds, images, err));
	LS_TRY(check_labels(&lh, ih.dim[0], labels, err));
	if (ds->count > ih.dim[0]) {
		status = ls_data__too_few(err, images, ih.dim[0], limit);
		goto done;
	}
	LS_TRY(read_images(ds, ds->count == ih.dim[0], images, err));
	LS_TRY(read_labels(ds, &lh, labels, err));
done:
	return status;
}

ls_status ls_data__npy_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err)
{
	ls_status status;
	bool test = strcmp(options->split, "test") == 0;
	const char *dir = options->path ? options->path : "";
	ls_data__source *images = NULL, *labels = NULL;
	LS_TRY(ls_data__source_open(&images, dir, test ? "test_images.npy" : "images.npy", err));
	LS_TRY(ls_data__source_open(&labels, dir, test ? "test_labels.npy" : "labels.npy", err));
	LS_TRY(read_pair(ds, options->limit, images, labels, err));
done:
	ls_data__source_free(labels);
	ls_data__source_free(images);
	return status;
}
