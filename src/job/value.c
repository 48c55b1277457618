#include "job/value.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64 // characters of a number; longer ones are refused, not cut

/* ---- numbers as text ---- */

static const char *skip_digits(const char *p)
{
	while (*p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Plain decimal digits without sign or leading zero ("010" means 8 to some YAML readers), below 2^53. */
static bool parse_integer(const char *text, size_t len, uint64_t *out)
{
	uint64_t v = 0;
	if (len == 0 || len > 15 || skip_digits(text) != text + len || (len > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < len; i++)
		v = 10 * v + (uint64_t)(text[i] - '0');
	*out = v;
	return true;
}

/* -?digits[.digits][e[+-]digits]: what JSON calls a number. Hexadecimal floats, nan and inf are not of that form. */
static bool is_decimal(const char *text, size_t len)
{
	const char *p = text + (*text == '-'), *q = skip_digits(p);
	if (q == p || (q > p + 1 && *p == '0'))
		return false;
	p = q;
	if (*p == '.') {
		q = skip_digits(++p);
		if (q == p)
			return false;
		p = q;
	}
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '+' || *p == '-';
		q = skip_digits(p);
		if (q == p)
			return false;
		p = q;
	}
	return p == text + len;
}

/* strtod reads the decimal comma of the caller's locale, so the locale is named. */
static bool parse_real(const char *text, size_t len, double *out)
{
	locale_t c;
	if (len > NUMBER_MAX || !is_decimal(text, len))
		return false;
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c)
		return false;
	*out = strtod_l(text, NULL, c) + 0.0; // −0 becomes +0
	freelocale(c);
	return true;
}

/* The shortest decimal that reads back as the same number. */
static void print_real(ls_buf *out, double v)
{
	char text[40] = "";
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before;
	if (!c) {
		out->status = out->status == LS_OK ? LS_ERR_NOMEM : out->status;
		return;
	}
	before = uselocale(c);
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (ls_bits_f64(strtod(text, NULL)) == ls_bits_f64(v))
			break;
	}
	uselocale(before);
	freelocale(c);
	ls_buf_bytes(out, text, strlen(text));
}

/* ---- texts ---- */

static bool is_word_character(char c, bool name)
{
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-')
		return true;
	return name && ((c >= 'A' && c <= 'Z') || c == '.');
}

/* Words do not begin with '-', '_' or '.', so that none looks like an option, a hidden file or a YAML sign. */
static bool text_allowed(const ls_job__field *field, const char *text, size_t len)
{
	if ((double)len < field->min || (double)len > field->max || memchr(text, 0, len))
		return false;
	if (field->type != LS_JOB__PATH && strchr("-_.", text[0]))
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		bool path_allows = c >= 0x20 && c != 0x7f;
		if (!(field->type == LS_JOB__PATH ? path_allows : is_word_character(text[i], field->type == LS_JOB__NAME)))
			return false;
	}
	return true;
}

/* Code points beyond ASCII are escaped: some of them are line breaks to YAML. The text is valid UTF-8. */
static void print_path(ls_buf *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	ls_buf_u8(out, '"');
	while (*p) {
		uint32_t c = *p++, more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
		if (more)
			c &= 0x3fu >> more;
		for (; more && *p; more--)
			c = c << 6 | (*p++ & 0x3f);
		if (c == '"' || c == '\\')
			ls_buf_printf(out, "\\%c", (char)c);
		else if (c < 0x80)
			ls_buf_u8(out, (uint8_t)c);
		else
			ls_buf_printf(out, "\\U%08X", (unsigned)c);
	}
	ls_buf_u8(out, '"');
}

/* ---- choices, lists ---- */

static bool find_choice(const ls_job__field *field, const char *text, uint32_t *out)
{
	for (uint32_t i = 0; field->choices[i]; i++)
		if (strcmp(field->choices[i], text) == 0) {
			*out = i;
			return true;
		}
	return false;
}

/* The values of choices that carry one become zero. */
static void reset_values(const ls_job__field *field, ls_job_spec *spec)
{
	for (uint32_t i = 0; field->values && field->choices[i]; i++)
		if (field->with_value >> i & 1) {
			ls_job__value_reset(&field->values[i], spec);
			ls_job__value_reset(&field->signed_values[i], spec);
		}
}

/* "word", or {word: value} for the choices that carry one. */
static bool read_choice(const ls_job__field *field, const ls_job__tree *tree, const ls_job__node *node, ls_job_spec *spec)
{
	ls_job_spec before = *spec;
	bool with_value = node->kind == LS_JOB__MAP;
	const ls_job__node *word = with_value ? &tree->node[node->first] : node;
	uint32_t choice;
	if (with_value && (node->count != 2 || tree->node[node->last].kind != LS_JOB__SCALAR))
		return false;
	if (word->kind != LS_JOB__SCALAR || !find_choice(field, word->text, &choice) || strlen(word->text) != word->len)
		return false;
	if (with_value != (field->with_value >> choice & 1))
		return false;
	reset_values(field, spec);
	if (with_value && !ls_job__value_read(&field->values[choice], tree, &tree->node[node->last], spec)) {
		*spec = before;
		return false;
	}
	memcpy(ls_job__at(field, spec), &choice, sizeof choice);
	return true;
}

