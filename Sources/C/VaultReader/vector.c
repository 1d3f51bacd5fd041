/* Vectors: the changes that a state includes, and the replica ids of dots (sections 1 and 5.5). */
#include "internal.h"

#include <string.h>

#define SPLIT ((uint64_t)1 << 63)

/* ---- Dots ---- */

vfr_dot vfri_dot(vfri_cursor *cursor) {
    vfr_dot dot = {.revision = vfri_u64(cursor)};
    dot.position = vfri_varint(cursor);
    vfri_require(cursor, dot.revision >= 1 && dot.revision <= VFRI_NUMBER_MAX);
    return dot;
}

int vfri_compare_dots(const vfr_dot *left, const vfr_dot *right) {
    if (left->revision != right->revision) return left->revision < right->revision ? -1 : 1;
    return (left->position > right->position) - (left->position < right->position);
}

bool vfri_check_dot(const vfr_vault *vault, vfr_dot *dot) {
    const vfri_commit *commit = &vault->commit;
    if (dot->revision < 1 || dot->revision > commit->clock) return false;             /* */
    if ((dot->position == 0) != (dot->revision <= commit->floor)) return false;       /* */
    dot->replica = 0;
    if (!vault->has_rows || dot->position == 0) return true;
    if (dot->position > vault->rows.count) return false;                              /* */
    const vfr_row *row = &vault->rows.rows[dot->position - 1];
    dot->replica = row->replica;
    return dot->revision <= row->revision;
}

/* ---- Frames of rows ---- */

static vfr_row row_of(uint64_t replica, uint64_t revision) {
    return (vfr_row){replica, revision & ~SPLIT, (revision & SPLIT) != 0};
}

/* An opened frame, decoded up to its changed rows. */
typedef struct frame {
    uint8_t *bytes;
    vfri_cursor cursor;
    uint8_t form;
    vfr_reference base;
} frame;

/* Performs all checks that do not need the base. The cursor is passed by value, so the caller's cursor
 * does not move. */
static bool check_alone(vfri_cursor cursor, uint8_t form) {
    size_t changed = form == 1 ? vfri_count(&cursor, VFRI_CHANGED_ROWS) : 0;
    uint64_t last = 0;
    for (size_t i = 0; i < changed && !cursor.failed; i++) {
        uint64_t position = vfri_varint(&cursor);
        vfri_require(&cursor, position > last && position <= VFRI_ROWS);
        vfri_require(&cursor, (vfri_u64(&cursor) & ~SPLIT) > 0);
        last = position;
    }
    size_t further = vfri_count(&cursor, VFRI_ROWS);
    for (size_t i = 0; i < further && !cursor.failed; i++) {
        vfri_require(&cursor, vfri_u64(&cursor) != 0);
        vfri_require(&cursor, (vfri_u64(&cursor) & ~SPLIT) > 0);
    }
    vfri_frame_padding(&cursor);
    if (form == 1) vfri_require(&cursor, changed + further >= 1 && changed + further <= VFRI_CHANGED_ROWS);
    return !cursor.failed;
}

static vfr_status open_rows(vfr_vault *vault, vfr_reference reference, uint64_t before, frame *out) {
    vfr_bytes body;
    vfr_status status = vfri_load(vault, "vVEC", "vaultfmt-1 vector", vault->keys.index, reference, before, &out->bytes,
                                  &body);
    if (status != VFR_OK) return status;
    out->cursor = vfri_cursor_of(body.data, body.length);
    out->form = vfri_u8(&out->cursor);
    vfri_require(&out->cursor, out->form <= 1);
    if (out->form == 1) out->base = vfri_narrow(&out->cursor);
    return out->cursor.failed || !check_alone(out->cursor, out->form) ? VFR_STRUCTURE_INVALID : VFR_OK;
}

/* Reads the further rows of a frame, and appends them to the existing rows in new memory. */
static vfr_status append_rows(vfr_vault *vault, vfri_cursor *cursor, size_t further, uint64_t floor, vfri_rows *rows) {
    size_t count = rows->count + further; /* both are at most VFRI_ROWS */
    vfri_require(cursor, further <= cursor->left / 16 && count >= 1 && count <= VFRI_ROWS);
    if (cursor->failed) return VFR_STRUCTURE_INVALID;
    vfr_row *all = vfri_allocate_array(&vault->memory, count, sizeof *all);
    if (all == NULL) return VFR_OUT_OF_BUDGET;
    if (rows->count > 0) memcpy(all, rows->rows, rows->count * sizeof *all);
    for (size_t i = rows->count; i < count; i++) {
        uint64_t replica = vfri_u64(cursor);
        all[i] = row_of(replica, vfri_u64(cursor));
        vfri_require(cursor, replica != 0 && all[i].revision > floor); /* */
    }
    vfri_frame_padding(cursor);
    vfri_release(&vault->memory, rows->rows);
    rows->rows = all;
    rows->count = count;
    return cursor->failed ? VFR_STRUCTURE_INVALID : VFR_OK;
}

/* Restores the order of a heap of rows, whose root is at `at`. */
static void sift(vfr_row *rows, size_t at, size_t count) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && rows[child].replica < rows[child + 1].replica) child++;
        if (rows[at].replica >= rows[child].replica) return;
        vfr_row row = rows[at];
        rows[at] = rows[child];
        rows[child] = row;
        at = child;
    }
}

static void sort(vfr_row *rows, size_t count) {
    for (size_t i = count / 2; i > 0; i--) sift(rows, i - 1, count);
    for (size_t end = count; end > 1; end--) {
        vfr_row row = rows[0];
        rows[0] = rows[end - 1];
        rows[end - 1] = row;
        sift(rows, 0, end - 1);
    }
}

