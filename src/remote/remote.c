/* A served run, as the reader of runs wants it: a folder for what is small, a source for the rest. */
#include <lockstep/remote.h>

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RUNS_TEXT_MAX (256 * 1024)
#define STATUS_MAX 4096
#define RUNS_MAX 256
#define PREFIX "/v1/runs/"
#define HEADS_BODY_MAX (256 * (12 + LS_REMOTE_HEAD_MAX))
#define LEAVES_BATCH 4096
#define LEAVES_MAX (UINT64_C(1) << 22) /* of a run that is read from afar: they are all kept here, in memory, too */
#define WINDOW (1 << 20)               /* bytes of the rounding log that are fetched at once, where a block is no longer */

struct ls_remote {
	ls_http *http;
	char id[LS_HASH_HEX_SIZE];
	char dir[LS_PATH_MAX]; /* "" before it is made */
	pid_t owner;
	uint64_t most;    /* leaves that the job allows */
	uint64_t leaves;  /* in the folder */
	uint64_t head;    /* the largest size of a head in the folder */
	uint64_t log_end; /* of the blocks whose places are known */
	ls_buf window;    /* part of the rounding log, from window_at */
	uint64_t window_at;
};

/* ---- asking ---- */

/* GET /v1/runs/RUN/NAME. LS_ERR_NOT_FOUND where the peer says that it has none, or gives none. */
static ls_status judge_code(const ls_remote *r, const char *path, int code, int expected, ls_error *err)
{
	if (code == expected)
		return LS_OK;
	if (code == 404 || code == 403 || code == 410 || code == 451 || code == 416)
		return ls_error_set(err, LS_ERR_NOT_FOUND, "%s%s: the server does not give it: status %d", ls_http_url(r->http), path, code);
	if (code >= 300 && code < 400)
		return ls_error_set(err, LS_ERR_INPUT, "%s%s: found a redirect (status %d), which is not followed\n  hint: give the address it leads to",
		                    ls_http_url(r->http), path, code);
	return ls_error_set(err, code >= 500 || code == 429 ? LS_ERR_IO : LS_ERR_INPUT, "%s%s: found status %d, expected %d", ls_http_url(r->http), path,
	                    code, expected);
}

static void path_of(const ls_remote *r, const char *name, char out[LS_HTTP_TARGET_MAX + 1])
{
	snprintf(out, LS_HTTP_TARGET_MAX + 1, PREFIX "%s%s%s", r->id, name[0] ? "/" : "", name);
}

static ls_status ask(ls_remote *r, const char *name, ls_buf *out, ls_error *err)
{
	char path[LS_HTTP_TARGET_MAX + 1];
	int code;
	ls_status status;
	path_of(r, name, path);
	status = ls_http_get(r->http, path, out, &code, err);
	return status == LS_OK ? judge_code(r, path, code, 200, err) : status;
}

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	return remove(path);
}

static ls_status make_folder(ls_remote *r, ls_error *err)
{
	static const char *const folders[] = {"heads", "rounding-log"};
	static const char *const files[] = {"leaves", "rounding-log/frames", "metrics.jsonl"};
	const char *base = getenv("TMPDIR");
	char path[LS_PATH_MAX];
	ls_status status = LS_OK;
	if (snprintf(path, sizeof path, "%s/lockstep-remote-XXXXXX", base && base[0] ? base : "/tmp") >= (int)sizeof path || !mkdtemp(path))
		return ls_error_set(err, LS_ERR_IO, "%s: could not make a folder for what is fetched: %s", path, strerror(errno));
	memcpy(r->dir, path, sizeof r->dir);
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		LS_TRY(ls_path_join(path, sizeof path, r->dir, folders[i], err));
		LS_TRY(ls_dir_make(path, err));
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		LS_TRY(ls_path_join(path, sizeof path, r->dir, files[i], err));
		LS_TRY(ls_file_put(path, "", 0, err));
	}
