/* State: finds the newest commit in a file that may be truncated, damaged or extended (section 7.1). */
#include "internal.h"

#include <string.h>

enum { CHUNK = 32768, HEAD = 8 };

static const uint8_t head[HEAD] = {'v', 'C', 'M', 'T', 0, 2, 0, 0};

/* Finds the end of the bytes before the reserve (step 3). */
static vfr_status skip_reserve(const vfr_vault *vault, uint8_t *chunk, uint64_t *end) {
    uint64_t size = vault->source.size;
    /* Zeros before this offset are not part of a reserve. */
    uint64_t least = size > VFRI_RESERVE ? size - VFRI_RESERVE : 0;
    uint64_t stop = least > VFRI_BLOCK ? least - VFRI_BLOCK : 0;
    uint64_t at = size;
    while (at > stop) {
        size_t count = at - stop < CHUNK ? (size_t)(at - stop) : CHUNK;
        vfr_status status = vfri_read(vault, at - count, chunk, count);
        if (status != VFR_OK) return status;
        size_t used = count;
        while (used > 0 && chunk[used - 1] == 0) used--;
        at -= count - used;
        if (used > 0) break;
    }
    /* `at` is the offset after the last nonzero byte, or `stop`. */
    uint64_t start = (at + VFRI_BLOCK - 1) / VFRI_BLOCK * VFRI_BLOCK;
    if (start < least) start = least;
    *end = start < size ? start : size;
    return VFR_OK;
}

/* Tries the head at `offset`; it does not open if the frame extends beyond the end of the file. */
static vfr_status open_at(const vfr_vault *vault, uint64_t offset, bool *opened, vfri_commit *commit) {
    uint8_t frame[VFRI_BLOCK];
    *opened = false;
    if (offset > vault->source.size || vault->source.size - offset < VFRI_BLOCK) return VFR_OK;
    vfr_status status = vfri_read(vault, offset, frame, sizeof frame);
    if (status == VFR_OK) *opened = vfri_open_commit(vault, offset, frame, commit);
    return status;
}

/* Finds the newest commit that opens, before `end` (steps 4 and 5). */
static vfr_status find_newest(const vfr_vault *vault, uint8_t *chunk, uint64_t end, vfri_commit *commit) {
    if (end < vault->body + VFRI_BLOCK) return VFR_AUTHENTICATION_FAILED;
    uint64_t least = end > VFRI_SEARCH && end - VFRI_SEARCH > vault->body ? end - VFRI_SEARCH : vault->body;
    uint64_t offset = (end - VFRI_BLOCK) / VFRI_BLOCK * VFRI_BLOCK;
    uint64_t chunk_start = offset + VFRI_BLOCK;
    size_t failed = 0;
    for (; offset >= least; offset -= VFRI_BLOCK) {
        if (offset < chunk_start) { /* read the blocks up to this one */
            uint64_t count = offset + VFRI_BLOCK < CHUNK ? offset + VFRI_BLOCK : CHUNK;
            chunk_start = offset + VFRI_BLOCK - count;
            vfr_status status = vfri_read(vault, chunk_start, chunk, (size_t)count);
            if (status != VFR_OK) return status;
        }
        const uint8_t *block = chunk + (offset - chunk_start);
        if (memcmp(block, head, HEAD) != 0) continue;
        if (vfri_open_commit(vault, offset, block, commit)) return VFR_OK;
        if (++failed == VFRI_HEADS) break;
    }
    return VFR_AUTHENTICATION_FAILED;
}

/* Finds and checks the predecessor of an incomplete generation (step 8). */
static vfr_status find_previous(vfr_vault *vault, vfri_commit *commit) {
    vfri_commit incomplete = *commit;
    if (incomplete.start == vault->body) return VFR_AUTHENTICATION_FAILED;
    bool opened, right;
    vfr_status status = open_at(vault, incomplete.start - VFRI_BLOCK, &opened, commit);
    if (status != VFR_OK) return status;
    if (!opened) return VFR_AUTHENTICATION_FAILED;
    status = vfri_check_commit(vault, commit);
    if (status != VFR_OK) return status;
    if (commit->generation != incomplete.previous_generation) return VFR_AUTHENTICATION_FAILED;
    if (!vfri_equal32(commit->chain, incomplete.previous_chain)) return VFR_AUTHENTICATION_FAILED;
    status = vfri_check_digest(vault, commit, &right);
    if (status == VFR_OK && !right) status = VFR_AUTHENTICATION_FAILED;
    return status;
}

/* Looks for heads at any offset of a tail, which ends at `end`. */
static vfr_status classify(const vfr_vault *vault, uint8_t *chunk, uint64_t start, uint64_t end, vfr_tail *tail) {
    *tail = VFR_TAIL_TORN;
    for (uint64_t at = start; end - at >= HEAD; ) {
        size_t count = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
        vfr_status status = vfri_read(vault, at, chunk, count);
        if (status != VFR_OK) return status;
        for (size_t i = 0; i + HEAD <= count; i++) {
            if (chunk[i] != head[0] || memcmp(chunk + i, head, HEAD) != 0) continue;
            bool opened;
            vfri_commit commit;
            status = open_at(vault, at + i, &opened, &commit);
            if (status != VFR_OK) return status;
            *tail = opened ? VFR_TAIL_INCOMPLETE : VFR_TAIL_DAMAGED;
            if (!opened) return VFR_OK;
        }
        at += count - (HEAD - 1);
    }
    return VFR_OK;
}

/* Finds the state, using a buffer of CHUNK bytes. */
static vfr_status find(vfr_vault *vault, uint8_t *chunk, bool writer_active) {
    uint64_t end;
    bool right;
    vfri_commit *commit = &vault->commit;
    vfr_status status = skip_reserve(vault, chunk, &end);
    if (status == VFR_OK) status = find_newest(vault, chunk, end, commit);
    if (status == VFR_OK) status = vfri_check_commit(vault, commit);
    if (status == VFR_OK) status = vfri_check_digest(vault, commit, &right);
    if (status == VFR_OK && !right) status = find_previous(vault, commit);
    if (status != VFR_OK) return status;
    uint64_t served = commit->offset + VFRI_BLOCK;
    if (served >= end) {
        vault->tail = VFR_TAIL_NONE;
        return VFR_OK;
    }
    vault->tail = VFR_TAIL_WRITING;
    return writer_active ? VFR_OK : classify(vault, chunk, served, end, &vault->tail);
}

vfr_status vfri_find_state(vfr_vault *vault, bool writer_active) {
    uint8_t *chunk = vfri_allocate(&vault->memory, CHUNK);
    if (chunk == NULL) return VFR_OUT_OF_BUDGET;
    vfr_status status = find(vault, chunk, writer_active);
    vfri_release(&vault->memory, chunk);
    return status;
}
