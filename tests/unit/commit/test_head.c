#include "commit/reference.h"

#define RUN "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define GOOD "lockstep/" RUN "\n42\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"

static ls_head sample(void)
{
	ls_head head = {.size = 42};
	assert_true(ls_hash_unhex(&head.run, RUN));
	for (int i = 0; i < 32; i++)
		head.root.byte[i] = (uint8_t)i;
	return head;
}

static void text_is_as_defined(void **state)
{
	char text[LS_HEAD_TEXT_SIZE];
	ls_head head = sample(), back;
	(void)state;
	ls_head_encode(text, &head);
	assert_string_equal(text, GOOD);
	assert_int_equal(ls_head_parse(&back, text, strlen(text), NULL), LS_OK);
	assert_hash(&back.run, &head.run);
	assert_hash(&back.root, &head.root);
	assert_int_equal(back.size, 42);
	head.size = UINT64_MAX;
	ls_head_encode(text, &head);
	assert_int_equal(ls_head_parse(&back, text, strlen(text), NULL), LS_OK);
	assert_true(back.size == UINT64_MAX);
}

/* Every single changed, missing or added byte either fails or gives another head with exactly that text. */
static void no_other_spelling(void **state)
{
	const size_t len = strlen(GOOD);
	char text[LS_HEAD_TEXT_SIZE + 2], again[LS_HEAD_TEXT_SIZE];
	ls_head head;
	int accepted = 0;
	(void)state;
	for (size_t i = 0; i < len; i++)
		for (int c = 0; c < 256; c++) {
			memcpy(text, GOOD, len + 1);
			text[i] = (char)c;
			if (ls_head_parse(&head, text, len, NULL) != LS_OK)
				continue;
			ls_head_encode(again, &head);
			assert_memory_equal(again, text, len + 1);
			accepted++;
		}
	// 64 hex digits of 16, a digit 1…9, a digit 0…9, 42 base64 characters of 64, one of 16; 13 bytes are fixed
	assert_int_equal(accepted, 64 * 16 + 9 + 10 + 42 * 64 + 16 + 13);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(ls_head_parse(&head, GOOD, i, NULL), LS_ERR_INPUT);
	memcpy(text, GOOD "\n", len + 2);
	assert_int_equal(ls_head_parse(&head, text, len + 1, NULL), LS_ERR_INPUT);
	assert_int_equal(ls_head_parse(&head, text, len, NULL), LS_OK);
}

static void complaints_name_the_line(void **state)
{
	static const struct {
		const char *text, *place;
	} bad[] = {
		{"", "line 1"},
		{"lockstep/" RUN, "line 1"},
		{"otherlog/" RUN "\n42\n", "line 1"},
		{"lockstep/" RUN "00\n42\n", "line 1"},
		{"lockstep/" RUN "\n0\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "line 2"},
		{"lockstep/" RUN "\n\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "line 2"},
		{"lockstep/" RUN "\n-1\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "line 2"},
		{"lockstep/" RUN "\n18446744073709551616\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "line 2"},
		{"lockstep/" RUN "\n042\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "canonical"},
		{"lockstep/" RUN "\n42\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=\n", "canonical"},
		{"lockstep/" RUN "\n42\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8\n", "line 3"},
		{"lockstep/" RUN "\n42\n AECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "line 3"},
		{"lockstep/" RUN "\n42\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\nextension\n", "line 4"},
		{"lockstep/00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff\n42\n"
		 "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "canonical"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ls_error err = LS_ERROR_INIT;
		ls_head head;
		assert_int_equal(ls_head_parse(&head, bad[i].text, strlen(bad[i].text), &err), LS_ERR_INPUT);
		assert_non_null(strstr(err.text, bad[i].place));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_as_defined),
		cmocka_unit_test(no_other_spelling),
		cmocka_unit_test(complaints_name_the_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
