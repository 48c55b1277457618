/* The signed bytes of a job. Decoding is strict by construction: what has been decoded is encoded again and must give
 * the same bytes. */
#include "job/value.h"

#include <string.h>

static const char tag[7] = {'l', 's', '1', '/', 'j', 'o', 'b'};

/* The type byte of a field; 0 where the field is not signed. */
static uint8_t type_byte(const ls_job__field *field)
{
	if (field->flags & LS_JOB__UNSIGNED)
		return 0;
	switch (field->type) {
	case LS_JOB__INT: return 'u';
	case LS_JOB__REAL: return 'r';
	case LS_JOB__BOOL: return 'b';
	case LS_JOB__INTS: return 'l';
	case LS_JOB__REALS: return 'v';
	case LS_JOB__FLAGS: return 'w';
	default: return 's';
	}
}

static void put_list(ls_buf *out, const ls_job_list *list)
{
	ls_buf_u32(out, (uint32_t)list->count);
	for (uint64_t i = 0; i < list->count; i++)
		ls_buf_u64(out, list->item[i]);
}

static void put_field(ls_buf *out, const ls_job__field *field, const ls_job_spec *spec);

static void put_choice(ls_buf *out, const ls_job__field *field, const ls_job_spec *spec)
{
	uint32_t choice = *(const uint32_t *)ls_job__in(field, spec);
	ls_buf_str(out, field->choices[choice]);
	if (field->with_value >> choice & 1)
		put_field(out, &field->signed_values[choice], spec);
}

static void put_reals(ls_buf *out, const ls_job_reals *reals)
{
	ls_buf_u32(out, (uint32_t)reals->count);
	for (uint64_t i = 0; i < reals->count; i++)
		ls_buf_f64(out, reals->item[i]);
}

static void put_flags(ls_buf *out, const ls_job__field *field, uint32_t flags)
{
	ls_buf_u32(out, (uint32_t)__builtin_popcount(flags));
	for (uint32_t i = 0; field->choices[i]; i++)
		if (flags >> i & 1)
			ls_buf_str(out, field->choices[i]);
}

static void put_field(ls_buf *out, const ls_job__field *field, const ls_job_spec *spec)
{
	const void *p = ls_job__in(field, spec);
	ls_buf_u8(out, type_byte(field));
	switch (field->type) {
	case LS_JOB__INT: ls_buf_u64(out, *(const uint64_t *)p); break;
	case LS_JOB__REAL: ls_buf_f64(out, *(const double *)p); break;
	case LS_JOB__BOOL: ls_buf_u8(out, *(const bool *)p); break;
	case LS_JOB__CHOICE: put_choice(out, field, spec); break;
	case LS_JOB__INTS: put_list(out, p); break;
	case LS_JOB__REALS: put_reals(out, p); break;
	case LS_JOB__FLAGS: put_flags(out, field, *(const uint32_t *)p); break;
	default: ls_buf_str(out, p); break;
	}
}

static void put_binding(ls_buf *out, const ls_job_binding *b)
{
	ls_buf_bytes(out, b->program, 32);
	ls_buf_bytes(out, b->init, 32);
	ls_buf_bytes(out, b->data, 32);
	ls_buf_bytes(out, b->import, 32);
	for (int i = 0; i < 3; i++)
		ls_buf_u64(out, b->shape[i]);
	ls_buf_u64(out, b->samples);
	ls_buf_u64(out, b->steps);
	ls_buf_bytes(out, b->trainer, 32);
	ls_buf_bytes(out, b->referee, 32);
}

static ls_status wrong_count(const ls_job *job, ls_error *err, const char *place, uint64_t found, const char *expected,
                             uint64_t bound, const char *hint)
{
	return ls_error_set(err, LS_ERR_INPUT, "%s: %s: found %llu, expected %s %llu\n  hint: %s", job->spec.name, place,
	                    (unsigned long long)found, expected, (unsigned long long)bound, hint);
}

ls_status ls_job_steps(const ls_job *job, uint64_t samples, uint64_t *steps, ls_error *err)
{
	const ls_job_spec *spec = &job->spec;
	uint64_t most = spec->data.limit ? spec->data.limit : LS_JOB_SAMPLES_MAX, batch = spec->train.batch, count;
	*steps = 0;
	if (samples > most)
		return wrong_count(job, err, "samples", samples, "at most", most, "see data.limit");
	if (samples < batch)
		return wrong_count(job, err, "samples", samples, "at least one batch of", batch, "lower train.batch");
	count = spec->train.steps ? spec->train.steps : spec->train.epochs * (samples / batch); // < 2^60
	if (count > LS_JOB_STEPS_MAX)
		return wrong_count(job, err, "steps", count, "at most", LS_JOB_STEPS_MAX, "lower train.epochs");
	*steps = count;
	return LS_OK;
}

