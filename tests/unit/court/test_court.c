// ctest: timeout=300
/* Disputes over a wire that is a function call: all three parties killed at every turn, messages lost on either way, what a court
 * refuses, silence, two turns for one place, and a court that lies. */
#include "court/world.h"

static const flip fc1_lie = {"fc1", 2, 7, 31}; // the sign: whichever it was, one of the two is cut off by relu
#define MLP SETS("model.arch=mlp", "model.hidden=[2]", "arithmetic.depth=0")

typedef struct outcome {
	ls_decision decision;
	uint32_t turns;
	ls_buf evidence;
} outcome;

static bool accuse(world *w, bool *found)
{
	ls_error err = LS_ERROR_INIT;
	ls_status status = ls_party_accuse(w->party, found, &err);
	if (status != LS_OK && status != LS_ERR_IO)
		print_message("%s\n", err.text);
	assert_true(status == LS_OK || status == LS_ERR_IO);
	return status == LS_OK;
}

static outcome finish(world *w)
{
	ls_error err = LS_ERROR_INIT;
	outcome o = {.turns = 0};
	ls_decision again;
	ls_buf_init(&o.evidence, LS_EVIDENCE_BYTES_MAX);
	assert_ok(ls_party_evidence(w->party, &o.evidence, &o.decision, &err));
	assert_ok(ls_judge(o.evidence.data, o.evidence.len, &again, &err));
	assert_int_equal(again.ruling, o.decision.ruling);
	return o;
}

/* Plays to the end, an exchange by each side in turn. `kill` (may be NULL) is called between any two of them. */
static outcome play(world *w, void (*kill)(world *w))
{
	ls_party_progress p = {.over = false};
	outcome o;
	bool found = false, moved;
	world_open_court(w);
	world_open_auditor(w);
	world_open_trainer(w);
	while (!accuse(w, &found))
		;
	assert_true(found);
	for (int i = 0; !p.over; i++) {
		ls_error err = LS_ERROR_INIT;
		ls_status status = ls_party_step(w->party, &p, &err);
		if (status != LS_OK && status != LS_ERR_IO)
			print_message("%s\n", err.text);
		assert_true(status == LS_OK || status == LS_ERR_IO);
		if (kill && !p.over)
			kill(w);
		status = ls_defence_step(w->defence, &moved, &err);
		assert_true(status == LS_OK || status == LS_ERR_IO);
		if (kill && !p.over)
			kill(w);
		w->now++;
		assert_true(i < 1000);
	}
	if (w->complaints)
		print_message("%s\n", w->complaint);
	assert_int_equal(w->complaints, 0);
	o = finish(w);
	o.turns = p.turns;
	return o;
}

static void check(const outcome *o, ls_ruling ruling, const flip *lie)
{
	if (o->decision.ruling != ruling)
		print_message("%s: %s\n", ls_ruling_text(o->decision.ruling), o->decision.reason);
	assert_int_equal(o->decision.ruling, ruling);
	assert_int_equal(o->decision.step, lie->step);
	assert_int_equal(o->decision.element, lie->element);
	assert_string_equal(o->decision.name, lie->value);
	assert_true(o->decision.trainer_signed && o->decision.auditor_signed && o->decision.refereed);
}

/* ---- whoever is killed goes on ---- */

static void kill_court(world *w)
{
	world_open_court(w);
}

static void kill_auditor(world *w)
{
	bool found;
	world_open_auditor(w);
	while (!accuse(w, &found))
		;
	assert_true(found);
}

static void kill_trainer(world *w)
{
	world_open_trainer(w);
}

static void kill_all(world *w)
{
	kill_court(w);
	kill_trainer(w);
	kill_auditor(w);
}

static void check_kills(const char *const *sets, flip lie, bool by_trainer)
{
	static void (*const kills[])(world *w) = {NULL, kill_court, kill_auditor, kill_trainer, kill_all};
	uint32_t turns = 0;
	for (size_t k = 0; k < sizeof kills / sizeof *kills; k++) {
		world w;
		outcome o;
		world_open(&w, sets, lie, by_trainer);
		o = play(&w, kills[k]);
		check(&o, by_trainer ? LS_RULING_TRAINER_WRONG : LS_RULING_AUDITOR_WRONG, &lie);
		turns = k ? turns : o.turns;
		assert_int_equal(o.turns, turns);
		ls_buf_free(&o.evidence);
		world_close(&w);
	}
}

