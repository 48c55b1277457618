/* Images with room around them. Patches at an image's edge reach beyond it, where there are no terms; a copy that has zeros
 * there makes every place of a patch an element, so that packing needs no test for any.
 */
#ifndef LS_KERNEL_IMAGE_H
#define LS_KERNEL_IMAGE_H

#include <lockstep/kernel.h>

/* Do all patches lie inside their image? */
bool ls_kernel__is_inside(const ls_patches *patches);

/* Room for one copy. Start from {0}; memory grows as needed and is kept. */
typedef struct ls_image {
	float *x;
	size_t room; /* numbers */
} ls_image;

/* Where the operand's patches reach beyond their images: copies the images, and makes operand and *x those of the copy, whose
 * patches have the same elements and read zeros elsewhere. Others, and patches between whose elements there are gaps, stay
 * as they are. `positions`: of all images. */
ls_status ls_kernel__image_surround(ls_image *image, ls_operand *operand, const float **x, int64_t positions, ls_pool *pool,
                                    ls_error *err);
void ls_kernel__image_free(ls_image *image);

#endif