done:
	return status;
}

static ls_status keep(const ls_remote *r, const char *name, const void *data, size_t len, ls_error *err)
{
	char path[LS_PATH_MAX];
	ls_status status = ls_path_join(path, sizeof path, r->dir, name, err);
	return status == LS_OK ? ls_file_put(path, data, len, err) : status;
}

static void find(ls_damage *damage, const char *file, bool withheld, const char *text)
{
	*damage = (ls_damage){.found = true, .withheld = withheld};
	snprintf(damage->file, sizeof damage->file, "%s", file);
	snprintf(damage->text, sizeof damage->text, "%s", text);
}

static ls_status fetch_identity(ls_remote *r, ls_damage *damage, ls_error *err)
{
	static const struct {
		const char *name;
		size_t max;
		bool needed;
	} files[] = {
		{"job.bin", LS_JOB_BYTES_MAX, true},
		{"job.yaml", LS_JOB_BYTES_MAX, true},
		{"nonce", 128, true},
		{LS_JOB_THRESHOLDS_FILE, LS_JOB_BYTES_MAX, false},
		{"trainer.pem", LS_KEY_FILE_MAX, false},
		{"auditor", LS_KEY_FILE_MAX, false},
	};
	ls_status status = LS_OK;
	ls_buf body;
	ls_buf_init(&body, 0);
	for (size_t i = 0; i < sizeof files / sizeof *files && status == LS_OK && !damage->found; i++) {
		body.max = files[i].max;
		status = ask(r, files[i].name, &body, err);
		if (status == LS_OK)
			status = keep(r, files[i].name, body.data, body.len, err);
		else if (status == LS_ERR_NOT_FOUND && files[i].needed)
			find(damage, files[i].name, true, "the server does not give it");
		else if (status == LS_ERR_LIMIT)
			find(damage, files[i].name, false, "the file is too large");
		if (damage->found || status == LS_ERR_NOT_FOUND)
			status = LS_OK;
	}
	ls_buf_free(&body);
	return status;
}

/* How many leaves the job allows; what is no job the reader will name. */
static ls_status read_job(ls_remote *r, ls_error *err)
{
	ls_status status;
	char path[LS_PATH_MAX];
	uint8_t *bytes = NULL;
	size_t len;
	ls_job *job = NULL;
	ls_job_binding binding;
	LS_TRY(ls_path_join(path, sizeof path, r->dir, "job.bin", err));
	LS_TRY(ls_file_read(&bytes, &len, path, LS_JOB_BYTES_MAX, err));
	if (ls_job_decode(&job, &binding, bytes, len, NULL) == LS_OK) {
		uint64_t every = ls_job_spec_of(job)->train.commit_every;
		r->most = binding.steps / every + (binding.steps % every != 0) + 1;
	}
done:
	ls_job_free(job);
	ls_free(bytes);
	return status;
}

/* ---- heads and leaves ---- */

static ls_status fetch_heads(ls_remote *r, ls_error *err)
{
	ls_status status;
	uint64_t before;
	ls_buf body;
	ls_buf_init(&body, HEADS_BODY_MAX);
	do {
		char name[64];
		const uint8_t *text;
		size_t len;
		uint64_t size;
		ls_cursor in;
		before = r->head;
		snprintf(name, sizeof name, "heads?above=%llu", (unsigned long long)r->head);
		status = ask(r, name, &body, err);
		if (status == LS_ERR_NOT_FOUND) {
			status = LS_OK; // the reader says that there is no head
			break;
		}
		if (status != LS_OK)
			break;
		in = ls_cursor_over(body.data, body.len);
		while (status == LS_OK && r->head <= r->most && ls_remote_next_head(&in, r->head, &size, &text, &len)) {
			snprintf(name, sizeof name, "heads/%llu", (unsigned long long)size);
			status = keep(r, name, text, len, err);
			r->head = size;
		}
		if (status == LS_OK && in.failed)
			status = ls_error_input(err, ls_http_url(r->http), "heads", "an answer that is no list of heads", "size, length and text of each", NULL);
	} while (status == LS_OK && r->head > before && r->head <= r->most);
	ls_buf_free(&body);
	return status;
}

