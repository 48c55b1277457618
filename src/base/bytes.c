#include <lockstep/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ls_buf_init(ls_buf *b, size_t max)
{
	*b = (ls_buf){.max = max};
}

void ls_buf_free(ls_buf *b)
{
	if (b) {
		free(b->data);
		*b = (ls_buf){.max = b->max};
	}
}

void ls_buf_reset(ls_buf *b)
{
	b->len = 0;
	b->status = LS_OK;
}

/* Makes room for `more` bytes; false (with the sticky status set) where that cannot be. */
static bool reserve(ls_buf *b, size_t more)
{
	size_t want, cap;
	uint8_t *data;
	if (b->status != LS_OK)
		return false;
	if (more > b->max || b->len > b->max - more) {
		b->status = LS_ERR_LIMIT;
		return false;
	}
	want = b->len + more;
	if (want <= b->cap)
		return true;
	cap = b->cap ? b->cap : 256;
	while (cap < want)
		cap = cap > b->max / 2 ? b->max : cap * 2;
	data = realloc(b->data, cap);
	if (!data) {
		b->status = LS_ERR_NOMEM;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void ls_buf_bytes(ls_buf *b, const void *data, size_t len)
{
	if (len && reserve(b, len)) {
		memcpy(b->data + b->len, data, len);
		b->len += len;
	}
}

void ls_buf_u8(ls_buf *b, uint8_t v)
{
	ls_buf_bytes(b, &v, 1);
}

void ls_buf_u16(ls_buf *b, uint16_t v)
{
	uint8_t p[2] = {(uint8_t)v, (uint8_t)(v >> 8)};
	ls_buf_bytes(b, p, 2);
}

void ls_buf_u32(ls_buf *b, uint32_t v)
{
	uint8_t p[4];
	ls_put_le32(p, v);
	ls_buf_bytes(b, p, 4);
}

void ls_buf_u64(ls_buf *b, uint64_t v)
{
	uint8_t p[8];
	ls_put_le64(p, v);
	ls_buf_bytes(b, p, 8);
}

void ls_buf_f64(ls_buf *b, double v)
{
	ls_buf_u64(b, ls_bits_f64(v));
}

void ls_buf_str(ls_buf *b, const char *s)
{
	size_t len = strlen(s);
	if (len > UINT32_MAX) {
		if (b->status == LS_OK)
			b->status = LS_ERR_LIMIT;
		return;
	}
	ls_buf_u32(b, (uint32_t)len);
	ls_buf_bytes(b, s, len);
}

void ls_buf_printf(ls_buf *b, const char *format, ...)
{
	va_list args;
	int len;
	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || !reserve(b, (size_t)len + 1)) // vsnprintf writes a NUL past the text
		return;
	va_start(args, format);
	vsnprintf((char *)b->data + b->len, (size_t)len + 1, format, args);
	va_end(args);
	b->len += (size_t)len;
}

ls_cursor ls_cursor_over(const void *data, size_t len)
{
	return (ls_cursor){.data = data, .len = len};
}

const uint8_t *ls_cursor_take(ls_cursor *c, size_t len)
{
	const uint8_t *p;
	if (c->failed || len > c->len - c->pos) {
		c->failed = true;
		return NULL;
	}
	p = c->data + c->pos;
	c->pos += len;
	return p;
}

uint8_t ls_cursor_u8(ls_cursor *c)
{
	const uint8_t *p = ls_cursor_take(c, 1);
	return p ? *p : 0;
}

uint16_t ls_cursor_u16(ls_cursor *c)
{
	const uint8_t *p = ls_cursor_take(c, 2);
	return p ? (uint16_t)(p[0] | p[1] << 8) : 0;
}

uint32_t ls_cursor_u32(ls_cursor *c)
{
	const uint8_t *p = ls_cursor_take(c, 4);
	return p ? ls_get_le32(p) : 0;
}

uint64_t ls_cursor_u64(ls_cursor *c)
{
	const uint8_t *p = ls_cursor_take(c, 8);
	return p ? ls_get_le64(p) : 0;
}

double ls_cursor_f64(ls_cursor *c)
{
	return ls_f64_bits(ls_cursor_u64(c));
}

void ls_cursor_str(ls_cursor *c, char *out, size_t out_size)
{
	uint32_t len = ls_cursor_u32(c);
	const uint8_t *p = ls_cursor_take(c, len);
	out[0] = 0;
	if (!p || len >= out_size || memchr(p, 0, len)) {
		c->failed = true;
		return;
	}
	memcpy(out, p, len);
	out[len] = 0;
}

bool ls_cursor_done(const ls_cursor *c)
{
	return !c->failed && c->pos == c->len;
}

uint32_t ls_get_le32(const void *p)
{
	const uint8_t *b = p;
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

void ls_put_le32(void *p, uint32_t v)
{
	uint8_t *b = p;
	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(v >> 8 * i);
}

uint64_t ls_get_le64(const void *p)
{
	return ls_get_le32(p) | (uint64_t)ls_get_le32((const uint8_t *)p + 4) << 32;
}

void ls_put_le64(void *p, uint64_t v)
{
	ls_put_le32(p, (uint32_t)v);
	ls_put_le32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

static void reverse_words(uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < 4 * count; i += 4) {
		uint8_t first = bytes[i], second = bytes[i + 1];
		bytes[i] = bytes[i + 3];
		bytes[i + 1] = bytes[i + 2];
		bytes[i + 2] = second;
		bytes[i + 3] = first;
	}
}

/* To little-endian and from it is the same; where that is the processor's own order, a copy. */
static void convert_words(void *to, const void *from, size_t count)
{
	memmove(to, from, 4 * count);
	if (ls_get_le32(&(uint32_t){1}) != 1)
		reverse_words(to, count);
}

void ls_words_to_le(void *bytes, const void *words, size_t count)
{
	convert_words(bytes, words, count);
}

void ls_words_from_le(void *words, const void *bytes, size_t count)
{
	convert_words(words, bytes, count);
}

void ls_hex(char *out, const void *data, size_t len)
{
	static const char digit[] = "0123456789abcdef";
	const uint8_t *b = data;
	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digit[b[i] >> 4];
		out[2 * i + 1] = digit[b[i] & 15];
	}
	out[2 * len] = 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool ls_unhex(void *out, size_t len, const char *text)
{
	uint8_t *b = out;
	if (strlen(text) != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int hi = hex_digit(text[2 * i]), lo = hex_digit(text[2 * i + 1]);
		if (hi < 0 || lo < 0)
			return false;
		b[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}
