#include "run/pieces.h"

#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#define ZSTD_LEVEL 1 /* weights are noise in most of their bits: higher levels take longer and find no more */
#define PIECE_BYTES (4 * LS_RUN__PIECE_WORDS)

struct ls_pieces {
	char dir[LS_PATH_MAX]; /* the run's */
	ls_hasher *hasher;
	ZSTD_CCtx *zstd;       /* NULL: uncompressed */
	bool made;             /* the folder is there */
	bool dirty;            /* names in it are not on the disk yet */
	uint8_t *bytes, *packed;
	ls_buf known, present; /* roots in the snapshot before, and in this one so far */
};

bool ls_run__is_large(uint64_t words)
{
	return words > LS_RUN__INLINE_WORDS;
}

uint64_t ls_run__piece_count(uint64_t words)
{
	return (words + LS_RUN__PIECE_WORDS - 1) / LS_RUN__PIECE_WORDS;
}

static void name_of(char out[LS_RUN__PIECE_NAME], const ls_hash *root, const char *ending)
{
	char hex[LS_HASH_HEX_SIZE];
	ls_hash_hex(hex, root);
	snprintf(out, LS_RUN__PIECE_NAME, LS_RUN__PIECES "/%s%s", hex, ending);
}

/* ---- writing ---- */

ls_status ls_pieces_open(ls_pieces **out, const char *run_dir, bool compress, ls_error *err)
{
	ls_status status = LS_OK;
	ls_pieces *p = ls_alloc(1, sizeof *p);
	*out = NULL;
	if (!p)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory to write pieces");
	ls_buf_init(&p->known, LS_RUN__SNAPSHOT_MAX);
	ls_buf_init(&p->present, LS_RUN__SNAPSHOT_MAX);
	snprintf(p->dir, sizeof p->dir, "%s", run_dir);
	LS_TRY(ls_hasher_open(&p->hasher, 1, err));
	p->bytes = ls_alloc(PIECE_BYTES, 1);
	if (compress) {
		p->zstd = ZSTD_createCCtx();
		p->packed = ls_alloc(ZSTD_compressBound(PIECE_BYTES), 1);
	}
	if (!p->bytes || (compress && (!p->zstd || !p->packed))) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory to write pieces");
		goto done;
	}
	*out = p;
	p = NULL;
done:
	ls_pieces_free(p);
	return status;
}

void ls_pieces_free(ls_pieces *p)
{
	if (!p)
		return;
	ls_hasher_free(p->hasher);
	ZSTD_freeCCtx(p->zstd);
	ls_free(p->bytes);
	ls_free(p->packed);
	ls_buf_free(&p->known);
	ls_buf_free(&p->present);
	ls_free(p);
}

/* Only what this process wrote counts: a file that somebody else left under the name may hold anything. */
static bool holds(const ls_buf *roots, const ls_hash *root)
{
	for (size_t at = 0; at < roots->len; at += LS_HASH_BYTES)
		if (!memcmp(roots->data + at, root->byte, LS_HASH_BYTES))
			return true;
	return false;
}

static ls_status make_folder(ls_pieces *p, ls_error *err)
{
	ls_status status;
	char path[LS_PATH_MAX];
	LS_TRY(ls_path_join(path, sizeof path, p->dir, LS_RUN__PIECES, err));
	LS_TRY(ls_dir_make(path, err));
	LS_TRY(ls_dir_sync(p->dir, err));
	p->made = true;
done:
	return status;
}

/* Not before the new form is on the disk: else a loss of power could leave neither. */
static ls_status drop_other_form(ls_pieces *p, const ls_hash *root, const char *ending, ls_error *err)
{
	char name[LS_RUN__PIECE_NAME], path[LS_PATH_MAX], folder[LS_PATH_MAX];
	ls_status status;
	name_of(name, root, ending);
	LS_TRY(ls_path_join(path, sizeof path, p->dir, name, err));
	if (!ls_file_exists(path))
		return LS_OK;
	LS_TRY(ls_path_join(folder, sizeof folder, p->dir, LS_RUN__PIECES, err));
	LS_TRY(ls_dir_sync(folder, err));
	LS_TRY(ls_file_remove(path, err));
done:
	return status;
}

/* Compressed where that is asked for and makes it smaller: a piece lies there in one form. */
static ls_status put(ls_pieces *p, const ls_hash *root, size_t len, ls_error *err)
{
	static const char *const ending[] = {"", ".zst"};
	ls_status status = LS_OK;
	size_t packed = p->zstd ? ZSTD_compressCCtx(p->zstd, p->packed, ZSTD_compressBound(PIECE_BYTES), p->bytes, len, ZSTD_LEVEL) : len;
	int form = p->zstd && !ZSTD_isError(packed) && packed < len;
	char name[LS_RUN__PIECE_NAME], path[LS_PATH_MAX];
	if (p->zstd && ZSTD_isError(packed))
		return ls_error_set(err, LS_ERR_NOMEM, "no memory to compress a piece: %s", ZSTD_getErrorName(packed));
	if (!p->made)
		LS_TRY(make_folder(p, err));
	name_of(name, root, ending[form]);
	LS_TRY(ls_path_join(path, sizeof path, p->dir, name, err));
	LS_TRY(ls_file_put(path, form ? p->packed : p->bytes, form ? packed : len, err));
	p->dirty = true;
	LS_TRY(drop_other_form(p, root, ending[!form], err));
done:
	return status;
}

