/* Evidence files. Judged as they are, and with a digest that fits; then each payload of a game put into the turn that it takes to
 * be read, so that what lies behind hashes of what came before is reached. A judgement never fails, and is one whatever the
 * bytes. */
#include <lockstep/game.h>

#include "fuzz.h"

static void try_file(const uint8_t *data, size_t size)
{
	ls_decision d, again;
	ls_status status = ls_judge(data, size, &d, NULL);
	FUZZ_CHECK(status == LS_OK || status == LS_ERR_NOMEM);
	FUZZ_CHECK(ls_judge(data, size, &again, NULL) == status);
	FUZZ_CHECK(d.ruling == again.ruling && !strcmp(d.reason, again.reason) && d.element == again.element);
	FUZZ_CHECK(d.reason[0]);
}

static void try_mended(const uint8_t *data, size_t size)
{
	static const char *const tags[] = {"ls1/evidence", "ls1/two-heads", "ls1/two-turns"};
	ls_hash digest;
	ls_buf file;
	if (size < 32)
		return;
	ls_buf_init(&file, 1 << 21);
	ls_buf_bytes(&file, data, size - 32);
	for (int i = 0; i < 3; i++) {
		if (size < 32 + strlen(tags[i]) || memcmp(data, tags[i], strlen(tags[i])))
			continue;
		FUZZ_CHECK(ls_hash_tagged(&digest, tags[i], file.data, file.len) == LS_OK);
		ls_buf_bytes(&file, digest.byte, 32);
		FUZZ_CHECK(file.status == LS_OK);
		try_file(file.data, file.len);
		break;
	}
	ls_buf_free(&file);
}

/* The payload of a turn as it stands in the file, or all of it where it is too short to be one. */
static const uint8_t *payload_of(const uint8_t *turn, size_t *len)
{
	enum { HEAD = 8 + 32 + 4 + 1 + 32 + 1 + 4, TAIL = 64 + LS_RECEIPT_BYTES };
	if (*len < HEAD + TAIL)
		return turn;
	*len -= HEAD + TAIL;
	return turn + HEAD;
}

static void try_payloads(const uint8_t *data, size_t size)
{
	ls_cursor c = ls_cursor_over(data, size > 32 ? size - 32 : 0);
	ls_game *game = NULL;
	ls_game_view v;
	uint32_t len, turns;
	const uint8_t *terms;
	ls_cursor_take(&c, strlen("ls1/evidence"));
	len = ls_cursor_u32(&c);
	terms = ls_cursor_take(&c, len);
	turns = ls_cursor_u32(&c);
	if (!terms || ls_game_open(&game, terms, len, NULL) != LS_OK)
		return;
	for (uint32_t i = 0; i < turns && i < 300; i++) {
		ls_buf turn;
		ls_decision before, after;
		size_t n = ls_cursor_u32(&c);
		const uint8_t *bytes = ls_cursor_take(&c, n);
		ls_status status;
		ls_game_look(game, &v);
		if (!bytes || v.role == LS_ROLE_NONE)
			break;
		bytes = payload_of(bytes, &n);
		ls_buf_init(&turn, LS_TURN_BYTES_MAX);
		ls_game_decision(game, &before);
		status = ls_turn_make(&turn, game, bytes, n, NULL, NULL);
		if (status == LS_OK)
			status = ls_turn_countersign(&turn, game, 0, NULL, NULL);
		if (status == LS_OK)
			status = ls_game_take(game, turn.data, turn.len, NULL);
		ls_game_decision(game, &after);
		ls_buf_free(&turn);
		FUZZ_CHECK(status == LS_OK || (before.ruling == after.ruling && !strcmp(before.reason, after.reason))); // refused: nothing changed
		if (status != LS_OK)
			break;
	}
	ls_game_free(game);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_file(data, size);
	try_mended(data, size);
	try_payloads(data, size);
	return 0;
}
