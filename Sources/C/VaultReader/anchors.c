/* Anchors: compares the state with a remembered one, using hand-overs if the key was replaced (section 7.2). */
#include "internal.h"

#include <string.h>

#define SPLIT ((uint64_t)1 << 63)

/* ---- Hand-overs ---- */

/* Checks the signature of a hand-over whose rows have been read. */
static bool is_valid(const vfr_vault *vault, const vfri_hand_over *hand_over, const vfri_rows *rows) {
    static const char label[] = "vaultfmt-1 hand-over";
    uint8_t message[sizeof label + 16 + 32 + 8 + 32], *at = message;
    vfri_hash hash;
    vfri_hash_start(&hash);
    for (size_t i = 0; i < rows->count; i++) {
        uint8_t row[16];
        vfri_store64(row, rows->sorted[i].replica);
        vfri_store64(row + 8, rows->sorted[i].revision | (rows->sorted[i].split ? SPLIT : 0));
        vfri_hash_add(&hash, row, sizeof row);
    }
    *at++ = sizeof label - 1;
    memcpy(at, label, sizeof label - 1);
    at += sizeof label - 1;
    memcpy(at, vault->id, 16);
    at += 16;
    vfri_hash_finish(&hash, at);
    at += 32;
    vfri_store64(at, hand_over->floor);
    memcpy(at + 8, hand_over->next, 32);
    return vfri_verify(hand_over->signature, message, sizeof message, hand_over->from);
}

static vfr_status read_rows(vfr_vault *vault, const vfri_hand_over *hand_over, vfri_rows *rows) {
    return vfri_read_rows(vault, hand_over->vector, vault->commit.keyring.offset, hand_over->floor, rows);
}

/* Returns whether a status means a fault in the file, rather than an unrelated
 * failure. */
static bool is_fault(vfr_status status) {
    return status == VFR_AUTHENTICATION_FAILED || status == VFR_STRUCTURE_INVALID;
}

vfr_status vfr_read_hand_over(vfr_vault *vault, size_t index, vfr_hand_over *out) {
    memset(out, 0, sizeof *out);
    if (index >= vault->keyring.hand_over_count) return VFR_NOT_FOUND;
    const vfri_hand_over *hand_over = &vault->keyring.hand_overs[index];
    vfri_rows rows;
    vfr_status status = read_rows(vault, hand_over, &rows);
    if (status != VFR_OK && !is_fault(status)) return status;
    memcpy(out->from, hand_over->from, 32);
    memcpy(out->next, hand_over->next, 32);
    out->floor = hand_over->floor;
    out->rows_status = status;
    if (status != VFR_OK) return VFR_OK;
    out->valid = is_valid(vault, hand_over, &rows);
    out->rows = rows.rows;
    out->row_count = rows.count;
    VFRI_RELEASE(&vault->memory, rows.sorted);
    return VFR_OK;
}

void vfr_release_hand_over(vfr_vault *vault, vfr_hand_over *hand_over) {
    VFRI_RELEASE(&vault->memory, hand_over->rows);
    hand_over->row_count = 0;
}

/* ---- Under one key ---- */

/* Returns whether a vector with a floor and sorted rows includes all of the given rows. */
static bool has_seen(const vfr_row *sorted, size_t count, uint64_t floor, const vfr_row *rows, size_t row_count) {
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].revision <= floor) continue;
        const vfr_row *row = vfri_find_row(sorted, count, rows[i].replica);
        if (row == NULL || rows[i].revision > row->revision) return false;
    }
    return true;
}

static vfr_status compare_rows(vfr_vault *vault, const vfr_anchor *anchor, vfr_verdict *verdict) {
    vfr_status status = vfr_read_vector(vault);
    if (status != VFR_OK) return status;
    vfr_row *sorted;
    status = vfri_sort_rows(&vault->memory, anchor->rows, anchor->row_count, &sorted);
    if (status == VFR_OK) {
        const vfri_rows *rows = &vault->rows;
        bool state_has = has_seen(rows->sorted, rows->count, vault->commit.floor, anchor->rows, anchor->row_count);
        bool anchor_has = has_seen(sorted, anchor->row_count, anchor->floor, rows->rows, rows->count);
        *verdict = state_has && anchor_has ? VFR_VERDICT_SAME
                   : state_has             ? VFR_VERDICT_DESCENDS
                   : anchor_has            ? VFR_VERDICT_OLDER
                                           : VFR_VERDICT_FORKED;
    } else if (status == VFR_STRUCTURE_INVALID) {
        status = VFR_INVALID_ARGUMENT; /* a duplicate replica id */
    }
    VFRI_RELEASE(&vault->memory, sorted);
    return status;
}

/* ---- Under keys that differ ---- */

/* The known facts about each hand-over. An unreadable hand-over may be valid and may cover any changes. */
typedef struct links {
    bool valid[VFRI_HAND_OVERS];
    vfr_status unread[VFRI_HAND_OVERS];
} links;

/* Marks the hand-overs that lead to the state's key, using only those in `uses`. */
static void mark_leading(const vfr_vault *vault, const bool *uses, bool *leading) {
    const vfri_keyring *keyring = &vault->keyring;
    memset(leading, 0, VFRI_HAND_OVERS * sizeof *leading);
    for (size_t round = 0; round < keyring->hand_over_count; round++) {
        for (size_t i = 0; i < keyring->hand_over_count; i++) {
            const uint8_t *next = keyring->hand_overs[i].next;
            bool leads = memcmp(next, vault->keys.owner_public, 32) == 0;
            for (size_t j = 0; j < keyring->hand_over_count; j++) {
                leads = leads || (leading[j] && memcmp(keyring->hand_overs[j].from, next, 32) == 0);
            }
            leading[i] = uses[i] && leads;
        }
    }
}