static bool read_integer(const ls_job__field *field, const ls_job__node *node, uint64_t *out)
{
	uint64_t v;
	if (node->kind != LS_JOB__SCALAR || !node->plain || !parse_integer(node->text, node->len, &v))
		return false;
	if ((double)v < field->min || (double)v > field->max)
		return false;
	*out = v;
	return true;
}

static bool read_list(const ls_job__field *field, const ls_job__tree *tree, const ls_job__node *node, ls_job_list *out)
{
	ls_job_list list = {.count = node->count};
	uint32_t i = node->first;
	if (node->kind != LS_JOB__LIST || node->count > LS_JOB_LIST_MAX || (field->items && node->count != field->items))
		return false;
	for (uint32_t k = 0; k < node->count; k++, i = tree->node[i].next)
		if (!read_integer(field, &tree->node[i], &list.item[k]))
			return false;
	*out = list;
	return true;
}

/* ---- any value ---- */

static bool read_real(const ls_job__field *field, const ls_job__node *node, double *out)
{
	double v;
	if (node->kind != LS_JOB__SCALAR || !node->plain || !parse_real(node->text, node->len, &v))
		return false;
	if (!(v >= field->min && v <= field->max))
		return false;
	*out = v;
	return true;
}

static bool read_reals(const ls_job__field *field, const ls_job__tree *tree, const ls_job__node *node, ls_job_reals *out)
{
	ls_job_reals reals = {.count = 1};
	uint32_t i = node->first;
	if (node->kind == LS_JOB__SCALAR) {
		if (!read_real(field, node, &reals.item[0]))
			return false;
		*out = reals;
		return true;
	}
	if (node->kind != LS_JOB__LIST || node->count < 1 || node->count > LS_JOB_REALS_MAX)
		return false;
	reals.count = node->count;
	for (uint32_t k = 0; k < node->count; k++, i = tree->node[i].next)
		if (!read_real(field, &tree->node[i], &reals.item[k]))
			return false;
	*out = reals;
	return true;
}

/* In the order of the table: what is written elsewhere in another order would still be done in this one. */
static bool read_flags(const ls_job__field *field, const ls_job__tree *tree, const ls_job__node *node, uint32_t *out)
{
	uint32_t i = node->first, flags = 0, choice;
	if (node->kind != LS_JOB__LIST)
		return false;
	for (uint32_t k = 0; k < node->count; k++, i = tree->node[i].next) {
		const ls_job__node *word = &tree->node[i];
		if (word->kind != LS_JOB__SCALAR || strlen(word->text) != word->len || !find_choice(field, word->text, &choice))
			return false;
		if (flags >> choice)
			return false;
		flags |= 1u << choice;
	}
	*out = flags;
	return true;
}

static bool read_bool(const ls_job__node *node, bool *out)
{
	if (node->kind != LS_JOB__SCALAR || !node->plain || (strcmp(node->text, "true") && strcmp(node->text, "false")))
		return false;
	*out = node->text[0] == 't';
	return true;
}

static bool read_text(const ls_job__field *field, const ls_job__node *node, char *out)
{
	if (node->kind != LS_JOB__SCALAR || !text_allowed(field, node->text, node->len))
		return false;
	memset(out, 0, (size_t)field->max + 1);
	memcpy(out, node->text, node->len);
	return true;
}

bool ls_job__value_read(const ls_job__field *field, const ls_job__tree *tree, const ls_job__node *node,
                        ls_job_spec *spec)
{
	void *at = ls_job__at(field, spec);
	switch (field->type) {
	case LS_JOB__INT: return read_integer(field, node, at);
	case LS_JOB__REAL: return read_real(field, node, at);
	case LS_JOB__BOOL: return read_bool(node, at);
	case LS_JOB__CHOICE: return read_choice(field, tree, node, spec);
	case LS_JOB__WORD:
	case LS_JOB__NAME:
	case LS_JOB__PATH: return read_text(field, node, at);
	case LS_JOB__INTS: return read_list(field, tree, node, at);
	case LS_JOB__REALS: return read_reals(field, tree, node, at);
	case LS_JOB__FLAGS: return read_flags(field, tree, node, at);
	}
	return false;
}