ls_status ls_job_encode(const ls_job *job, const ls_job_binding *binding, ls_buf *out, ls_error *err)
{
	uint64_t steps;
	ls_status status = ls_job_steps(job, binding->samples, &steps, err);
	if (status != LS_OK)
		return status;
	if (steps != binding->steps)
		return wrong_count(job, err, "steps", binding->steps, "exactly", steps, "see train.steps and train.epochs");
	if (job->spec.arithmetic.threshold == LS_JOB_ADAPTIVE && !job->spec.arithmetic.threshold_digest[0])
		return ls_error_set(err, LS_ERR_INPUT, "%s: arithmetic.threshold: found no threshold file that was read, expected its digest",
		                    job->spec.name);
	ls_buf_bytes(out, tag, sizeof tag);
	ls_buf_u32(out, (uint32_t)job->spec.version);
	for (size_t i = 0; i < ls_job__field_count; i++)
		if (type_byte(&ls_job__fields[i]))
			put_field(out, &ls_job__fields[i], &job->spec);
	put_binding(out, binding);
	if (out->status != LS_OK)
		return ls_error_set(err, out->status, "%s: could not encode the job: %s", job->spec.name,
		                    ls_status_text(out->status));
	return LS_OK;
}

/* ---- decoding ---- */

static void get_list(ls_cursor *c, ls_job_list *list)
{
	uint32_t count = ls_cursor_u32(c);
	if (count > LS_JOB_LIST_MAX) {
		c->failed = true;
		return;
	}
	list->count = count;
	for (uint32_t i = 0; i < count; i++)
		list->item[i] = ls_cursor_u64(c);
}

static void get_reals(ls_cursor *c, ls_job_reals *reals)
{
	uint32_t count = ls_cursor_u32(c);
	if (count > LS_JOB_REALS_MAX) {
		c->failed = true;
		return;
	}
	reals->count = count;
	for (uint32_t i = 0; i < count; i++)
		reals->item[i] = ls_cursor_f64(c);
}

static void get_field(ls_cursor *c, const ls_job__field *field, ls_job_spec *spec);

/* The number of a choice's word; the cursor fails where there is no such word. */
static uint32_t get_word(ls_cursor *c, const ls_job__field *field)
{
	char word[LS_JOB_WORD_MAX + 1];
	ls_cursor_str(c, word, sizeof word);
	for (uint32_t i = 0; field->choices[i]; i++)
		if (strcmp(field->choices[i], word) == 0)
			return i;
	c->failed = true;
	return 0;
}

static void get_choice(ls_cursor *c, const ls_job__field *field, ls_job_spec *spec)
{
	uint32_t choice = get_word(c, field);
	memcpy(ls_job__at(field, spec), &choice, sizeof choice);
	if (!c->failed && field->with_value >> choice & 1)
		get_field(c, &field->signed_values[choice], spec);
}

/* Each word must come after the one before it in the table. */
static void get_flags(ls_cursor *c, const ls_job__field *field, uint32_t *out)
{
	uint32_t count = ls_cursor_u32(c), flags = 0;
	for (uint32_t i = 0; i < count && !c->failed; i++) {
		uint32_t choice = get_word(c, field);
		c->failed |= flags >> choice != 0;
		flags |= 1u << choice;
	}
	*out = flags;
}

static void get_bool(ls_cursor *c, bool *out)
{
	uint8_t v = ls_cursor_u8(c);
	*out = v == 1;
	c->failed |= v > 1;
}

/* Leaves the cursor failed where the bytes are no value of the field. */
static void get_field(ls_cursor *c, const ls_job__field *field, ls_job_spec *spec)
{
	void *p = ls_job__at(field, spec);
	if (ls_cursor_u8(c) != type_byte(field)) {
		c->failed = true;
		return;
	}
	switch (field->type) {
	case LS_JOB__INT: *(uint64_t *)p = ls_cursor_u64(c); break;
	case LS_JOB__REAL: *(double *)p = ls_cursor_f64(c); break;
	case LS_JOB__BOOL: get_bool(c, p); break;
	case LS_JOB__CHOICE: get_choice(c, field, spec); break;
	case LS_JOB__INTS: get_list(c, p); break;
	case LS_JOB__REALS: get_reals(c, p); break;
	case LS_JOB__FLAGS: get_flags(c, field, p); break;
	default: ls_cursor_str(c, p, (size_t)field->max + 1); break;
	}
	c->failed |= !ls_job__value_valid(field, spec);
}

