#include "report/page.h"

enum { WIDTH = 800, HEIGHT = 260, LEFT = 70, RIGHT = 15, TOP = 15, BOTTOM = 40, COLUMNS = WIDTH - LEFT - RIGHT, TICKS = 5 };

// What one column of the picture shows.
struct column {
	double sum, low, high;
	uint64_t count;
};

struct plot {
	uint64_t x0, x1;
	double low, high; // of the y axis
	double tick;      // between two marks of the y axis
	struct column column[COLUMNS + 1];
};

// Beyond this, differences of two numbers would not be finite.
static const double largest = 1e300;

static bool drawable(double v)
{
	return v >= -largest && v <= largest;
}

static int column_of(const struct plot *p, uint64_t x)
{
	return p->x1 > p->x0 ? (int)((double)(x - p->x0) / (double)(p->x1 - p->x0) * COLUMNS) : COLUMNS / 2;
}

// False where there is nothing to draw.
static bool collect(struct plot *p, const ls_chart *chart)
{
	bool any = false;
	*p = (struct plot){0};
	for (size_t i = 0; i < chart->count; i++)
		if (drawable(chart->point[i].y)) {
			p->x0 = any ? p->x0 : chart->point[i].x;
			p->x1 = chart->point[i].x;
			any = true;
		}
	for (size_t i = 0; any && i < chart->count; i++) {
		double y = chart->point[i].y;
		struct column *c;
		if (!drawable(y))
			continue;
		c = &p->column[column_of(p, chart->point[i].x)];
		c->low = !c->count || y < c->low ? y : c->low;
		c->high = !c->count || y > c->high ? y : c->high;
		c->sum += y;
		c->count++;
	}
	return any;
}

/* 1, 2 or 5 times a power of ten, so that about TICKS of them make the range. */
static double tick_for(double range)
{
	static const double steps[] = {2, 2.5, 2}; // from 1 to 2, to 5, to 10
	double tick = 1;
	int at = 0;
	while (tick * TICKS > range * 10)
		tick /= 10;
	while (tick * TICKS < range) {
		tick *= steps[at];
		at = (at + 1) % 3;
	}
	return tick;
}

/* Ends the axis on marks. */
static void choose_scale(struct plot *p, bool from_zero)
{
	double range;
	bool first = true;
	for (int i = 0; i <= COLUMNS; i++) {
		if (!p->column[i].count)
			continue;
		p->low = first || p->column[i].low < p->low ? p->column[i].low : p->low;
		p->high = first || p->column[i].high > p->high ? p->column[i].high : p->high;
		first = false;
	}
	if (from_zero)
		p->low = 0;
	range = p->high - p->low;
	if (range < 1 / largest) {
		range = p->high < 0 ? -p->high : p->high;
		range = range > 1 / largest ? range : 1;
	}
	p->tick = tick_for(range);
}

static double floor_to(double v, double tick)
{
	double n = v / tick;
	if (n > 1e15 || n < -1e15)
		return v;
	double whole = (double)(int64_t)n;
	return (whole > n ? whole - 1 : whole) * tick;
}

static double height_of(const struct plot *p, double y)
{
	return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (y - p->low) / (p->high - p->low));
}

// Marks of the x axis between its ends, where they do not run into the numbers there.
static void draw_steps(ls_buf *out, const struct plot *p)
{
	double range = (double)(p->x1 - p->x0), tick = tick_for(range);
	int marks = 0;
	if (range < TICKS)
		return;
	for (uint64_t step = (uint64_t)tick, x = (p->x0 / step + 1) * step; x < p->x1 && marks < 2 * TICKS; x += step, marks++) {
		int at = LEFT + column_of(p, x);
		ls_buf_printf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", at, at, HEIGHT - BOTTOM, HEIGHT - BOTTOM + 4);
		if (at > LEFT + 60 && at < WIDTH - RIGHT - 90)
			ls_buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%llu</text>\n", at, HEIGHT - BOTTOM + 18, (unsigned long long)x);
	}
}

static void draw_axes(ls_buf *out, struct plot *p, const ls_chart *chart)
{
	int lines = 0;
	double top = floor_to(p->high, p->tick);
	p->low = floor_to(p->low, p->tick);
	p->high = top >= p->high && top > p->low ? top : top + p->tick; // 100 % stays the top
	for (double y = p->low; y <= p->high + p->tick / 2 && lines <= 2 * TICKS; y += p->tick, lines++) {
		double at = height_of(p, y), shown = y < p->tick / 2 && y > -p->tick / 2 ? 0 : y;
		ls_buf_printf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, WIDTH - RIGHT, at, at);
		ls_buf_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", LEFT - 6, at + 4, shown);
	}
	draw_steps(out, p);
	ls_buf_printf(out, "<text x=\"%d\" y=\"%d\">%llu</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%llu</text>", LEFT,
	              HEIGHT - BOTTOM + 18, (unsigned long long)p->x0, WIDTH - RIGHT, HEIGHT - BOTTOM + 18, (unsigned long long)p->x1);
	ls_buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", LEFT + COLUMNS / 2, HEIGHT - 6);
	ls_report__escape(out, chart->x_label, strlen(chart->x_label));
	ls_buf_printf(out, "</text>\n");
}

// Least and greatest of each column, there and back.
static void draw_band(ls_buf *out, const struct plot *p)
{
	ls_buf_printf(out, "<polygon class=\"band\" points=\"");
	for (int i = 0; i <= COLUMNS; i++)
		if (p->column[i].count)
			ls_buf_printf(out, "%d,%.1f ", LEFT + i, height_of(p, p->column[i].high));
	for (int i = COLUMNS; i >= 0; i--)
		if (p->column[i].count)
			ls_buf_printf(out, "%d,%.1f ", LEFT + i, height_of(p, p->column[i].low));
	ls_buf_printf(out, "\"/>\n");
}

static void draw_curve(ls_buf *out, const struct plot *p, bool marks)
{
	ls_buf_printf(out, "<polyline class=\"curve\" points=\"");
	for (int i = 0; i <= COLUMNS; i++)
		if (p->column[i].count)
			ls_buf_printf(out, "%d,%.1f ", LEFT + i, height_of(p, p->column[i].sum / (double)p->column[i].count));
	ls_buf_printf(out, "\"/>\n");
	for (int i = 0; marks && i <= COLUMNS; i++)
		if (p->column[i].count)
			ls_buf_printf(out, "<circle class=\"mark\" cx=\"%d\" cy=\"%.1f\" r=\"4\"/>\n", LEFT + i,
			              height_of(p, p->column[i].sum / (double)p->column[i].count));
}

void ls_page_chart(ls_page *page, const ls_chart *chart)
{
	ls_buf *out = &page->html;
	struct plot p;
	if (!collect(&p, chart))
		return;
	choose_scale(&p, chart->from_zero);
	ls_buf_printf(out, "<figure>\n<figcaption>");
	ls_report__escape(out, chart->title, strlen(chart->title));
	ls_buf_printf(out, "</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
	ls_report__escape(out, chart->title, strlen(chart->title));
	ls_buf_printf(out, "\">\n");
	draw_axes(out, &p, chart);
	draw_band(out, &p);
	draw_curve(out, &p, chart->marks);
	ls_buf_printf(out, "</svg>\n</figure>\n");
}
