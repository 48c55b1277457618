#include "judge/job.h"

#define TAG "ls1/job"
#define BINDING_BYTES (4 * 32 + 5 * 8 + 2 * 32)
#define FIELDS_MAX 256
#define LIST_MAX 64
#define WORD_MAX 96

/* One typed value of the signed bytes, as far as the judge looks at it. */
typedef struct field {
	char type;
	uint64_t number;     /* u, r (bits), b */
	char word[WORD_MAX]; /* s */
} field;

static bool skip_list(ls_cursor *c, char type)
{
	uint32_t count = ls_cursor_u32(c);
	char word[WORD_MAX];
	if (count > LIST_MAX)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (type == 'w')
			ls_cursor_str(c, word, sizeof word);
		else
			ls_cursor_u64(c);
	return !c->failed;
}

static bool read_field(ls_cursor *c, field *out)
{
	*out = (field){.type = (char)ls_cursor_u8(c)};
	switch (out->type) {
	case 'u':
	case 'r': out->number = ls_cursor_u64(c); break;
	case 'b': out->number = ls_cursor_u8(c); break;
	case 's': ls_cursor_str(c, out->word, sizeof out->word); break;
	case 'l':
	case 'v':
	case 'w': return skip_list(c, out->type);
	default: return false;
	}
	return !c->failed;
}

/* The number of the word in a NULL-terminated list; −1 where it is not there. */
static int word_of(const field *f, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (f->type == 's' && !strcmp(f->word, words[i]))
			return i;
	return -1;
}

static bool number_of(const field *f, uint64_t least, uint64_t most, uint64_t *out)
{
	*out = f->number;
	return f->type == 'u' && f->number >= least && f->number <= most;
}

/* mode, grid, state_grid, compute, threshold [, its value], encoding, depth: the last fields there are. */
static bool read_arithmetic(ls_judge__job *job, const field *f, size_t count)
{
	static const char *const modes[] = {"logged", "plain", "exact", "pinned", NULL};
	static const char *const computes[] = {"fp64", "fp32", NULL}, *const encodings[] = {"sparse", "dense", NULL};
	static const char *const thresholds[] = {"certified", NULL}, *const valued[] = {"fixed", "adaptive", NULL};
	const field *end = f + count;
	int mode, compute, encoding;
	uint64_t bits, state_bits, depth;
	if (count < 8)
		return false;
	job->empirical = word_of(end - 3, thresholds) < 0;
	f = end - 7 - job->empirical;
	mode = word_of(f, modes);
	compute = word_of(f + 3, computes);
	encoding = word_of(end - 2, encodings);
	if (mode < 0 || compute < 0 || encoding < 0 || (job->empirical && word_of(f + 4, valued) < 0) ||
	    !number_of(f + 1, LS_GRID_MIN, LS_GRID_MAX, &bits) || !number_of(f + 2, LS_GRID_MIN, LS_GRID_MAX, &state_bits) ||
	    !number_of(end - 1, 0, LS_DEPTH_MAX, &depth))
		return false;
	job->mode = (ls_judge__mode)mode;
	job->bits = (int)bits;
	job->state_bits = (int)state_bits;
	job->fp32 = compute == 1;
	job->encoding = (ls_encoding)encoding;
	job->depth = (int64_t)depth;
	return true;
}

bool ls_judge__job_read(ls_judge__job *out, const uint8_t *bytes, size_t len)
{
	ls_cursor c = ls_cursor_over(bytes, len > BINDING_BYTES ? len - BINDING_BYTES : 0);
	const uint8_t *tag = ls_cursor_take(&c, strlen(TAG)), *binding = bytes + c.len;
	field *f = ls_alloc(FIELDS_MAX, sizeof *f);
	size_t count = 0;
	bool good = f && tag && !memcmp(tag, TAG, strlen(TAG)) && ls_cursor_u32(&c) == 1;
	*out = (ls_judge__job){0};
	while (good && !ls_cursor_done(&c))
		good = count < FIELDS_MAX && read_field(&c, &f[count++]);
	good = good && read_arithmetic(out, f, count);
	ls_free(f);
	if (!good)
		return false;
	memcpy(out->program.byte, binding, 32);
	memcpy(out->init.byte, binding + 32, 32);
	memcpy(out->data.byte, binding + 64, 32);
	memcpy(out->import.byte, binding + 96, 32);
	memcpy(out->trainer, binding + 168, 32);
	memcpy(out->referee, binding + 200, 32);
	return true;
}
