/* Commits: opens, decodes and checks a commit (section 5.6). */
#include "internal.h"

#include <string.h>

enum { CORE = 368, SYNCED = 1 };

static void decode_wide(vfri_cursor *cursor, vfri_reference *reference) {
    reference->offset = vfri_u64(cursor);
    reference->length = vfri_u32(cursor);
    vfri_reserved(cursor, 4);
    memcpy(reference->hash, vfri_fixed(cursor, 32), 32);
}

/* Decodes the core. A malformed core is only recorded here, because the proof is checked first (section 7.1, step
 * 6). */
static void decode_core(const uint8_t core[CORE], vfri_commit *commit) {
    vfri_cursor cursor = vfri_cursor_of(core, CORE);
    commit->generation = vfri_u64(&cursor);
    commit->previous_generation = vfri_u64(&cursor);
    memcpy(commit->previous_chain, vfri_fixed(&cursor, 32), 32);
    commit->own_offset = vfri_u64(&cursor);
    commit->start = vfri_u64(&cursor);
    commit->clock = vfri_u64(&cursor);
    commit->floor = vfri_u64(&cursor);
    commit->flags = vfri_u32(&cursor);
    vfri_reserved(&cursor, 4);
    commit->root.offset = vfri_u64(&cursor);
    commit->root.length = vfri_u32(&cursor);
    commit->root_level = vfri_u8(&cursor);
    vfri_reserved(&cursor, 3);
    memcpy(commit->root.hash, vfri_fixed(&cursor, 32), 32);
    decode_wide(&cursor, &commit->keyring);
    decode_wide(&cursor, &commit->vector);
    memcpy(commit->header_hash, vfri_fixed(&cursor, 32), 32);
    memcpy(commit->digest, vfri_fixed(&cursor, 32), 32);
    commit->items = vfri_u64(&cursor);
    commit->forgotten = vfri_u64(&cursor);
    commit->pasts = vfri_u64(&cursor);
    commit->live_bytes = vfri_u64(&cursor);
    commit->own_replica = vfri_u64(&cursor);
    commit->own_revision = vfri_u64(&cursor);
    vfri_reserved(&cursor, 24);
    commit->reserved_is_zero = !cursor.failed && cursor.left == 0;
}

bool vfri_open_commit(const vfr_vault *vault, uint64_t offset, const uint8_t frame[VFRI_BLOCK], vfri_commit *commit) {
    uint8_t copy[VFRI_BLOCK];
    vfr_bytes body;
    memcpy(copy, frame, sizeof copy);
    memset(commit, 0, sizeof *commit);
    if (memcmp(copy, "vCMT\0\2\0\0", 8) != 0) return false;
    const uint8_t *key = vault->keys.index;
    if (vfri_open_frame(vault, "vaultfmt-1 commit", key, offset, copy, sizeof copy, &body) != VFR_OK) return false;
    commit->offset = offset;
    decode_core(body.data, commit);
    memcpy(commit->owner_mac, body.data + CORE, 32);
    memcpy(commit->signature, body.data + CORE + 32, 64);
    vfri_hash hash;
    vfri_hash_start(&hash);
    vfri_hash_label(&hash, "vaultfmt-1 chain");
    vfri_hash_add(&hash, vault->id, 16);
    vfri_hash_add(&hash, body.data, CORE);
    vfri_hash_finish(&hash, commit->chain);
    vfri_wipe(copy, sizeof copy);
    return true;
}

/* checks the MAC for owners, or the signature for others. */
static bool proof_holds(const vfr_vault *vault, const vfri_commit *commit) {
    if (vault->keys.full) {
        uint8_t mac[32];
        vfri_derive(mac, vault->keys.owner, "vaultfmt-1 commit owner", commit->chain, 32);
        return vfri_equal32(mac, commit->owner_mac);
    }
    static const char label[] = "vaultfmt-1 commit";
    uint8_t message[1 + sizeof label - 1 + 32];
    message[0] = sizeof label - 1;
    memcpy(message + 1, label, sizeof label - 1);
    memcpy(message + sizeof label, commit->chain, 32);
    return vfri_verify(commit->signature, message, sizeof message, vault->keys.owner_public);
}

