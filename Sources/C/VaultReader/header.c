/* The header: its hash, slots and extensions, all checked before a slot is tried (section 3). */
#include "internal.h"

#include <string.h>

enum { FIRST_SLOT = 68, HASH_SIZE = 32, TRAILER = 64 };

static const uint8_t magic[8] = {0x89, 0x56, 0x41, 0x55, 0x4C, 0x54, 0x0D, 0x0A};

uint8_t vfri_slot_kind(const vfri_slot *slot) {
    return slot->bytes[20];
}

uint8_t vfri_slot_factors(const vfri_slot *slot) {
    return slot->bytes[21];
}

static bool is_known(uint8_t kind, uint8_t factors) {
    if (kind != 0x01 && kind != 0x82) return false;
    switch (factors) {
    case 0x01:
    case 0x02:
    case 0x03:
    case 0x04:
    case 0x05:
    case 0x08:
    case 0x10:
    case 0x11: return true;
    default: return false;
    }
}

/* Decodes the parameters of a known slot; they must fill the stated length. */
static void decode_parameters(vfr_bytes bytes, uint8_t factors, vfri_slot *slot, vfri_cursor *outer) {
    vfri_cursor cursor = vfri_cursor_of(bytes.data, bytes.length);
    if ((factors & 0x05) != 0) {
        slot->memory = vfri_u32(&cursor);
        slot->passes = vfri_u32(&cursor);
        slot->lanes = vfri_u32(&cursor);
        (void)vfri_fixed(&cursor, 32); /* the salt: bytes 44 to 76 of the slot */
        vfri_require(&cursor, slot->lanes >= 1 && slot->lanes < 1U << 24 && slot->passes >= 1); /* */
        vfri_require(&cursor, slot->memory >= 8 * (uint64_t)slot->lanes);
    }
    if ((factors & 0x10) != 0) {
        size_t length = vfri_u8(&cursor);
        vfri_require(&cursor, length >= 1 && length <= VFRI_PROVIDER_NAME);
        slot->provider = vfri_take(&cursor, length);
        vfri_require(&cursor, vfri_is_printable(slot->provider));
        length = vfri_u16(&cursor);
        vfri_require(&cursor, length <= VFRI_PROVIDER_BYTES);
        slot->provider_parameters = vfri_take(&cursor, length);
    }
    vfri_require(outer, !cursor.failed && cursor.left == 0);
}

static void decode_slot(vfri_cursor *cursor, vfri_slot *slot) {
    vfri_cursor start = *cursor;
    slot->length = vfri_u32(&start);
    vfri_require(&start, slot->length >= 272 && slot->length <= VFRI_SLOT_MAX);
    vfr_bytes whole = vfri_take(cursor, start.failed ? SIZE_MAX : slot->length);
    if (cursor->failed) return;
    slot->bytes = whole.data;
    vfri_cursor inner = vfri_cursor_of(whole.data, whole.length);
    (void)vfri_fixed(&inner, 20); /* length, id */
    uint8_t kind = vfri_u8(&inner);
    uint8_t factors = vfri_u8(&inner);
    vfri_reserved(&inner, 2);
    slot->parameters = vfri_u32(&inner);
    slot->owner_part = vfri_u32(&inner);
    vfri_require(&inner, slot->parameters <= VFRI_SLOT_PARAMETERS);
    vfri_require(&inner, slot->owner_part >= VFRI_OWNER_PART_MIN && slot->owner_part <= VFRI_OWNER_PART_MAX);
    vfr_bytes parameters = vfri_take(&inner, slot->parameters);
    (void)vfri_fixed(&inner, 32 + 24); /* commitment, nonce */
    vfri_require(&inner, inner.left >= slot->owner_part);
    size_t payload = inner.failed ? 0 : inner.left - slot->owner_part;
    vfri_require(&inner, kind == 0x01   ? payload == 32 + VFRI_TAG
                         : kind == 0x82 ? payload == VFRI_SCOPED_PAYLOAD + VFRI_TAG
                                        : payload >= VFRI_TAG);
    slot->known = is_known(kind, factors);
    if (slot->known && !inner.failed) decode_parameters(parameters, factors, slot, &inner);
    vfri_require(cursor, !inner.failed);
}

void vfri_extensions(vfri_cursor *cursor, size_t count, vfr_extension *extensions) {
    for (size_t i = 0; i < count && !cursor->failed; i++) {
        vfr_extension *extension = &extensions[i];
        extension->flags = vfri_u8(cursor);
        vfri_require(cursor, extension->flags <= 3);
        size_t length = vfri_u8(cursor);
        vfri_require(cursor, length >= 1 && length <= 64);
        extension->name = vfri_take(cursor, length);
        vfri_require(cursor, vfri_is_printable(extension->name));
        length = vfri_u16(cursor);
        vfri_require(cursor, length <= 4096);
        extension->value = vfri_take(cursor, length);
        vfri_require(cursor, i == 0 || vfri_compare(extensions[i - 1].name, extension->name) < 0);
    }
}

static bool is_known_extension(vfr_bytes name, const vfr_options *options) {
    for (size_t i = 0; i < options->extension_count; i++) {
        const char *known = options->extensions[i];
        if (vfri_same(name, (vfr_bytes){(const uint8_t *)known, strlen(known)})) return true;
    }
    return false;
}

