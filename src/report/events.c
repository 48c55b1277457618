#include <lockstep/events.h>

#include <stdio.h>

struct ls_events {
	ls_file *file;
	ls_buf event, summary, value, record;
};

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; /* wire types of protocol buffers */
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_NUMBER = 2, SESSION_STATUS = 1, SESSION_START = 1 };
#define EVENT_MAX 4096
#define FILES_MAX 100000

uint32_t ls_crc32c(const void *data, size_t len)
{
	const uint8_t *byte = data;
	uint32_t crc = 0xffffffffu;
	for (size_t i = 0; i < len; i++) {
		crc ^= byte[i];
		for (int bit = 0; bit < 8; bit++) // a few hundred bytes per step: a table would be no faster to read
			crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1)));
	}
	return ~crc;
}

/* A sum over data that holds such sums would be easy to get right by accident, so they are stored masked. */
static uint32_t masked(const void *data, size_t len)
{
	uint32_t crc = ls_crc32c(data, len);
	return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static void put_varint(ls_buf *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		ls_buf_u8(out, (uint8_t)(v | 0x80));
	ls_buf_u8(out, (uint8_t)v);
}

static void put_key(ls_buf *out, int field, int type)
{
	put_varint(out, (uint64_t)(field << 3 | type));
}

static void put_bytes(ls_buf *out, int field, const void *data, size_t len)
{
	put_key(out, field, BYTES);
	put_varint(out, len);
	ls_buf_bytes(out, data, len);
}

static void begin(ls_events *e, uint64_t step, double time)
{
	ls_buf_reset(&e->event);
	put_key(&e->event, EVENT_TIME, FIXED64);
	ls_buf_f64(&e->event, time);
	put_key(&e->event, EVENT_STEP, VARINT);
	put_varint(&e->event, step);
}

/* One record, in one write. */
static ls_status end(ls_events *e, ls_error *err)
{
	uint8_t length[8];
	ls_put_le64(length, e->event.len);
	ls_buf_reset(&e->record);
	ls_buf_bytes(&e->record, length, sizeof length);
	ls_buf_u32(&e->record, masked(length, sizeof length));
	ls_buf_bytes(&e->record, e->event.data, e->event.len);
	ls_buf_u32(&e->record, masked(e->event.data, e->event.len));
	if (e->event.status != LS_OK || e->record.status != LS_OK)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for an event");
	return ls_file_append(e->file, e->record.data, e->record.len, err);
}

static void put_number(ls_events *e, const char *tag, float number)
{
	ls_buf_reset(&e->value);
	put_bytes(&e->value, VALUE_TAG, tag, strlen(tag));
	put_key(&e->value, VALUE_NUMBER, FIXED32);
	ls_buf_u32(&e->value, ls_bits_f32(number));
	put_bytes(&e->summary, SUMMARY_VALUE, e->value.data, e->value.len);
}

/* TensorBoard reads the files of a folder in the order of their names. */
static ls_status open_file(ls_events *e, const char *dir, double time, ls_error *err)
{
	ls_status status;
	char name[80], path[LS_PATH_MAX];
	int number = 0;
	LS_TRY(ls_dir_make(dir, err));
	do {
		snprintf(name, sizeof name, "events.out.tfevents.%010llu.lockstep.%05d", (unsigned long long)time, number);
		LS_TRY(ls_path_join(path, sizeof path, dir, name, err));
	} while (ls_file_exists(path) && ++number < FILES_MAX);
	LS_TRY(ls_file_open(&e->file, path, true, err));
done:
	return status;
}

ls_status ls_events_open(ls_events **out, const char *dir, uint64_t step, double time, ls_error *err)
{
	static const char version[] = "brain.Event:2";
	ls_status status = LS_OK;
	ls_buf *bufs[4];
	ls_events *e = ls_alloc(1, sizeof *e);
	*out = NULL;
	if (!e)
		return ls_error_set(err, LS_ERR_NOMEM, "no memory for events");
	bufs[0] = &e->event, bufs[1] = &e->summary, bufs[2] = &e->value, bufs[3] = &e->record;
	for (int i = 0; i < 4; i++)
		ls_buf_init(bufs[i], EVENT_MAX);
	LS_TRY(open_file(e, dir, time, err));
	begin(e, 0, time);
	put_bytes(&e->event, EVENT_VERSION, version, sizeof version - 1);
	LS_TRY(end(e, err));
	begin(e, step, time);
	ls_buf_reset(&e->value);
	put_key(&e->value, SESSION_STATUS, VARINT);
	put_varint(&e->value, SESSION_START);
	put_bytes(&e->event, EVENT_SESSION, e->value.data, e->value.len);
	LS_TRY(end(e, err));
	*out = e;
	e = NULL;
done:
	ls_events_close(e);
	return status;
}

ls_status ls_events_write(ls_events *e, const ls_metrics *metrics, double time, ls_error *err)
{
	begin(e, metrics->step, time);
	ls_buf_reset(&e->summary);
	put_number(e, "loss", metrics->loss);
	put_number(e, "learning rate", (float)metrics->lr);
	put_number(e, "seconds", (float)metrics->seconds);
	put_bytes(&e->event, EVENT_SUMMARY, e->summary.data, e->summary.len);
	return end(e, err);
}

void ls_events_close(ls_events *e)
{
	if (!e)
		return;
	ls_file_close(e->file);
	ls_buf_free(&e->event);
	ls_buf_free(&e->summary);
	ls_buf_free(&e->value);
	ls_buf_free(&e->record);
	ls_free(e);
}
