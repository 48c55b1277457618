#include "run/lines.h"
#include "run/run.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#define METRICS_MAX (UINT64_C(1) << 32)

void ls_stages_add(ls_stages *to, const ls_stages *from)
{
	to->tested += from->tested;
	to->certified += from->certified;
	to->bin += from->bin;
	to->bins += from->bins;
	to->wide += from->wide;
}

void ls_metrics_encode(ls_buf *out, const ls_metrics *m)
{
	ls_buf_u64(out, m->step);
	ls_buf_u32(out, ls_bits_f32(m->loss));
	ls_buf_f64(out, m->lr);
}

static json_t *stages_json(const ls_stages *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "tested", (json_int_t)s->tested, "certified", (json_int_t)s->certified, "bin",
	                 (json_int_t)s->bin, "bins", (json_int_t)s->bins, "wide", (json_int_t)s->wide);
}

/* False where they are there and no such numbers. */
static bool parse_stages(json_t *object, ls_metrics *m)
{
	json_int_t n[5];
	m->counted = object != NULL;
	if (!object)
		return true;
	if (json_unpack(object, "{s:I, s:I, s:I, s:I, s:I}", "tested", &n[0], "certified", &n[1], "bin", &n[2], "bins", &n[3], "wide", &n[4]))
		return false;
	m->stages = (ls_stages){(uint64_t)n[0], (uint64_t)n[1], (uint64_t)n[2], (uint64_t)n[3], (uint64_t)n[4]};
	for (int i = 0; i < 5; i++)
		if (n[i] < 0)
			return false;
	return true;
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
	if (line && m->counted && json_object_set_new(line, "stages", stages_json(&m->stages)) != 0) {
		json_decref(line);
		line = NULL;
	}
	errno = 0;
	text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	if (text && errno != ENOMEM) // jansson may leave out what it had no memory for, and go on
		ls_buf_bytes(out, text, strlen(text));
	else
		out->status = LS_ERR_NOMEM;
	ls_buf_u8(out, '\n');
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
static ls_status check_canonical(const ls_metrics *m, const char *text, size_t len)
{
	ls_buf again;
	ls_status status;
	ls_buf_init(&again, LS_RUN__LINE_MAX);
	ls_metrics_line(&again, m);
	status = again.status;
	if (status == LS_OK && (again.len != len + 1 || memcmp(again.data, text, len)))
		status = LS_ERR_INPUT;
	ls_buf_free(&again);
	return status == LS_ERR_LIMIT ? LS_ERR_INPUT : status;
}

/* One line back: LS_ERR_INPUT where it is not such a line, LS_ERR_NOMEM. `platform` receives that text, cut if longer. */
static ls_status parse(const char *text, size_t len, ls_metrics *m, char *platform, size_t size)
{
	json_int_t step;
	const char *bits, *name;
	unsigned value;
	double lr, seconds;
	json_t *line, *loss, *stages = NULL;
	bool good;
	errno = 0; // jansson does not always say that memory ran out; the system does
	line = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	good = line &&
	       !json_unpack(line, "{s:I, s:o, s:s, s:F, s:F, s:s, s?o}", "step", &step, "loss", &loss, "loss_bits", &bits, "lr", &lr, "seconds",
	                    &seconds, "platform", &name, "stages", &stages) &&
	       strlen(bits) == 8 && strspn(bits, "0123456789abcdef") == 8 && sscanf(bits, "%x", &value) == 1 && step > 0 &&
	       same_loss(loss, ls_f32_bits(value));
	if (errno == ENOMEM) {
		json_decref(line);
		return LS_ERR_NOMEM;
	}
	if (good) {
		snprintf(platform, size, "%s", name);
		*m = (ls_metrics){.step = (uint64_t)step, .loss = ls_f32_bits(value), .lr = lr, .seconds = seconds, .platform = platform};
		good = parse_stages(stages, m);
	}
	json_decref(line);
	return good ? check_canonical(m, text, len) : LS_ERR_INPUT;
}

/* The next lines are those of steps first…last, and hash to `digest`. */
static ls_status check_leaf(ls_lines *lines, uint64_t first, uint64_t last, const ls_hash *digest, bool *good, ls_error *err)
{
	ls_status status = LS_OK;
	ls_buf encoded;
	ls_hash found;
	ls_buf_init(&encoded, METRICS_MAX);
	*good = true;
	for (uint64_t step = first; step <= last && *good; step++) {
		const char *text;
		char platform[LS_RUN__LINE_MAX];
		size_t len;
		ls_metrics m;
		LS_TRY(ls_run__next_line(lines, &text, &len, err));
		status = text ? parse(text, len, &m, platform, sizeof platform) : LS_ERR_INPUT;
		*good = status == LS_OK && m.step == step;
		if (status == LS_ERR_NOMEM) {
			ls_error_set(err, status, "no memory to read metrics.jsonl");
			goto done;
		}
		status = LS_OK;
		if (*good)
			ls_metrics_encode(&encoded, &m);
	}
	if (*good) {
		status = encoded.status;
		if (status == LS_OK)
			status = ls_hash_tagged(&found, "ls1/metrics", encoded.data, encoded.len);
		if (status != LS_OK)
			ls_error_set(err, status, "metrics.jsonl: %s", ls_status_text(status));
		*good = status == LS_OK && ls_hash_equal(&found, digest);
	}
done:
	ls_buf_free(&encoded);
	return status;
}

ls_status ls_run__check_metrics(const ls_run *run, uint64_t leaves, uint64_t *end, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t first, last;
	bool good;
	ls_leaf its;
	ls_lines *lines = ls_alloc(1, sizeof *lines);
	if (!lines)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory to read metrics.jsonl");
	ls_run__lines_over(lines, run->metrics_file);
	for (uint64_t leaf = 1; leaf < leaves && !damage->found; leaf++) {
		ls_run_leaf_steps(run, leaf, &first, &last);
		LS_TRY(ls_run_read_leaf(run, leaf, &its, err));
		LS_TRY(check_leaf(lines, first, last, &its.metrics, &good, err));
		if (!good)
			ls_run__damage(damage, "metrics.jsonl", first, "the lines of steps %llu to %llu do not hash to the leaf's metrics digest",
			               (unsigned long long)first, (unsigned long long)last);
	}
	*end = lines->next;
done:
	ls_free(lines);
	return status;
}

ls_status ls_run_check_metrics(const ls_run *run, ls_damage *damage, ls_error *err)
{
	uint64_t end;
	ls_status status = ls_run__check_metrics(run, run->leaves, &end, damage, err);
	if (status == LS_OK && !damage->found && end != ls_file_size(run->metrics_file))
		ls_run__damage(damage, "metrics.jsonl", 0, "found %llu bytes after the last leaf's lines, expected the end",
		               (unsigned long long)(ls_file_size(run->metrics_file) - end));
	return status;
}

ls_status ls_run_read_metrics(const ls_run *run, ls_metrics_fn fn, void *context, ls_error *err)
{
	ls_status status = LS_OK;
	const char *text;
	size_t len;
	ls_metrics m;
	char platform[LS_RUN__LINE_MAX];
	ls_lines *lines = ls_alloc(1, sizeof *lines);
	if (!lines)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory to read metrics.jsonl");
	ls_run__lines_over(lines, run->metrics_file);
	do {
		LS_TRY(ls_run__next_line(lines, &text, &len, err));
		if (text && parse(text, len, &m, platform, sizeof platform) == LS_OK)
			fn(context, &m);
	} while (text);
done:
	ls_free(lines);
	return status;
}