static void test_a_lie_is_found_whoever_is_killed(void **state)
{
	check_kills(MLP, fc1_lie, true);
}

static void test_an_accusation_falls_whoever_is_killed(void **state)
{
	check_kills(MLP, fc1_lie, false);
}

static void test_other_turns_after_kills(void **state)
{
	check_kills(SETS("arithmetic.mode=pinned", "train.commit_every=3", "model.arch=mlp", "model.hidden=[9]"), (flip){"fc1", 3, 17, 24}, true);
	check_kills(SETS("model.arch=mlp", "model.hidden=[9]", "arithmetic.mode=exact"), (flip){"fc1", 3, 17, 24}, false);
}

static void test_lost_messages_are_sent_again(void **state)
{
	for (unsigned lose = 2; lose < 6; lose++) {
		world w;
		outcome o;
		world_open(&w, MLP, fc1_lie, true);
		w.lose = lose;
		o = play(&w, lose % 2 ? kill_all : NULL);
		check(&o, LS_RULING_TRAINER_WRONG, &fc1_lie);
		ls_buf_free(&o.evidence);
		world_close(&w);
	}
}

static void test_honest_runs_ask_for_nothing(void **state)
{
	world w;
	bool found = true;
	world_open(&w, MLP, (flip){NULL}, true);
	world_open_court(&w);
	world_open_auditor(&w);
	assert_true(accuse(&w, &found));
	assert_false(found);
	assert_int_equal(w.messages, 0);
	world_close(&w);
}

/* ---- what a court refuses ---- */

static ls_terms terms_of(world *w)
{
	ls_terms t = {.deadline = 0};
	ls_error err = LS_ERROR_INIT;
	t.job = ls_plan_bytes(w->t.plan, &t.job_len);
	memcpy(t.trainer, ls_run_trainer_key(w->run), sizeof t.trainer);
	ls_key_public(w->auditor, t.auditor);
	memcpy(t.nonce, ls_run_nonce(w->run), sizeof t.nonce);
	assert_ok(ls_run_read_head(w->run, ls_run_leaves(w->run), &t.head[0], &err));
	assert_ok(ls_run_read_head(w->replay, ls_run_leaves(w->replay), &t.head[1], &err));
	return t;
}

static int send_request(world *w, const ls_terms *t, const ls_key *key, ls_buf *out)
{
	ls_error err = LS_ERROR_INIT;
	int code;
	ls_buf body;
	ls_buf_init(&body, LS_COURT_REQUEST_MAX);
	assert_ok(ls_request_encode(&body, t, key, &err));
	code = world_send(w, "POST", "/disputes", body.data, body.len, out);
	ls_buf_free(&body);
	return code;
}

static void test_requests_that_are_refused(void **state)
{
	world w;
	ls_terms good, t;
	ls_buf first, again, body;
	ls_error err = LS_ERROR_INIT;
	uint8_t *big = calloc(LS_COURT_REQUEST_MAX + 1, 1);
	world_open(&w, MLP, fc1_lie, true);
	world_open_court(&w);
	ls_buf_init(&first, LS_COURT_REQUEST_MAX);
	ls_buf_init(&again, LS_COURT_REQUEST_MAX);
	ls_buf_init(&body, LS_COURT_REQUEST_MAX);
	good = terms_of(&w);
	assert_ok(ls_request_encode(&body, &good, w.auditor, &err));
	for (size_t i = 0; i < body.len; i++) { // each byte counts
		body.data[i] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(world_send(&w, "POST", "/disputes", body.data, body.len, NULL), 403);
		body.data[i] ^= (uint8_t)(1 << i % 8);
	}
	assert_int_equal(world_send(&w, "POST", "/disputes", body.data, body.len - 1, NULL), 403);
	assert_int_equal(world_send(&w, "POST", "/disputes", body.data, 0, NULL), 403);
	assert_int_equal(world_send(&w, "POST", "/disputes", big, LS_COURT_REQUEST_MAX + 1, NULL), 413);
	assert_int_equal(send_request(&w, &good, w.stranger, NULL), 403); // signed by somebody else
	t = good;
	t.head[0] = good.head[1]; // the auditor's head as the trainer's
	assert_int_equal(send_request(&w, &t, w.auditor, NULL), 403);
	t = good;
	t.nonce[0] ^= 1; // another run
	assert_int_equal(send_request(&w, &t, w.auditor, NULL), 403);
	assert_int_equal(send_request(&w, &good, w.auditor, &first), 200); // the twin
	assert_int_equal(send_request(&w, &good, w.auditor, &again), 200);
	assert_int_equal(first.len, again.len);
	assert_memory_equal(first.data, again.data, first.len); // no second dispute, no second nonce
	free(big);
	ls_buf_free(&body);
	ls_buf_free(&first);
	ls_buf_free(&again);
	world_close(&w);
}

