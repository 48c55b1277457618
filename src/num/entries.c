/* Rounding-log frames: which of up to 65,536 consecutive elements have an entry, and its bit.
 *
 * The bytes of a frame:
 *   - sparse encoding, no entries: no bytes at all;
 *   - otherwise one tag byte, then
 *     tag 0x00 + k, k = 0…15: a Rice stream with parameter k;
 *     tag 0x10: the dense form.
 *
 * Rice stream, a sequence of bits filled into bytes from the highest bit down. For each entry in ascending order:
 *   gap = index − (index of the entry before + 1), for the first entry gap = index;
 *   ⌊gap/2^k⌋ bits 1, one bit 0, the k low bits of gap (highest first), the entry's bit.
 * The last byte is filled up with bits 1. No count is stored: a rest of fewer than eight bits, all of them 1, holds no
 * complete entry, so it is the end and cannot be anything else.
 *
 * Dense form: one digit per element, 0 no entry, 1 an entry with bit 0, 2 an entry with bit 1. Byte i holds elements
 * 5i…5i+4 as d0 + 3·d1 + 9·d2 + 27·d3 + 81·d4; elements beyond the frame's end have digit 0.
 *
 * Choice, which makes the coding a function of the set of entries. Dense encoding: always the dense form. Sparse
 * encoding: the k whose stream has the fewest bits (the smallest such k); the dense form where it takes fewer bytes.
 *
 * Decoding. The tag, the entries and the number of elements determine every byte that follows, and the reader below
 * checks each of them; so a byte string that it can read is the canonical one iff its tag is the one the rule chooses.
 */
#include <lockstep/num.h>

#define RICE_PARAMETERS 16
#define TAG_DENSE 0x10
#define DIGITS_PER_BYTE 5
#define FRAME_BYTES_MAX (1 + (LS_FRAME_ELEMENTS + DIGITS_PER_BYTE - 1) / DIGITS_PER_BYTE)

static size_t dense_bytes(uint32_t elements)
{
	return 1 + (elements + DIGITS_PER_BYTE - 1) / DIGITS_PER_BYTE;
}

/* The k with the shortest stream; its length in bits to `*bits`. */
static uint8_t best_rice(const ls_entry *entries, size_t count, uint64_t *bits)
{
	uint64_t quotients[RICE_PARAMETERS] = {0};
	uint32_t next = 0;
	uint8_t best = 0;
	for (size_t i = 0; i < count; i++) {
		for (int k = 0; k < RICE_PARAMETERS; k++)
			quotients[k] += (entries[i].index - next) >> k;
		next = entries[i].index + 1;
	}
	*bits = UINT64_MAX;
	for (uint8_t k = 0; k < RICE_PARAMETERS; k++) {
		uint64_t length = quotients[k] + count * (uint64_t)(k + 2);
		if (length < *bits) {
			*bits = length;
			best = k;
		}
	}
	return best;
}

/* The tag that the canonical coding of at least one entry (dense: any number) carries. */
static uint8_t choose_tag(const ls_entry *entries, size_t count, uint32_t elements, ls_encoding encoding)
{
	uint64_t bits;
	uint8_t k;
	if (encoding == LS_ENCODING_DENSE)
		return TAG_DENSE;
	k = best_rice(entries, count, &bits);
	return dense_bytes(elements) < 1 + (bits + 7) / 8 ? TAG_DENSE : k;
}

/* ---- Rice stream ---- */

/* A bit position in a frame that is known to be large enough. */
typedef struct bit_writer {
	uint8_t *data;
	size_t pos;
} bit_writer;

static void write_bit(bit_writer *w, uint32_t bit)
{
	w->data[w->pos / 8] |= (uint8_t)(bit << (7 - w->pos % 8));
	w->pos++;
}

/* Writes tag and stream into zeroed `frame`; returns the length in bytes. */
static size_t write_rice(uint8_t *frame, const ls_entry *entries, size_t count, int k)
{
	bit_writer w = {frame, 8};
	uint32_t next = 0;
	frame[0] = (uint8_t)k;
	for (size_t i = 0; i < count; i++) {
		uint32_t gap = entries[i].index - next;
		for (uint32_t q = gap >> k; q > 0; q--)
			write_bit(&w, 1);
		write_bit(&w, 0);
		for (int j = k - 1; j >= 0; j--)
			write_bit(&w, gap >> j & 1);
		write_bit(&w, entries[i].bit);
		next = entries[i].index + 1;
	}
	while (w.pos % 8)
		write_bit(&w, 1);
	return w.pos / 8;
}

typedef struct bit_reader {
	const uint8_t *data;
	size_t pos, end; /* in bits */
} bit_reader;

/* The next bit, or −1 at the end. */
static int read_bit(bit_reader *r)
{
	int bit;
	if (r->pos == r->end)
		return -1;
	bit = r->data[r->pos / 8] >> (7 - r->pos % 8) & 1;
	r->pos++;
	return bit;
}