static size_t size_of(const ls_job__field *field)
{
	switch (field->type) {
	case LS_JOB__INT: return sizeof(uint64_t);
	case LS_JOB__REAL: return sizeof(double);
	case LS_JOB__BOOL: return sizeof(bool);
	case LS_JOB__CHOICE:
	case LS_JOB__FLAGS: return sizeof(uint32_t);
	case LS_JOB__INTS: return sizeof(ls_job_list);
	case LS_JOB__REALS: return sizeof(ls_job_reals);
	default: return (size_t)field->max + 1;
	}
}

/* The table's defaults are all scalars or zero. */
void ls_job__value_reset(const ls_job__field *field, ls_job_spec *spec)
{
	memset(ls_job__at(field, spec), 0, size_of(field));
	reset_values(field, spec);
	if (field->fallback) {
		char text[NUMBER_MAX];
		ls_job__node node = {.kind = LS_JOB__SCALAR, .plain = true, .text = text};
		snprintf(text, sizeof text, "%s", field->fallback);
		node.len = strlen(text);
		ls_job__value_read(field, NULL, &node, spec);
	}
}

bool ls_job__value_unset(const ls_job__field *field, const ls_job_spec *spec)
{
	const uint8_t *p = ls_job__in(field, spec);
	for (size_t i = 0, n = size_of(field); i < n; i++)
		if (p[i])
			return false;
	return true;
}

static bool list_valid(const ls_job__field *field, const ls_job_list *list)
{
	if (list->count > LS_JOB_LIST_MAX || (field->items && list->count != field->items))
		return false;
	for (uint64_t i = 0; i < list->count; i++)
		if ((double)list->item[i] < field->min || (double)list->item[i] > field->max)
			return false;
	return true;
}

static bool real_valid(const ls_job__field *field, double v)
{
	return v >= field->min && v <= field->max && ls_bits_f64(v) != UINT64_C(1) << 63;
}

static bool reals_valid(const ls_job__field *field, const ls_job_reals *reals)
{
	if (reals->count < 1 || reals->count > LS_JOB_REALS_MAX)
		return false;
	for (uint64_t i = 0; i < reals->count; i++)
		if (!real_valid(field, reals->item[i]))
			return false;
	return true;
}

static bool number_valid(const ls_job__field *field, const void *p)
{
	uint64_t u;
	memcpy(&u, p, sizeof u);
	if (field->type == LS_JOB__INT)
		return (double)u >= field->min && (double)u <= field->max;
	return real_valid(field, ls_f64_bits(u));
}

bool ls_job__value_valid(const ls_job__field *field, const ls_job_spec *spec)
{
	const void *p = ls_job__in(field, spec);
	if (field->flags & LS_JOB__UNSET && ls_job__value_unset(field, spec))
		return true;
	switch (field->type) {
	case LS_JOB__INT:
	case LS_JOB__REAL: return number_valid(field, p);
	case LS_JOB__WORD:
	case LS_JOB__NAME:
	case LS_JOB__PATH: return text_allowed(field, p, strlen(p));
	case LS_JOB__INTS: return list_valid(field, p);
	case LS_JOB__REALS: return reals_valid(field, p);
	default: return true; // choices, flags and booleans exist only in valid form
	}
}

static void print_list(ls_buf *out, const ls_job_list *list)
{
	ls_buf_u8(out, '[');
	for (uint64_t i = 0; i < list->count; i++)
		ls_buf_printf(out, "%s%llu", i ? ", " : "", (unsigned long long)list->item[i]);
	ls_buf_u8(out, ']');
}

static void print_choice(const ls_job__field *field, const ls_job_spec *spec, ls_buf *out)
{
	uint32_t choice = *(const uint32_t *)ls_job__in(field, spec);
	bool with_value = field->with_value >> choice & 1;
	ls_buf_printf(out, "%s%s", with_value ? "{" : "", field->choices[choice]);
	if (!with_value)
		return;
	ls_buf_printf(out, ": ");
	if (field->values[choice].type == LS_JOB__PATH)
		print_path(out, LS_JOB_THRESHOLDS_FILE);
	else
		ls_job__value_print(&field->values[choice], spec, out);
	ls_buf_printf(out, "}");
}

static void print_reals(ls_buf *out, const ls_job_reals *reals)
{
	if (reals->count == 1) {
		print_real(out, reals->item[0]);
		return;
	}
	for (uint64_t i = 0; i < reals->count; i++) {
		ls_buf_printf(out, i ? ", " : "[");
		print_real(out, reals->item[i]);
	}
	ls_buf_u8(out, ']');
}

static void print_flags(ls_buf *out, const ls_job__field *field, uint32_t flags)
{
	const char *before = "[";
	for (uint32_t i = 0; field->choices[i]; i++)
		if (flags >> i & 1) {
			ls_buf_printf(out, "%s%s", before, field->choices[i]);
			before = ", ";
		}
	ls_buf_printf(out, "%s]", flags ? "" : "[");
}

