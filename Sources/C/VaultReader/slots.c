/* Slots: factors, the slot that the factors open, and its keys and owner parts (sections 3.1 and 3.4). */
#include "internal.h"

#include <string.h>

enum { FIRST_PARAMETER = 32, SALT = 44, COMMITMENT = 32, NONCE = 24 };
enum {
    PASSPHRASE_MAX = 3 * 65536, /* in NFC, which can be three times as long as the input */
    KEY_FILE_MAX = 64 << 20,
    GENERATED = 15 + 64 + 1 + 8 + 1
};

/* ---- Factors ---- */

static const char prefix[] = "VAULTFMT-KEY-";
static const char generated[] = "VAULTFMT-KEY-1-";

/* Decodes lower-case hexadecimal digits. */
static bool decode_digits(const uint8_t *digits, size_t count, uint8_t *out) {
    for (size_t i = 0; i < count; i++) {
        uint8_t digit = digits[i];
        unsigned value = digit >= '0' && digit <= '9' ? digit - (unsigned)'0'
                         : digit >= 'a' && digit <= 'f' ? digit - (unsigned)'a' + 10
                                                        : 16;
        if (value > 15) return false;
        out[i / 2] = (uint8_t)(i % 2 == 0 ? value << 4 : out[i / 2] | value);
    }
    return true;
}

/* Decodes a generated key file. */
static bool decode_generated(vfr_bytes file, uint8_t key[32]) {
    uint8_t check[4], hash[32];
    if (file.length != GENERATED || memcmp(file.data, generated, 15) != 0) return false;
    if (!decode_digits(file.data + 15, 64, key) || file.data[79] != '-') return false;
    if (!decode_digits(file.data + 80, 8, check) || file.data[88] != '\n') return false;
    vfri_hash state;
    vfri_hash_start(&state);
    vfri_hash_label(&state, "vaultfmt-1 key file check");
    vfri_hash_add(&state, key, 32);
    vfri_hash_finish(&state, hash);
    bool right = memcmp(check, hash, sizeof check) == 0;
    vfri_wipe(hash, sizeof hash);
    return right;
}

static bool check_key_file(vfr_bytes file, vfri_factors *checked) {
    if (file.length == 0 || file.length > KEY_FILE_MAX) return false;
    if (file.length >= sizeof prefix - 1 && memcmp(file.data, prefix, sizeof prefix - 1) == 0) {
        checked->kinds |= 0x02;
        checked->has_key = true;
        return decode_generated(file, checked->key);
    }
    checked->kinds |= 0x04;
    checked->has_file = true;
    vfri_hash state;
    vfri_hash_start(&state);
    vfri_hash_label(&state, "vaultfmt-1 key file");
    vfri_hash_add(&state, file.data, file.length);
    vfri_hash_finish(&state, checked->file);
    return true;
}

vfr_status vfri_check_factors(const vfr_factors *factors, vfri_factors *checked) {
    if (factors->passphrase.data != NULL) {
        if (factors->passphrase.length < 1 || factors->passphrase.length > PASSPHRASE_MAX) return VFR_NO_SLOT_OPENS;
        if (!vfri_is_text(factors->passphrase)) return VFR_NO_SLOT_OPENS;
        checked->kinds |= 0x01;
        checked->passphrase = factors->passphrase;
    }
    if (factors->key_file.data != NULL && !check_key_file(factors->key_file, checked)) return VFR_NO_SLOT_OPENS;
    if (factors->raw_key.data != NULL) {
        if (factors->raw_key.length != 32 || checked->has_key) return VFR_NO_SLOT_OPENS;
        memcpy(checked->key, factors->raw_key.data, 32);
        checked->has_key = true;
        checked->kinds |= 0x08;
    }
    if (factors->provider.data != NULL) {
        if (factors->external == NULL) return VFR_INVALID_ARGUMENT;
        checked->kinds |= 0x10;
    }
    return VFR_OK;
}

/* ---- Seals of slots, whose associated data is up to 64 KiB of the slot itself ---- */