static void test_a_court_has_its_own_disputes(void **state)
{
	world w;
	ls_court_options o = LS_COURT_OPTIONS_INIT;
	ls_error err = LS_ERROR_INIT;
	uint8_t listed[1][LS_KEY_BYTES];
	ls_terms t;
	world_open(&w, MLP, fc1_lie, true);
	t = terms_of(&w);
	o.key = w.stranger; // not the referee whom the job names
	assert_ok(ls_court_open(&w.court, w.court_book, &o, &err));
	assert_int_equal(send_request(&w, &t, w.auditor, NULL), 403);
	ls_court_free(w.court);
	o.key = w.referee;
	ls_key_public(w.stranger, listed[0]);
	o.auditors = (const uint8_t(*)[LS_KEY_BYTES])listed;
	o.auditor_count = 1;
	assert_ok(ls_court_open(&w.court, w.court_book, &o, &err));
	assert_int_equal(send_request(&w, &t, w.auditor, NULL), 403); // not one of the auditors it takes requests of
	ls_court_free(w.court);
	ls_key_public(w.auditor, listed[0]);
	assert_ok(ls_court_open(&w.court, w.court_book, &o, &err));
	assert_int_equal(send_request(&w, &t, w.auditor, NULL), 200);
	world_close(&w);
}

static void test_a_court_has_room_for_so_many(void **state)
{
	world w;
	ls_terms t;
	ls_error err = LS_ERROR_INIT;
	world_open(&w, MLP, fc1_lie, true);
	world_open_court(&w);
	t = terms_of(&w);
	for (int i = 0; i <= LS_COURT_OPEN_MAX; i++) {
		ls_key *key;
		assert_ok(ls_key_generate(&key, &err));
		ls_key_public(key, t.auditor);
		assert_ok(ls_signed_head_make(&t.head[1], &t.head[1].head, key, &err));
		assert_int_equal(send_request(&w, &t, key, NULL), i < LS_COURT_OPEN_MAX ? 200 : 503);
		if (i == LS_COURT_OPEN_MAX) { // no claim followed, so their places are free again
			w.now += WORLD_DEADLINE + 1;
			assert_int_equal(send_request(&w, &t, key, NULL), 200);
		}
		ls_key_free(key);
	}
	world_close(&w);
}

/* The dispute's id, after a request. */
static void begin(world *w, char hex[LS_HASH_HEX_SIZE])
{
	bool found;
	ls_terms t = terms_of(w);
	ls_buf terms;
	ls_hash id;
	ls_buf_init(&terms, LS_COURT_REQUEST_MAX);
	world_open_court(w);
	world_open_auditor(w);
	assert_true(accuse(w, &found) && found);
	assert_int_equal(send_request(w, &t, w->auditor, &terms), 200);
	assert_int_equal(ls_hash_tagged(&id, "ls1/dispute", terms.data, terms.len), LS_OK);
	ls_hash_hex(hex, &id);
	ls_buf_free(&terms);
}