void ls_job__value_print(const ls_job__field *field, const ls_job_spec *spec, ls_buf *out)
{
	const void *p = ls_job__in(field, spec);
	switch (field->type) {
	case LS_JOB__INT: ls_buf_printf(out, "%llu", (unsigned long long)*(const uint64_t *)p); break;
	case LS_JOB__REAL: print_real(out, *(const double *)p); break;
	case LS_JOB__BOOL: ls_buf_printf(out, "%s", *(const bool *)p ? "true" : "false"); break;
	case LS_JOB__CHOICE: print_choice(field, spec, out); break;
	case LS_JOB__WORD:
	case LS_JOB__NAME: ls_buf_printf(out, "%s", (const char *)p); break;
	case LS_JOB__PATH: print_path(out, p); break;
	case LS_JOB__INTS: print_list(out, p); break;
	case LS_JOB__REALS: print_reals(out, p); break;
	case LS_JOB__FLAGS: print_flags(out, field, *(const uint32_t *)p); break;
	}
}

/* ---- words for complaints ---- */

static void describe_choices(char *out, size_t out_size, const ls_job__field *field)
{
	size_t used = 0;
	for (uint32_t i = 0; field->choices[i]; i++) {
		bool with_value = field->with_value >> i & 1;
		if (i && used < out_size)
			used += (size_t)snprintf(out + used, out_size - used, "%s", field->choices[i + 1] ? ", " : " or ");
		if (used < out_size)
			used += (size_t)snprintf(out + used, out_size - used, with_value ? "{%s: %s}" : "%s", field->choices[i],
			                         with_value ? field->values[i].example : "");
	}
}

static void describe_integer(char *out, size_t out_size, const ls_job__field *field)
{
	unsigned long long min = (unsigned long long)field->min, max = (unsigned long long)field->max;
	if (min == max)
		snprintf(out, out_size, "%llu", min);
	else
		snprintf(out, out_size, "an integer from %llu to %llu", min, max);
}

static void describe_integers(char *out, size_t out_size, const ls_job__field *field)
{
	int min = (int)field->min, max = (int)field->max;
	if (field->items)
		snprintf(out, out_size, "a list of %llu integers from %d to %d", (unsigned long long)field->items, min, max);
	else
		snprintf(out, out_size, "a list of at most %d integers from %d to %d", LS_JOB_LIST_MAX, min, max);
}

static void describe_flags(char *out, size_t out_size, const ls_job__field *field)
{
	size_t used = (size_t)snprintf(out, out_size, "a list of ");
	for (uint32_t i = 0; field->choices[i] && used < out_size; i++)
		used += (size_t)snprintf(out + used, out_size - used, "%s%s", i ? ", " : "", field->choices[i]);
	if (used < out_size)
		snprintf(out + used, out_size - used, " in this order, each at most once");
}

/* Bounds of reals, texts and lists are small whole numbers; those of integers need not be, and describe_integer knows. */
static int small(double bound)
{
	return bound >= INT32_MIN && bound <= INT32_MAX ? (int)bound : 0;
}

void ls_job__describe(char *out, size_t out_size, const ls_job__field *field)
{
	int min = small(field->min), max = small(field->max);
	switch (field->type) {
	case LS_JOB__INT: describe_integer(out, out_size, field); break;
	case LS_JOB__REAL: snprintf(out, out_size, "a decimal number from %d to %d", min, max); break;
	case LS_JOB__BOOL: snprintf(out, out_size, "true or false"); break;
	case LS_JOB__CHOICE: describe_choices(out, out_size, field); break;
	case LS_JOB__WORD: snprintf(out, out_size, "a word of at most %d of a-z 0-9 _ -", max); break;
	case LS_JOB__NAME: snprintf(out, out_size, "a name of at most %d of A-Z a-z 0-9 . _ -", max); break;
	case LS_JOB__PATH: snprintf(out, out_size, "a path of at most %d bytes", max); break;
	case LS_JOB__INTS: describe_integers(out, out_size, field); break;
	case LS_JOB__REALS:
		snprintf(out, out_size, "a decimal number from %d to %d, or a list of one per channel", min, max);
		break;
	case LS_JOB__FLAGS: describe_flags(out, out_size, field); break;
	}
}

void ls_job__describe_node(char *out, const ls_job__node *node)
{
	char shown[LS_JOB__SHOWN];
	if (node->kind != LS_JOB__SCALAR) {
		const char *list = node->count ? "a list" : "an empty list";
		snprintf(out, LS_JOB__SHOWN, "%s", node->kind == LS_JOB__MAP ? "a mapping" : list);
		return;
	}
	ls_job__show(shown, node->text, node->len);
	if (node->plain)
		snprintf(out, LS_JOB__SHOWN + 32, "%s", node->len ? shown : "nothing");
	else
		snprintf(out, LS_JOB__SHOWN + 32, "the text \"%s\"", shown);
}