/* Opens `count` bytes of a slot, whose associated data ends with the slot's first `ad_size` bytes. */
static vfr_status unseal(vfr_vault *vault, const vfri_slot *slot, const char *label, const uint8_t key[32],
                         size_t ad_size, const uint8_t *nonce, const uint8_t *sealed, size_t count, uint8_t *out) {
    size_t label_size = strlen(label);
    uint8_t *ad = vfri_allocate(&vault->memory, 1 + label_size + 16 + ad_size);
    if (ad == NULL) return VFR_OUT_OF_BUDGET;
    ad[0] = (uint8_t)label_size;
    memcpy(ad + 1, label, label_size);
    memcpy(ad + 1 + label_size, vault->id, 16);
    memcpy(ad + 17 + label_size, slot->bytes, ad_size);
    bool opened = vfri_unseal(key, nonce, ad, 17 + label_size + ad_size, sealed, count, out);
    vfri_release(&vault->memory, ad);
    return opened ? VFR_OK : VFR_AUTHENTICATION_FAILED;
}

/* Opens the payload, of 32 or VFRI_SCOPED_PAYLOAD bytes. */
static vfr_status open_payload(vfr_vault *vault, const vfri_slot *slot, const uint8_t wrapping[32], uint8_t *out) {
    size_t nonce = FIRST_PARAMETER + slot->parameters + COMMITMENT;
    size_t start = nonce + NONCE;
    return unseal(vault, slot, "vaultfmt-1 slot", wrapping, nonce, slot->bytes + nonce, slot->bytes + start,
                  slot->length - slot->owner_part - start, out);
}

/* Decodes the payload of a scoped slot; `keys` may be NULL, `groups` has room for VFRI_GRANTS. */
static bool decode_scoped(const uint8_t *payload, vfri_keys *keys, size_t *count, uint64_t *groups) {
    vfri_cursor cursor = vfri_cursor_of(payload, VFRI_SCOPED_PAYLOAD);
    const uint8_t *index = vfri_fixed(&cursor, 32), *owner = vfri_fixed(&cursor, 32);
    *count = vfri_u8(&cursor);
    vfri_require(&cursor, *count <= VFRI_GRANTS);
    vfri_reserved(&cursor, 7);
    for (size_t i = 0; i < *count && !cursor.failed; i++) {
        groups[i] = vfri_u64(&cursor);
        vfri_require(&cursor, groups[i] >= 1 && groups[i] <= VFRI_NUMBER_MAX && (i == 0 || groups[i] > groups[i - 1]));
        const uint8_t *key = vfri_fixed(&cursor, 32);
        if (keys != NULL) memcpy(keys->grant_keys[i], key, 32);
    }
    vfri_padding(&cursor);
    if (keys != NULL) {
        memcpy(keys->index, index, 32);
        memcpy(keys->owner_public, owner, 32);
    }
    return !cursor.failed;
}

static void derive_from_vault_key(vfr_vault *vault, const uint8_t vault_key[32]) {
    vfri_keys *keys = &vault->keys;
    uint8_t seed[32];
    keys->full = true;
    vfri_derive(keys->index, vault_key, "vaultfmt-1 index", vault->epoch, 32);
    vfri_derive(keys->past, vault_key, "vaultfmt-1 past", vault->epoch, 32);
    vfri_derive(keys->owner, vault_key, "vaultfmt-1 owner", NULL, 0);
    vfri_derive(keys->slot_owner, vault_key, "vaultfmt-1 slot owner", NULL, 0);
    vfri_derive(keys->keyring, vault_key, "vaultfmt-1 keyring", NULL, 0);
    vfri_derive(keys->earlier, vault_key, "vaultfmt-1 earlier", NULL, 0);
    vfri_derive(seed, vault_key, "vaultfmt-1 signing", NULL, 0);
    vfri_public_key(keys->owner_public, seed);
    vfri_wipe(seed, sizeof seed);
}

