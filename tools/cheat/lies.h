/* The cheat tool: ways for a trainer to lie, so that tests can show each of them caught. A lie is one small function and
 * one row of the table in lies.c; it runs inside an otherwise ordinary trainer, as a watcher of its executor.
 */
#ifndef CHEAT_LIES_H
#define CHEAT_LIES_H

#include <lockstep/train.h>

typedef struct cheat_lie cheat_lie;

/* A trainer who lies. Filled by cheat_open. */
typedef struct cheat_liar {
	const cheat_lie *lie;
	const ls_job_plan *plan;
	ls_platform *platform;
	uint64_t at;      /* the step in which the lie is told */
	void **before;    /* the state as the present step found it, one tensor each */
	int states;
	uint64_t changed; /* words and entries that the lie changed; 0 would be no lie */
	ls_status status; /* the first failure; the run is then worthless */
	ls_watch watch;   /* for ls_train */
} cheat_liar;

/* What a lie is shown: one op that was just executed. */
typedef struct cheat_view {
	cheat_liar *liar;
	ls_exec *exec;
	const ls_program *program;
	const ls_op *op;
	const ls_op_def *def;
	uint64_t step;
	ls_op_log *log; /* of this op; NULL where the step keeps none */
	int index;      /* of the op */
} cheat_view;

struct cheat_lie {
	const char *name;
	const char *help;
	void (*tell)(cheat_view *view); /* called after every op of the step */
	bool onwards;                   /* told in every step from `at` on */
	bool honest;                    /* odd, but allowed: nobody may be accused of it */
	bool needs_log;                 /* only in mode logged */
};

/* index ≥ count gives NULL. */
const cheat_lie *cheat_lie_at(size_t index);
/* NULL where there is no such lie. */
const cheat_lie *cheat_lie_find(const char *name);

/* Borrows plan and platform. Release with cheat_close, also after a failure. */
ls_status cheat_open(cheat_liar *liar, const cheat_lie *lie, uint64_t at, const ls_job_plan *plan, ls_platform *platform,
                     ls_error *err);
void cheat_close(cheat_liar *liar);

#endif
