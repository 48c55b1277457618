/* Lockstep: status codes, error text, memory, bounded buffers, byte order, threads, files.
 *
 * Conventions of every public function:
 *   - it returns an ls_status; LS_OK (0) means the call did what it says. A check that ran and found a
 *     difference returns LS_OK and reports a verdict: a failed check is an answer, not an error.
 *   - `**out` and `*_open` results are owned by the caller, who releases them with the matching `_free`;
 *     `_free(NULL)` is allowed. `const *` parameters are borrowed for the call unless stated.
 *   - `ls_error *err` may be NULL; where it is not, a failing call leaves its status and a text there.
 *     Nothing is kept in global or thread-local state.
 */
#ifndef LOCKSTEP_BASE_H
#define LOCKSTEP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Codes are stable: a number is never given a second meaning. Gaps are for later codes of the group. */
typedef enum ls_status {
	LS_OK = 0,
	LS_ERR_USAGE = -1,         /* the caller broke a precondition, or the command line is wrong */
	LS_ERR_INPUT = -10,        /* a file, field or peer says something that is not acceptable */
	LS_ERR_LIMIT = -11,        /* an input is larger than its bound */
	LS_ERR_EXISTS = -12,       /* would overwrite something */
	LS_ERR_NOT_FOUND = -13,    /* a named thing is not there */
	LS_ERR_IO = -20,           /* the system refused a read or write */
	LS_ERR_FULL = -21,         /* no space left on the device */
	LS_ERR_NOMEM = -30,        /* memory could not be had */
	LS_ERR_UNSUPPORTED = -40,  /* this build or processor cannot do it */
	LS_ERR_NONCONFORMING = -41, /* a platform failed its self-test */
	LS_ERR_INTERNAL = -90      /* an invariant of Lockstep itself broke */
} ls_status;

/* A short English text for `status`; never NULL. */
const char *ls_status_text(ls_status status);

#define LS_ERROR_TEXT_MAX 1024

/* Where a failing call leaves its words. Start from LS_ERROR_INIT; may be reused. */
typedef struct ls_error {
	ls_status status;
	char text[LS_ERROR_TEXT_MAX]; /* NUL-terminated, cut if longer */
} ls_error;

#define LS_ERROR_INIT {LS_OK, {0}}

/* Stores status and printf-style text in `err` (may be NULL); returns `status` so that a failing path is one line. */
ls_status ls_error_set(ls_error *err, ls_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The form all complaints about input take: "FILE: PLACE: found X, expected Y\n  hint: Z". Each of the texts may be
 * NULL and is then left out. Returns LS_ERR_INPUT. */
ls_status ls_error_input(ls_error *err, const char *file, const char *place, const char *found, const char *expected,
                         const char *hint);

/* Inside a function with a `status` variable and a `done:` label. */
#define LS_TRY(call)                                                                                                   \
	do {                                                                                                               \
		status = (call);                                                                                               \
		if (status != LS_OK)                                                                                           \
			goto done;                                                                                                 \
	} while (0)

/* ---- memory ---- */

/* Zeroed, 64-byte aligned memory for count × size bytes, or NULL (also where the product overflows). Zero bytes give a
 * valid pointer. Release with ls_free. */
void *ls_alloc(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
void ls_free(void *p);
char *ls_strdup(const char *s) __attribute__((warn_unused_result));

/* ---- bytes written: a growable buffer with a fixed maximum and a sticky status ---- */

typedef struct ls_buf {
	uint8_t *data;
	size_t len, cap, max;
	ls_status status; /* first failure: LS_ERR_LIMIT or LS_ERR_NOMEM; later appends do nothing */
} ls_buf;

void ls_buf_init(ls_buf *b, size_t max);
void ls_buf_free(ls_buf *b);
void ls_buf_reset(ls_buf *b); /* length 0, status LS_OK; keeps the memory */
void ls_buf_bytes(ls_buf *b, const void *data, size_t len);
void ls_buf_u8(ls_buf *b, uint8_t v);
void ls_buf_u16(ls_buf *b, uint16_t v); /* little-endian, as everything Lockstep encodes */
void ls_buf_u32(ls_buf *b, uint32_t v);
void ls_buf_u64(ls_buf *b, uint64_t v);
void ls_buf_f64(ls_buf *b, double v); /* IEEE 754 bits as u64 */
void ls_buf_str(ls_buf *b, const char *s); /* u32 length, then the bytes without NUL */
void ls_buf_printf(ls_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3))); /* text without NUL */