/* Marks the hand-overs that are reachable from the anchor's key, assuming that all are valid. */
static void mark_reached(const vfri_keyring *keyring, const uint8_t *owner, bool *reached) {
    memset(reached, 0, VFRI_HAND_OVERS * sizeof *reached);
    for (size_t round = 0; round < keyring->hand_over_count; round++) {
        for (size_t i = 0; i < keyring->hand_over_count; i++) {
            const uint8_t *from = keyring->hand_overs[i].from;
            reached[i] = reached[i] || memcmp(from, owner, 32) == 0;
            for (size_t j = 0; j < keyring->hand_over_count; j++) {
                reached[i] = reached[i] || (reached[j] && memcmp(keyring->hand_overs[j].next, from, 32) == 0);
            }
        }
    }
}

/* Reads the relevant hand-overs: those on a path from the anchor's key to the state's key. */
static vfr_status read_links(vfr_vault *vault, const uint8_t *owner, links *out) {
    bool all[VFRI_HAND_OVERS], leading[VFRI_HAND_OVERS], reached[VFRI_HAND_OVERS];
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < VFRI_HAND_OVERS; i++) all[i] = true;
    mark_leading(vault, all, leading);
    mark_reached(&vault->keyring, owner, reached);
    for (size_t i = 0; i < vault->keyring.hand_over_count; i++) {
        if (!leading[i] || !reached[i]) continue;
        const vfri_hand_over *hand_over = &vault->keyring.hand_overs[i];
        vfri_rows rows;
        vfr_status status = read_rows(vault, hand_over, &rows);
        if (status != VFR_OK && !is_fault(status)) return status;
        out->unread[i] = status;
        if (status == VFR_OK) out->valid[i] = is_valid(vault, hand_over, &rows);
        vfri_release_rows(vault, &rows);
    }
    return VFR_OK;
}

/* Determines the verdict. Unreadable hand-overs are either ignored or assumed to be valid and to cover everything. */
static vfr_status judge(vfr_vault *vault, const vfr_anchor *anchor, const links *known, bool trusting,
                        vfr_verdict *verdict) {
    const vfri_keyring *keyring = &vault->keyring;
    bool uses[VFRI_HAND_OVERS], leading[VFRI_HAND_OVERS];
    for (size_t i = 0; i < VFRI_HAND_OVERS; i++) uses[i] = known->valid[i] || (trusting && known->unread[i] != VFR_OK);
    mark_leading(vault, uses, leading);
    uint8_t *covered = vfri_allocate(&vault->memory, anchor->row_count);
    if (covered == NULL) return VFR_OUT_OF_BUDGET;
    vfr_status status = VFR_OK;
    bool leads = false;
    for (size_t i = 0; i < keyring->hand_over_count && status == VFR_OK; i++) {
        const vfri_hand_over *hand_over = &keyring->hand_overs[i];
        if (!leading[i] || memcmp(hand_over->from, anchor->owner, 32) != 0) continue;
        leads = true;
        vfri_rows rows = {0};
        if (known->valid[i]) status = read_rows(vault, hand_over, &rows);
        for (size_t j = 0; j < anchor->row_count && status == VFR_OK; j++) {
            bool covers = !known->valid[i] || has_seen(rows.sorted, rows.count, hand_over->floor, &anchor->rows[j], 1);
            if (covers) covered[j] = 1;
        }
        vfri_release_rows(vault, &rows);
    }
    bool all = true; /* every row is covered, not necessarily by the same hand-over */
    for (size_t j = 0; j < anchor->row_count; j++) all = all && covered[j] == 1;
    *verdict = !leads ? VFR_VERDICT_FOREIGN : all ? VFR_VERDICT_DESCENDS : VFR_VERDICT_FORKED;
    VFRI_RELEASE(&vault->memory, covered);
    return status;
}

static vfr_status compare_keys(vfr_vault *vault, const vfr_anchor *anchor, vfr_verdict *verdict) {
    links known;
    vfr_verdict greatest = VFR_VERDICT_NONE;
    vfr_status status = read_links(vault, anchor->owner, &known);
    if (status == VFR_OK) status = judge(vault, anchor, &known, false, verdict);
    if (status == VFR_OK) status = judge(vault, anchor, &known, true, &greatest);
    for (size_t i = 0; i < VFRI_HAND_OVERS && status == VFR_OK; i++) {
        if (*verdict != greatest) status = known.unread[i];
    }
    if (status != VFR_OK) *verdict = VFR_VERDICT_NONE;
    return status;
}

vfr_status vfr_compare(vfr_vault *vault, const vfr_anchor *anchor, vfr_verdict *verdict) {
    *verdict = VFR_VERDICT_NONE;
    if (anchor->row_count > VFRI_ROWS) return VFR_INVALID_ARGUMENT;
    if (memcmp(anchor->owner, vault->keys.owner_public, 32) != 0) return compare_keys(vault, anchor, verdict);
    if (!vfri_equal32(anchor->chain, vault->commit.chain)) return compare_rows(vault, anchor, verdict);
    *verdict = VFR_VERDICT_SAME;
    return VFR_OK;
}
