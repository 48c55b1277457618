/* Seals a run while its steps go on: a copy of the state and of the head, and a thread that brings them to the disk. The order
 * is that of ls_run_seal. */
#include "run/run.h"

#include <stdio.h>

struct ls_keeper {
	ls_run *run; /* its files are synced by the thread; everything else of it is left to the caller */
	ls_worker *worker;
	ls_buf snapshot; /* the one copy */
	char snapshot_name[LS_RUN__SNAPSHOT_NAME];
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
	ls_buf_init(&k->snapshot, LS_RUN__SNAPSHOT_MAX);
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
	ls_buf_free(&k->snapshot);
	ls_free(k);
}

static void work(void *context)
{
	ls_keeper *k = context;
	ls_error *err = &k->failure;
	ls_status status;
	LS_TRY(ls_run_sync(k->run, err));
	LS_TRY(ls_run__write_file(k->run, k->snapshot_name, k->snapshot.data, k->snapshot.len, err));
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

ls_status ls_keeper_seal(ls_keeper *k, uint64_t step, ls_exec *exec, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_keeper_wait(k, err));
	LS_TRY(ls_run__encode_snapshot(&k->snapshot, step, exec, err));
	LS_TRY(ls_run__encode_head(k->run, &k->head, err));
	ls_run__snapshot_name(k->snapshot_name, step);
	ls_worker_start(k->worker, work, k);
done:
	return status;
}
