#include "cli/wire.h"

#include "cli/decision.h"

#include <stdio.h>
#include <time.h>

#define PAUSE_MIN 0.02 /* seconds between two looks, twice as long after each in vain */
#define PAUSE_MAX 1.0
#define SILENCE 15 /* seconds that a trainer waits for the court's answer */

static ls_status ask(void *context, const char *method, const char *target, const void *body, size_t len, int *code, ls_buf *out, ls_error *err)
{
	char path[256];
	snprintf(path, sizeof path, "/v1%s", target);
	if (!strcmp(method, "POST"))
		return ls_http_post(context, path, body, len, out, code, err);
	return ls_http_get(context, path, out, code, err);
}

ls_wire ls_cli__wire(ls_http *http)
{
	return (ls_wire){http, ask};
}

static ls_status open_http(ls_http **out, const char *url, const char *ca, unsigned timeout, ls_error *err)
{
	ls_http_options o = LS_HTTP_OPTIONS_INIT;
	o.ca = ca;
	o.timeout = timeout;
	return ls_http_open(out, url, &o, err);
}

static void rest(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	nanosleep(&t, NULL);
}

static double longer(double pause)
{
	return 2 * pause < PAUSE_MAX ? 2 * pause : PAUSE_MAX;
}

/* ---- an auditor ---- */

typedef struct suit {
	ls_cli *cli;
	const ls_cli_suit *o;
	ls_party *party;
	double heard; /* when the court last answered */
	double pause;
	bool asked, found;
	ls_party_progress progress;
} suit;

/* Whether to go on after this. A court that does not answer may be on its way up again. */
static bool goes_on(suit *s, ls_status status, ls_error *err)
{
	if (status != LS_OK && status != LS_ERR_IO)
		return false;
	if (status == LS_OK)
		s->heard = ls_clock_seconds();
	if (s->cli->stop && s->cli->stop(s->cli->stop_context)) {
		ls_error_set(err, LS_ERR_IO, "stopped as asked\n  hint: the same command goes on with the dispute; its deadline runs on");
		return false;
	}
	if (status == LS_OK || ls_clock_seconds() - s->heard < s->o->patience)
		return true;
	ls_error_set(err, LS_ERR_IO, "%.700s\n  hint: nothing is lost: the same command goes on with the dispute; its deadline runs on", err->text);
	return false;
}

static ls_status play(suit *s, ls_error *err)
{
	ls_status status;
	do {
		status = s->asked ? LS_OK : ls_party_accuse(s->party, &s->found, err);
		s->asked = status == LS_OK;
		if (status == LS_OK && !s->found)
			return LS_OK;
		if (status == LS_OK)
			status = ls_party_step(s->party, &s->progress, err);
		if (s->progress.over)
			return status;
		s->pause = status == LS_OK && s->progress.moved ? PAUSE_MIN : longer(s->pause);
		if (!goes_on(s, status, err))
			return status == LS_OK ? LS_ERR_IO : status;
		rest(s->pause);
	} while (true);
}

static void say_match(const ls_cli *cli)
{
	ls_cli__say(cli, "match: there is nothing to dispute\n");
	if (cli->json)
		ls_cli__emit(json_pack("{s:s}", "verdict", "match"));
}

static ls_status report(suit *s, double start, int *code, ls_error *err)
{
	ls_decision decision;
	uint64_t sent, received;
	ls_status status;
	ls_buf evidence;
	ls_buf_init(&evidence, LS_EVIDENCE_BYTES_MAX);
	LS_TRY(ls_party_evidence(s->party, &evidence, &decision, err));
	LS_TRY(ls_file_write(s->o->output, evidence.data, evidence.len, err));
	ls_party_traffic(s->party, &sent, &received);
	if (s->cli->json)
		ls_cli__emit(json_pack("{s:i, s:I, s:I}", "turns", (int)s->progress.turns, "sent", (json_int_t)sent, "received", (json_int_t)received));
	else
		ls_cli__say(s->cli, "%u turns, %llu bytes sent, %llu received\n", s->progress.turns, (unsigned long long)sent, (unsigned long long)received);
	ls_cli__report_decision(s->cli, &decision, s->o->output, evidence.len, ls_clock_seconds() - start);
	*code = LS_CLI__OTHER_VERDICT;
done:
	ls_buf_free(&evidence);
	return status;
}

ls_status ls_cli__sue(ls_cli *cli, const ls_cli_suit *o, int *code, ls_error *err)
{
	char book[LS_PATH_MAX];
	double start = ls_clock_seconds();
	ls_party_options party = o->party;
	ls_http *http = NULL;
	suit s = {.cli = cli, .o = o, .heard = start, .pause = PAUSE_MIN};
	ls_status status;
	if (snprintf(book, sizeof book, "%s.book", o->output) >= (int)sizeof book)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: path is too long", o->output);
	LS_TRY(open_http(&http, o->court, o->ca, o->timeout, err));
	party.wire = ls_cli__wire(http);
	party.book = book;
	LS_TRY(ls_party_open(&s.party, &party, err));
	LS_TRY(play(&s, err));
	*code = LS_CLI__DONE;
	if (s.found)
		LS_TRY(report(&s, start, code, err));
	else
		say_match(cli);
done:
	ls_party_free(s.party);
	ls_http_free(http);
	return status;
}

/* ---- a trainer ---- */

static void complain(void *context, const ls_hash *id, const ls_error *err)
{
	char hex[LS_HASH_HEX_SIZE];
	ls_hash_hex(hex, id);
	ls_cli__note("dispute %s: given up: %s\n", hex, err->text);
}

void ls_cli__stand(void *context)
{
	ls_cli_post *p = context;
	ls_party_options party = p->party;
	ls_http *http = NULL;
	ls_defence *defence = NULL;
	double pause = PAUSE_MIN;
	bool answered = true;
	ls_error *err = &p->err;
	ls_status status;
	LS_TRY(open_http(&http, p->court, p->ca, SILENCE, err));
	party.wire = ls_cli__wire(http);
	LS_TRY(ls_defence_open(&defence, &party, complain, NULL, err));
	while (!p->stop(p->context)) {
		ls_error why = LS_ERROR_INIT;
		bool moved = false;
		status = ls_defence_step(defence, &moved, &why);
		if (status != LS_OK && answered)
			ls_cli__note("disputes: %s\n  trying again\n", why.text);
		answered = status == LS_OK;
		pause = moved ? PAUSE_MIN : longer(pause);
		rest(pause);
	}
	status = LS_OK;
done:
	p->status = status;
	ls_defence_free(defence);
	ls_http_free(http);
}

ls_status ls_cli__open_player(ls_cli_session *s, const ls_cli_args *args, const ls_run *run, ls_damage *damage, ls_error *err)
{
	ls_status status;
	LS_TRY(ls_cli__open_plan(s, args, ls_run_job(run), false, err));
	ls_run_compare_plan(run, s->plan, damage);
	if (!damage->found)
		LS_TRY(ls_cli__open_platform(s, args, err));
done:
	return status;
}
