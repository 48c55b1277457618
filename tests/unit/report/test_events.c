// Event files: the checksum. What is in them, e2e.tensorboard reads with the package that they are meant for.
#include <lockstep/events.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* RFC 3720, B.4, and the check value of the polynomial. */
static void test_crc32c(void **state)
{
	uint8_t block[32];
	memset(block, 0, sizeof block);
	assert_int_equal(ls_crc32c(block, 32), 0x8a9136aau);
	memset(block, 0xff, sizeof block);
	assert_int_equal(ls_crc32c(block, 32), 0x62a8ab43u);
	for (int i = 0; i < 32; i++)
		block[i] = (uint8_t)i;
	assert_int_equal(ls_crc32c(block, 32), 0x46dd794eu);
	assert_int_equal(ls_crc32c("123456789", 9), 0xe3069283u);
	assert_int_equal(ls_crc32c("", 0), 0);
	block[7] ^= 1;
	assert_int_not_equal(ls_crc32c(block, 32), 0x46dd794eu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_crc32c)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
