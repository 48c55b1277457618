/* Reading a run that is being written. A head promises leaves that are on the disk for good; what lies behind the newest one is
 * the trainer's business still. */
#include "run/run.h"

#include <stdio.h>

static ls_status newest_head(const ls_run *run, uint64_t *out, ls_error *err)
{
	uint64_t *size = NULL;
	size_t count = 0;
	ls_status status = ls_run_heads(run, &size, &count, err);
	*out = status == LS_OK && count ? size[count - 1] : 0;
	ls_free(size);
	return status;
}

static void missing_leaves(const ls_run *run, ls_damage *damage)
{
	ls_run__damage(damage, "leaves", 0, "found %llu leaves, expected the %llu that heads/%llu promises", (unsigned long long)run->leaves,
	               (unsigned long long)run->promised, (unsigned long long)run->promised);
	damage->withheld = true;
}

static ls_status open_promised(ls_run **out, const char *dir, const ls_run_source *source, ls_damage *damage, ls_error *err)
{
	ls_status status;
	ls_run *run = NULL;
	uint64_t head = 0;
	LS_TRY(ls_run__open(&run, dir, LS_RUN__LIVE, source, damage, err));
	if (!run)
		goto done;
	if (run->leaves < run->promised)
		LS_TRY(newest_head(run, &head, err));
	if (head == run->promised)
		missing_leaves(run, damage);
	if (run->leaves == run->promised) {
		*out = run;
		run = NULL;
	} // else a trainer went back to an older snapshot just now, or leaves are withheld
done:
	ls_run_free(run);
	return status;
}

ls_status ls_run_open_live(ls_run **out, const char *dir, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	bool unstarted = false;
	*out = NULL;
	*damage = (ls_damage){0};
	if (ls_file_exists(dir))
		status = ls_run_is_unstarted(&unstarted, dir, err);
	return status != LS_OK || unstarted ? status : open_promised(out, dir, NULL, damage, err);
}

ls_status ls_run_open_from(ls_run **out, const char *dir, const ls_run_source *source, bool live, ls_damage *damage, ls_error *err)
{
	*out = NULL;
	*damage = (ls_damage){0};
	return live ? open_promised(out, dir, source, damage, err) : ls_run__open(out, dir, LS_RUN__READ, source, damage, err);
}

/* The leaves that `head` promises follow upon those there were, and all of them hash to it. */
static ls_status take_leaves(ls_run *run, uint64_t head, const ls_hash *promised, ls_damage *damage, ls_error *err)
{
	ls_status status;
	char name[32];
	uint64_t before = run->leaves, first, last;
	ls_hash root;
	run->promised = head;
	snprintf(name, sizeof name, "heads/%llu", (unsigned long long)head);
	LS_TRY(ls_file_refresh(run->leaf_file, err));
	LS_TRY(ls_file_refresh(run->log_file, err));
	LS_TRY(ls_file_refresh(run->metrics_file, err));
	LS_TRY(ls_run__read_leaves(run, head, damage, err));
	if (!damage->found && run->leaves < head)
		missing_leaves(run, damage);
	if (damage->found)
		goto done;
	LS_TRY(ls_run_root(run, head, &root, err));
	if (!ls_hash_equal(&root, promised)) {
		ls_run_leaf_steps(run, before, &first, &last);
		ls_run__damage(damage, name, last, "found a head that does not continue the one over %llu leaves, which was seen before",
		               (unsigned long long)before);
		goto done;
	}
	LS_TRY(ls_run__scan_log(run, head, damage, err));
done:
	return status;
}

ls_status ls_run_refresh(ls_run *run, ls_damage *damage, ls_error *err)
{
	ls_status status;
	uint64_t head;
	ls_hash promised;
	if (run->source.file)
		LS_TRY(run->source.look(run->source.context, &run->written, &run->written_step, err));
	LS_TRY(newest_head(run, &head, err));
	if (head <= run->leaves)
		goto done; // or a trainer has gone back to an older snapshot, to come this way again
	LS_TRY(ls_run__read_head(run, head, &promised, damage, err));
	if (!damage->found)
		LS_TRY(take_leaves(run, head, &promised, damage, err));
done:
	return status;
}

bool ls_run_is_being_written(ls_run *run)
{
	return run->source.file ? run->written : ls_file_is_locked(run->leaf_file);
}

ls_status ls_run_written_step(ls_run *run, uint64_t *step, ls_error *err)
{
	ls_status status;
	uint64_t more, first, leaf;
	if (run->source.file) {
		*step = run->written_step;
		return LS_OK;
	}
	LS_TRY(ls_file_refresh(run->leaf_file, err));
	more = ls_file_size(run->leaf_file) > run->leaf_end ? (ls_file_size(run->leaf_file) - run->leaf_end) / (4 + LS_LEAF_BYTES_MAX) : 0;
	leaf = run->leaves - 1 + more;
	*step = 0;
	if (leaf)
		ls_run_leaf_steps(run, leaf, &first, step);
done:
	return status;
}