/* Opens the payload of the slot whose commitment matched, and stores its keys. */
static vfr_status use_slot(vfr_vault *vault, const vfri_slot *slot, const uint8_t slot_key[32]) {
    uint8_t wrapping[32], payload[VFRI_SCOPED_PAYLOAD];
    vfri_derive(wrapping, slot_key, "vaultfmt-1 slot wrap", NULL, 0);
    vfr_status status = open_payload(vault, slot, wrapping, payload);
    if (status == VFR_OK && vfri_slot_kind(slot) == 0x01) {
        derive_from_vault_key(vault, payload);
    } else if (status == VFR_OK) {
        vfri_keys *keys = &vault->keys;
        if (!decode_scoped(payload, keys, &keys->grant_count, keys->grants)) status = VFR_STRUCTURE_INVALID;
    }
    vfri_wipe(wrapping, sizeof wrapping);
    vfri_wipe(payload, sizeof payload);
    vault->opened_slot = (size_t)(slot - vault->slots);
    return status;
}

/* ---- Trying slots ---- */

static bool is_candidate(const vfri_slot *slot, const vfr_factors *given, uint8_t kinds) {
    if (!slot->known || vfri_slot_factors(slot) != kinds) return false;
    return (kinds & 0x10) == 0 || vfri_same(slot->provider, given->provider);
}

/* A provider's answers; the arrays have an element for each slot that was passed to it. */
typedef struct answers {
    vfr_external_slot slots[VFRI_SLOTS];
    uint8_t keys[VFRI_SLOTS][VFR_CANDIDATES][32];
    size_t place[VFRI_SLOTS]; /* the index in `slots`, by slot of the header */
} answers;

static vfr_status ask_provider(vfr_vault *vault, const vfr_factors *given, uint8_t kinds, answers **out) {
    answers *all = vfri_allocate(&vault->memory, sizeof *all);
    if (all == NULL) return VFR_OUT_OF_BUDGET;
    *out = all;
    size_t count = 0;
    for (size_t i = 0; i < vault->slot_count; i++) {
        const vfri_slot *slot = &vault->slots[i];
        if (!is_candidate(slot, given, kinds)) continue;
        vfr_external_slot *asked = &all->slots[count];
        memcpy(asked->id, slot->bytes + 4, 16);
        asked->parameters = slot->provider_parameters;
        asked->keys = all->keys[count];
        all->place[i] = count++;
    }
    if (count == 0) return VFR_NO_SLOT_OPENS;
    if (given->external(given->external_context, all->slots, count) != 0) return VFR_NO_SLOT_OPENS;
    for (size_t i = 0; i < count; i++) {
        if (all->slots[i].count > VFR_CANDIDATES) return VFR_INVALID_ARGUMENT;
    }
    return VFR_OK;
}

/* Performs the first check of. */
static bool is_affordable(const vfri_slot *slot, const vfr_kdf_policy *policy) {
    return slot->memory <= policy->memory && slot->passes <= policy->passes && slot->lanes <= policy->lanes;
}

/* Records the cost of a slot that exceeds the policy. */
static vfr_status refuse_cost(const vfri_slot *slot, vfr_failure *failure) {
    failure->memory = slot->memory;
    failure->passes = slot->passes;
    failure->lanes = slot->lanes;
    return VFR_KDF_LIMIT;
}

/* Computes the stretched passphrase and key file. */
static vfr_status stretch(const vfri_slot *slot, const vfri_factors *factors, uint8_t out[32]) {
    uint8_t input[32], start[5] = {factors->kinds};
    vfri_store32(start + 1, (uint32_t)factors->passphrase.length);
    vfri_hash hash;
    vfri_hash_start(&hash);
    vfri_hash_label(&hash, "vaultfmt-1 stretch");
    vfri_hash_add(&hash, start, sizeof start);
    vfri_hash_add(&hash, factors->passphrase.data, factors->passphrase.length);
    if (factors->has_file) vfri_hash_add(&hash, factors->file, 32);
    vfri_hash_finish(&hash, input);
    bool done = vfri_argon2id(out, input, slot->bytes + SALT, slot->memory, slot->passes, slot->lanes);
    vfri_wipe(input, sizeof input);
    return done ? VFR_OK : VFR_CRYPTO_FAILED;
}

