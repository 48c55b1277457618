/* What the answers of a service say, or that they say nothing. */
#include <lockstep/remote.h>

#include <jansson.h>
#include <stdio.h>

static ls_status refuse(ls_error *err, const char *what, const char *expected)
{
	return ls_error_input(err, what, NULL, "an answer that is none", expected, "is this the address of lockstep serve?");
}

/* JSON of one object; NULL where the text is none. */
static json_t *load(const void *text, size_t len)
{
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (root && !json_is_object(root)) {
		json_decref(root);
		root = NULL;
	}
	return root;
}

/* An id in its one spelling. */
static bool read_id(char out[LS_HASH_HEX_SIZE], const json_t *value)
{
	const char *text = json_string_value(value);
	ls_hash id;
	if (!text || !ls_hash_unhex(&id, text))
		return false;
	ls_hash_hex(out, &id);
	return !strcmp(out, text);
}

ls_status ls_remote_parse_runs(char (*ids)[LS_HASH_HEX_SIZE], size_t room, size_t *count, const void *text, size_t len, ls_error *err)
{
	json_t *root = load(text, len), *list = json_object_get(root, "runs");
	bool good = json_is_array(list) && json_array_size(list) <= room;
	*count = good ? json_array_size(list) : 0;
	for (size_t i = 0; good && i < *count; i++)
		good = read_id(ids[i], json_object_get(json_array_get(list, i), "run"));
	json_decref(root);
	return good ? LS_OK : refuse(err, "the list of runs", "{\"runs\": [{\"run\": ID, …}, …]}");
}

ls_status ls_remote_parse_status(bool *being_written, uint64_t *written_step, const void *text, size_t len, ls_error *err)
{
	json_t *root = load(text, len), *written = json_object_get(root, "being_written"), *step = json_object_get(root, "written_step");
	bool good = json_is_boolean(written) && json_is_integer(step) && json_integer_value(step) >= 0;
	*being_written = json_is_true(written);
	*written_step = good ? (uint64_t)json_integer_value(step) : 0;
	json_decref(root);
	return good ? LS_OK : refuse(err, "the state of the run", "an object with being_written and written_step");
}

/* A line of digits; false where it is none. */
static bool next_number(ls_cursor *in, uint64_t *out)
{
	char digits[24];
	size_t n = 0;
	uint8_t c = ls_cursor_u8(in);
	for (; !in->failed && c != '\n' && n + 1 < sizeof digits; c = ls_cursor_u8(in))
		digits[n++] = (char)c;
	digits[n] = 0;
	return !in->failed && c == '\n' && strlen(digits) == n && ls_http_number(digits, UINT64_MAX, out);
}

ls_status ls_remote_parse_steps(uint64_t **steps, size_t *count, size_t most, const void *text, size_t len, ls_error *err)
{
	ls_cursor in = ls_cursor_over(text, len);
	size_t lines = 0;
	bool good;
	for (size_t i = 0; i < len; i++)
		lines += ((const uint8_t *)text)[i] == '\n';
	*count = 0;
	*steps = lines <= most ? ls_alloc(lines, sizeof **steps) : NULL;
	if (lines <= most && !*steps)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for %zu steps", lines);
	good = lines <= most;
	while (good && *count < lines) {
		good = next_number(&in, &(*steps)[*count]) && (!*count || (*steps)[*count] > (*steps)[*count - 1]);
		*count += good;
	}
	if (good && ls_cursor_done(&in))
		return LS_OK;
	ls_free(*steps);
	*steps = NULL;
	*count = 0;
	return refuse(err, "the list of snapshots", "a line for each step, ascending");
}

bool ls_remote_next_head(ls_cursor *in, uint64_t after, uint64_t *size, const uint8_t **text, size_t *len)
{
	*text = NULL;
	*len = 0;
	if (ls_cursor_done(in))
		return false;
	*size = ls_cursor_u64(in);
	*len = ls_cursor_u32(in);
	if (!in->failed && *size > after && *len <= LS_REMOTE_HEAD_MAX)
		*text = ls_cursor_take(in, *len);
	in->failed |= !*text;
	return *text != NULL;
}

uint64_t ls_remote_count_leaves(const void *data, size_t len, size_t *end)
{
	uint64_t count = 0;
	*end = 0;
	while (len - *end >= 4) {
		uint32_t record = ls_get_le32((const uint8_t *)data + *end);
		if (!record || record > LS_LEAF_BYTES_MAX || record > len - *end - 4)
			break;
		*end += 4 + record;
		count++;
	}
	return count;
}
