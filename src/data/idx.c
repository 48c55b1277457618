/* IDX: a big-endian header (two zero bytes, element type, rank, then a u32 per dimension) and the elements. */
#include "data/dataset.h"

#include <stdio.h>

#define ELEMENT_UBYTE 0x08
#define DEBIAN_FASHION_MNIST "/usr/share/datasets/fashion-mnist"
#define DIM_MAX 65536 /* height or width */

typedef struct idx_header {
	int rank;
	int64_t dim[3];
} idx_header;

static int64_t get_be32(const uint8_t *p)
{
	return (int64_t)p[0] << 24 | (int64_t)p[1] << 16 | (int64_t)p[2] << 8 | p[3];
}

static ls_status check_magic(const uint8_t *p, int rank, const ls_data__source *s, ls_error *err)
{
	char expected[64];
	snprintf(expected, sizeof expected, "00 00 08 %02x (unsigned bytes, rank %d)", rank, rank);
	if (p[0] == 0x1f && p[1] == 0x8b)
		return ls_data__complain(err, s, 0, expected, "a gzip file must be named .gz", "gzip data");
	if (p[0] || p[1] || p[2] != ELEMENT_UBYTE || p[3] != rank)
		return ls_data__complain(err, s, 0, expected, "is it the right file? images have rank 3, labels rank 1",
		                         "%02x %02x %02x %02x", p[0], p[1], p[2], p[3]);
	return LS_OK;
}

static ls_status read_header(idx_header *out, int rank, ls_data__source *s, ls_error *err)
{
	ls_status status = LS_OK;
	uint8_t raw[16];
	out->rank = rank;
	LS_TRY(ls_data__source_read(s, raw, 4, "the header", err));
	LS_TRY(check_magic(raw, rank, s, err));
	LS_TRY(ls_data__source_read(s, raw, 4 * rank, "the header", err));
	for (int i = 0; i < rank; i++) {
		out->dim[i] = get_be32(raw + 4 * i);
		if (out->dim[i] == 0) {
			status = ls_data__complain(err, s, 4 + 4 * i, "at least 1", NULL, "a dimension of 0");
			goto done;
		}
	}
done:
	return status;
}

/* Before anything is allocated: the bytes of the images actually taken. */
static ls_status check_images(const idx_header *header, int64_t count, const ls_data__source *s, ls_error *err)
{
	int64_t h = header->dim[1], w = header->dim[2];
	if (h > DIM_MAX || w > DIM_MAX)
		return ls_data__complain(err, s, h > DIM_MAX ? 8 : 12, "height and width of at most 65536", NULL,
		                         "images of %lld × %lld", (long long)h, (long long)w);
	if (count > LS_DATASET_BYTES_MAX / (h * w))
		return ls_error_set(err, LS_ERR_LIMIT,
		                    "%s: byte 4: found %lld images of %lld × %lld bytes, expected at most %lld bytes in all\n"
		                    "  hint: take fewer samples with data.limit", s->path, (long long)count, (long long)h,
		                    (long long)w, (long long)LS_DATASET_BYTES_MAX);
	return LS_OK;
}

/* How many of the samples a header offers are taken. */
static ls_status choose_count(int64_t *out, int64_t offered, int64_t limit, const ls_data__source *s, ls_error *err)
{
	char expected[64];
	*out = limit ? limit : offered;
	if (limit <= offered)
		return LS_OK;
	snprintf(expected, sizeof expected, "at least data.limit, %lld", (long long)limit);
	return ls_data__complain(err, s, 4, expected, "lower the limit, or 0 for all", "%lld samples", (long long)offered);
}

static ls_status read_part(uint8_t **out, int64_t len, bool to_end, const char *what, ls_data__source *s,
                           ls_error *err)
{
	ls_status status = LS_OK;
	*out = ls_alloc((size_t)len, 1);
	if (!*out)
		return ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for %lld bytes of %s", s->path, (long long)len, what);
	LS_TRY(ls_data__source_read(s, *out, len, what, err));
	if (to_end)
		LS_TRY(ls_data__source_finish(s, err));
done:
	return status;
}

static ls_status read_pair(ls_dataset *ds, int64_t limit, ls_data__source *images, ls_data__source *labels,
                           ls_error *err)
{
	ls_status status = LS_OK;
	idx_header ih, lh;
	char expected[96];
	bool all;
	LS_TRY(read_header(&ih, 3, images, err));
	LS_TRY(read_header(&lh, 1, labels, err));
	if (lh.dim[0] != ih.dim[0]) {
		snprintf(expected, sizeof expected, "%lld, one per image", (long long)ih.dim[0]);
		status = ls_data__complain(err, labels, 4, expected, "images and labels must be of the same split",
		                           "%lld labels", (long long)lh.dim[0]);
		goto done;
	}
	LS_TRY(choose_count(&ds->count, ih.dim[0], limit, images, err));
	LS_TRY(check_images(&ih, ds->count, images, err));
	ds->shape[0] = 1;
	ds->shape[1] = ih.dim[1];
	ds->shape[2] = ih.dim[2];
	all = ds->count == ih.dim[0];
	LS_TRY(read_part(&ds->images, ds->count * ih.dim[1] * ih.dim[2], all, "images", images, err));
	LS_TRY(read_part(&ds->labels, ds->count, all, "labels", labels, err));
done:
	return status;
}

ls_status ls_data__idx_open(ls_dataset *ds, const ls_dataset_options *options, ls_error *err)
{
	ls_status status = LS_OK;
	bool test = strcmp(options->split, "test") == 0;
	const char *images_name = test ? "t10k-images-idx3-ubyte" : "train-images-idx3-ubyte";
	const char *labels_name = test ? "t10k-labels-idx1-ubyte" : "train-labels-idx1-ubyte";
	const char *dir = options->path ? options->path : "";
	const char *debian = DEBIAN_FASHION_MNIST;
	bool may_fall_back = dir[0] == 0 || strcmp(dir, "fashion-mnist") == 0;
	ls_data__source *images = NULL, *labels = NULL;
	if (may_fall_back && !ls_data__source_exists(dir, images_name) && ls_data__source_exists(debian, images_name))
		dir = debian;
	LS_TRY(ls_data__source_open(&images, dir, images_name, err));
	LS_TRY(ls_data__source_open(&labels, dir, labels_name, err));
	LS_TRY(read_pair(ds, options->limit, images, labels, err));
done:
	ls_data__source_free(labels);
	ls_data__source_free(images);
	return status;
}