static void test_targets_that_are_not(void **state)
{
	static const struct {
		const char *method, *target;
		int code;
	} cases[] = {
		{"GET", "/", 404},          {"GET", "/disputesx", 404},      {"GET", "/disputes/", 404},
		{"GET", "/disputes", 400},  {"GET", "/disputes?run=00", 400}, {"PUT", "/disputes", 405},
		{"GET", "/disputes/0000000000000000000000000000000000000000000000000000000000000000/turns", 404},
		{"GET", "/disputes/000000000000000000000000000000000000000000000000000000000000000z/turns", 404},
	};
	world w;
	char hex[LS_HASH_HEX_SIZE], target[512];
	world_open(&w, MLP, fc1_lie, true);
	begin(&w, hex);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(world_send(&w, cases[i].method, cases[i].target, NULL, 0, NULL), cases[i].code);
	memset(target, 'a', sizeof target - 1);
	target[0] = '/';
	target[sizeof target - 1] = 0;
	assert_int_equal(world_send(&w, "GET", target, NULL, 0, NULL), 404);
	static const struct {
		const char *method, *tail;
		int code;
	} tails[] = {{"GET", "/turns", 200}, {"GET", "/turns?from=0", 200}, {"GET", "/turns?from=999", 200}, {"GET", "/turns?from=1000", 400},
	             {"GET", "/turns?from=", 400}, {"GET", "/turns?from=-1", 400}, {"GET", "/turns?to=1", 400}, {"GET", "/terms", 200},
	             {"POST", "/terms", 405}, {"GET", "/evidence", 200}, {"GET", "/other", 404}, {"GET", "", 404}};
	for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
		snprintf(target, sizeof target, "/disputes/%s%s", hex, tails[i].tail);
		if (world_send(&w, tails[i].method, target, NULL, 0, NULL) != tails[i].code)
			print_message("%s\n", tails[i].tail);
		assert_int_equal(world_send(&w, tails[i].method, target, NULL, 0, NULL), tails[i].code);
	}
	world_close(&w);
}

/* All turns of a dispute that was played to its end, without receipts. */
static void test_turns_that_are_refused(void **state)
{
	world w;
	outcome o;
	ls_cursor c;
	ls_error err = LS_ERROR_INIT;
	char hex[LS_HASH_HEX_SIZE], target[128];
	uint8_t *copy = malloc(LS_TURN_BYTES_MAX + 1);
	uint32_t len, count;
	world_open(&w, MLP, fc1_lie, true);
	o = play(&w, NULL);
	c = ls_cursor_over(o.evidence.data, o.evidence.len - 32);
	ls_cursor_take(&c, strlen("ls1/evidence"));
	len = ls_cursor_u32(&c);
	ls_cursor_take(&c, len);
	count = ls_cursor_u32(&c);
	assert_ok(ls_file_remove(w.court_book, &err)); // the same players and terms, before a court that knows nothing of it
	begin(&w, hex);
	snprintf(target, sizeof target, "/disputes/%s/turns", hex);
	for (uint32_t i = 0; i < count; i++) { // a dispute's turns mean nothing in another, though heads and keys are the same
		const uint8_t *turn;
		len = ls_cursor_u32(&c);
		turn = ls_cursor_take(&c, len);
		assert_int_equal(world_send(&w, "POST", target, turn, len - LS_RECEIPT_BYTES, NULL), 400);
	}
	memset(copy, 0, LS_TURN_BYTES_MAX + 1);
	assert_int_equal(world_send(&w, "POST", target, copy, LS_TURN_BYTES_MAX + 1, NULL), 413);
	assert_int_equal(world_send(&w, "POST", target, copy, 500, NULL), 400);
	assert_int_equal(world_send(&w, "POST", target, copy, 0, NULL), 400);
	free(copy);
	ls_buf_free(&o.evidence);
	world_close(&w);
}

