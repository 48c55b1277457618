#include "kernel/tiles.h"

int64_t ls_kernel__divide_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

// As large as the caches like, but enough of them to keep every worker busy to the end.
ls_tiles ls_kernel__tiles(const ls_product *p, const ls_tile_wish *w)
{
	int64_t want = w->workers > 1 ? 4 * w->workers : 1, panels = ls_kernel__divide_up(p->columns, w->nr), blocks;
	ls_tiles t = {.down = ls_kernel__divide_up(p->rows, w->rows)};
	if (want > 1 && panels * t.down < want)
		t.down = clamp(ls_kernel__divide_up(want, panels), 1, ls_kernel__divide_up(p->rows, w->mr));
	t.rows = ls_kernel__divide_up(p->rows, t.down);
	t.columns = clamp(w->elements / t.rows, w->nr, w->columns);
	blocks = ls_kernel__divide_up(p->columns, t.columns);
	if (blocks * t.down < want)
		blocks = ls_kernel__divide_up(want, t.down);
	t.columns = ls_kernel__divide_up(ls_kernel__divide_up(p->columns, blocks), w->nr) * w->nr;
	t.down = ls_kernel__divide_up(p->rows, t.rows);
	t.across = ls_kernel__divide_up(p->columns, t.columns);
	return t;
}