static bool numbers_are_valid(const vfr_vault *vault, const vfri_commit *commit) {
    bool first = commit->previous_generation == 0;
    uint64_t end = commit->offset + VFRI_BLOCK;
    if (commit->generation < 1 || commit->generation > VFRI_NUMBER_MAX) return false; /* */
    if (commit->generation <= commit->previous_generation || first != (commit->generation == 1)) return false;
    if (first && (commit->start != vault->body || !vfri_is_zero(commit->previous_chain, 32))) return false;
    if (commit->own_offset != commit->offset || commit->start % VFRI_BLOCK != 0) return false; /* */
    if (commit->start < vault->body || commit->start > commit->offset) return false;
    if (commit->items > end || commit->forgotten > end || commit->pasts > commit->items) return false;
    if (commit->live_bytes > end) return false;
    if (commit->clock < 1 || commit->clock > VFRI_NUMBER_MAX) return false; /* */
    if (commit->floor > commit->clock) return false;
    if (commit->own_revision != (commit->own_replica != 0 ? commit->clock : 0)) return false;
    return (commit->flags & SYNCED) != 0 || commit->offset - commit->start <= VFRI_INLINE_COMMIT; /* */
}

static bool references_are_valid(const vfr_vault *vault, const vfri_commit *commit) {
    const vfri_reference *root = &commit->root;
    bool empty = root->offset == 0 && root->length == 0 && commit->root_level == 0 && vfri_is_zero(root->hash, 32);
    if (!empty && !vfri_is_placed(vault, "vPAG", root->offset, root->length, commit->offset)) return false;
    return commit->root_level < VFRI_LEVELS &&
           vfri_is_placed(vault, "vKEY", commit->keyring.offset, commit->keyring.length, commit->offset) &&
           vfri_is_placed(vault, "vVEC", commit->vector.offset, commit->vector.length, commit->offset);
}

vfr_status vfri_check_commit(const vfr_vault *vault, const vfri_commit *commit) {
    if (!proof_holds(vault, commit)) return VFR_AUTHENTICATION_FAILED;
    if (!commit->reserved_is_zero || commit->flags > SYNCED) return VFR_STRUCTURE_INVALID;
    if (!numbers_are_valid(vault, commit) || !references_are_valid(vault, commit)) return VFR_STRUCTURE_INVALID;
    return vfri_equal32(commit->header_hash, vault->header_hash) ? VFR_OK : VFR_AUTHENTICATION_FAILED; /* */
}

/* Hashes the frames that a commit appended; returns false if the frames or the padding are malformed. */
static bool digest_frames(const uint8_t *bytes, size_t count, uint8_t digest[32]) {
    vfri_cursor cursor = vfri_cursor_of(bytes, count);
    vfri_hash all;
    vfri_hash_start(&all);
    vfri_hash_label(&all, "vaultfmt-1 digest");
    while (cursor.left >= 8 && !vfri_is_zero(cursor.at, 4)) {
        uint32_t length = vfri_load32(cursor.at + 4);
        if (!vfri_is_possible((const char *)cursor.at, length)) return false;
        vfr_bytes frame = vfri_take(&cursor, length);
        if (cursor.failed) return false;
        uint8_t hash[32];
        vfri_hash one;
        vfri_hash_start(&one);
        vfri_hash_add(&one, frame.data, frame.length);
        vfri_hash_finish(&one, hash);
        vfri_hash_add(&all, hash, sizeof hash);
    }
    vfri_hash_finish(&all, digest);
    return cursor.left < VFRI_BLOCK && vfri_is_zero(cursor.at, cursor.left); /* */
}

vfr_status vfri_check_digest(vfr_vault *vault, const vfri_commit *commit, bool *right) {
    *right = true;
    if ((commit->flags & SYNCED) != 0) return VFR_OK;
    size_t count = (size_t)(commit->offset - commit->start); /* at most VFRI_INLINE_COMMIT */
    uint8_t *bytes = vfri_allocate(&vault->memory, count);
    if (bytes == NULL) return VFR_OUT_OF_BUDGET;
    uint8_t digest[32];
    vfr_status status = vfri_read(vault, commit->start, bytes, count);
    if (status == VFR_OK) *right = digest_frames(bytes, count, digest) && vfri_equal32(digest, commit->digest);
    vfri_release(&vault->memory, bytes);
    return status;
}
