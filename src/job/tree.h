/* YAML text to a small tree, with everything refused that a job may not hold whatever its keys mean. */
#ifndef LS_JOB_TREE_H
#define LS_JOB_TREE_H

#include <lockstep/job.h>

#define LS_JOB__NODES_MAX 2048u

typedef enum ls_job__kind { LS_JOB__SCALAR, LS_JOB__LIST, LS_JOB__MAP } ls_job__kind;

/* Children of a map are key, value, key, value … Links are indices into the tree; 0 is none, as node 0 is the root. */
typedef struct ls_job__node {
	ls_job__kind kind;
	bool plain; /* a scalar written without quotes */
	char *text; /* of a scalar: len bytes, which may hold NUL, and a NUL */
	size_t len;
	uint32_t line, column; /* from 1 */
	uint32_t first, last, next, count;
} ls_job__node;

typedef struct ls_job__tree {
	ls_job__node *node;
	uint32_t count;
} ls_job__tree;

/* `label` stands for the file in complaints; with `positions` it is followed by line and column. */
ls_status ls_job__tree_parse(ls_job__tree *out, const char *label, bool positions, const void *text, size_t len,
                             ls_error *err);
void ls_job__tree_free(ls_job__tree *tree);

/* "label:line:column", or the label alone where line is 0. */
void ls_job__place(char *out, size_t out_size, const char *label, uint32_t line, uint32_t column);
/* `len` bytes of foreign text as at most 40 harmless ASCII characters. `out` holds LS_JOB__SHOWN bytes. */
#define LS_JOB__SHOWN 176
void ls_job__show(char *out, const char *text, size_t len);

#endif