/* The turns of one dispute, one by one: before its time, after it, changed, by the wrong key. */
static void test_each_turn_has_one_place(void **state)
{
	world w;
	outcome o;
	ls_cursor c;
	char hex[LS_HASH_HEX_SIZE], target[128], path[TEST_PATH];
	ls_hash id;
	const uint8_t *terms, *turn[LS_TURNS_MAX];
	uint32_t len[LS_TURNS_MAX], terms_len, count;
	ls_game *game;
	ls_error err = LS_ERROR_INIT;
	world_open(&w, MLP, fc1_lie, true);
	path_in(path, w.t.dir, "before.db");
	world_open_court(&w);
	world_open_auditor(&w);
	bool found;
	assert_true(accuse(&w, &found) && found);
	ls_court_free(w.court);
	w.court = NULL;
	uint8_t *book;
	size_t book_len;
	assert_ok(ls_file_read(&book, &book_len, w.court_book, 1 << 24, &err)); // the dispute asked for, no turn made
	o = play(&w, NULL);
	ls_court_free(w.court);
	w.court = NULL;
	assert_ok(ls_file_write(w.court_book, book, book_len, &err));
	ls_free(book);
	c = ls_cursor_over(o.evidence.data, o.evidence.len - 32);
	ls_cursor_take(&c, strlen("ls1/evidence"));
	terms_len = ls_cursor_u32(&c);
	terms = ls_cursor_take(&c, terms_len);
	count = ls_cursor_u32(&c);
	for (uint32_t i = 0; i < count; i++) {
		len[i] = ls_cursor_u32(&c);
		turn[i] = ls_cursor_take(&c, len[i]);
		len[i] -= LS_RECEIPT_BYTES;
	}
	assert_int_equal(ls_hash_tagged(&id, "ls1/dispute", terms, terms_len), LS_OK);
	ls_hash_hex(hex, &id);
	snprintf(target, sizeof target, "/disputes/%s/turns", hex);
	world_open_court(&w);
	assert_ok(ls_game_open(&game, terms, terms_len, &err));
	// turns after the first bind the receipts of those before, which this court has given anew
	assert_int_equal(world_send(&w, "POST", target, turn[1], len[1], NULL), 409);
	for (size_t at = 0; at < len[0]; at++) { // each byte of the claim counts; those of the number make it another place's
		uint8_t *copy = malloc(len[0]);
		int code;
		memcpy(copy, turn[0], len[0]);
		copy[at] ^= (uint8_t)(1 << at % 8);
		code = world_send(&w, "POST", target, copy, len[0], NULL);
		assert_int_equal(code, at < 40 ? 400 : at < 44 ? 409 : 403);
		free(copy);
	}
	assert_int_equal(world_send(&w, "POST", target, turn[0], len[0] - 1, NULL), 403);
	assert_int_equal(world_send(&w, "POST", target, turn[0], len[0], NULL), 200);
	assert_int_equal(world_send(&w, "POST", target, turn[0], len[0], NULL), 200); // once more, as after a lost answer
	assert_int_equal(world_send(&w, "POST", target, turn[1], len[1], NULL), w.now == 1000000 ? 200 : 403);
	ls_game_free(game);
	ls_buf_free(&o.evidence);
	world_close(&w);
}

/* A turn with a payload that opens nothing, by the player whose turn it is. */
static void test_a_turn_that_does_not_fit_counts_as_not_made(void **state)
{
	world w;
	char hex[LS_HASH_HEX_SIZE], target[128];
	ls_error err = LS_ERROR_INIT;
	ls_game *game;
	ls_buf terms, turn;
	ls_party_progress p;
	world_open(&w, MLP, fc1_lie, true);
	begin(&w, hex);
	ls_buf_init(&terms, LS_COURT_REQUEST_MAX);
	ls_buf_init(&turn, LS_TURN_BYTES_MAX);
	snprintf(target, sizeof target, "/disputes/%s/terms", hex);
	assert_int_equal(world_send(&w, "GET", target, NULL, 0, &terms), 200);
	assert_ok(ls_game_open(&game, terms.data, terms.len, &err));
	assert_ok(ls_turn_make(&turn, game, "nothing", 7, w.auditor, &err));
	snprintf(target, sizeof target, "/disputes/%s/turns", hex);
	assert_int_equal(world_send(&w, "POST", target, turn.data, turn.len, NULL), 422);
	assert_ok(ls_party_step(w.party, &p, &err)); // the claim itself is taken after it
	assert_int_equal(p.turns, 1);
	ls_game_free(game);
	ls_buf_free(&terms);
	ls_buf_free(&turn);
	world_close(&w);
}

/* ---- silence ---- */