vfr_status vfri_check_critical(const vfr_extension *extensions, size_t count, const vfr_options *options,
                               vfr_failure *failure) {
    for (size_t i = 0; i < count; i++) {
        vfr_bytes name = extensions[i].name;
        if ((extensions[i].flags & 1) == 0 || is_known_extension(name, options)) continue;
        failure->extension_length = (uint8_t)name.length;
        memcpy(failure->extension, name.data, name.length);
        return VFR_UNSUPPORTED_CRITICAL;
    }
    return VFR_OK;
}

static bool ids_differ(const vfri_slot *slots, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (memcmp(slots[i].bytes + 4, slots[j].bytes + 4, 16) == 0) return false;
        }
    }
    return true;
}

/* Decodes slots and extensions, once the hash has been checked. */
static bool decode(vfr_vault *vault) {
    vault->slot_count = vault->header[64];
    vault->extension_count = vault->header[65];
    if (vault->slot_count < 1 || vault->slot_count > VFRI_SLOTS) return false;
    if (vault->extension_count > VFRI_EXTENSIONS) return false;
    vfri_cursor cursor = vfri_cursor_of(vault->header + 66, vault->header_length - TRAILER - 66);
    vfri_reserved(&cursor, FIRST_SLOT - 66);
    for (size_t i = 0; i < vault->slot_count && !cursor.failed; i++) decode_slot(&cursor, &vault->slots[i]);
    if (cursor.failed || !ids_differ(vault->slots, vault->slot_count)) return false;
    vfri_extensions(&cursor, vault->extension_count, vault->extensions);
    vfri_padding(&cursor);
    return !cursor.failed;
}

static bool hash_is_right(const vfr_vault *vault) {
    uint8_t computed[32];
    vfri_hash hash;
    vfri_hash_start(&hash);
    vfri_hash_label(&hash, "vaultfmt-1 header");
    vfri_hash_add(&hash, vault->header, vault->header_length - TRAILER);
    vfri_hash_finish(&hash, computed);
    return vfri_equal32(computed, vault->header_hash);
}

/* Reads the first bytes, and determines the length of the header. */
static vfr_status read_start(vfr_vault *vault) {
    uint8_t start[16];
    if (vault->source.size < sizeof start) return VFR_NOT_A_VAULT;
    vfr_status status = vfri_read(vault, 0, start, sizeof start);
    if (status != VFR_OK) return status;
    if (memcmp(start, magic, sizeof magic) != 0) return VFR_NOT_A_VAULT;
    if (start[8] != 1 || start[9] != 0) return VFR_UNSUPPORTED_VERSION;
    uint32_t length = vfri_load32(start + 12);
    if (start[10] != 0 || start[11] != 0) return VFR_HEADER_INVALID;
    if (length < VFRI_HEADER_STEP || length > VFRI_HEADER_MAX) return VFR_HEADER_INVALID;
    if (length % VFRI_HEADER_STEP != 0) return VFR_HEADER_INVALID;
    vault->header_length = length;
    vault->body = 2 * (uint64_t)length;
    if (vault->source.size < vault->body + 1024 || vault->source.size > VFRI_FILE_MAX) return VFR_HEADER_INVALID;
    return VFR_OK;
}

vfr_status vfri_read_header(vfr_vault *vault, const vfr_options *options, vfr_failure *failure) {
    vfr_status status = read_start(vault);
    if (status != VFR_OK) return status;
    vault->header = vfri_allocate(&vault->memory, vault->header_length);
    if (vault->header == NULL) return VFR_OUT_OF_BUDGET;
    status = vfri_read(vault, 0, vault->header, vault->header_length);
    if (status != VFR_OK) return status;
    vault->id = vault->header + 16;
    vault->epoch = vault->header + 32;
    vault->header_hash = vault->header + vault->header_length - TRAILER;
    if (!hash_is_right(vault) || !decode(vault)) return VFR_HEADER_INVALID;
    return vfri_check_critical(vault->extensions, vault->extension_count, options, failure);
}

bool vfri_header_is_authentic(const vfr_vault *vault) {
    uint8_t mac[32];
    vfri_derive(mac, vault->keys.index, "vaultfmt-1 header", vault->header_hash, HASH_SIZE);
    return vfri_equal32(mac, vault->header_hash + HASH_SIZE);
}

vfr_status vfr_get_slot(const vfr_vault *vault, size_t index, vfr_slot *slot) {
    memset(slot, 0, sizeof *slot);
    if (index >= vault->slot_count) return VFR_NOT_FOUND;
    const vfri_slot *found = &vault->slots[index];
    memcpy(slot->id, found->bytes + 4, sizeof slot->id);
    slot->kind = vfri_slot_kind(found);
    slot->factors = vfri_slot_factors(found);
    slot->known = found->known;
    slot->memory = found->memory;
    slot->passes = found->passes;
    slot->lanes = found->lanes;
    slot->provider = found->provider;
    slot->parameters = found->provider_parameters;
    slot->bytes = (vfr_bytes){found->bytes, found->length};
    return VFR_OK;
}

vfr_status vfr_get_header_extension(const vfr_vault *vault, size_t index, vfr_extension *extension) {
    memset(extension, 0, sizeof *extension);
    if (index >= vault->extension_count) return VFR_NOT_FOUND;
    *extension = vault->extensions[index];
    return VFR_OK;
}