/* ---- bytes read: a cursor that never passes the end; `failed` is sticky and reads then give 0 ---- */

typedef struct ls_cursor {
	const uint8_t *data;
	size_t len, pos;
	bool failed;
} ls_cursor;

ls_cursor ls_cursor_over(const void *data, size_t len);
const uint8_t *ls_cursor_take(ls_cursor *c, size_t len); /* NULL where fewer bytes are left */
uint8_t ls_cursor_u8(ls_cursor *c);
uint16_t ls_cursor_u16(ls_cursor *c);
uint32_t ls_cursor_u32(ls_cursor *c);
uint64_t ls_cursor_u64(ls_cursor *c);
double ls_cursor_f64(ls_cursor *c);
/* Copies a length-prefixed string into `out` with NUL; fails where it would not fit or holds a NUL byte. */
void ls_cursor_str(ls_cursor *c, char *out, size_t out_size);
bool ls_cursor_done(const ls_cursor *c); /* nothing failed and nothing is left */

/* ---- bits of numbers ---- */

static inline uint32_t ls_bits_f32(float v)
{
	uint32_t u;
	memcpy(&u, &v, 4);
	return u;
}

static inline float ls_f32_bits(uint32_t bits)
{
	float v;
	memcpy(&v, &bits, 4);
	return v;
}

static inline uint64_t ls_bits_f64(double v)
{
	uint64_t u;
	memcpy(&u, &v, 8);
	return u;
}

static inline double ls_f64_bits(uint64_t bits)
{
	double v;
	memcpy(&v, &bits, 8);
	return v;
}

/* Insertions, deletions and replacements of bytes that lead from one text to the other (Levenshtein's distance); of longer
 * texts the first LS_EDIT_MAX bytes count. For "did you mean". */
#define LS_EDIT_MAX 64
size_t ls_edit_distance(const char *a, const char *b);

uint32_t ls_get_le32(const void *p);
void ls_put_le32(void *p, uint32_t v);
uint64_t ls_get_le64(const void *p);
void ls_put_le64(void *p, uint64_t v);

/* Many words at once, to little-endian bytes and back; either end may lie anywhere. */
void ls_words_to_le(void *bytes, const void *words, size_t count);
void ls_words_from_le(void *words, const void *bytes, size_t count);

/* Lower-case hex of `len` bytes into `out` (2·len+1 bytes). */
void ls_hex(char *out, const void *data, size_t len);
/* Parses exactly 2·len hex digits; false where the text is anything else. */
bool ls_unhex(void *out, size_t len, const char *text);

/* ---- threads ---- */

/* A fixed set of workers. One pool may be used by one caller at a time. */
typedef struct ls_pool ls_pool;
typedef void (*ls_task_fn)(void *context, int64_t index, int worker);

#define LS_POOL_THREADS_MAX 1024
/* 1 ≤ `threads` ≤ LS_POOL_THREADS_MAX counts the caller; 1 starts no thread. */
ls_status ls_pool_open(ls_pool **out, int threads, ls_error *err);
void ls_pool_free(ls_pool *pool);
int ls_pool_threads(const ls_pool *pool); /* 1 for NULL */
/* Calls fn(context, i, worker) once for each i in [0, count), in any order, and waits. `pool` NULL runs in the caller. */
void ls_pool_run(ls_pool *pool, int64_t count, ls_task_fn fn, void *context);

