/* Frames: reads them by reference and opens their sealed bodies (sections 2, 4 and 5). */
#include "internal.h"

#include <string.h>

vfr_status vfri_read(const vfr_vault *vault, uint64_t offset, void *buffer, size_t count) {
    const vfr_source *source = &vault->source;
    if (offset > source->size || count > source->size - offset) return VFR_STRUCTURE_INVALID;
    if (count == 0) return VFR_OK;
    return source->read(source->context, offset, buffer, count) == 0 ? VFR_OK : VFR_IO;
}

/* The types, with their limits (section 11). */
static const struct {
    char type[4];
    uint32_t least, greatest, step;
} types[] = {
    {{'v', 'R', 'E', 'C'}, VFRI_RECORD_MIN, VFRI_RECORD_MAX, 1},
    {{'v', 'C', 'H', 'K'}, VFRI_RECORD_MIN, VFRI_RECORD_MAX, 1},
    {{'v', 'P', 'A', 'G'}, 256, VFRI_PAGE_MAX, 256},
    {{'v', 'P', 'S', 'T'}, 256, VFRI_PAST_MAX, 256},
    {{'v', 'K', 'E', 'Y'}, 256, VFRI_KEYRING_MAX, 256},
    {{'v', 'V', 'E', 'C'}, 256, VFRI_VECTOR_MAX, 256},
};

bool vfri_is_possible(const char type[4], uint64_t length) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (memcmp(types[i].type, type, 4) != 0) continue;
        return length >= types[i].least && length <= types[i].greatest && length % types[i].step == 0;
    }
    return false;
}

bool vfri_is_placed(const vfr_vault *vault, const char type[4], uint64_t offset, uint64_t length, uint64_t before) {
    return vfri_is_possible(type, length) && offset >= vault->body && offset <= before && length <= before - offset;
}

vfr_status vfri_read_frame(vfr_vault *vault, const char type[4], vfr_reference reference, uint64_t before,
                           uint8_t **frame) {
    *frame = NULL;
    if (!vfri_is_placed(vault, type, reference.offset, reference.length, before)) return VFR_STRUCTURE_INVALID;
    size_t length = (size_t)reference.length;
    uint8_t *bytes = vfri_allocate(&vault->memory, length);
    if (bytes == NULL) return VFR_OUT_OF_BUDGET;
    vfr_status status = vfri_read(vault, reference.offset, bytes, length);
    uint8_t hash[32];
    if (status == VFR_OK) {
        vfri_hash state;
        vfri_hash_start(&state);
        vfri_hash_add(&state, bytes, length);
        vfri_hash_finish(&state, hash);
        if (!vfri_equal32(hash, reference.hash)) status = VFR_AUTHENTICATION_FAILED;
    }
    if (status == VFR_OK) {
        bool is_expected = memcmp(bytes, type, 4) == 0 && vfri_load32(bytes + 4) == length;
        if (!is_expected) status = VFR_STRUCTURE_INVALID;
    }
    if (status != VFR_OK) VFRI_RELEASE(&vault->memory, bytes);
    *frame = bytes;
    return status;
}

vfr_status vfri_open_frame(const vfr_vault *vault, const char *label, const uint8_t key[32], uint64_t offset,
                           uint8_t *frame, size_t length, vfr_bytes *body) {
    uint8_t place[8], ad[VFRI_AD];
    vfri_store64(place, offset);
    size_t count = vfri_frame_ad(vault, label, place, sizeof place, frame, ad);
    uint8_t *sealed = frame + VFRI_FRAME_HEAD;
    if (length < VFRI_FRAME_HEAD + VFRI_TAG) return VFR_STRUCTURE_INVALID;
    bool opened = vfri_unseal(key, frame + 8, ad, count, sealed, length - VFRI_FRAME_HEAD, sealed);
    if (!opened) return VFR_AUTHENTICATION_FAILED;
    *body = (vfr_bytes){sealed, length - VFRI_FRAME_HEAD - VFRI_TAG};
    return VFR_OK;
}

size_t vfri_frame_ad(const vfr_vault *vault, const char *label, const uint8_t *x, size_t count, const uint8_t *frame,
                     uint8_t ad[VFRI_AD]) {
    size_t length = strlen(label);
    uint8_t *at = ad;
    *at++ = (uint8_t)length;
    memcpy(at, label, length);
    memcpy(at + length, vault->id, 16);
    at += length + 16;
    memcpy(at, x, count);
    memcpy(at + count, frame, 8);
    return (size_t)(at - ad) + count + 8;
}

vfr_status vfri_load(vfr_vault *vault, const char type[4], const char *label, const uint8_t key[32],
                     vfr_reference reference, uint64_t before, uint8_t **frame, vfr_bytes *body) {
    vfr_status status = vfri_read_frame(vault, type, reference, before, frame);
    if (status != VFR_OK) return status;
    status = vfri_open_frame(vault, label, key, reference.offset, *frame, (size_t)reference.length, body);
    if (status != VFR_OK) VFRI_RELEASE(&vault->memory, *frame);
    return status;
}

void vfri_frame_padding(vfri_cursor *cursor) {
    vfri_require(cursor, cursor->left < 256);
    vfri_padding(cursor);
}

vfr_reference vfri_narrow(vfri_cursor *cursor) {
    vfr_reference reference;
    reference.offset = vfri_varint(cursor);
    reference.length = vfri_varint(cursor);
    reference.hash = vfri_fixed(cursor, 32);
    return reference;
}

vfr_reference vfri_wide(const vfri_reference *reference) {
    return (vfr_reference){reference->offset, reference->length, reference->hash};
}