/* Appends what the newest head promises and is not here yet, as far as the peer gives it: the reader says what is missing or broken. */
static ls_status fetch_leaves(ls_remote *r, ls_error *err)
{
	ls_status status;
	uint64_t end = r->head < r->most ? r->head : r->most;
	char path[LS_PATH_MAX];
	ls_file *file = NULL;
	bool more = true;
	ls_buf body;
	ls_buf_init(&body, (size_t)LEAVES_BATCH * (4 + LS_LEAF_BYTES_MAX));
	LS_TRY(ls_path_join(path, sizeof path, r->dir, "leaves", err));
	LS_TRY(ls_file_open(&file, path, false, err));
	while (r->leaves < end && more) {
		uint64_t count = end - r->leaves < LEAVES_BATCH ? end - r->leaves : LEAVES_BATCH, got;
		char name[96];
		size_t whole;
		snprintf(name, sizeof name, "leaves?first=%llu&count=%llu", (unsigned long long)r->leaves, (unsigned long long)count);
		status = ask(r, name, &body, err);
		if (status == LS_ERR_NOT_FOUND) {
			status = LS_OK;
			break;
		}
		if (status != LS_OK)
			break;
		got = ls_remote_count_leaves(body.data, body.len, &whole);
		more = got && whole == body.len && got <= count;
		LS_TRY(ls_file_append(file, body.data, body.len, err));
		r->leaves += got;
	}
done:
	ls_file_close(file);
	ls_buf_free(&body);
	return status;
}

static ls_status fetch_tree(ls_remote *r, ls_error *err)
{
	ls_status status;
	LS_TRY(fetch_heads(r, err));
	if (r->head > LEAVES_MAX && r->most > LEAVES_MAX) {
		status = ls_error_set(err, LS_ERR_LIMIT, "%s: found a run of %llu leaves, expected at most %llu over a network\n  hint: audit a copy of its folder",
		                      ls_http_url(r->http), (unsigned long long)r->head, (unsigned long long)LEAVES_MAX);
		goto done;
	}
	LS_TRY(fetch_leaves(r, err));
done:
	return status;
}

/* ---- the source ---- */

static ls_status get_blocks(void *context, uint64_t first, uint64_t count, uint64_t *at, uint64_t *len, ls_error *err)
{
	ls_remote *r = context;
	ls_status status;
	char name[96];
	ls_cursor in;
	ls_buf body;
	ls_buf_init(&body, (size_t)count * 16);
	snprintf(name, sizeof name, "rounding-log/index?first=%llu&count=%llu", (unsigned long long)first, (unsigned long long)count);
	LS_TRY(ask(r, name, &body, err));
	if (body.len != count * 16) {
		status = ls_error_set(err, LS_ERR_NOT_FOUND, "%s: found the places of fewer blocks than were asked for", ls_http_url(r->http));
		goto done;
	}
	in = ls_cursor_over(body.data, body.len);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t end;
		at[i] = ls_cursor_u64(&in);
		len[i] = ls_cursor_u64(&in);
		if (__builtin_add_overflow(at[i], len[i], &end) || end > INT64_MAX) {
			status = ls_error_input(err, ls_http_url(r->http), "rounding-log/index", "a block beyond any file", "offset and length of each", NULL);
			goto done;
		}
		r->log_end = end > r->log_end ? end : r->log_end;
	}
done:
	ls_buf_free(&body);
	return status;
}

