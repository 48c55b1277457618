/* The one table of a job's fields. */
#ifndef LS_JOB_SCHEMA_H
#define LS_JOB_SCHEMA_H

#include <lockstep/job.h>

typedef enum ls_job__type {
	LS_JOB__INT,    /* uint64_t, min ≤ value ≤ max */
	LS_JOB__REAL,   /* double, min ≤ value ≤ max */
	LS_JOB__BOOL,   /* bool */
	LS_JOB__CHOICE, /* uint32_t, an index into choices */
	LS_JOB__WORD,   /* char[max + 1]: a-z 0-9 _ - */
	LS_JOB__NAME,   /* char[max + 1]: also capitals and '.' */
	LS_JOB__PATH,   /* char[max + 1]: anything but control characters */
	LS_JOB__INTS,   /* ls_job_list of integers within min and max */
	LS_JOB__REALS,  /* ls_job_reals within min and max; one number may stand without brackets */
	LS_JOB__FLAGS   /* uint32_t: a list of different choices in the order of the table, one bit each */
} ls_job__type;

enum {
	LS_JOB__REQUIRED = 1, /* must be given where it is read */
	LS_JOB__UNSIGNED = 2, /* not part of the signed bytes */
	LS_JOB__UNSET = 4     /* zero means "not given" and is not written */
};

typedef struct ls_job__field {
	const char *path;
	ls_job__type type;
	size_t offset;
	double min, max;            /* bounds; length of texts */
	uint64_t items;             /* INTS: the list has exactly so many items; 0: up to LS_JOB_LIST_MAX */
	const char *const *choices; /* NULL-terminated */
	uint32_t with_value;        /* choices written {choice: value} */
	const struct ls_job__field *values, *signed_values; /* of those, by choice: the value in YAML, and in signed bytes */
	const char *fallback;       /* default as a plain YAML scalar; NULL: zero, the empty text, the empty list */
	unsigned flags;
	const char *selector; /* the choice that decides whether this field is read; NULL: always */
	uint32_t reads;       /* values of the selector under which it is, one bit each */
	const char *rival;    /* exactly one of this and its rival must be given */
	const char *example;  /* value in the template where the default does not serve */
	const char *for_arch; /* in the template the example holds for this model only */
	const char *help;
} ls_job__field;

extern const ls_job__field ls_job__fields[];
extern const size_t ls_job__field_count;

/* NULL where no field has that path. */
const ls_job__field *ls_job__find(const char *path);
/* Is `path` a mapping of fields ("train")? The empty path is the document. */
bool ls_job__is_section(const char *path);
/* The valid key that looks most like `path`, into `out`: a field's path or a section's name. */
void ls_job__nearest(char *out, size_t out_size, const char *path);
/* Does the job, with its choices as they stand in `spec`, read this field? */
bool ls_job__is_read(const ls_job__field *field, const ls_job_spec *spec);
/* Length of the section's name at the head of a path: 5 for "train.batch", 0 for "name". */
size_t ls_job__section_len(const char *path);

#endif