static void test_silence_of_the_trainer(void **state)
{
	world w;
	outcome o;
	bool found, moved;
	ls_error err = LS_ERROR_INIT;
	ls_party_progress p;
	world_open(&w, MLP, fc1_lie, true);
	world_open_court(&w);
	world_open_auditor(&w);
	world_open_trainer(&w);
	assert_true(accuse(&w, &found) && found);
	assert_ok(ls_party_step(w.party, &p, &err));
	w.now += WORLD_DEADLINE - 1;
	kill_court(&w); // nobody is held to a deadline while there is no court
	w.now += WORLD_DEADLINE - 1;
	assert_ok(ls_party_step(w.party, &p, &err));
	assert_false(p.over);
	w.now++;
	assert_ok(ls_party_step(w.party, &p, &err));
	assert_true(p.over);
	o = finish(&w);
	assert_int_equal(o.decision.ruling, LS_RULING_TRAINER_WRONG);
	assert_non_null(strstr(o.decision.reason, "silent"));
	assert_true(o.decision.refereed);
	assert_ok(ls_defence_step(w.defence, &moved, &err)); // too late: there is nothing to answer
	assert_false(moved);
	assert_int_equal(w.complaints, 0);
	ls_buf_free(&o.evidence);
	world_close(&w);
}

static void test_silence_of_the_auditor(void **state)
{
	world w;
	outcome o;
	bool found, moved;
	ls_error err = LS_ERROR_INIT;
	ls_party_progress p;
	world_open(&w, MLP, fc1_lie, true);
	world_open_court(&w);
	world_open_auditor(&w);
	world_open_trainer(&w);
	assert_true(accuse(&w, &found) && found);
	assert_ok(ls_party_step(w.party, &p, &err));
	assert_ok(ls_defence_step(w.defence, &moved, &err)); // leaves and steps
	assert_true(moved);
	w.now += WORLD_DEADLINE;
	assert_ok(ls_party_step(w.party, &p, &err));
	assert_true(p.over);
	o = finish(&w);
	assert_int_equal(o.decision.ruling, LS_RULING_AUDITOR_WRONG);
	assert_non_null(strstr(o.decision.reason, "silent"));
	ls_buf_free(&o.evidence);
	world_close(&w);
}

/* Left by both, a dispute ends when its place is needed. */
static void test_silence_of_both(void **state)
{
	world w;
	outcome o;
	bool found;
	ls_error err = LS_ERROR_INIT;
	ls_party_progress p;
	ls_terms t;
	ls_key *key;
	world_open(&w, MLP, fc1_lie, true);
	world_open_court(&w);
	world_open_auditor(&w);
	assert_true(accuse(&w, &found) && found);
	assert_ok(ls_party_step(w.party, &p, &err));
	w.now += 10 * WORLD_DEADLINE;
	t = terms_of(&w);
	assert_ok(ls_key_generate(&key, &err));
	ls_key_public(key, t.auditor);
	assert_ok(ls_signed_head_make(&t.head[1], &t.head[1].head, key, &err));
	assert_int_equal(send_request(&w, &t, key, NULL), 200);
	assert_ok(ls_party_step(w.party, &p, &err));
	assert_true(p.over);
	o = finish(&w);
	assert_int_equal(o.decision.ruling, LS_RULING_TRAINER_WRONG);
	ls_key_free(key);
	ls_buf_free(&o.evidence);
	world_close(&w);
}

/* ---- two turns for one place ---- */

