/* How a product is cut into tiles, each of which one worker computes at a time. No bit depends on it. */
#ifndef LS_KERNEL_TILES_H
#define LS_KERNEL_TILES_H

#include <lockstep/op.h>

typedef struct ls_tile_wish {
	int workers;
	int mr, nr;                       /* rows and columns of a register tile */
	int64_t rows, columns, elements;  /* most of a tile */
} ls_tile_wish;

/* Tile number t is tile t / across of the rows and t mod across of the columns; the last ones may be smaller. */
typedef struct ls_tiles {
	int64_t rows, columns; /* of a tile */
	int64_t down, across;
} ls_tiles;

ls_tiles ls_kernel__tiles(const ls_product *product, const ls_tile_wish *wish);
int64_t ls_kernel__divide_up(int64_t a, int64_t b);

#endif