/* Derives the slot key, and returns whether its commitment matches. */
static bool matches(const vfr_vault *vault, const vfri_slot *slot, const uint8_t *material, size_t count,
                    uint8_t slot_key[32]) {
    uint8_t commitment[32];
    vfri_hash hash;
    vfri_mac_start(&hash, material, count);
    vfri_hash_label(&hash, "vaultfmt-1 slot key");
    vfri_hash_add(&hash, vault->id, 16);
    vfri_hash_add(&hash, slot->bytes, FIRST_PARAMETER + slot->parameters);
    vfri_hash_finish(&hash, slot_key);
    vfri_derive(commitment, slot_key, "vaultfmt-1 slot commitment", NULL, 0);
    return vfri_equal32(commitment, slot->bytes + FIRST_PARAMETER + slot->parameters);
}

/* Tries one slot with all of its keys; returns VFR_NO_SLOT_OPENS if no key
 * matches. */
static vfr_status try_slot(vfr_vault *vault, const vfri_slot *slot, const vfri_factors *factors,
                           const uint8_t (*keys)[32], size_t key_count) {
    uint8_t material[64], slot_key[32];
    size_t stretched = 0;
    vfr_status status = VFR_OK;
    if ((factors->kinds & 0x05) != 0) {
        stretched = 32;
        status = stretch(slot, factors, material);
    }
    bool found = false;
    if (status == VFR_OK && key_count == 0) found = matches(vault, slot, material, stretched, slot_key);
    for (size_t i = 0; status == VFR_OK && !found && i < key_count; i++) {
        memcpy(material + stretched, keys[i], 32);
        found = matches(vault, slot, material, stretched + 32, slot_key);
    }
    if (status == VFR_OK) status = found ? use_slot(vault, slot, slot_key) : VFR_NO_SLOT_OPENS;
    vfri_wipe(material, sizeof material);
    vfri_wipe(slot_key, sizeof slot_key);
    return status;
}

/* Tries the slots in the order of the header. `all` is NULL without a provider. */
static vfr_status try_slots(vfr_vault *vault, const vfr_factors *given, const vfri_factors *factors,
                            const vfr_kdf_policy *policy, const answers *all, vfr_failure *failure) {
    bool tried[VFRI_SLOTS] = {false};
    for (size_t i = 0; i < vault->slot_count; i++) {
        const vfri_slot *slot = &vault->slots[i];
        tried[i] = is_candidate(slot, given, factors->kinds) && (all == NULL || all->slots[all->place[i]].count > 0);
        if (tried[i] && !is_affordable(slot, policy)) return refuse_cost(slot, failure);
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < vault->slot_count; i++) {
        const vfri_slot *slot = &vault->slots[i];
        if (!tried[i]) continue;
        uint64_t cost = (uint64_t)slot->memory * slot->passes;
        if (cost > policy->total || sum > policy->total - cost) return refuse_cost(slot, failure);
        sum += cost;
        const uint8_t(*keys)[32] = factors->has_key ? (const uint8_t(*)[32]) & factors->key : NULL;
        size_t key_count = factors->has_key ? 1 : 0;
        if (all != NULL) {
            keys = (const uint8_t(*)[32])all->keys[all->place[i]];
            key_count = all->slots[all->place[i]].count;
        }
        vfr_status status = try_slot(vault, slot, factors, keys, key_count);
        if (status != VFR_NO_SLOT_OPENS) return status;
    }
    return VFR_NO_SLOT_OPENS;
}

vfr_status vfri_open_slot(vfr_vault *vault, const vfr_factors *given, const vfri_factors *factors,
                          const vfr_kdf_policy *policy, vfr_failure *failure) {
    answers *all = NULL;
    vfr_status status = VFR_OK;
    bool known = false;
    for (size_t i = 0; i < vault->slot_count; i++) {
        known = known || is_candidate(&vault->slots[i], given, factors->kinds);
    }
    if (!known) return VFR_NO_SLOT_OPENS;
    if ((factors->kinds & 0x10) != 0) status = ask_provider(vault, given, factors->kinds, &all);
    if (status == VFR_OK) status = try_slots(vault, given, factors, policy, all, failure);
    VFRI_RELEASE(&vault->memory, all);
    return status;
}

/* ---- Owner parts ---- */

