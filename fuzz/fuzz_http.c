// What a service and its client read from each other: a request's target and range, the bodies of answers. The first byte says which.
#include "fuzz.h"

#include <lockstep/remote.h>
#include <lockstep/serve.h>

enum { RUNS = 4, STEPS = 100 };

/* The target from its parts, which must be the bytes that were accepted. */
static void join(const ls_http_target *t, ls_buf *out)
{
	for (size_t i = 0; i < t->segments; i++)
		ls_buf_printf(out, "/%s", t->segment[i]);
	if (!t->segments)
		ls_buf_printf(out, "/");
	FUZZ_CHECK(out->len == strlen(t->path) && !memcmp(out->data, t->path, out->len));
	for (size_t i = 0; i < t->members; i++)
		ls_buf_printf(out, "%c%s=%s", i ? '&' : '?', t->name[i], t->value[i]);
}

static void try_target(const uint8_t *data, size_t size)
{
	ls_http_target t;
	ls_buf again;
	size_t count, parts;
	const ls_http_route *routes = ls_service_routes(&count);
	const char *part[LS_HTTP_PARTS_MAX];
	if (ls_http_target_parse(&t, (const char *)data, size, NULL) != LS_OK)
		return;
	ls_buf_init(&again, LS_HTTP_TARGET_MAX);
	join(&t, &again);
	FUZZ_CHECK(again.status == LS_OK && again.len == size && !memcmp(again.data, data, size));
	ls_buf_free(&again);
	for (size_t i = 0; i < t.segments; i++)
		FUZZ_CHECK(t.segment[i][0] && !strchr(t.segment[i], '/') && strcmp(t.segment[i], ".") && strcmp(t.segment[i], ".."));
	for (size_t i = 0; i < count; i++)
		if (ls_http_route_matches(&routes[i], &t, part, &parts))
			FUZZ_CHECK(parts <= 2);
}

static void try_range(const uint8_t *data, size_t size)
{
	char text[256] = {0};
	uint64_t first, length, of = size < 8 ? 0 : ls_get_le64(data);
	ls_http_range_kind kind;
	if (size < 8)
		return;
	memcpy(text, data + 8, size - 8 < sizeof text - 1 ? size - 8 : sizeof text - 1);
	kind = ls_http_range_parse(text, of, &first, &length);
	if (kind == LS_HTTP_RANGE_NONE)
		FUZZ_CHECK(first == 0 && length == of);
	if (kind == LS_HTTP_RANGE_PART)
		FUZZ_CHECK(length >= 1 && first < of && length <= of - first);
}

static void try_runs(const uint8_t *data, size_t size)
{
	char ids[RUNS][LS_HASH_HEX_SIZE];
	size_t count;
	if (ls_remote_parse_runs(ids, RUNS, &count, data, size, NULL) != LS_OK)
		return;
	FUZZ_CHECK(count <= RUNS);
	for (size_t i = 0; i < count; i++)
		FUZZ_CHECK(strlen(ids[i]) == 64 && strspn(ids[i], "0123456789abcdef") == 64);
}

static void try_status(const uint8_t *data, size_t size)
{
	bool written;
	uint64_t step;
	if (ls_remote_parse_status(&written, &step, data, size, NULL) == LS_OK)
		FUZZ_CHECK(step <= INT64_MAX);
}

static void try_steps(const uint8_t *data, size_t size)
{
	uint64_t *steps;
	size_t count;
	ls_buf again;
	if (ls_remote_parse_steps(&steps, &count, STEPS, data, size, NULL) != LS_OK)
		return;
	FUZZ_CHECK(count <= STEPS);
	ls_buf_init(&again, 22 * STEPS);
	for (size_t i = 0; i < count; i++) {
		FUZZ_CHECK(!i || steps[i] > steps[i - 1]);
		ls_buf_printf(&again, "%llu\n", (unsigned long long)steps[i]);
	}
	FUZZ_CHECK(again.len == size && (!size || !memcmp(again.data, data, size)));
	ls_buf_free(&again);
	ls_free(steps);
}

static void try_heads(const uint8_t *data, size_t size)
{
	ls_cursor in = ls_cursor_over(data, size);
	uint64_t before = 0, leaves;
	const uint8_t *text;
	size_t len, at = 0;
	while (ls_remote_next_head(&in, before, &leaves, &text, &len)) {
		FUZZ_CHECK(leaves > before && len <= LS_REMOTE_HEAD_MAX && text == data + at + 12 && ls_get_le64(data + at) == leaves);
		at += 12 + len;
		before = leaves;
	}
	FUZZ_CHECK(in.failed || at == size);
}

static void try_leaves(const uint8_t *data, size_t size)
{
	size_t end, again;
	uint64_t count = ls_remote_count_leaves(data, size, &end);
	FUZZ_CHECK(end <= size && end >= 5 * count && end <= count * (4 + LS_LEAF_BYTES_MAX));
	FUZZ_CHECK(ls_remote_count_leaves(data, end, &again) == count && again == end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(const uint8_t *data, size_t size) = {try_target, try_range, try_runs, try_status, try_steps, try_heads, try_leaves};
	if (size)
		tries[data[0] % (sizeof tries / sizeof *tries)](data + 1, size - 1);
	return 0;
}