static void get_bytes(ls_cursor *c, uint8_t out[32])
{
	const uint8_t *p = ls_cursor_take(c, 32);
	if (p)
		memcpy(out, p, 32);
}

static void get_binding(ls_cursor *c, ls_job_binding *b)
{
	get_bytes(c, b->program);
	get_bytes(c, b->init);
	get_bytes(c, b->data);
	get_bytes(c, b->import);
	for (int i = 0; i < 3; i++)
		b->shape[i] = ls_cursor_u64(c);
	b->samples = ls_cursor_u64(c);
	b->steps = ls_cursor_u64(c);
	get_bytes(c, b->trainer);
	get_bytes(c, b->referee);
}

static ls_status bad_bytes(ls_error *err, const char *place, const char *found, const char *expected)
{
	const char *hint = "the bytes are damaged or were not made by Lockstep";
	return ls_error_input(err, "signed job", place, found, expected, hint);
}

static ls_status get_fields(ls_cursor *c, ls_job_spec *spec, ls_error *err)
{
	const uint8_t *head = ls_cursor_take(c, sizeof tag);
	if (!head || memcmp(head, tag, sizeof tag))
		return bad_bytes(err, NULL, "other bytes", "the tag ls1/job");
	spec->version = ls_cursor_u32(c);
	if (spec->version != LS_JOB_VERSION)
		return bad_bytes(err, "version", "another version", "1");
	for (size_t i = 0; i < ls_job__field_count; i++) {
		const ls_job__field *field = &ls_job__fields[i];
		if (!type_byte(field))
			continue;
		get_field(c, field, spec);
		if (c->failed) {
			char expected[LS_JOB__EXPECTED_MAX];
			ls_job__describe(expected, sizeof expected, field);
			return bad_bytes(err, field->path, "bytes that are no value of it", expected);
		}
	}
	return LS_OK;
}

/* What ls_job_parse promises of a spec as a whole. Fields that are not read are set to their defaults here, so that
 * other bytes for them fail the comparison that follows. */
static ls_status check_whole(ls_job_spec *spec, ls_error *err)
{
	ls_job__fault fault;
	for (size_t i = 0; i < ls_job__field_count; i++) {
		const ls_job__field *field = &ls_job__fields[i], *rival = field->rival ? ls_job__find(field->rival) : NULL;
		bool given = !ls_job__value_unset(field, spec), other = rival && !ls_job__value_unset(rival, spec);
		if (!ls_job__is_read(field, spec)) {
			ls_job__value_reset(field, spec);
			continue;
		}
		if (rival && given && other)
			return bad_bytes(err, field->path, "also its alternative", "one of them");
		if (field->flags & LS_JOB__REQUIRED && field->flags & LS_JOB__UNSET && !given && !other)
			return bad_bytes(err, field->path, "nothing", "a value");
	}
	if (!ls_job__consistent(spec, &fault))
		return bad_bytes(err, fault.key, fault.found, fault.expected);
	return LS_OK;
}

static ls_status check_canonical(const ls_job *job, const ls_job_binding *binding, const void *data, size_t len,
                                 ls_error *err)
{
	ls_status status;
	ls_buf again;
	ls_buf_init(&again, LS_JOB_BYTES_MAX);
	LS_TRY(ls_job_encode(job, binding, &again, err));
	if (again.len != len || memcmp(again.data, data, len))
		status = bad_bytes(err, NULL, "bytes in another form", "the canonical form");
done:
	ls_buf_free(&again);
	return status;
}

ls_status ls_job_decode(ls_job **out, ls_job_binding *binding, const void *data, size_t len, ls_error *err)
{
	ls_cursor c = ls_cursor_over(data, len);
	ls_job *job = ls_alloc(1, sizeof *job);
	ls_status status = LS_OK;
	*out = NULL;
	*binding = (ls_job_binding){0};
	if (!job)
		return ls_error_set(err, LS_ERR_NOMEM, "signed job: out of memory");
	LS_TRY(get_fields(&c, &job->spec, err));
	get_binding(&c, binding);
	if (!ls_cursor_done(&c)) {
		status = bad_bytes(err, "end", c.failed ? "too few bytes" : "more bytes", "the end after the binding");
		goto done;
	}
	LS_TRY(check_whole(&job->spec, err));
	LS_TRY(check_canonical(job, binding, data, len, err));
	ls_job__adopt(job, &job->spec);
	*out = job;
	job = NULL;
done:
	ls_job_free(job);
	return status;
}
