#include "cli/serve_disputes.h"

static ls_status check_options(const ls_cli_args *args, ls_error *err)
{
	bool referee = ls_cli__given(args, "referee"), court = ls_cli__given(args, "court");
	if (referee && court)
		return ls_cli__usage(err, "serve", "--referee and --court", "one of them", "a referee is not a party: run two processes, each with its own book");
	if ((referee || court) && !ls_cli__given(args, "book"))
		return ls_cli__usage(err, "serve", "no --book", "--book FILE", "what was said must outlive the process; the file is made if it is not there");
	if (court && (args->operands != 1 || !ls_cli__given(args, "trainer-key")))
		return ls_cli__usage(err, "serve", "--court without one RUN and --trainer-key", "both", "a process answers for one run");
	if (!referee && !args->operands)
		return ls_cli__usage(err, "serve", "no RUN", "the folder of a run", "with --referee a court alone can be served");
	return LS_OK;
}

static ls_status read_auditors(ls_cli_disputes *d, const ls_cli_args *args, ls_error *err)
{
	ls_status status = LS_OK;
	d->auditors = ls_alloc(args->repeats, sizeof *d->auditors);
	if (!d->auditors)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for the keys of auditors");
	for (size_t i = 0; i < args->repeats && status == LS_OK; i++)
		status = ls_public_key_read(d->auditors[i], args->repeated[i], err);
	return status;
}

static ls_status open_court(ls_cli_disputes *d, const ls_cli_args *args, ls_service *service, ls_error *err)
{
	ls_court_options o = LS_COURT_OPTIONS_INIT;
	uint64_t deadline;
	ls_status status;
	LS_TRY(ls_cli__number(args, "deadline", 1, 365 * 24 * 3600, LS_DISPUTE_DEADLINE, &deadline, err));
	LS_TRY(ls_key_read(&d->key, ls_cli__value(args, "referee"), err));
	LS_TRY(read_auditors(d, args, err));
	o.key = d->key;
	o.deadline = (uint32_t)deadline;
	o.auditors = (const uint8_t(*)[LS_KEY_BYTES])d->auditors;
	o.auditor_count = args->repeats;
	LS_TRY(ls_court_open(&d->court, ls_cli__value(args, "book"), &o, err));
	ls_service_hold_court(service, d->court);
done:
	return status;
}

static bool ends(void *context)
{
	const ls_cli_disputes *d = context;
	return __atomic_load_n(&d->ends, __ATOMIC_RELAXED);
}

static ls_status open_post(ls_cli_disputes *d, const ls_cli_args *args, ls_error *err)
{
	ls_damage damage = {0};
	ls_player_options *p = &d->post.party.player;
	uint8_t key[LS_KEY_BYTES];
	ls_status status;
	LS_TRY(ls_key_read(&d->key, ls_cli__value(args, "trainer-key"), err));
	LS_TRY(ls_cli__open_run(&d->session, args, 0, &damage, err));
	if (!damage.found)
		LS_TRY(ls_cli__open_player(&d->session, args, d->session.run, &damage, err));
	if (damage.found) {
		status = ls_error_input(err, args->operand[0], damage.file, damage.text, "a run that verifies", "lockstep verify says what is wrong with it");
		goto done;
	}
	ls_key_public(d->key, key);
	if (memcmp(key, ls_run_trainer_key(d->session.run), sizeof key)) {
		status = ls_error_input(err, ls_cli__value(args, "trainer-key"), NULL, "another key than the run's trainer has", "the key that signed its heads", NULL);
		goto done;
	}
	d->post.party = (ls_party_options)LS_PARTY_OPTIONS_INIT;
	p->role = LS_ROLE_TRAINER;
	p->run = p->trainer = d->session.run;
	p->plan = d->session.plan;
	p->platform = d->session.platform;
	p->key = d->key;
	d->post.party.book = ls_cli__value(args, "book");
	d->post.court = ls_cli__value(args, "court");
	d->post.ca = ls_cli__value(args, "ca");
	d->post.stop = ends;
	d->post.context = d;
	LS_TRY(ls_worker_open(&d->worker, err));
done:
	return status;
}

ls_status ls_cli__disputes_open(ls_cli_disputes *d, const ls_cli_args *args, ls_service *service, ls_error *err)
{
	ls_status status = LS_OK;
	LS_TRY(check_options(args, err));
	if (ls_cli__given(args, "referee"))
		LS_TRY(open_court(d, args, service, err));
	if (ls_cli__given(args, "court"))
		LS_TRY(open_post(d, args, err));
done:
	return status;
}

void ls_cli__disputes_begin(ls_cli_disputes *d)
{
	if (d->worker)
		ls_worker_start(d->worker, ls_cli__stand, &d->post);
}

void ls_cli__disputes_close(ls_cli_disputes *d)
{
	__atomic_store_n(&d->ends, true, __ATOMIC_RELAXED);
	ls_worker_free(d->worker);
	if (d->post.status != LS_OK)
		ls_cli__note("disputes: %s\n", d->post.err.text);
	ls_court_free(d->court);
	ls_cli__close(&d->session);
	ls_key_free(d->key);
	ls_free(d->auditors);
	*d = (ls_cli_disputes){0};
}
