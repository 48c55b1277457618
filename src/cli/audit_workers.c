/* Parts of an audit in processes of their own. A process shares what was read before it was started (the data set), and
 * nothing that it computes can disturb another; its answers come back through a pipe, each in one piece. */
#include "cli/audit_parts.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(ls_cli_outcome) <= PIPE_BUF, "an answer must fit a pipe in one piece");

/* The child: every `workers`-th part, until one cannot be finished. */
static int work(const ls_cli_parts *parts, int workers, int self, int pipe_end, ls_cli_part_fn fn, void *context)
{
	bool going = true;
	for (size_t i = (size_t)self; i < parts->count && going; i += (size_t)workers) {
		ls_cli_outcome outcome = {.part = i};
		outcome.status = fn(context, &parts->part[i], &outcome.result, &outcome.error);
		going = outcome.status == LS_OK && !outcome.result.stopped;
		if (write(pipe_end, &outcome, sizeof outcome) != (ssize_t)sizeof outcome)
			return LS_CLI__UNFINISHED;
	}
	return LS_CLI__DONE;
}

/* Until all writers have closed their end. */
static ls_status gather(int pipe_end, ls_cli_outcome *outcome, size_t count, ls_error *err)
{
	ls_cli_outcome o;
	ssize_t n;
	while ((n = read(pipe_end, &o, sizeof o)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof o || o.part >= count)
			return ls_error_set(err, LS_ERR_IO, "a worker's answer was cut off");
		outcome[o.part] = o;
		outcome[o.part].there = true;
	}
	return LS_OK;
}

ls_status ls_cli__audit_in_processes(const ls_cli_parts *parts, int workers, ls_cli_part_fn fn, void *context,
                                     ls_cli_outcome *outcome, ls_error *err)
{
	ls_status status = LS_OK;
	int end[2], started = 0, code;
	pid_t pid[LS_CLI__WORKERS_MAX];
	if (pipe(end))
		return ls_error_set(err, LS_ERR_IO, "could not make a pipe: %s", strerror(errno));
	for (; started < workers && status == LS_OK; started += status == LS_OK) {
		pid[started] = fork();
		if (pid[started] == 0) {
			close(end[0]);
			_exit(work(parts, workers, started, end[1], fn, context));
		}
		if (pid[started] < 0)
			status = ls_error_set(err, LS_ERR_NOMEM, "could not start worker %d of %d: %s", started + 1, workers, strerror(errno));
	}
	close(end[1]);
	for (int i = 0; status != LS_OK && i < started; i++)
		kill(pid[i], SIGTERM);
	if (status == LS_OK)
		status = gather(end[0], outcome, parts->count, err);
	close(end[0]);
	for (int i = 0; i < started; i++)
		if (waitpid(pid[i], &code, 0) != pid[i] || !WIFEXITED(code) || WEXITSTATUS(code) != LS_CLI__DONE)
			status = status == LS_OK ? ls_error_set(err, LS_ERR_IO, "worker %d of %d ended before its parts were done", i + 1, workers)
			                         : status;
	return status;
}

ls_status ls_cli__audit_in_turn(const ls_cli_parts *parts, ls_cli_part_fn fn, void *context, ls_cli_outcome *outcome, ls_error *err)
{
	ls_status status = LS_OK;
	for (size_t i = 0; i < parts->count && status == LS_OK; i++) {
		outcome[i].part = i;
		outcome[i].there = true;
		status = outcome[i].status = fn(context, &parts->part[i], &outcome[i].result, err);
		if (outcome[i].result.verdict != LS_VERDICT_MATCH || outcome[i].result.stopped)
			break; // the first difference is the answer
	}
	return status;
}

ls_status ls_cli__audit_join(ls_audit_result *out, const ls_cli_outcome *outcome, size_t count, ls_error *err)
{
	ls_audit_result sum = {0};
	const ls_audit_result *answer = NULL, *last = NULL;
	for (size_t i = 0; i < count; i++) {
		const ls_audit_result *r = &outcome[i].result;
		if (!outcome[i].there) {
			sum.stopped |= !answer; // a worker that was asked to stop left it
			continue;
		}
		if (outcome[i].status != LS_OK)
			return ls_error_set(err, outcome[i].status, "%s", outcome[i].error.text);
		last = r;
		sum.first = sum.first ? sum.first : r->first;
		sum.last = r->last;
		sum.corrections += r->corrections;
		sum.entries += r->entries;
		sum.elements += r->elements;
		sum.exact += r->exact;
		sum.stopped |= r->stopped;
		if (!answer && r->verdict != LS_VERDICT_MATCH)
			answer = r;
	}
	answer = answer ? answer : last;
	if (!answer)
		return ls_error_set(err, LS_ERR_INTERNAL, "no part was audited");
	*out = *answer;
	out->first = sum.first;
	out->last = sum.last;
	out->corrections = sum.corrections;
	out->entries = sum.entries;
	out->elements = sum.elements;
	out->exact = sum.exact;
	out->stopped = sum.stopped && answer->verdict == LS_VERDICT_MATCH;
	return LS_OK;
}
