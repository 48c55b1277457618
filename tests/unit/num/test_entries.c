// ctest: labels=quick timeout=120 libs=mpfr
/* Rounding-log frames: round trips, sizes, and refusal of everything that the encoder would not have written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <mpfr.h>

#include <lockstep/num.h>

#define MAX LS_FRAME_ELEMENTS

static ls_entry made[MAX], decoded[MAX];

static uint32_t draw(uint64_t i, uint32_t n)
{
	ls_stream stream = {1, LS_PURPOSE_TEST, 77};
	return ls_random_below(&stream, i, n);
}

/* Each element has an entry with probability chance/2^20. */
static size_t make_entries(uint64_t salt, uint32_t elements, uint32_t chance)
{
	size_t count = 0;
	for (uint32_t i = 0; i < elements; i++) {
		uint32_t r = draw(salt * MAX + i, 1u << 21);
		if (r >> 1 < chance)
			made[count++] = (ls_entry){i, r & 1};
	}
	return count;
}

static bool same_entries(const ls_entry *a, size_t na, const ls_entry *b, size_t nb)
{
	if (na != nb)
		return false;
	for (size_t i = 0; i < na; i++)
		if (a[i].index != b[i].index || a[i].bit != b[i].bit)
			return false;
	return true;
}

static void encode(ls_buf *out, size_t count, uint32_t elements, ls_encoding encoding)
{
	ls_buf_reset(out);
	assert_int_equal(ls_entries_encode(out, made, count, elements, encoding), LS_OK);
}

static void test_round_trips(void **unused)
{
	static const uint32_t sizes[] = {1, 2, 4, 5, 6, 100, 4096, 65535, 65536};
	static const uint32_t chances[] = {0, 20, 300, 5000, 50000, 300000, 700000, 1048576};
	ls_buf out;
	ls_buf_init(&out, 1 << 20);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (size_t c = 0; c < sizeof chances / sizeof *chances; c++)
			for (int e = LS_ENCODING_SPARSE; e <= LS_ENCODING_DENSE; e++) {
				size_t count = make_entries(s * 100 + c, sizes[s], chances[c]), got;
				encode(&out, count, sizes[s], (ls_encoding)e);
				assert_true(out.len <= 1 + (sizes[s] + 4) / 5);
				assert_true(ls_entries_decode(decoded, &got, sizes[s], (ls_encoding)e, out.data, out.len));
				assert_true(same_entries(made, count, decoded, got));
				if (count > 0) {
					decoded[count / 2].bit ^= 1;
					assert_false(same_entries(made, count, decoded, got));
				}
			}
	ls_buf_free(&out);
}

/* Bytes worked out by hand from the comment in entries.c. */
static void test_known_frames(void **unused)
{
	static const uint8_t dense[] = {0x10, 5, 162};            /* d = 2 1 0 0 0 | 0 0 0 0 2 */
	static const uint8_t none[] = {0x10, 0, 0};
	size_t count;
	ls_buf out;
	ls_buf_init(&out, 1 << 20);
	made[0] = (ls_entry){0, 1}; /* gap 0: "0" + "1" */
	made[1] = (ls_entry){1, 0}; /* gap 0: "0" + "0"; then "1111" */
	encode(&out, 2, 1000, LS_ENCODING_SPARSE);
	assert_int_equal(out.len, 2);
	assert_int_equal(out.data[1], 0x4f);
	assert_int_equal(out.data[0], 0);
	made[0] = (ls_entry){36, 0}; /* k = 5: "10" "00100" "0", 8 bits; k = 4 takes 8 as well and is smaller */
	encode(&out, 1, 1000, LS_ENCODING_SPARSE);
	assert_int_equal(out.len, 2);
	assert_int_equal(out.data[0], 4);
	assert_int_equal(out.data[1], 0xc8); /* "110" "0100" "0" */
	made[0] = (ls_entry){0, 1};
	made[1] = (ls_entry){1, 0};
	made[2] = (ls_entry){9, 1};
	encode(&out, 3, 10, LS_ENCODING_DENSE);
	assert_int_equal(out.len, 3);
	assert_memory_equal(out.data, dense, 3);
	encode(&out, 0, 10, LS_ENCODING_DENSE);
	assert_int_equal(out.len, 3);
	assert_memory_equal(out.data, none, 3);
	encode(&out, 0, 10, LS_ENCODING_SPARSE);
	assert_int_equal(out.len, 0);
	assert_true(ls_entries_decode(decoded, &count, 10, LS_ENCODING_SPARSE, NULL, 0));
	assert_int_equal(count, 0);
	assert_false(ls_entries_decode(decoded, &count, 10, LS_ENCODING_DENSE, NULL, 0));
	assert_false(ls_entries_decode(decoded, &count, 10, LS_ENCODING_SPARSE, none, 3));
	ls_buf_free(&out);
}

