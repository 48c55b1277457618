/* Seals a run while its steps go on: a copy of the state and of the head, and a thread that brings them to the disk. The order
 * is that of ls_run_seal. */
#include "run/run.h"

#include <stdio.h>

struct ls_keeper {
	ls_run *run; /* the thread syncs its files and writes its snapshots; everything else of it is left to the caller */
	ls_worker *worker;
	const ls_program *program;
	void **words; /* the one copy of the state, by tensor */
	uint64_t step;
	ls_run__head_file head;
	ls_error failure; /* of the thread; looked at when it waits for work */
};

ls_status ls_keeper_open(ls_keeper **out, ls_run *run, ls_error *err)
{
	ls_status status = LS_OK;
	ls_keeper *k = ls_alloc(1, sizeof *k);
	*out = NULL;
	if (!k)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory to write snapshots");
	k->run = run;
	LS_TRY(ls_worker_open(&k->worker, err));
	*out = k;
	k = NULL;
done:
	ls_keeper_free(k);
	return status;
}

void ls_keeper_free(ls_keeper *k)
{
	if (!k)
		return;
	ls_worker_free(k->worker); // ends what it is at first
	for (int s = 0; k->words && s < ls_program_states(k->program); s++)
		ls_free(k->words[s]);
	ls_free(k->words);
	ls_free(k);
}

static void work(void *context)
{
	ls_keeper *k = context;
	ls_error *err = &k->failure;
	ls_status status;
	LS_TRY(ls_run_sync(k->run, err));
	LS_TRY(ls_run__write_state(k->run, k->step, k->program, (const void *const *)k->words, err));
	LS_TRY(ls_run__write_file(k->run, k->head.name, k->head.text, strlen(k->head.text), err));
done:
	err->status = status;
}

ls_status ls_keeper_wait(ls_keeper *k, ls_error *err)
{
	ls_worker_wait(k->worker);
	if (k->failure.status != LS_OK)
		return ls_error_set(err, k->failure.status, "%s", k->failure.text);
	return LS_OK;
}

bool ls_keeper_busy(ls_keeper *k)
{
	return ls_worker_busy(k->worker);
}

static size_t bytes_of(const ls_program *program, int state)
{
	return 4 * (size_t)ls_shape_count(&ls_program_value(program, state)->shape);
}

/* Memory for a state of this program, had once. */
static bool make_room(ls_keeper *k, const ls_program *program)
{
	bool room = true;
	k->program = program;
	if (!k->words)
		k->words = ls_alloc((size_t)ls_program_states(program), sizeof *k->words);
	for (int s = 0; k->words && room && s < ls_program_states(program); s++) {
		if (!k->words[s])
			k->words[s] = ls_alloc(bytes_of(program, s), 1);
		room = k->words[s] != NULL;
	}
	return k->words && room;
}

ls_status ls_keeper_seal(ls_keeper *k, uint64_t step, ls_exec *exec, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_keeper_wait(k, err));
	if (!make_room(k, ls_exec_program(exec)))
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for a copy of the state after step %llu", (unsigned long long)step);
	for (int s = 0; s < ls_program_states(k->program); s++)
		memcpy(k->words[s], ls_exec_state(exec, s), bytes_of(k->program, s));
	LS_TRY(ls_run__encode_head(k->run, &k->head, err));
	k->step = step;
	ls_worker_start(k->worker, work, k);
done:
	return status;
}
