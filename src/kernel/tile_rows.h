/* The number of rows of a register tile as a constant: expands CALL, a macro of one argument, with the constant that m is. Include
 * it behind TILE_ROWS, the most rows there are: 6, or 14. */
#ifndef LS_KERNEL_TILE_ROWS_H
#define LS_KERNEL_TILE_ROWS_H

#define LS_TILE_CASE(CALL, rows) case rows: CALL(rows); break;
#define LS_TILE_UP_TO_6(CALL) \
	LS_TILE_CASE(CALL, 1) LS_TILE_CASE(CALL, 2) LS_TILE_CASE(CALL, 3) LS_TILE_CASE(CALL, 4) LS_TILE_CASE(CALL, 5) LS_TILE_CASE(CALL, 6)
#if TILE_ROWS == 6
#define LS_TILE_BY_ROWS(m, CALL) switch (m) { LS_TILE_UP_TO_6(CALL) }
#else
#define LS_TILE_BY_ROWS(m, CALL) \
	switch (m) { \
	LS_TILE_UP_TO_6(CALL) LS_TILE_CASE(CALL, 7) LS_TILE_CASE(CALL, 8) LS_TILE_CASE(CALL, 9) LS_TILE_CASE(CALL, 10) \
	LS_TILE_CASE(CALL, 11) LS_TILE_CASE(CALL, 12) LS_TILE_CASE(CALL, 13) LS_TILE_CASE(CALL, 14) \
	}
#endif

#endif