ls_status ls_pieces_write(ls_pieces *p, const void *words, uint64_t count, ls_buf *roots, ls_error *err)
{
	ls_status status;
	ls_hash root;
	status = ls_tensor_root(&root, words, (int64_t)count, NULL, p->hasher);
	if (status != LS_OK)
		return ls_error_set(err, status, "could not hash a piece: %s", ls_status_text(status));
	if (!holds(&p->known, &root) && !holds(&p->present, &root)) {
		ls_words_to_le(p->bytes, words, (size_t)count);
		LS_TRY(put(p, &root, 4 * (size_t)count, err));
	}
	ls_buf_bytes(&p->present, root.byte, LS_HASH_BYTES);
	ls_buf_bytes(roots, root.byte, LS_HASH_BYTES);
	if (p->present.status != LS_OK)
		status = ls_error_set(err, p->present.status, "no memory for the pieces of a snapshot");
done:
	return status;
}

ls_status ls_pieces_end(ls_pieces *p, ls_error *err)
{
	ls_status status = LS_OK;
	ls_buf swap = p->known;
	char path[LS_PATH_MAX];
	if (p->dirty) {
		LS_TRY(ls_path_join(path, sizeof path, p->dir, LS_RUN__PIECES, err));
		LS_TRY(ls_dir_sync(path, err));
		p->dirty = false;
	}
	p->known = p->present;
	p->present = swap;
	ls_buf_reset(&p->present);
done:
	return status;
}

/* ---- reading ---- */

/* Decompresses into exactly `len` bytes: one frame that says this length, and nothing behind it. The memory is the caller's,
 * so that a small file cannot ask for more. */
static bool unpack(uint8_t *out, size_t len, const uint8_t *packed, size_t packed_len)
{
	size_t frame = ZSTD_findFrameCompressedSize(packed, packed_len);
	if (ZSTD_isError(frame) || frame != packed_len || ZSTD_getFrameContentSize(packed, packed_len) != len)
		return false;
	return ZSTD_decompress(out, len, packed, packed_len) == len;
}

/* The bytes of a piece, in whichever form it lies there; NULL where it is in none (`*missing`), or not in this size. `name` is the
 * file. */
static ls_status load(const ls_run *run, const ls_hash *root, size_t len, uint8_t **out, char name[LS_RUN__PIECE_NAME], bool *missing,
                      ls_error *err)
{
	ls_status status;
	uint8_t *packed = NULL;
	size_t got;
	*out = NULL;
	*missing = false;
	name_of(name, root, ".zst");
	status = ls_run__load(run, name, ZSTD_compressBound(len), &packed, &got, err);
	if (status == LS_OK) {
		*out = ls_alloc(len, 1);
		if (!*out)
			status = ls_error_set(err, LS_ERR_NOMEM, "%s: no memory for %zu bytes", name, len);
		else if (!unpack(*out, len, packed, got))
			goto bad;
		goto done;
	}
	if (status != LS_ERR_NOT_FOUND)
		goto done;
	name_of(name, root, "");
	LS_TRY(ls_run__load(run, name, len, out, &got, err));
	if (got == len)
		goto done;
bad:
	ls_free(*out);
	*out = NULL;
done:
	ls_free(packed);
	*missing = status == LS_ERR_NOT_FOUND;
	if (status == LS_ERR_NOT_FOUND || status == LS_ERR_LIMIT || status == LS_ERR_INPUT)
		status = LS_OK;
	return status;
}

ls_status ls_run__read_piece(const ls_run *run, const ls_hash *root, uint64_t step, void *words, uint64_t count, ls_damage *damage,
                             ls_error *err)
{
	ls_status status;
	char name[LS_RUN__PIECE_NAME], found[LS_HASH_HEX_SIZE];
	uint8_t *bytes;
	bool missing;
	ls_hash now;
	LS_TRY(load(run, root, 4 * (size_t)count, &bytes, name, &missing, err));
	if (!bytes) {
		ls_run__damage(damage, name, step, "found no piece of %llu words, expected one", (unsigned long long)count);
		damage->has_step = true; // that of the snapshot, even if it is 0
		damage->withheld = missing && run->source.file;
		goto done;
	}
	ls_words_from_le(words, bytes, (size_t)count);
	status = ls_tensor_root(&now, words, (int64_t)count, NULL, run->hasher);
	if (status != LS_OK) {
		ls_error_set(err, status, "could not hash a piece: %s", ls_status_text(status));
	} else if (!ls_hash_equal(&now, root)) {
		ls_hash_hex(found, &now);
		ls_run__damage(damage, name, step, "found the root %s, expected that of the file's name", found);
		damage->has_step = true;
	}
done:
	ls_free(bytes);
	return status;
}