static void test_bad_arguments(void **unused)
{
	ls_buf out;
	size_t count;
	ls_buf_init(&out, 4);
	made[0] = (ls_entry){3, 0};
	made[1] = (ls_entry){3, 1};
	assert_int_equal(ls_entries_encode(&out, made, 2, 10, LS_ENCODING_SPARSE), LS_ERR_USAGE);
	made[1] = (ls_entry){2, 1};
	assert_int_equal(ls_entries_encode(&out, made, 2, 10, LS_ENCODING_SPARSE), LS_ERR_USAGE);
	made[1] = (ls_entry){10, 1};
	assert_int_equal(ls_entries_encode(&out, made, 2, 10, LS_ENCODING_SPARSE), LS_ERR_USAGE);
	made[1] = (ls_entry){4, 2};
	assert_int_equal(ls_entries_encode(&out, made, 2, 10, LS_ENCODING_SPARSE), LS_ERR_USAGE);
	made[1] = (ls_entry){4, 1};
	assert_int_equal(ls_entries_encode(&out, made, 2, 0, LS_ENCODING_SPARSE), LS_ERR_USAGE);
	assert_int_equal(ls_entries_encode(&out, made, 2, MAX + 1, LS_ENCODING_SPARSE), LS_ERR_USAGE);
	assert_int_equal(out.len, 0);
	assert_int_equal(ls_entries_encode(&out, made, 2, 10, LS_ENCODING_SPARSE), LS_OK);
	assert_int_equal(ls_entries_encode(&out, made, 2, 100, LS_ENCODING_DENSE), LS_ERR_LIMIT);
	assert_false(ls_entries_decode(decoded, &count, 0, LS_ENCODING_SPARSE, NULL, 0));
	assert_false(ls_entries_decode(decoded, &count, MAX + 1, LS_ENCODING_SPARSE, NULL, 0));
	ls_buf_free(&out);
}

/* No other bytes are read as the same entries, and none that the encoder would not write are read at all. */
static void check_mutant(const uint8_t *bytes, size_t len, const ls_buf *original, size_t count, uint32_t elements,
                         ls_encoding encoding, ls_buf *scratch)
{
	size_t got;
	uint8_t *exact = malloc(len ? len : 1); /* so that a sanitizer sees any read past the end */
	bool accepted;
	assert_non_null(exact);
	if (len)
		memcpy(exact, bytes, len);
	accepted = ls_entries_decode(decoded, &got, elements, encoding, exact, len);
	if (accepted) {
		assert_false(same_entries(made, count, decoded, got));
		ls_buf_reset(scratch);
		assert_int_equal(ls_entries_encode(scratch, decoded, got, elements, encoding), LS_OK);
		assert_int_equal(scratch->len, len);
		if (len)
			assert_memory_equal(scratch->data, exact, len);
	} else {
		assert_int_equal(got, 0);
	}
	assert_true(original->len != len || memcmp(original->data, exact, len) != 0);
	free(exact);
}

static void mutate_all(size_t count, uint32_t elements, ls_encoding encoding)
{
	ls_buf out, scratch;
	uint8_t *bytes;
	ls_buf_init(&out, 1 << 20);
	ls_buf_init(&scratch, 1 << 20);
	encode(&out, count, elements, encoding);
	bytes = malloc(out.len + 2);
	assert_non_null(bytes);
	if (out.len)
		memcpy(bytes, out.data, out.len);
	for (size_t i = 0; i < out.len; i++) {
		for (int v = 0; v < 256; v++) {
			if (v == out.data[i])
				continue;
			bytes[i] = (uint8_t)v;
			check_mutant(bytes, out.len, &out, count, elements, encoding, &scratch);
		}
		bytes[i] = out.data[i];
		check_mutant(bytes, i, &out, count, elements, encoding, &scratch); /* cut off */
	}
	for (int v = 0; v < 256; v++) { /* one or two bytes more */
		bytes[out.len] = (uint8_t)v;
		bytes[out.len + 1] = (uint8_t)(v * 7);
		check_mutant(bytes, out.len + 1, &out, count, elements, encoding, &scratch);
		check_mutant(bytes, out.len + 2, &out, count, elements, encoding, &scratch);
	}
	free(bytes);
	ls_buf_free(&out);
	ls_buf_free(&scratch);
}

static void test_mutations(void **unused)
{
	static const uint32_t sizes[] = {1, 5, 7, 64, 333};
	static const uint32_t chances[] = {0, 20000, 200000, 600000, 1048576};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (size_t c = 0; c < sizeof chances / sizeof *chances; c++)
			for (int e = LS_ENCODING_SPARSE; e <= LS_ENCODING_DENSE; e++)
				mutate_all(make_entries(9000 + s * 10 + c, sizes[s], chances[c]), sizes[s], (ls_encoding)e);
	mutate_all(make_entries(9900, MAX, 300), MAX, LS_ENCODING_SPARSE);
}

/* Of all strings no longer than the dense form, as many are read as there are entry sets, 3^n. Together with the round
 * trips: exactly the encoder's image. */
