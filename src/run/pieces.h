/* Internal to src/run: pieces of large tensors, files that are named by their contents. What is the same from one snapshot to
 * the next is stored once. */
#ifndef LS_RUN_PIECES_H
#define LS_RUN_PIECES_H

#include <lockstep/run.h>

#define LS_RUN__PIECES "pieces"
#define LS_RUN__PIECE_WORDS (UINT64_C(1) << 20) /* 4 MiB, 4096 chunks: its root is a node of the tensor's tree */
/* Tensors up to this stand in the snapshot itself: 64 KiB are written in less time than the sync of a file of its own takes. */
#define LS_RUN__INLINE_WORDS (UINT64_C(1) << 14)
#define LS_RUN__PIECE_NAME 80 /* "pieces/", 64 hex digits, ".zst" */

bool ls_run__is_large(uint64_t words);
uint64_t ls_run__piece_count(uint64_t words); /* of a large tensor */

/* Writes pieces, snapshot after snapshot. */
typedef struct ls_pieces ls_pieces;
ls_status ls_pieces_open(ls_pieces **out, const char *run_dir, bool compress, ls_error *err);
void ls_pieces_free(ls_pieces *p);
/* Writes one, unless the last snapshot or this one has it already, and appends its root to `roots`. */
ls_status ls_pieces_write(ls_pieces *p, const void *words, uint64_t count, ls_buf *roots, ls_error *err);
/* Ends a snapshot: all its pieces are on the disk, under their names. */
ls_status ls_pieces_end(ls_pieces *p, ls_error *err);

/* Reads one into `count` words; what is not there or does not hash to its name is damage of that file. */
ls_status ls_run__read_piece(const ls_run *run, const ls_hash *root, uint64_t step, void *words, uint64_t count, ls_damage *damage,
                             ls_error *err);
/* The roots of pieces that a snapshot's bytes name are appended to `roots`; false where the bytes are none of a snapshot. */
bool ls_run__snapshot_pieces(const uint8_t *data, size_t len, ls_buf *roots);
/* Removes what no snapshot refers to, as a crash or an older snapshot leaves it. */
ls_status ls_run__sweep(const ls_run *run, ls_error *err);

#endif