static ls_status fill_window(ls_remote *r, uint64_t at, size_t len, ls_error *err)
{
	ls_status status;
	char path[LS_HTTP_TARGET_MAX + 1];
	uint64_t want = len > WINDOW ? len : WINDOW;
	int code;
	want = want < r->log_end - at ? want : r->log_end - at;
	if (len > WINDOW || r->window.max > WINDOW) { // a long block's memory is not kept for short ones
		ls_buf_free(&r->window);
		ls_buf_init(&r->window, (size_t)want);
	}
	r->window.max = (size_t)want;
	r->window_at = at;
	path_of(r, "rounding-log", path);
	LS_TRY(ls_http_get_range(r->http, path, at, want, &r->window, &code, err));
	LS_TRY(judge_code(r, path, code, 206, err));
	if (r->window.len < len)
		status = ls_error_set(err, LS_ERR_NOT_FOUND, "%s: found the rounding log to end before offset %llu", ls_http_url(r->http),
		                      (unsigned long long)(at + len));
done:
	if (status != LS_OK)
		ls_buf_reset(&r->window);
	return status;
}

static ls_status read_log(void *context, uint64_t at, void *data, size_t len, ls_error *err)
{
	ls_remote *r = context;
	ls_status status = LS_OK;
	if (!len)
		return LS_OK;
	if (at < r->window_at || at - r->window_at > r->window.len || len > r->window.len - (at - r->window_at))
		LS_TRY(fill_window(r, at, len, err));
	memcpy(data, r->window.data + (at - r->window_at), len);
done:
	return status;
}

static ls_status get_file(void *context, const char *name, uint64_t max, uint8_t **out, size_t *len, ls_error *err)
{
	ls_buf body;
	ls_status status;
	*out = NULL;
	ls_buf_init(&body, (size_t)max);
	LS_TRY(ask(context, name, &body, err));
	*len = body.len;
	*out = body.data ? body.data : ls_alloc(0, 1);
	body.data = NULL;
	if (!*out)
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for %s", name);
done:
	ls_buf_free(&body);
	return status;
}

static ls_status get_snapshots(void *context, uint64_t **steps, size_t *count, ls_error *err)
{
	ls_remote *r = context;
	ls_status status;
	size_t most = (size_t)(r->most < LEAVES_MAX ? r->most : LEAVES_MAX); // the server may be ahead of what was read here
	ls_buf body;
	ls_buf_init(&body, most * 21);
	*steps = NULL;
	*count = 0;
	status = ask(r, "snapshots", &body, err);
	if (status == LS_ERR_NOT_FOUND) { // then every part begins at step 0
		*steps = ls_alloc(0, 1);
		status = *steps ? LS_OK : LS_ERR_NOMEM;
	} else if (status == LS_OK) {
		status = ls_remote_parse_steps(steps, count, most, body.data, body.len, err);
	}
	ls_buf_free(&body);
	return status;
}

static ls_status look(void *context, bool *being_written, uint64_t *written_step, ls_error *err)
{
	ls_remote *r = context;
	ls_status status;
	ls_buf body;
	ls_buf_init(&body, STATUS_MAX);
	LS_TRY(ask(r, "", &body, err)); // first: a trainer that ends now has written its last head before
	LS_TRY(ls_remote_parse_status(being_written, written_step, body.data, body.len, err));
	LS_TRY(fetch_tree(r, err));
done:
	ls_buf_free(&body);
	return status;
}

/* ---- opening ---- */

/* Takes "/v1/runs/RUN" off the address, where it ends so. */
static bool split_url(const char *url, char base[LS_HTTP_TARGET_MAX + 1], char id[LS_HASH_HEX_SIZE])
{
	size_t len = strlen(url), tail = strlen(PREFIX) + LS_HASH_HEX_SIZE - 1;
	ls_hash hash;
	while (len && url[len - 1] == '/')
		len--;
	snprintf(base, LS_HTTP_TARGET_MAX + 1, "%.*s", (int)(len < LS_HTTP_TARGET_MAX ? len : LS_HTTP_TARGET_MAX), url);
	if (len < tail || len > LS_HTTP_TARGET_MAX || memcmp(url + len - tail, PREFIX, strlen(PREFIX)) ||
	    !ls_hash_unhex(&hash, base + len - (LS_HASH_HEX_SIZE - 1)))
		return false;
	ls_hash_hex(id, &hash);
	base[len - tail] = 0;
	return true;
}