/* ---- what is there and what is referred to ---- */

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, LS_HASH_BYTES);
}

/* Roots that the snapshots refer to, ascending. `*whole` is false where a snapshot cannot be read, which then is not known. */
static ls_status referred(const ls_run *run, ls_buf *roots, bool *whole, ls_error *err)
{
	ls_status status;
	uint64_t *steps = NULL;
	size_t count = 0, len;
	LS_TRY(ls_run_snapshots(run, &steps, &count, err));
	*whole = true;
	for (size_t i = 0; i < count && *whole; i++) {
		char name[LS_RUN__SNAPSHOT_NAME], path[LS_PATH_MAX];
		uint8_t *data = NULL;
		ls_run__snapshot_name(name, steps[i]);
		LS_TRY(ls_run__path(run, name, path, err));
		LS_TRY(ls_file_read(&data, &len, path, LS_RUN__SNAPSHOT_MAX, err));
		*whole = ls_run__snapshot_pieces(data, len, roots);
		ls_free(data);
	}
	if (roots->status != LS_OK)
		status = ls_error_set(err, roots->status, "no memory for the pieces of %zu snapshots", count);
	else if (roots->len)
		qsort(roots->data, roots->len / LS_HASH_BYTES, LS_HASH_BYTES, by_bytes);
done:
	ls_free(steps);
	return status;
}

/* Whether a snapshot refers to the file; one that lies there in both forms counts once. */
static bool is_needed(const ls_run *run, const ls_buf *roots, const char *file)
{
	char hex[LS_HASH_HEX_SIZE], other[LS_RUN__PIECE_NAME], path[LS_PATH_MAX];
	ls_hash root;
	if (strlen(file) < sizeof hex - 1 || (file[sizeof hex - 1] && strcmp(file + sizeof hex - 1, ".zst")))
		return false;
	memcpy(hex, file, sizeof hex - 1);
	hex[sizeof hex - 1] = 0;
	if (!ls_hash_unhex(&root, hex))
		return false;
	name_of(other, &root, "");
	if (strncmp(strchr(other, '/') + 1, file, sizeof hex - 1)) // other digits for the same root
		return false;
	if (file[sizeof hex - 1] && ls_run__path(run, other, path, NULL) == LS_OK && ls_file_exists(path))
		return false;
	return roots->len && bsearch(root.byte, roots->data, roots->len / LS_HASH_BYTES, LS_HASH_BYTES, by_bytes);
}

/* Calls fn for each file among the pieces that no snapshot needs, until it fails. */
static ls_status each_loose(const ls_run *run, ls_status (*fn)(const ls_run *run, const char *file, void *context, ls_error *err),
                            void *context, ls_error *err)
{
	ls_status status;
	char path[LS_PATH_MAX];
	struct dirent *entry;
	bool whole;
	DIR *d = NULL;
	ls_buf roots;
	ls_buf_init(&roots, LS_RUN__SNAPSHOT_MAX);
	LS_TRY(ls_run__path(run, LS_RUN__PIECES, path, err));
	d = opendir(path);
	if (!d && errno != ENOENT)
		status = ls_error_set(err, errno == ENOMEM ? LS_ERR_NOMEM : LS_ERR_IO, "%s: could not list it: %s", path, strerror(errno));
	if (!d)
		goto done;
	LS_TRY(referred(run, &roots, &whole, err));
	while (whole && status == LS_OK && (entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && !is_needed(run, &roots, entry->d_name))
			status = fn(run, entry->d_name, context, err);
done:
	if (d)
		closedir(d);
	ls_buf_free(&roots);
	return status;
}

static ls_status remove_loose(const ls_run *run, const char *file, void *context, ls_error *err)
{
	char folder[LS_PATH_MAX], path[LS_PATH_MAX];
	ls_status status;
	LS_TRY(ls_run__path(run, LS_RUN__PIECES, folder, err));
	LS_TRY(ls_path_join(path, sizeof path, folder, file, err));
	LS_TRY(ls_file_remove(path, err));
done:
	return status;
}

ls_status ls_run__sweep(const ls_run *run, ls_error *err)
{
	return each_loose(run, remove_loose, NULL, err);
}

static ls_status report_loose(const ls_run *run, const char *file, void *context, ls_error *err)
{
	ls_damage *damage = context;
	char name[sizeof damage->file];
	size_t len = strlen(file);
	if (damage->found || (len > 4 && !strcmp(file + len - 4, ".tmp")))
		return LS_OK;
	snprintf(name, sizeof name, LS_RUN__PIECES "/%.80s", file);
	ls_run__damage(damage, name, 0, "found a file that no snapshot refers to, as after a crash; train --resume removes it");
	damage->tail = true;
	return LS_OK;
}

ls_status ls_run_check_pieces(const ls_run *run, ls_damage *damage, ls_error *err)
{
	return each_loose(run, report_loose, damage, err);
}