static bool at_padding(const bit_reader *r)
{
	size_t left = r->end - r->pos;
	uint32_t ones = (1u << left % 8) - 1;
	return left == 0 || (left < 8 && (r->data[r->end / 8 - 1] & ones) == ones);
}

/* Reads one gap and bit; false where the stream ends first or the gap reaches `limit`. */
static bool read_rice(bit_reader *r, int k, uint32_t limit, uint32_t *gap, uint8_t *entry_bit)
{
	int bit;
	*gap = 0;
	while ((bit = read_bit(r)) == 1)
		if (++*gap > limit >> k)
			return false;
	for (int j = 0; j < k && bit >= 0; j++) {
		bit = read_bit(r);
		*gap = *gap << 1 | (bit == 1);
	}
	if (bit < 0 || *gap >= limit)
		return false;
	bit = read_bit(r);
	*entry_bit = bit == 1;
	return bit >= 0;
}

static bool decode_rice(ls_entry *entries, size_t *count, uint32_t elements, int k, const uint8_t *data, size_t len)
{
	bit_reader r = {data, 8, len * 8};
	uint32_t next = 0, gap;
	uint8_t bit;
	while (!at_padding(&r)) {
		if (!read_rice(&r, k, elements - next, &gap, &bit))
			return false;
		entries[(*count)++] = (ls_entry){next + gap, bit};
		next += gap + 1;
	}
	return *count > 0;
}

/* ---- dense form ---- */

static size_t write_dense(uint8_t *frame, const ls_entry *entries, size_t count, uint32_t elements)
{
	static const uint8_t weight[DIGITS_PER_BYTE] = {1, 3, 9, 27, 81};
	frame[0] = TAG_DENSE;
	for (size_t i = 0; i < count; i++) {
		uint32_t index = entries[i].index;
		frame[1 + index / DIGITS_PER_BYTE] += (uint8_t)(weight[index % DIGITS_PER_BYTE] * (1 + entries[i].bit));
	}
	return dense_bytes(elements);
}

static bool decode_dense(ls_entry *entries, size_t *count, uint32_t elements, const uint8_t *data, size_t len)
{
	uint32_t rest = 0;
	if (len != dense_bytes(elements))
		return false;
	for (uint32_t i = 0; i < elements; i++) {
		if (i % DIGITS_PER_BYTE == 0) {
			if (rest != 0) /* the byte before was over 242 */
				return false;
			rest = data[1 + i / DIGITS_PER_BYTE];
		}
		if (rest % 3)
			entries[(*count)++] = (ls_entry){i, (uint8_t)(rest % 3 - 1)};
		rest /= 3;
	}
	return rest == 0;
}

/* ---- frames ---- */

static bool is_sound(const ls_entry *entries, size_t count, uint32_t elements, ls_encoding encoding)
{
	if (elements == 0 || elements > LS_FRAME_ELEMENTS || count > elements)
		return false;
	if (encoding != LS_ENCODING_SPARSE && encoding != LS_ENCODING_DENSE)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (entries[i].index >= elements || entries[i].bit > 1)
			return false;
		if (i > 0 && entries[i].index <= entries[i - 1].index)
			return false;
	}
	return true;
}

ls_status ls_entries_encode(ls_buf *out, const ls_entry *entries, size_t count, uint32_t elements, ls_encoding encoding)
{
	uint8_t frame[FRAME_BYTES_MAX] = {0}; /* the rule never chooses a stream longer than the dense form */
	uint8_t tag;
	size_t len;
	if (!is_sound(entries, count, elements, encoding))
		return LS_ERR_USAGE;
	if (encoding == LS_ENCODING_SPARSE && count == 0)
		return out->status;
	tag = choose_tag(entries, count, elements, encoding);
	if (tag == TAG_DENSE)
		len = write_dense(frame, entries, count, elements);
	else
		len = write_rice(frame, entries, count, tag);
	ls_buf_bytes(out, frame, len);
	return out->status;
}

bool ls_entries_decode(ls_entry *entries, size_t *count, uint32_t elements, ls_encoding encoding, const uint8_t *data,
                       size_t len)
{
	bool readable;
	*count = 0;
	if (!is_sound(NULL, 0, elements, encoding) || len > dense_bytes(elements))
		return false;
	if (len == 0)
		return encoding == LS_ENCODING_SPARSE;
	if (data[0] == TAG_DENSE)
		readable = decode_dense(entries, count, elements, data, len);
	else
		readable = data[0] < RICE_PARAMETERS && decode_rice(entries, count, elements, data[0], data, len);
	if (readable && encoding == LS_ENCODING_SPARSE && *count == 0)
		readable = false;
	if (readable && choose_tag(entries, *count, elements, encoding) == data[0])
		return true;
	*count = 0;
	return false;
}
