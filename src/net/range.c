#include <lockstep/net.h>

/* Digits at `*at`, at least one; saturates, as a range may well reach beyond any file. */
static bool take_number(const char **at, uint64_t *out)
{
	const char *start = *at;
	*out = 0;
	for (; **at >= '0' && **at <= '9'; (*at)++)
		if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, (uint64_t)(**at - '0'), out))
			*out = UINT64_MAX;
	return *at > start && *at - start <= 20;
}

ls_http_range_kind ls_http_range_parse(const char *value, uint64_t size, uint64_t *first, uint64_t *length)
{
	uint64_t a, b = UINT64_MAX;
	*first = 0;
	*length = size;
	if (!value || strncmp(value, "bytes=", 6)) // a unit that is not known is no reason to refuse (RFC 9110, 14.2)
		return LS_HTTP_RANGE_NONE;
	value += 6;
	if (*value == '-') {
		value++;
		if (!take_number(&value, &a) || *value || !a || !size)
			return LS_HTTP_RANGE_BAD;
		*length = a < size ? a : size;
		*first = size - *length;
		return LS_HTTP_RANGE_PART;
	}
	if (!take_number(&value, &a) || *value++ != '-' || (*value && !take_number(&value, &b)) || *value || b < a || a >= size)
		return LS_HTTP_RANGE_BAD;
	*first = a;
	*length = (b < size - 1 ? b : size - 1) - a + 1;
	return LS_HTTP_RANGE_PART;
}
