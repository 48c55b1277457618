/* One field's value: from YAML, checked against the table, and back to text. */
#ifndef LS_JOB_VALUE_H
#define LS_JOB_VALUE_H

#include "job/schema.h"
#include "job/tree.h"

struct ls_job {
	ls_job_spec spec;
	ls_threshold thresholds[LS_JOB_THRESHOLDS_MAX]; /* of the threshold file, or the one of `fixed` */
	int threshold_count;
	uint8_t *threshold_bytes; /* the file; NULL where there is none or it was not read */
	size_t threshold_len;
};

/* Takes over the spec of a new job, with the threshold that it names itself. */
void ls_job__adopt(ls_job *job, const ls_job_spec *spec);

/* What fields only show together. True where they are fine; else the key at fault, what was found and expected, a hint. */
typedef struct ls_job__fault {
	const char *key;
	char found[96], expected[96];
	const char *hint;
} ls_job__fault;
bool ls_job__consistent(const ls_job_spec *spec, ls_job__fault *fault);

#define LS_JOB__EXPECTED_MAX 200

static inline void *ls_job__at(const ls_job__field *field, ls_job_spec *spec)
{
	return (char *)spec + field->offset;
}

static inline const void *ls_job__in(const ls_job__field *field, const ls_job_spec *spec)
{
	return (const char *)spec + field->offset;
}

/* Stores what `node` says; false (the spec unchanged) where it is no value of the field. */
bool ls_job__value_read(const ls_job__field *field, const ls_job__tree *tree, const ls_job__node *node,
                        ls_job_spec *spec);
/* Stores the field's default. */
void ls_job__value_reset(const ls_job__field *field, ls_job_spec *spec);
/* Is the stored value one that the table allows? (LS_JOB__UNSET values may also be zero.) */
bool ls_job__value_valid(const ls_job__field *field, const ls_job_spec *spec);
/* Is it zero, empty? */
bool ls_job__value_unset(const ls_job__field *field, const ls_job_spec *spec);
/* Appends it as YAML. */
void ls_job__value_print(const ls_job__field *field, const ls_job_spec *spec, ls_buf *out);

/* "an integer from 1 to 8" */
void ls_job__describe(char *out, size_t out_size, const ls_job__field *field);
/* What a node holds, for "found …". `out` holds LS_JOB__SHOWN + 32 bytes. */
void ls_job__describe_node(char *out, const ls_job__node *node);

#endif