static void test_exact_image(void **unused)
{
	for (uint32_t elements = 1; elements <= 10; elements++)
		for (int e = LS_ENCODING_SPARSE; e <= LS_ENCODING_DENSE; e++) {
			uint64_t sets = 1, accepted = 0, dense = 1 + (elements + 4) / 5, strings = 0;
			size_t got;
			for (uint32_t i = 0; i < elements; i++)
				sets *= 3;
			for (size_t len = 0; len <= dense; len++)
				for (uint32_t v = 0; v < 1u << 8 * len; v++, strings++) {
					uint8_t bytes[3] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16)};
					if (bytes[0] <= 0x10) /* other tags are refused below */
						accepted += ls_entries_decode(decoded, &got, elements, (ls_encoding)e, bytes, len);
				}
			assert_int_equal(accepted, sets);
			assert_true(strings > accepted);
		}
	for (int tag = 0x11; tag < 256; tag++) {
		uint8_t bytes[2] = {(uint8_t)tag, 0x4f};
		size_t got;
		assert_false(ls_entries_decode(decoded, &got, 5, LS_ENCODING_SPARSE, bytes, 2));
	}
}

/* A stream with another parameter, or the dense form where Rice is no longer, says the same and is refused. */
static void test_other_codings_refused(void **unused)
{
	static const uint8_t canonical[] = {0x04, 0xc8}, longer[] = {0x03, 0xf4, 0x7f}, wider[] = {0x05, 0x88},
	                     padded[] = {0x04, 0xc8, 0xff};
	size_t count;
	assert_true(ls_entries_decode(decoded, &count, 1000, LS_ENCODING_SPARSE, canonical, 2));
	assert_int_equal(decoded[0].index, 36);
	assert_false(ls_entries_decode(decoded, &count, 1000, LS_ENCODING_SPARSE, longer, 3));
	assert_false(ls_entries_decode(decoded, &count, 1000, LS_ENCODING_SPARSE, wider, 2));
	assert_false(ls_entries_decode(decoded, &count, 1000, LS_ENCODING_SPARSE, padded, 3));
	assert_false(ls_entries_decode(decoded, &count, 1000, LS_ENCODING_DENSE, canonical, 2));
	assert_false(ls_entries_decode(decoded, &count, 36, LS_ENCODING_SPARSE, canonical, 2)); /* index 36 of 36 */
}

/* -(p·log2 p + (1−p)·log2(1−p)) + p: bits an element at the best possible coding of random entries. */
static double entropy(double p)
{
	mpfr_t a, b;
	double h;
	mpfr_inits2(53, a, b, (mpfr_ptr)0);
	mpfr_set_d(a, p, MPFR_RNDN);
	mpfr_log2(a, a, MPFR_RNDN);
	mpfr_set_d(b, 1.0 - p, MPFR_RNDN);
	mpfr_log2(b, b, MPFR_RNDN);
	h = p - p * mpfr_get_d(a, MPFR_RNDN) - (1.0 - p) * mpfr_get_d(b, MPFR_RNDN);
	mpfr_clears(a, b, (mpfr_ptr)0);
	return h;
}

static void test_size(void **unused)
{
	static const uint32_t chances[] = {100, 300, 1000, 5000, 20000, 100000, 300000};
	ls_buf out;
	ls_buf_init(&out, 1 << 20);
	for (size_t c = 0; c < sizeof chances / sizeof *chances; c++) {
		size_t count = make_entries(500 + c, MAX, chances[c]);
		double ideal;
		encode(&out, count, MAX, LS_ENCODING_SPARSE);
		ideal = MAX * entropy((double)count / MAX) / 8;
		printf("p = %.5f: %zu bytes, entropy %.0f\n", (double)count / MAX, out.len, ideal);
		assert_true((double)out.len < ideal * 1.05 + 4);
		assert_true((double)out.len > ideal * 0.9);
	}
	ls_buf_free(&out);
}

/* Random bytes under plausible tags, long enough to reach every limit. */
static void test_garbage(void **unused)
{
	static uint8_t bytes[13200];
	size_t got;
	for (uint32_t round = 0; round < 3000; round++) {
		size_t len = draw(round * 7ull, round % 10 ? 64 : sizeof bytes) + 1;
		uint32_t elements = 1 + draw(round * 7ull + 1, MAX), kind = draw(round * 7ull + 2, 3);
		uint8_t *exact = malloc(len);
		assert_non_null(exact);
		for (size_t i = 0; i < len; i++)
			bytes[i] = kind == 0 ? 0xff : kind == 1 ? 0 : (uint8_t)draw(round * 20000ull + i, 256);
		bytes[0] = (uint8_t)draw(round * 7ull + 3, 0x12);
		memcpy(exact, bytes, len);
		if (ls_entries_decode(decoded, &got, elements, (ls_encoding)(round & 1), exact, len))
			assert_true(got <= elements);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_known_frames),
		cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_exact_image),
		cmocka_unit_test(test_other_codings_refused),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_garbage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
