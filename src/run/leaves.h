/* Internal to src/run: the leaves of a run and the places of its rounding log's blocks, in memory that hardly grows with the run.
 * Leaves lie in the file; of each whole group of LS_RUN__GROUP of them only the head of their subtree is kept, which what is read
 * again later must have: a file that changes meanwhile is noticed. The leaves behind the last whole group stay in memory. */
#ifndef LS_RUN_LEAVES_H
#define LS_RUN_LEAVES_H

#include <lockstep/commit.h>

#define LS_RUN__GROUP 256

typedef struct ls_leaves ls_leaves;
ls_status ls_leaves_open(ls_leaves **out, ls_hasher *hasher, ls_error *err);
void ls_leaves_free(ls_leaves *l);
uint64_t ls_leaves_count(const ls_leaves *l);
/* The leaf whose record stands next in the file. */
ls_status ls_leaves_push(ls_leaves *l, const ls_leaf *leaf, ls_error *err);
/* Leaf i < count. LS_ERR_IO where the file no longer holds what it held. */
ls_status ls_leaves_read(ls_leaves *l, ls_file *file, uint64_t i, ls_leaf *out, ls_error *err);
/* Forgets all but the first `count`, at most as many as there are. */
ls_status ls_leaves_cut(ls_leaves *l, ls_file *file, uint64_t count, ls_error *err);
/* Where the record of leaf i begins in the file; for i = count, where the next one will. */
uint64_t ls_leaves_place(uint64_t i);

/* Blocks of rounding-log/frames, one after the other. */
typedef struct ls_blocks {
	uint64_t count, end; /* where the next block's header will stand */
	uint64_t *mark;      /* where the header of every LS_RUN__GROUP-th one stands */
	uint64_t room;
	uint64_t seen, seen_at; /* the block found last, and its header's place: the next one is near */
} ls_blocks;

void ls_blocks_free(ls_blocks *b);
/* The next block, with its `len` bytes behind its header. */
ls_status ls_blocks_push(ls_blocks *b, uint64_t len, ls_error *err);
/* Where the bytes of block i < count lie. LS_ERR_IO where the file no longer holds what it held. */
ls_status ls_blocks_find(ls_blocks *b, ls_file *file, uint64_t i, uint64_t *at, uint64_t *len, ls_error *err);
ls_status ls_blocks_cut(ls_blocks *b, ls_file *file, uint64_t count, ls_error *err);

#endif