/* Decodes an owner part; `wrapping` is the wrapping key in it. */
static bool decode_owner_part(const uint8_t *bytes, size_t length, uint8_t kind, vfr_slot_owner *owner,
                              const uint8_t **wrapping) {
    vfri_cursor cursor = vfri_cursor_of(bytes, length);
    owner->name_length = vfri_u8(&cursor);
    vfri_require(&cursor, owner->name_length <= sizeof owner->name);
    vfr_bytes name = vfri_take(&cursor, cursor.failed ? 0 : owner->name_length);
    vfri_require(&cursor, vfri_is_text(name));
    vfri_reserved(&cursor, 63 - name.length);
    *wrapping = vfri_fixed(&cursor, 32);
    if ((kind & 0x80) == 0) vfri_require(&cursor, vfri_is_zero(*wrapping, 32));
    vfri_reserved(&cursor, 24);
    size_t size = vfri_u16(&cursor);
    vfri_require(&cursor, size <= sizeof owner->data);
    vfr_bytes data = vfri_take(&cursor, size);
    vfri_require(&cursor, length % 128 == 0 && cursor.left < 128);
    vfri_padding(&cursor);
    if (cursor.failed) return false;
    if (name.length > 0) memcpy(owner->name, name.data, name.length);
    if (data.length > 0) memcpy(owner->data, data.data, data.length);
    owner->data_length = (uint16_t)data.length;
    return true;
}

/* Reads the groups that a scoped slot opens, and compares them with its grants in the keyring. */
static vfr_status read_scoped(vfr_vault *vault, const vfri_slot *slot, const uint8_t wrapping[32],
                              vfr_slot_owner *owner) {
    uint8_t payload[VFRI_SCOPED_PAYLOAD];
    size_t count = 0;
    vfr_status status = open_payload(vault, slot, wrapping, payload);
    if (status == VFR_OK && !decode_scoped(payload, NULL, &count, owner->groups)) status = VFR_STRUCTURE_INVALID;
    vfri_wipe(payload, sizeof payload);
    if (status != VFR_OK) return status;
    owner->group_count = (uint8_t)count;
    const vfri_keyring *keyring = &vault->keyring;
    for (size_t i = 0; i < keyring->slot_count; i++) {
        const vfri_slot_entry *entry = &keyring->slots[i];
        if (memcmp(entry->id, slot->bytes + 4, 16) != 0) continue;
        if (entry->grant_count != count) return VFR_STRUCTURE_INVALID;
        for (size_t j = 0; j < count; j++) {
            if (keyring->grants[entry->first_grant + j].group != owner->groups[j]) return VFR_STRUCTURE_INVALID;
        }
        return VFR_OK;
    }
    return VFR_STRUCTURE_INVALID;
}

vfr_status vfr_get_slot_owner(vfr_vault *vault, size_t index, vfr_slot_owner *owner) {
    memset(owner, 0, sizeof *owner);
    if (index >= vault->slot_count) return VFR_NOT_FOUND;
    if (!vault->keys.full) return VFR_NO_KEY;
    const vfri_slot *slot = &vault->slots[index];
    size_t start = slot->length - slot->owner_part;
    size_t sealed = slot->owner_part - NONCE;
    uint8_t *bytes = vfri_allocate(&vault->memory, sealed);
    if (bytes == NULL) return VFR_OUT_OF_BUDGET;
    const uint8_t *wrapping;
    vfr_status status = unseal(vault, slot, "vaultfmt-1 slot owner", vault->keys.slot_owner, start, slot->bytes + start,
                               slot->bytes + start + NONCE, sealed, bytes);
    uint8_t kind = vfri_slot_kind(slot);
    if (status == VFR_OK) {
        bool decoded = decode_owner_part(bytes, sealed - VFRI_TAG, kind, owner, &wrapping);
        if (!decoded) status = VFR_STRUCTURE_INVALID;
    }
    if (status == VFR_OK && kind == 0x82) status = read_scoped(vault, slot, wrapping, owner);
    vfri_release(&vault->memory, bytes);
    if (status != VFR_OK) memset(owner, 0, sizeof *owner);
    return status;
}

vfr_status vfr_get_grant(const vfr_vault *vault, size_t index, uint64_t *group) {
    *group = 0;
    if (index >= vault->keys.grant_count) return VFR_NOT_FOUND;
    *group = vault->keys.grants[index];
    return VFR_OK;
}
