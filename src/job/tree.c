#include "job/tree.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

static const char write_out[] = "write the value out where it is used";

struct grower {
	ls_job__tree *tree;
	const char *label;
	bool positions;
	uint32_t open[LS_JOB_DEPTH_MAX]; // the collections around the next node
	int depth;
	int documents;
	ls_error *err;
};

void ls_job__place(char *out, size_t out_size, const char *label, uint32_t line, uint32_t column)
{
	if (line)
		snprintf(out, out_size, "%s:%u:%u", label, (unsigned)line, (unsigned)column);
	else
		snprintf(out, out_size, "%s", label);
}

void ls_job__show(char *out, const char *text, size_t len)
{
	size_t used = 0, shown = len < 40 ? len : 40;
	for (size_t i = 0; i < shown; i++) {
		unsigned char c = (unsigned char)text[i];
		used += (size_t)snprintf(out + used, LS_JOB__SHOWN - used, c < 0x20 || c > 0x7e ? "\\x%02x" : "%c", c);
	}
	snprintf(out + used, LS_JOB__SHOWN - used, "%s", len > shown ? "..." : "");
}

static ls_status complain(const struct grower *g, uint32_t line, uint32_t column, const char *found,
                          const char *expected, const char *hint)
{
	char place[LS_ERROR_TEXT_MAX];
	ls_job__place(place, sizeof place, g->label, g->positions ? line : 0, column);
	return ls_error_input(g->err, place, NULL, found, expected, hint);
}

static ls_status complain_at(const struct grower *g, yaml_mark_t mark, const char *found, const char *expected,
                             const char *hint)
{
	return complain(g, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1, found, expected, hint);
}

/* Line and column (in characters) of a byte offset. */
static void locate(const unsigned char *text, size_t offset, uint32_t *line, uint32_t *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			++*line;
			*column = 1;
		} else if ((text[i] & 0xc0) != 0x80) {
			++*column;
		}
	}
}

/* Bytes of the UTF-8 character at p, 0 where it is not one (overlong forms, surrogates and > U+10FFFF are not). */
static size_t utf8_len(const unsigned char *p, size_t left)
{
	uint32_t c, least;
	size_t len;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (len > left)
		return 0;
	c = p[0] & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	least = len == 2 ? 0x80 : len == 3 ? 0x800 : 0x10000;
	return c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : len;
}

/* Done before libyaml sees the text, which would guess at UTF-16 and report such faults without a place. */
static ls_status check_characters(const struct grower *g, const unsigned char *text, size_t len)
{
	uint32_t line, column;
	size_t i = 0;
	while (i < len) {
		size_t n = utf8_len(text + i, len - i);
		bool control = n == 1 && (text[i] < 0x20 || text[i] == 0x7f) && !strchr("\t\r\n", text[i]);
		if (text[i] == 0)
			control = true;
		if (n == 0 || control) {
			char found[48];
			locate(text, i, &line, &column);
			snprintf(found, sizeof found, "byte 0x%02x", (unsigned)text[i]);
			return complain(g, line, column, found, control ? "no control character" : "UTF-8 text",
			                "save the file as UTF-8 text");
		}
		i += n;
	}
	return LS_OK;
}

static ls_status refuse_repeated_key(const struct grower *g, const ls_job__node *map, const ls_job__node *key)
{
	const ls_job__node *node = g->tree->node;
	uint32_t i = map->first;
	for (uint32_t k = 0; k < map->count; k += 2) {
		if (node[i].len == key->len && memcmp(node[i].text, key->text, key->len) == 0) {
			char shown[LS_JOB__SHOWN], found[LS_JOB__SHOWN + 32], hint[64];
			ls_job__show(shown, key->text, key->len);
			snprintf(found, sizeof found, "key \"%s\" again", shown);
			snprintf(hint, sizeof hint, "it was given on line %u; remove one of the two", (unsigned)node[i].line);
			return complain(g, key->line, key->column, found, "each key once", hint);
		}
		i = node[node[i].next].next;
	}
	return LS_OK;
}

/* Hangs the newest node under the innermost open collection. */
static ls_status attach(struct grower *g, uint32_t index)
{
	ls_job__node *node = g->tree->node, *parent, *child = &node[index];
	ls_status status;
	if (g->depth == 0)
		return LS_OK;
	parent = &node[g->open[g->depth - 1]];
	if (parent->kind == LS_JOB__MAP && parent->count % 2 == 0) {
		if (child->kind != LS_JOB__SCALAR)
			return complain(g, child->line, child->column, "a list or mapping as a key", "a word", NULL);
		status = refuse_repeated_key(g, parent, child);
		if (status != LS_OK)
			return status;
	}
	if (parent->count)
		node[parent->last].next = index;
	else
		parent->first = index;
	parent->last = index;
	parent->count++;
	return LS_OK;
}

