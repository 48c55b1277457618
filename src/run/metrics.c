#include "run/run.h"

#include <jansson.h>
#include <stdio.h>

#define METRICS_MAX (UINT64_C(1) << 32)
#define LINE_MAX_BYTES 4096

void ls_metrics_encode(ls_buf *out, const ls_metrics *m)
{
	ls_buf_u64(out, m->step);
	ls_buf_u32(out, ls_bits_f32(m->loss));
	ls_buf_f64(out, m->lr);
}

/* JSON knows no NaN; the bits beside the number do. jansson writes reals with a point whatever the locale. */
void ls_metrics_line(ls_buf *out, const ls_metrics *m)
{
	char bits[9], *text;
	bool finite = (ls_bits_f32(m->loss) & 0x7f800000u) != 0x7f800000u;
	json_t *line;
	snprintf(bits, sizeof bits, "%08x", ls_bits_f32(m->loss));
	line = json_pack("{s:I, s:o, s:s, s:f, s:f, s:s}", "step", (json_int_t)m->step, "loss", finite ? json_real((double)m->loss) : json_null(),
	                 "loss_bits", bits, "lr", m->lr, "seconds", m->seconds,
	                 "platform", m->platform ? m->platform : "");
	text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	if (text)
		ls_buf_bytes(out, text, strlen(text));
	else
		out->status = LS_ERR_NOMEM;
	ls_buf_bytes(out, "\n", 2); // with NUL
	free(text);
	json_decref(line);
}

/* The number for people says what the bits say. */
static bool same_loss(const json_t *number, float loss)
{
	if ((ls_bits_f32(loss) & 0x7f800000u) == 0x7f800000u)
		return json_is_null(number);
	return json_is_number(number) && ls_bits_f64(json_number_value(number)) == ls_bits_f64((double)loss);
}

/* The line, without its newline, is what ls_metrics_line writes: one text for one meaning. */
static bool is_canonical(const ls_metrics *m, const char *text, size_t len)
{
	ls_buf again;
	bool same;
	ls_buf_init(&again, LINE_MAX_BYTES);
	ls_metrics_line(&again, m);
	same = again.status == LS_OK && again.len == len + 2 && !memcmp(again.data, text, len);
	ls_buf_free(&again);
	return same;
}

/* One line back into what the digest covers; false where it is not such a line. */
static bool parse(const char *text, size_t len, ls_metrics *m)
{
	json_int_t step;
	const char *bits, *platform;
	unsigned value;
	double lr, seconds;
	json_t *line = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL), *loss;
	bool good = line && !json_unpack(line, "{s:I, s:o, s:s, s:F, s:F, s:s}", "step", &step, "loss", &loss, "loss_bits", &bits, "lr", &lr,
	                                 "seconds", &seconds, "platform", &platform) &&
	            strlen(bits) == 8 && strspn(bits, "0123456789abcdef") == 8 && sscanf(bits, "%x", &value) == 1 && step > 0 &&
	            same_loss(loss, ls_f32_bits(value));
	if (good)
		*m = (ls_metrics){.step = (uint64_t)step, .loss = ls_f32_bits(value), .lr = lr, .seconds = seconds, .platform = platform};
	good = good && is_canonical(m, text, len);
	m->platform = NULL; // it dies with the line
	json_decref(line);
	return good;
}

/* Lines of steps first…last at *at; true where they hash to `digest`. */
static bool leaf_fits(const char *text, size_t len, size_t *at, uint64_t first, uint64_t last, const ls_hash *digest)
{
	ls_buf encoded;
	ls_hash found;
	bool good = true;
	ls_buf_init(&encoded, METRICS_MAX);
	for (uint64_t step = first; step <= last && good; step++) {
		const char *end = memchr(text + *at, '\n', len - *at);
		ls_metrics m;
		good = end && parse(text + *at, (size_t)(end - text) - *at, &m) && m.step == step;
		if (good) {
			ls_metrics_encode(&encoded, &m);
			*at = (size_t)(end - text) + 1;
		}
	}
	good = good && encoded.status == LS_OK && ls_hash_tagged(&found, "ls1/metrics", encoded.data, encoded.len) == LS_OK &&
	       ls_hash_equal(&found, digest);
	ls_buf_free(&encoded);
	return good;
}

ls_status ls_run_check_metrics(const ls_run *run, ls_damage *damage, ls_error *err)
{
	ls_status status;
	char path[LS_PATH_MAX];
	uint8_t *text = NULL;
	size_t len = 0, at = 0;
	uint64_t first, last;
	LS_TRY(ls_run__path(run, "metrics.jsonl", path, err));
	LS_TRY(ls_file_read(&text, &len, path, METRICS_MAX, err));
	for (uint64_t leaf = 1; leaf < run->leaves && !damage->found; leaf++) {
		ls_run_leaf_steps(run, leaf, &first, &last);
		if (!leaf_fits((char *)text, len, &at, first, last, &run->leaf[leaf].metrics))
			ls_run__damage(damage, "metrics.jsonl", first, "the lines of steps %llu to %llu do not hash to the leaf's metrics digest",
			               (unsigned long long)first, (unsigned long long)last);
	}
	if (!damage->found && at != len)
		ls_run__damage(damage, "metrics.jsonl", 0, "found %zu bytes after the last leaf's lines, expected the end", len - at);
done:
	ls_free(text);
	return status;
}