/* One thread that does one task at a time while its owner goes on. */
typedef struct ls_worker ls_worker;
ls_status ls_worker_open(ls_worker **out, ls_error *err);
/* Waits for the task before, then hands over fn(context). */
void ls_worker_start(ls_worker *w, void (*fn)(void *context), void *context);
void ls_worker_wait(ls_worker *w); /* until it has nothing to do: what the task wrote may then be read */
bool ls_worker_busy(ls_worker *w);
void ls_worker_free(ls_worker *w); /* after the task it is at; NULL is allowed */

/* ---- files ---- */

/* Reads a whole file of at most `max` bytes (LS_ERR_LIMIT beyond). `*out` is NUL-terminated past `*len`. */
ls_status ls_file_read(uint8_t **out, size_t *len, const char *path, size_t max, ls_error *err);
/* Writes through a temporary file in the same folder, fsync, rename, fsync of the folder: afterwards the path holds
 * either the old or the new bytes. */
ls_status ls_file_write(const char *path, const void *data, size_t len, ls_error *err);
/* The same but for the last sync: the name is not durable before ls_dir_sync of the folder. For many files of one folder. */
ls_status ls_file_put(const char *path, const void *data, size_t len, ls_error *err);

/* The same, piece by piece: what is put lies in the temporary file until ls_draft_finish gives it its name. */
typedef struct ls_draft ls_draft;
ls_status ls_draft_open(ls_draft **out, const char *path, ls_error *err);
ls_status ls_draft_put(ls_draft *d, const void *data, size_t len, ls_error *err);
/* Once, as the last call before ls_draft_free. */
ls_status ls_draft_finish(ls_draft *d, ls_error *err);
void ls_draft_free(ls_draft *d); /* one that was not finished leaves nothing; NULL is allowed */

/* Writes a new file that only its owner may read or write; LS_ERR_EXISTS where the path is there. */
ls_status ls_file_write_private(const char *path, const void *data, size_t len, ls_error *err);
bool ls_file_exists(const char *path);
ls_status ls_file_remove(const char *path, ls_error *err); /* one that is not there is fine */
ls_status ls_dir_sync(const char *path, ls_error *err); /* makes the names in a folder durable */
ls_status ls_dir_make(const char *path, ls_error *err); /* one level; an existing folder is fine */
/* Joins with one '/', into a caller's buffer; LS_ERR_LIMIT where it does not fit. */
ls_status ls_path_join(char *out, size_t out_size, const char *dir, const char *name, ls_error *err);
#define LS_PATH_MAX 4096

/* A file that grows at its end. */
typedef struct ls_file ls_file;
/* Opens for reading and writing; `create` makes an empty one where there is none. */
ls_status ls_file_open(ls_file **out, const char *path, bool create, ls_error *err);
void ls_file_close(ls_file *f); /* NULL is allowed; does not sync */
uint64_t ls_file_size(const ls_file *f);
/* Looks again how long the file is, which another process may have made longer. */
ls_status ls_file_refresh(ls_file *f, ls_error *err);
/* Appends; a short write is undone by truncation before the error returns. */
ls_status ls_file_append(ls_file *f, const void *data, size_t len, ls_error *err);
/* Exactly `len` bytes at `offset`, all of which must exist. */
ls_status ls_file_read_at(ls_file *f, uint64_t offset, void *data, size_t len, ls_error *err);
ls_status ls_file_truncate(ls_file *f, uint64_t size, ls_error *err);
ls_status ls_file_sync(ls_file *f, ls_error *err);
/* Until ls_file_close no other opener can lock it; LS_ERR_EXISTS where one has. */
ls_status ls_file_lock(ls_file *f, ls_error *err);
/* Whether another opener has locked it. */
bool ls_file_is_locked(ls_file *f);

double ls_clock_seconds(void); /* monotonic */
double ls_cpu_seconds(void);   /* of this process, all threads together */
uint64_t ls_memory_bytes(void); /* of the machine; UINT64_MAX where it does not say */

#endif