static ls_status add(struct grower *g, const yaml_event_t *event, ls_job__kind kind)
{
	ls_job__tree *tree = g->tree;
	ls_job__node *node = &tree->node[tree->count];
	if (tree->count == LS_JOB__NODES_MAX)
		return complain_at(g, event->start_mark, "more than 2048 values", "a job", NULL);
	*node = (ls_job__node){.kind = kind, .line = (uint32_t)event->start_mark.line + 1,
	                       .column = (uint32_t)event->start_mark.column + 1};
	tree->count++;
	if (kind == LS_JOB__SCALAR) {
		node->len = event->data.scalar.length;
		node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
		node->text = ls_alloc(node->len + 1, 1);
		if (!node->text)
			return ls_error_set(g->err, LS_ERR_NOMEM, "%s: out of memory", g->label);
		memcpy(node->text, event->data.scalar.value, node->len);
	}
	return attach(g, tree->count - 1);
}

static ls_status open_collection(struct grower *g, const yaml_event_t *event, ls_job__kind kind)
{
	ls_status status;
	if (g->depth == LS_JOB_DEPTH_MAX)
		return complain_at(g, event->start_mark, "nesting deeper than 8", "at most 8", NULL);
	status = add(g, event, kind);
	g->open[g->depth++] = g->tree->count - 1;
	return status;
}

static ls_status refuse_properties(const struct grower *g, const yaml_event_t *event, const yaml_char_t *anchor,
                                   const yaml_char_t *tag)
{
	if (anchor)
		return complain_at(g, event->start_mark, "an anchor (&)", "a plain value", write_out);
	if (tag)
		return complain_at(g, event->start_mark, "a tag (!)", "a plain value", "remove the tag; each key has one type");
	return LS_OK;
}

static ls_status take(struct grower *g, const yaml_event_t *event)
{
	ls_status status;
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (g->documents++)
			return complain_at(g, event->start_mark, "a second document", "one", "remove everything from \"---\" on");
		return LS_OK;
	case YAML_ALIAS_EVENT:
		return complain_at(g, event->start_mark, "an alias (*)", "a plain value", write_out);
	case YAML_SCALAR_EVENT:
		status = refuse_properties(g, event, event->data.scalar.anchor, event->data.scalar.tag);
		return status != LS_OK ? status : add(g, event, LS_JOB__SCALAR);
	case YAML_SEQUENCE_START_EVENT:
		status = refuse_properties(g, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
		return status != LS_OK ? status : open_collection(g, event, LS_JOB__LIST);
	case YAML_MAPPING_START_EVENT:
		status = refuse_properties(g, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
		return status != LS_OK ? status : open_collection(g, event, LS_JOB__MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		g->depth--;
		return LS_OK;
	default:
		return LS_OK;
	}
}

static ls_status syntax_error(const struct grower *g, const yaml_parser_t *parser, const unsigned char *text)
{
	uint32_t line = (uint32_t)parser->problem_mark.line + 1, column = (uint32_t)parser->problem_mark.column + 1;
	char found[200];
	if (parser->error == YAML_MEMORY_ERROR)
		return ls_error_set(g->err, LS_ERR_NOMEM, "%s: out of memory", g->label);
	if (parser->error == YAML_READER_ERROR)
		locate(text, parser->problem_offset, &line, &column);
	snprintf(found, sizeof found, "bad YAML (%s)", parser->problem ? parser->problem : "no detail");
	return complain(g, line, column, found, "a job", NULL);
}

static ls_status grow(struct grower *g, yaml_parser_t *parser, const unsigned char *text)
{
	bool more = true;
	while (more) {
		yaml_event_t event;
		ls_status status;
		if (!yaml_parser_parse(parser, &event))
			return syntax_error(g, parser, text);
		more = event.type != YAML_STREAM_END_EVENT;
		status = take(g, &event);
		yaml_event_delete(&event);
		if (status != LS_OK)
			return status;
	}
	if (g->tree->count == 0)
		return complain(g, 1, 1, "nothing", "a value", NULL);
	return LS_OK;
}

ls_status ls_job__tree_parse(ls_job__tree *out, const char *label, bool positions, const void *text, size_t len,
                             ls_error *err)
{
	struct grower g = {.tree = out, .label = label, .positions = positions, .err = err};
	yaml_parser_t parser;
	ls_status status;
	*out = (ls_job__tree){0};
	if (len > LS_JOB_BYTES_MAX)
		return ls_error_set(err, LS_ERR_LIMIT, "%s: found %zu bytes, expected at most %u", label, len,
		                    LS_JOB_BYTES_MAX);
	status = check_characters(&g, text, len);
	if (status != LS_OK)
		return status;
	out->node = ls_alloc(LS_JOB__NODES_MAX, sizeof *out->node);
	if (!out->node || !yaml_parser_initialize(&parser)) {
		ls_job__tree_free(out);
		return ls_error_set(err, LS_ERR_NOMEM, "%s: out of memory", label);
	}
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, text, len);
	status = grow(&g, &parser, text);
	yaml_parser_delete(&parser);
	if (status != LS_OK)
		ls_job__tree_free(out);
	return status;
}

void ls_job__tree_free(ls_job__tree *tree)
{
	for (uint32_t i = 0; tree->node && i < tree->count; i++)
		ls_free(tree->node[i].text);
	ls_free(tree->node);
	*tree = (ls_job__tree){0};
}
