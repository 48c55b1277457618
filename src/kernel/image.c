#include "kernel/image.h"

#include "kernel/line.h"

// How far patches reach beyond the image on each side.
struct margins {
	int64_t top, bottom, left, right;
};

// A copy in progress.
struct job {
	const float *from;
	float *to;
	int64_t height, width, wide; // of an image; width of the copy's lines
	struct margins margins;
};

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

// Places first + step·i + tap·j, i < extent, j < kernel, of a line of `length`.
static void reach(const ls_patches *p, int64_t first, int64_t extent, int64_t kernel, int64_t length, int64_t *before, int64_t *behind)
{
	int64_t span = (kernel - 1) * p->tap, last = first + (extent - 1) * p->step;
	*before = larger(-(first + (span < 0 ? span : 0)), 0);
	*behind = larger(last + (span > 0 ? span : 0) - (length - 1), 0);
}

static struct margins margins_of(const ls_patches *p)
{
	struct margins m;
	reach(p, p->offset, p->out_height, p->kernel_height, p->height, &m.top, &m.bottom);
	reach(p, p->offset + p->skew, p->out_width, p->kernel_width, p->width, &m.left, &m.right);
	return m;
}

bool ls_kernel__is_inside(const ls_patches *p)
{
	struct margins m = margins_of(p);
	return p->divisor == 1 && !m.top && !m.bottom && !m.left && !m.right;
}

static void copy_plane(void *context, int64_t plane, int worker)
{
	const struct job *job = context;
	const struct margins *m = &job->margins;
	const float *from = job->from + plane * job->height * job->width;
	float *to = job->to + plane * (job->height + m->top + m->bottom) * job->wide;
	ls_line_clear(to, m->top * job->wide);
	to += m->top * job->wide;
	for (int64_t y = 0; y < job->height; y++, from += job->width, to += job->wide) {
		ls_line_clear(to, m->left);
		ls_line_copy(to + m->left, from, job->width);
		ls_line_clear(to + m->left + job->width, m->right);
	}
	ls_line_clear(to, m->bottom * job->wide);
}

// Not where the copy would be larger than all the patches together.
static bool is_worth_it(const ls_patches *p, const struct margins *m)
{
	int64_t places = p->kernel_height * p->kernel_width * p->out_height * p->out_width;
	return p->divisor == 1 && (p->height + m->top + m->bottom) * (p->width + m->left + m->right) <= places + p->height * p->width;
}

ls_status ls_kernel__image_surround(ls_image *image, ls_operand *o, const float **x, int64_t positions, ls_pool *pool, ls_error *err)
{
	ls_patches *p = &o->patches;
	struct job job;
	int64_t planes;
	size_t need;
	if (o->kind == LS_OPERAND_STRIDED || ls_kernel__is_inside(p))
		return LS_OK;
	job = (struct job){.from = *x, .height = p->height, .width = p->width, .margins = margins_of(p)};
	if (!is_worth_it(p, &job.margins))
		return LS_OK;
	job.wide = p->width + job.margins.left + job.margins.right;
	planes = positions / (p->out_height * p->out_width) * p->channels;
	need = (size_t)(planes * (p->height + job.margins.top + job.margins.bottom) * job.wide);
	if (need > image->room) {
		ls_free(image->x);
		image->x = ls_alloc(need, sizeof *image->x);
		image->room = image->x ? need : 0;
		if (!image->x)
			return ls_error_set(err, LS_ERR_NOMEM, "out of memory for images with room around them");
	}
	job.to = image->x;
	ls_pool_run(pool, planes, copy_plane, &job);
	*x = image->x;
	p->height += job.margins.top + job.margins.bottom;
	p->width = job.wide;
	p->offset += job.margins.top;
	p->skew += job.margins.left - job.margins.top;
	return LS_OK;
}

void ls_kernel__image_free(ls_image *image)
{
	ls_free(image->x);
	*image = (ls_image){0};
}
