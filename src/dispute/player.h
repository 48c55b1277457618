/* Internal to src/dispute. */
#ifndef LS_DISPUTE_PLAYER_H
#define LS_DISPUTE_PLAYER_H

#include "dispute/rerun.h"

struct ls_player {
	ls_player_options o;
	ls_rerun rerun;
	/* what an auditor claims */
	bool entry_road;
	uint64_t leaf, step;
	ls_forgery forgery;
	/* what was computed for the dispute at hand */
	ls_dispute__record *records; /* of the leaf's steps */
	uint64_t record_count;
	bool has_roots, has_values;
};

/* The values and roots that a turn speaks of, computed once. */
ls_status ls_dispute__need_roots(ls_player *p, const ls_game_view *v, ls_error *err);
ls_status ls_dispute__need_values(ls_player *p, const ls_game_view *v, ls_error *err);
const ls_program *ls_dispute__program(const ls_player *p, uint64_t step);
/* Number of path hashes u8, and the path of `index` among `size` leaf hashes. */
ls_status ls_dispute__put_path(ls_player *p, ls_buf *out, const ls_hash *hashes, uint64_t size, uint64_t index, ls_error *err);
/* u32 length and the bytes. */
void ls_dispute__put_bytes(ls_buf *out, const void *data, size_t len);
/* Leaf hash of bytes in `leaf`. */
ls_status ls_dispute__hash(ls_player *p, const ls_buf *leaf, ls_hash *out, ls_error *err);
/* The step leaf of an op before the disputed one, from roots at hand. */
ls_status ls_dispute__step_leaf(ls_player *p, ls_buf *out, uint64_t step, int op, const ls_hash *roots, ls_error *err);
/* Record of an op with its path in the program tree. */
ls_status ls_dispute__put_record(ls_player *p, ls_buf *out, uint64_t step, int op, ls_error *err);
/* State leaves before the step: `*leaves` buffers and their hashes, freed by ls_dispute__free_state. */
ls_status ls_dispute__state_leaves(ls_player *p, ls_buf **leaves, ls_hash **hashes, int *count, ls_error *err);
void ls_dispute__free_state(ls_buf *leaves, ls_hash *hashes, int count);

/* Turns that speak of values: src/dispute/values.c. */
ls_status ls_dispute__turn_groups(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err);
ls_status ls_dispute__turn_chunk(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err);
ls_status ls_dispute__turn_entry(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err);
ls_status ls_dispute__turn_sums(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err);
ls_status ls_dispute__turn_open(ls_player *p, const ls_game_view *v, ls_buf *out, ls_error *err);

#endif
