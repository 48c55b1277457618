/* An audit that goes along with a run while it is trained: waits for heads, and says how far behind it is. */
#include "cli/audit_follow.h"

#include <time.h>

#define LOOK_NS 200000000 /* between two looks at the run */
#define SAY_SECONDS 10.0
#define QUIET_LOOKS 5 /* so many looks without a trainer and without news end the audit */

static void pause_a_moment(void)
{
	nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
}

ls_status ls_cli__follow_open(ls_cli_session *s, const ls_cli_args *args, const ls_cli *cli, ls_damage *damage, ls_error *err)
{
	ls_status status;
	*damage = (ls_damage){0};
	do {
		status = ls_cli__open_run_anywhere(s, args, 0, true, damage, err);
		if (status == LS_OK && !s->run && !damage->found)
			pause_a_moment(); // its start is being written
	} while (status == LS_OK && !s->run && !damage->found && !(cli->stop && cli->stop(cli->stop_context)));
	if (status == LS_OK && !s->run && !damage->found)
		status = ls_error_set(err, LS_ERR_IO, "%s: stopped as asked, before there was a first head", args->operand[0]);
	return status;
}

ls_status ls_cli__follow_look(ls_cli_follow *f, uint64_t audited, ls_error *err)
{
	uint64_t written;
	double now = ls_clock_seconds();
	ls_status status = ls_run_written_step(f->run, &written, err);
	if (status != LS_OK)
		return status;
	f->behind = written > audited ? written - audited : 0;
	if (f->behind > f->most_behind)
		f->most_behind = f->behind;
	if (now - f->said >= SAY_SECONDS) {
		f->said = now;
		ls_cli__note("follow: audited up to step %llu, the trainer is at %llu: %llu steps behind\n", (unsigned long long)audited,
		             (unsigned long long)written, (unsigned long long)f->behind);
	}
	return LS_OK;
}

ls_status ls_cli__follow_wait(ls_cli_follow *f, const ls_cli *cli, bool *grown, ls_damage *damage, ls_error *err)
{
	ls_status status = LS_OK;
	uint64_t before = ls_run_leaves(f->run);
	int quiet = 0;
	while (status == LS_OK && !damage->found && quiet < QUIET_LOOKS && !(cli->stop && cli->stop(cli->stop_context))) {
		bool written = ls_run_is_being_written(f->run); // asked first: a trainer that ends now has written its last head before
		LS_TRY(ls_run_refresh(f->run, damage, err));
		*grown = !damage->found && ls_run_leaves(f->run) > before;
		if (*grown) {
			f->heads++;
			break;
		}
		LS_TRY(ls_cli__follow_look(f, ls_run_last_step(f->run), err));
		quiet = written ? 0 : quiet + 1;
		pause_a_moment();
	}
done:
	return status;
}