vfr_status vfri_sort_rows(vfri_memory *memory, const vfr_row *rows, size_t count, vfr_row **sorted) {
    *sorted = vfri_allocate_array(memory, count, sizeof **sorted);
    if (*sorted == NULL) return VFR_OUT_OF_BUDGET;
    if (count > 0) memcpy(*sorted, rows, count * sizeof **sorted);
    sort(*sorted, count);
    for (size_t i = 1; i < count; i++) {
        if ((*sorted)[i - 1].replica == (*sorted)[i].replica) return VFR_STRUCTURE_INVALID;
    }
    return VFR_OK;
}

const vfr_row *vfri_find_row(const vfr_row *sorted, size_t count, uint64_t replica) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle].replica == replica) return &sorted[middle];
        if (sorted[middle].replica < replica) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

/* Applies a frame's changed rows to the rows of its base. */
static void change_rows(vfri_cursor *cursor, size_t changed, vfri_rows *rows) {
    uint64_t last = 0;
    for (size_t i = 0; i < changed && !cursor->failed; i++) {
        uint64_t position = vfri_varint(cursor);
        uint64_t revision = vfri_u64(cursor);
        vfri_require(cursor, position > last && position <= rows->count);
        if (cursor->failed) return;
        vfr_row *row = &rows->rows[position - 1];
        vfr_row next = row_of(row->replica, revision);
        vfri_require(cursor, next.revision >= row->revision && (next.split || !row->split));
        vfri_require(cursor, next.revision != row->revision || next.split != row->split);
        *row = next;
        last = position;
    }
}

/* Reads a frame of form 1, and its base. */
static vfr_status read_with_base(vfr_vault *vault, frame *top, uint64_t offset, uint64_t floor, vfri_rows *rows) {
    frame base = {0};
    vfr_status status = open_rows(vault, top->base, offset, &base);
    if (status == VFR_OK && base.form != 0) status = VFR_STRUCTURE_INVALID;
    size_t further = vfri_count(&base.cursor, VFRI_ROWS);
    if (status == VFR_OK) status = append_rows(vault, &base.cursor, further, floor, rows);
    VFRI_RELEASE(&vault->memory, base.bytes);
    if (status != VFR_OK) return status;
    size_t changed = vfri_count(&top->cursor, VFRI_CHANGED_ROWS);
    change_rows(&top->cursor, changed, rows);
    further = vfri_count(&top->cursor, VFRI_ROWS);
    return append_rows(vault, &top->cursor, further, floor, rows);
}

vfr_status vfri_read_rows(vfr_vault *vault, vfr_reference reference, uint64_t before, uint64_t floor, vfri_rows *rows) {
    frame top = {0};
    *rows = (vfri_rows){0};
    vfr_status status = open_rows(vault, reference, before, &top);
    if (status == VFR_OK && top.form == 1) {
        status = read_with_base(vault, &top, reference.offset, floor, rows);
    } else if (status == VFR_OK) {
        size_t further = vfri_count(&top.cursor, VFRI_ROWS);
        status = append_rows(vault, &top.cursor, further, floor, rows);
    }
    VFRI_RELEASE(&vault->memory, top.bytes);
    if (status == VFR_OK) status = vfri_sort_rows(&vault->memory, rows->rows, rows->count, &rows->sorted);
    if (status != VFR_OK) vfri_release_rows(vault, rows);
    return status;
}

void vfri_release_rows(vfr_vault *vault, vfri_rows *rows) {
    VFRI_RELEASE(&vault->memory, rows->rows);
    VFRI_RELEASE(&vault->memory, rows->sorted);
    rows->count = 0;
}

/* ---- The state's vector ---- */

/* Sets the own row to the commit's revision, and compares the clock. */
static bool complete(const vfri_commit *commit, vfri_rows *rows) {
    uint64_t greatest = commit->floor;
    bool found = commit->own_replica == 0;
    for (size_t i = 0; i < rows->count; i++) {
        vfr_row *row = &rows->rows[i];
        if (commit->own_replica != 0 && row->replica == commit->own_replica) {
            if (row->split || row->revision > commit->own_revision) return false;
            row->revision = commit->own_revision;
            found = true;
        }
        if (row->revision > greatest) greatest = row->revision;
    }
    for (size_t i = 0; i < rows->count && commit->own_replica != 0; i++) {
        vfr_row *row = &rows->sorted[i];
        if (row->replica == commit->own_replica) row->revision = commit->own_revision;
    }
    return found && greatest == commit->clock;
}

vfr_status vfr_read_vector(vfr_vault *vault) {
    if (vault->has_rows) return VFR_OK;
    const vfri_commit *commit = &vault->commit;
    vfri_rows rows;
    vfr_status status = vfri_read_rows(vault, vfri_wide(&commit->vector), commit->offset, commit->floor, &rows);
    if (status != VFR_OK) return status;
    if (complete(commit, &rows)) {
        vault->rows = rows;
        vault->has_rows = true;
        if (vfri_check_keyring_dots(vault)) return VFR_OK;
        vault->has_rows = false;
        vault->rows = (vfri_rows){0};
        (void)vfri_check_keyring_dots(vault); /* resets the replica ids */
    }
    vfri_release_rows(vault, &rows);
    return VFR_STRUCTURE_INVALID;
}

size_t vfr_row_count(const vfr_vault *vault) {
    return vault->has_rows ? vault->rows.count : 0;
}

vfr_row vfr_get_row(const vfr_vault *vault, size_t index) {
    return index < vfr_row_count(vault) ? vault->rows.rows[index] : (vfr_row){0};
}