/* The only run that the service has. */
static ls_status find_run(ls_remote *r, ls_error *err)
{
	ls_status status;
	char (*ids)[LS_HASH_HEX_SIZE] = ls_alloc(RUNS_MAX, sizeof *ids), found[96];
	size_t count = 0;
	int code;
	ls_buf body;
	ls_buf_init(&body, RUNS_TEXT_MAX);
	if (!ids) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for a list of runs");
		goto done;
	}
	LS_TRY(ls_http_get(r->http, "/v1/runs", &body, &code, err));
	LS_TRY(judge_code(r, "/v1/runs", code, 200, err));
	LS_TRY(ls_remote_parse_runs(ids, RUNS_MAX, &count, body.data, body.len, err));
	if (count != 1) {
		snprintf(found, sizeof found, "%zu runs%s%s", count, count ? ", the first being " : "", count ? ids[0] : "");
		ls_error_input(err, ls_http_url(r->http), NULL, found, "one, or which", "add /v1/runs/RUN to the address");
		status = LS_ERR_USAGE;
		goto done;
	}
	memcpy(r->id, ids[0], sizeof r->id);
done:
	ls_free(ids);
	ls_buf_free(&body);
	return status;
}

ls_status ls_remote_open(ls_remote **out, const char *url, const ls_http_options *options, ls_error *err)
{
	ls_status status;
	char base[LS_HTTP_TARGET_MAX + 1], id[LS_HASH_HEX_SIZE] = "";
	bool named = split_url(url, base, id);
	ls_remote *r = ls_alloc(1, sizeof *r);
	*out = NULL;
	if (!r)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a served run");
	ls_buf_init(&r->window, 0);
	r->owner = getpid();
	memcpy(r->id, id, sizeof id);
	LS_TRY(ls_http_open(&r->http, base, options, err));
	if (!named)
		LS_TRY(find_run(r, err));
	*out = r;
	r = NULL;
done:
	ls_remote_free(r);
	return status;
}

/* The run that was asked for, not another one. */
static void check_id(const ls_remote *r, ls_run **run, ls_damage *damage)
{
	char id[LS_HASH_HEX_SIZE];
	if (!*run)
		return;
	ls_hash_hex(id, ls_run_id_of(*run));
	if (!strcmp(id, r->id))
		return;
	*damage = (ls_damage){.found = true, .file = "nonce"};
	snprintf(damage->text, sizeof damage->text, "found the run %s, expected %s, which was asked for", id, r->id);
	ls_run_free(*run);
	*run = NULL;
}

ls_status ls_remote_run(ls_remote *r, bool live, ls_run **out, ls_damage *damage, ls_error *err)
{
	const ls_run_source source = {
		.context = r, .blocks = get_blocks, .read_log = read_log, .file = get_file, .snapshots = get_snapshots, .look = look};
	ls_status status;
	*out = NULL;
	*damage = (ls_damage){0};
	if (!r->dir[0]) {
		LS_TRY(make_folder(r, err));
		LS_TRY(fetch_identity(r, damage, err));
		if (damage->found)
			goto done;
		LS_TRY(read_job(r, err));
	}
	LS_TRY(fetch_tree(r, err));
	LS_TRY(ls_run_open_from(out, r->dir, &source, live, damage, err));
	check_id(r, out, damage);
done:
	return status;
}

void ls_remote_free(ls_remote *r)
{
	if (!r)
		return;
	if (r->dir[0] && r->owner == getpid())
		nftw(r->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	ls_http_free(r->http);
	ls_buf_free(&r->window);
	ls_free(r);
}