static void test_two_turns_for_one_place_end_the_dispute(void **state)
{
	world w;
	char hex[LS_HASH_HEX_SIZE], target[128];
	ls_error err = LS_ERROR_INIT;
	ls_game *game;
	ls_buf terms, turn;
	ls_party_progress p;
	outcome o;
	world_open(&w, MLP, fc1_lie, true);
	begin(&w, hex);
	ls_buf_init(&terms, LS_COURT_REQUEST_MAX);
	ls_buf_init(&turn, LS_TURN_BYTES_MAX);
	snprintf(target, sizeof target, "/disputes/%s/terms", hex);
	assert_int_equal(world_send(&w, "GET", target, NULL, 0, &terms), 200);
	assert_ok(ls_party_step(w.party, &p, &err));
	assert_ok(ls_game_open(&game, terms.data, terms.len, &err));
	assert_ok(ls_turn_make(&turn, game, "another", 7, w.stranger, &err)); // signed by somebody else: nothing
	snprintf(target, sizeof target, "/disputes/%s/turns", hex);
	assert_int_equal(world_send(&w, "POST", target, turn.data, turn.len, NULL), 409);
	assert_ok(ls_party_step(w.party, &p, &err));
	assert_false(p.over);
	ls_buf_reset(&turn);
	assert_ok(ls_turn_make(&turn, game, "another", 7, w.auditor, &err));
	assert_int_equal(world_send(&w, "POST", target, turn.data, turn.len, NULL), 409);
	assert_ok(ls_party_step(w.party, &p, &err));
	assert_true(p.over);
	o = finish(&w);
	assert_int_equal(o.decision.ruling, LS_RULING_AUDITOR_WRONG);
	assert_non_null(strstr(o.decision.reason, "equivocation"));
	ls_game_free(game);
	ls_buf_free(&terms);
	ls_buf_free(&turn);
	ls_buf_free(&o.evidence);
	world_close(&w);
}

/* ---- a court that lies ---- */

static void test_a_court_that_changes_what_it_tells_is_not_believed(void **state)
{
	static const struct {
		const char *target;
		size_t from, to, by;
	} places[] = {{"/turns", 0, 2000, 37}, {"/disputes", 0, 900, 41}};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		for (size_t at = places[i].from; at < places[i].to; at += places[i].by) {
			world w;
			bool found = false;
			ls_error err = LS_ERROR_INIT;
			ls_party_progress p;
			ls_status status;
			world_open(&w, SETS("model.arch=mlp", "model.hidden=[2]", "arithmetic.depth=0", "train.steps=2"), fc1_lie, true);
			world_open_court(&w);
			world_open_auditor(&w);
			w.change = at;
			w.change_target = places[i].target;
			status = ls_party_accuse(w.party, &found, &err);
			for (int n = 0; n < 2 && status == LS_OK; n++)
				status = ls_party_step(w.party, &p, &err);
			if (status == LS_OK) // the answer was shorter, or the byte was not changed
				assert_true(i == 0 ? at >= 500 : false);
			else
				assert_int_equal(status, LS_ERR_INPUT);
			world_close(&w);
		}
}

static void test_a_book_has_one_owner(void **state)
{
	world w;
	ls_error err = LS_ERROR_INIT;
	ls_party_options o;
	ls_party *party;
	world_open(&w, MLP, fc1_lie, true);
	world_open_court(&w);
	o = world_party(&w, LS_ROLE_AUDITOR);
	o.book = w.court_book;
	assert_int_equal(ls_party_open(&party, &o, &err), LS_ERR_INPUT);
	assert_non_null(strstr(err.text, "another kind"));
	put_file(w.t.dir, "text.db", "this is no database, but a text that is long enough to be taken for something", 77);
	path_in(w.auditor_book, w.t.dir, "text.db");
	o.book = w.auditor_book;
	assert_int_equal(ls_party_open(&party, &o, &err), LS_ERR_INPUT);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lie_is_found_whoever_is_killed),
		cmocka_unit_test(test_an_accusation_falls_whoever_is_killed),
		cmocka_unit_test(test_other_turns_after_kills),
		cmocka_unit_test(test_lost_messages_are_sent_again),
		cmocka_unit_test(test_honest_runs_ask_for_nothing),
		cmocka_unit_test(test_requests_that_are_refused),
		cmocka_unit_test(test_a_court_has_its_own_disputes),
		cmocka_unit_test(test_a_court_has_room_for_so_many),
		cmocka_unit_test(test_targets_that_are_not),
		cmocka_unit_test(test_turns_that_are_refused),
		cmocka_unit_test(test_each_turn_has_one_place),
		cmocka_unit_test(test_a_turn_that_does_not_fit_counts_as_not_made),
		cmocka_unit_test(test_silence_of_the_trainer),
		cmocka_unit_test(test_silence_of_the_auditor),
		cmocka_unit_test(test_silence_of_both),
		cmocka_unit_test(test_two_turns_for_one_place_end_the_dispute),
		cmocka_unit_test(test_a_court_that_changes_what_it_tells_is_not_believed),
		cmocka_unit_test(test_a_book_has_one_owner),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
