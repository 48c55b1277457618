/* Messages of disputes. The first byte says whether they are lists that a player reads (one spelling each), or what anybody may send
 * to a court: a court always has an answer, and never takes what nobody signed. */
#include <lockstep/court.h>

#include "fuzz.h"

static ls_court *court;

static ls_court *open_court(void)
{
	ls_court_options o = LS_COURT_OPTIONS_INIT;
	ls_key *key;
	if (court)
		return court;
	FUZZ_CHECK(ls_key_generate(&key, NULL) == LS_OK);
	o.key = key;
	FUZZ_CHECK(ls_court_open(&court, ":memory:", &o, NULL) == LS_OK);
	return court;
}

static void try_turns(const uint8_t *data, size_t size)
{
	ls_turns turns;
	const uint8_t *turn;
	size_t len, bytes = strlen("ls1/turns") + 9;
	uint32_t count = 0;
	if (ls_turns_decode(&turns, data, size, NULL) != LS_OK)
		return;
	for (; (turn = ls_turns_next(&turns, &len)); count++)
		bytes += 4 + len;
	FUZZ_CHECK(count == turns.count && bytes == size);
}

static void try_list(const uint8_t *data, size_t size)
{
	ls_open_disputes list;
	ls_buf again;
	if (ls_open_disputes_decode(&list, data, size, NULL) != LS_OK)
		return;
	ls_buf_init(&again, 1 << 16);
	ls_buf_bytes(&again, "ls1/disputes", strlen("ls1/disputes"));
	ls_buf_u32(&again, (uint32_t)list.count);
	for (size_t i = 0; i < list.count; i++) {
		ls_buf_bytes(&again, list.dispute[i].id.byte, LS_HASH_BYTES);
		ls_buf_u8(&again, (uint8_t)list.dispute[i].role);
		ls_buf_u32(&again, list.dispute[i].turns);
	}
	FUZZ_CHECK(again.len == size && !memcmp(again.data, data, size));
	ls_buf_free(&again);
}

/* The target is the text before the first NUL, the body what follows. */
static void try_message(bool post, const uint8_t *data, size_t size)
{
	char target[512] = {0};
	const uint8_t *end = memchr(data, 0, size);
	size_t len = end ? (size_t)(end - data) : size;
	ls_terms terms;
	ls_buf out;
	int code = 0;
	memcpy(target, data, len < sizeof target ? len : sizeof target - 1);
	data += end ? len + 1 : size;
	size -= end ? len + 1 : size;
	ls_buf_init(&out, LS_COURT_ANSWER_MAX);
	FUZZ_CHECK(ls_court_answer(open_court(), post ? "POST" : "GET", target, data, size, &code, &out, NULL) == LS_OK);
	FUZZ_CHECK(code == 200 || (code >= 400 && code < 500));
	FUZZ_CHECK(code == 200 ? !post : out.len > 1 && out.data[out.len - 1] == '\n');
	ls_buf_free(&out);
	if (ls_request_decode(&terms, data, size, NULL) == LS_OK)
		FUZZ_CHECK(terms.job && !ls_public_key_none(terms.auditor));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 4 == 0)
		try_turns(data + 1, size - 1);
	else if (data[0] % 4 == 1)
		try_list(data + 1, size - 1);
	else
		try_message(data[0] % 4 == 3, data + 1, size - 1);
	return 0;
}
