#include "cli/audit_parts.h"

#include <stdlib.h>

/* Whether a leaf ends with the step, so that a snapshot may lie there. */
static bool ends_leaf(const ls_run *run, uint64_t step)
{
	uint64_t first, last = 0;
	if (step)
		ls_run_leaf_steps(run, ls_run_leaf_of_step(run, step), &first, &last);
	return last == step;
}

ls_status ls_cli__parts_of(ls_cli_parts *out, const ls_run *run, ls_error *err)
{
	ls_status status;
	uint64_t *steps = NULL, end = ls_run_last_step(run), next = 1;
	size_t count = 0;
	*out = (ls_cli_parts){0};
	LS_TRY(ls_run_snapshots(run, &steps, &count, err));
	out->part = ls_alloc(count + 1, sizeof *out->part);
	if (!out->part) {
		status = ls_error_set(err, LS_ERR_NOMEM, "no memory for the parts of a run");
		goto done;
	}
	for (size_t i = 0; i <= count; i++) {
		uint64_t last = i < count ? steps[i] : end;
		if (last < next || last > end || (i < count && !ends_leaf(run, last)))
			continue; // step 0, and what is no snapshot of this run: reading it will say so
		out->part[out->count++] = (ls_cli_part){next, last};
		next = last + 1;
	}
done:
	ls_free(steps);
	return status;
}

void ls_cli__parts_free(ls_cli_parts *parts)
{
	ls_free(parts->part);
	*parts = (ls_cli_parts){0};
}

uint64_t ls_cli__parts_steps(const ls_cli_parts *parts)
{
	uint64_t steps = 0;
	for (size_t i = 0; i < parts->count; i++)
		steps += parts->part[i].last - parts->part[i].first + 1;
	return steps;
}

void ls_cli__parts_join(ls_cli_parts *parts, size_t most)
{
	uint64_t left = ls_cli__parts_steps(parts);
	size_t made = 0, at = 0;
	while (at < parts->count) {
		uint64_t aim = (left + (most - made) - 1) / (most - made);
		ls_cli_part joined = parts->part[at++];
		// Whichever end lies nearer to the aim; the last one takes what is left.
		while (at < parts->count && (made + 1 == most ||
		       (parts->part[at].last - joined.first + 1) + (joined.last - joined.first + 1) <= 2 * aim))
			joined.last = parts->part[at++].last;
		left -= joined.last - joined.first + 1;
		parts->part[made++] = joined;
	}
	parts->count = made;
}

static int by_first(const void *a, const void *b)
{
	const ls_cli_part *x = a, *y = b;
	return (x->first > y->first) - (x->first < y->first);
}

ls_status ls_cli__parts_sample(ls_cli_parts *parts, size_t most, const uint8_t seed[32], ls_error *err)
{
	uint8_t draw[40];
	ls_hash random;
	if (most > parts->count)
		most = parts->count;
	memcpy(draw, seed, 32);
	for (size_t i = 0; i < most; i++) { // the first `most` places of a shuffle
		ls_status status;
		size_t j;
		ls_cli_part drawn;
		ls_put_le64(draw + 32, i);
		status = ls_hash_tagged(&random, "ls1/sample", draw, sizeof draw);
		if (status != LS_OK)
			return ls_error_set(err, status, "could not draw a sample: %s", ls_status_text(status));
		j = i + (size_t)(ls_get_le64(random.byte) % (parts->count - i)); // uneven by less than 2⁻³²: there are fewer than 2³² parts
		drawn = parts->part[j];
		parts->part[j] = parts->part[i];
		parts->part[i] = drawn;
	}
	parts->count = most;
	qsort(parts->part, most, sizeof *parts->part, by_first);
	return LS_OK;
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x < y) - (x > y);
}

double ls_cli__parts_missed(const ls_cli_parts *all, size_t drawn, uint64_t bad)
{
	uint64_t *length = ls_alloc(all->count, sizeof *length);
	size_t filled = 0;
	double missed = 1;
	for (size_t i = 0; length && i < all->count; i++)
		length[i] = all->part[i].last - all->part[i].first + 1;
	if (length)
		qsort(length, all->count, sizeof *length, by_length);
	// The filled parts are all among those not drawn: one factor per part. Without memory one part is counted: no smaller a risk.
	for (uint64_t held = 0; held < bad && filled < all->count; filled++) {
		held += length ? length[filled] : bad;
		missed *= all->count - filled > drawn ? (double)(all->count - drawn - filled) / (double)(all->count - filled) : 0;
	}
	ls_free(length);
	return missed;
}
