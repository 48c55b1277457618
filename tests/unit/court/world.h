/* A run with a lie in it, its replay, and three parties who can be killed and started again at any moment. */
#ifndef LS_TEST_COURT_WORLD_H
#define LS_TEST_COURT_WORLD_H

#include "dispute/support.h"

#include <lockstep/court.h>

enum { WORLD_DEADLINE = 60, WORLD_MESSAGE_MAX = 1 << 21 };

typedef struct world {
	tiny t;
	flip lie;
	ls_watch watch;
	bool by_trainer;
	ls_platform *platform;
	ls_key *trainer, *auditor, *referee, *stranger;
	ls_run *run, *replay;
	char court_book[TEST_PATH], trainer_book[TEST_PATH], auditor_book[TEST_PATH];
	uint64_t now;
	ls_court *court;
	ls_party *party; /* auditor */
	ls_defence *defence;
	/* the wire: about one message of `lose` is lost, half of them on the way there and half on the way back; 0: none */
	unsigned messages, lose;
	/* what comes back is changed in this byte of messages that are at least as long; SIZE_MAX: none */
	size_t change;
	const char *change_target; /* only of answers to targets that hold this */
	unsigned complaints;
	char complaint[LS_ERROR_TEXT_MAX];
} world;

static inline uint64_t world_now(void *context)
{
	return ((world *)context)->now;
}

static inline ls_status world_ask(void *context, const char *method, const char *target, const void *body, size_t len, int *code,
                                  ls_buf *out, ls_error *err)
{
	world *w = context;
	ls_stream stream = {7, LS_PURPOSE_TEST, w->lose};
	uint32_t draw = ls_random_u32(&stream, w->messages++);
	bool lost = w->lose && draw / 2 % w->lose == 0;
	ls_status status;
	if (lost && draw % 2)
		return ls_error_set(err, LS_ERR_IO, "lost on the way there");
	status = ls_court_answer(w->court, method, target, body, len, code, out, err);
	if (w->change < out->len && *code == 200 && strstr(target, w->change_target))
		out->data[w->change] ^= 1;
	return lost ? ls_error_set(err, LS_ERR_IO, "lost on the way back") : status;
}

static inline void world_complain(void *context, const ls_hash *id, const ls_error *err)
{
	world *w = context;
	w->complaints++;
	memcpy(w->complaint, err->text, sizeof w->complaint);
}

static inline ls_run *world_run(const world *w, const char *name)
{
	ls_error err = LS_ERROR_INIT;
	char dir[TEST_PATH];
	ls_damage damage;
	ls_run *run;
	path_in(dir, w->t.dir, name);
	assert_ok(ls_run_open(&run, dir, &damage, &err));
	assert_false(damage.found);
	return run;
}

static inline void world_name_referee(world *w)
{
	ls_plan_options o = LS_PLAN_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	uint8_t key[LS_KEY_BYTES];
	ls_key_public(w->referee, key);
	o.data_dir = w->t.data;
	o.referee = key;
	ls_plan_free(w->t.plan);
	assert_ok(ls_plan_open(&w->t.plan, w->t.job, &o, &err));
}

/* `lie.value` NULL: an honest run. */
static inline void world_open(world *w, const char *const *sets, flip lie, bool by_trainer)
{
	ls_error err = LS_ERROR_INIT;
	char kept[TEST_PATH];
	*w = (world){.lie = lie, .now = 1000000, .change = SIZE_MAX, .change_target = "/", .by_trainer = by_trainer};
	ls_key **keys[] = {&w->trainer, &w->auditor, &w->referee, &w->stranger};
	for (int i = 0; i < 4; i++)
		assert_ok(ls_key_generate(keys[i], &err));
	w->watch = (ls_watch){&w->lie, tell};
	tiny_open(&w->t, sets);
	world_name_referee(w);
	path_in(kept, w->t.dir, "kept");
	path_in(w->court_book, w->t.dir, "court.db");
	path_in(w->trainer_book, w->t.dir, "trainer.db");
	path_in(w->auditor_book, w->t.dir, "auditor.db");
	trained(&w->t, "native", "run", (ls_train_options){.watch = lie.value && by_trainer ? &w->watch : NULL, .no_self_check = true, .key = w->trainer});
	audited(&w->t, "naive", "run", (ls_audit_options){.keep = kept, .watch = lie.value && !by_trainer ? &w->watch : NULL, .key = w->auditor});
	w->run = world_run(w, "run");
	w->replay = world_run(w, "kept");
	w->platform = platform_named("native");
}

static inline void world_open_court(world *w)
{
	ls_court_options o = LS_COURT_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	o.key = w->referee;
	o.deadline = WORLD_DEADLINE;
	o.now = world_now;
	o.context = w;
	ls_court_free(w->court);
	assert_ok(ls_court_open(&w->court, w->court_book, &o, &err));
}

static inline ls_party_options world_party(world *w, ls_role role)
{
	ls_party_options o = LS_PARTY_OPTIONS_INIT;
	bool trainer = role == LS_ROLE_TRAINER;
	o.player.role = role;
	o.player.run = trainer ? w->run : w->replay;
	o.player.trainer = w->run;
	o.player.plan = w->t.plan;
	o.player.platform = w->platform;
	o.player.key = trainer ? w->trainer : w->auditor;
	o.player.lie = w->lie.value && trainer == w->by_trainer ? &w->watch : NULL; // stays with it
	o.player.record = trainer;
	o.wire = (ls_wire){w, world_ask};
	o.book = trainer ? w->trainer_book : w->auditor_book;
	return o;
}

static inline void world_open_auditor(world *w)
{
	ls_party_options o = world_party(w, LS_ROLE_AUDITOR);
	ls_error err = LS_ERROR_INIT;
	ls_party_free(w->party);
	assert_ok(ls_party_open(&w->party, &o, &err));
}

static inline void world_open_trainer(world *w)
{
	ls_party_options o = world_party(w, LS_ROLE_TRAINER);
	ls_error err = LS_ERROR_INIT;
	ls_defence_free(w->defence);
	assert_ok(ls_defence_open(&w->defence, &o, world_complain, w, &err));
}

static inline void world_close(world *w)
{
	ls_defence_free(w->defence);
	ls_party_free(w->party);
	ls_court_free(w->court);
	ls_run_free(w->run);
	ls_run_free(w->replay);
	ls_platform_free(w->platform);
	ls_key_free(w->trainer);
	ls_key_free(w->auditor);
	ls_key_free(w->referee);
	ls_key_free(w->stranger);
	tiny_close(&w->t);
}

/* A message to the court as anybody may send it; returns the code. */
static inline int world_send(world *w, const char *method, const char *target, const void *body, size_t len, ls_buf *out)
{
	ls_error err = LS_ERROR_INIT;
	int code = 0;
	ls_buf own;
	ls_buf_init(&own, LS_COURT_ANSWER_MAX);
	assert_ok(ls_court_answer(w->court, method, target, body, len, &code, out ? out : &own, &err));
	ls_buf_free(&own);
	return code;
}

#endif
