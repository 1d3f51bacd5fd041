/* The keyring: groups, compartments, grants and hand-overs (section 5.4); and the keys of compartments. */
#include "internal.h"

#include <string.h>

enum { SEALED_KEY = 32 + VFRI_TAG, SEALED_DEVICE_KEY = 24 + SEALED_KEY + VFRI_TAG, KEY_NONCE = 24 };

bool vfri_needs_device(uint8_t accessibility) {
    return accessibility >= 4;
}

const vfri_group *vfri_find_group(const vfr_vault *vault, uint64_t number) {
    const vfri_keyring *keyring = &vault->keyring;
    size_t low = 0, high = keyring->group_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const vfri_group *group = &keyring->groups[middle];
        if (group->number == number) return group;
        if (group->number < number) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

const vfri_compartment *vfri_find_compartment(const vfr_vault *vault, uint64_t number) {
    const vfri_keyring *keyring = &vault->keyring;
    size_t low = 0, high = keyring->compartment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const vfri_compartment *compartment = &keyring->compartments[middle];
        if (compartment->number == number) return compartment;
        if (compartment->number < number) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

/* ---- Decoding ---- */

static void decode_groups(vfri_cursor *cursor, vfri_keyring *keyring) {
    for (size_t i = 0; i < keyring->group_count && !cursor->failed; i++) {
        vfri_group *group = &keyring->groups[i];
        group->number = vfri_u64(cursor);
        vfri_require(cursor, group->number >= 1 && group->number <= VFRI_NUMBER_MAX);
        vfri_require(cursor, i == 0 || group->number > keyring->groups[i - 1].number);
        group->name = vfri_take(cursor, vfri_count(cursor, VFRI_FIELD));
        vfri_require(cursor, vfri_is_text(group->name));
        group->sealed = vfri_fixed(cursor, KEY_NONCE + SEALED_KEY);
        for (size_t j = 0; j < i; j++) vfri_require(cursor, !vfri_same(group->name, keyring->groups[j].name));
    }
}

static void decode_compartments(vfri_cursor *cursor, const vfr_vault *vault, vfri_keyring *keyring) {
    for (size_t i = 0; i < keyring->compartment_count && !cursor->failed; i++) {
        vfri_compartment *compartment = &keyring->compartments[i];
        compartment->number = vfri_u64(cursor);
        compartment->group = vfri_u64(cursor);
        compartment->accessibility = vfri_u8(cursor);
        compartment->device = vfri_fixed(cursor, 16);
        compartment->nonce = vfri_fixed(cursor, KEY_NONCE);
        bool bound = vfri_needs_device(compartment->accessibility);
        vfri_require(cursor, compartment->number >= 1 && compartment->number <= VFRI_NUMBER_MAX);
        vfri_require(cursor, i == 0 || compartment->number > keyring->compartments[i - 1].number);
        vfri_require(cursor, compartment->accessibility >= 1 && compartment->accessibility <= 7);
        vfri_require(cursor, vfri_is_zero(compartment->device, 16) != bound);
        if (compartment->group == 0) {
            vfri_require(cursor, compartment->accessibility == 1 || compartment->accessibility == 5);
        } else {
            vfri_require(cursor, vfri_find_group(vault, compartment->group) != NULL);
        }
        compartment->sealed = vfri_take(cursor, bound ? SEALED_DEVICE_KEY : SEALED_KEY);
    }
}

static void decode_slots(vfri_cursor *cursor, const vfr_vault *vault, vfri_keyring *keyring) {
    for (size_t i = 0; i < keyring->slot_count && !cursor->failed; i++) {
        vfri_slot_entry *slot = &keyring->slots[i];
        slot->id = vfri_fixed(cursor, 16);
        slot->made = vfri_dot(cursor);
        slot->changed = vfri_dot(cursor);
        vfri_require(cursor, i == 0 || memcmp(keyring->slots[i - 1].id, slot->id, 16) < 0);
        bool is_later = slot->changed.revision > slot->made.revision;
        vfri_require(cursor, is_later || vfri_compare_dots(&slot->changed, &slot->made) == 0);
        slot->grant_count = vfri_count(cursor, VFRI_GRANTS);
        slot->first_grant = keyring->grant_count;
        for (size_t j = 0; j < slot->grant_count && !cursor->failed; j++) {
            vfri_grant grant = {.group = vfri_u64(cursor)};
            grant.dot = vfri_dot(cursor);
            vfri_require(cursor, vfri_find_group(vault, grant.group) != NULL);
            vfri_require(cursor, j == 0 || grant.group > keyring->grants[keyring->grant_count - 1].group);
            if (!cursor->failed) keyring->grants[keyring->grant_count++] = grant;
        }
    }
}

/* Compares by replaced key, next key and signature. */
static int compare_hand_overs(const vfri_hand_over *left, const vfri_hand_over *right) {
    int order = memcmp(left->from, right->from, 32);
    if (order == 0) order = memcmp(left->next, right->next, 32);
    return order != 0 ? order : memcmp(left->signature, right->signature, 64);
}

static void decode_hand_overs(vfri_cursor *cursor, vfri_keyring *keyring) {
    for (size_t i = 0; i < keyring->hand_over_count && !cursor->failed; i++) {
        vfri_hand_over *hand_over = &keyring->hand_overs[i];
        hand_over->from = vfri_fixed(cursor, 32);
        hand_over->next = vfri_fixed(cursor, 32);
        hand_over->floor = vfri_u64(cursor);
        hand_over->vector = vfri_narrow(cursor);
        hand_over->signature = vfri_fixed(cursor, 64);
        vfri_require(cursor, memcmp(hand_over->from, hand_over->next, 32) != 0 && hand_over->floor <= VFRI_NUMBER_MAX);
        vfri_require(cursor, i == 0 || compare_hand_overs(hand_over - 1, hand_over) < 0);
    }
}

/* Decodes the keyring, with the checks that need only its bytes. Counts are compared with the
 * remaining bytes before memory is allocated. */
static vfr_status decode(vfr_vault *vault, vfr_bytes body) {
    vfri_keyring *keyring = &vault->keyring;
    vfri_cursor cursor = vfri_cursor_of(body.data, body.length);
    keyring->limit = vfri_u8(&cursor);
    vfri_require(&cursor, keyring->limit <= VFRI_LIMIT);
    keyring->limit_dot = vfri_dot(&cursor);
    keyring->key_dot = vfri_dot(&cursor);

    size_t count = vfri_count(&cursor, VFRI_GROUPS);
    vfri_require(&cursor, count <= cursor.left / 81);
    if (cursor.failed) return VFR_STRUCTURE_INVALID;
    keyring->groups = vfri_allocate_array(&vault->memory, count, sizeof *keyring->groups);
    if (keyring->groups == NULL) return VFR_OUT_OF_BUDGET;
    keyring->group_count = count;
    decode_groups(&cursor, keyring);

    count = vfri_count(&cursor, VFRI_COMPARTMENTS);
    vfri_require(&cursor, count <= cursor.left / 105);
    if (cursor.failed) return VFR_STRUCTURE_INVALID;
    keyring->compartments = vfri_allocate_array(&vault->memory, count, sizeof *keyring->compartments);
    if (keyring->compartments == NULL) return VFR_OUT_OF_BUDGET;
    keyring->compartment_count = count;
    decode_compartments(&cursor, vault, keyring);

    count = vfri_count(&cursor, VFRI_SLOTS);
    vfri_require(&cursor, count >= 1);
    if (cursor.failed) return VFR_STRUCTURE_INVALID;
    size_t grants = cursor.left / 17; /* an upper bound */
    if (grants > (size_t)VFRI_SLOTS * VFRI_GRANTS) grants = (size_t)VFRI_SLOTS * VFRI_GRANTS;
    keyring->grants = vfri_allocate_array(&vault->memory, grants, sizeof *keyring->grants);
    if (keyring->grants == NULL) return VFR_OUT_OF_BUDGET;
    keyring->slot_count = count;
    decode_slots(&cursor, vault, keyring);

    keyring->hand_over_count = vfri_count(&cursor, VFRI_HAND_OVERS);
    decode_hand_overs(&cursor, keyring);
    keyring->extension_count = vfri_count(&cursor, VFRI_EXTENSIONS);
    vfri_extensions(&cursor, keyring->extension_count, keyring->extensions);
    vfri_frame_padding(&cursor);
    return cursor.failed ? VFR_STRUCTURE_INVALID : VFR_OK;
}

/* Compares the slots with those in the header. */
static bool slots_agree(const vfr_vault *vault) {
    const vfri_keyring *keyring = &vault->keyring;
    if (keyring->slot_count != vault->slot_count) return false;
    for (size_t i = 0; i < vault->slot_count; i++) {
        const vfri_slot *slot = &vault->slots[i];
        size_t j = 0;
        while (j < keyring->slot_count && memcmp(keyring->slots[j].id, slot->bytes + 4, 16) != 0) j++;
        if (j == keyring->slot_count) return false;
        if (vfri_slot_kind(slot) == 0x01 && keyring->slots[j].grant_count != 0) return false;
    }
    return true; /* ids are unique in both */
}

bool vfri_check_keyring_dots(vfr_vault *vault) {
    vfri_keyring *keyring = &vault->keyring;
    bool valid = vfri_check_dot(vault, &keyring->limit_dot) && vfri_check_dot(vault, &keyring->key_dot);
    for (size_t i = 0; i < keyring->slot_count; i++) {
        vfri_slot_entry *slot = &keyring->slots[i];
        valid = valid && vfri_check_dot(vault, &slot->made) && vfri_check_dot(vault, &slot->changed);
    }
    for (size_t i = 0; i < keyring->grant_count; i++) valid = valid && vfri_check_dot(vault, &keyring->grants[i].dot);
    return valid;
}

vfr_status vfri_read_keyring(vfr_vault *vault, const vfr_options *options, vfr_failure *failure) {
    vfri_keyring *keyring = &vault->keyring;
    vfr_bytes body;
    vfr_status status = vfri_load(vault, "vKEY", "vaultfmt-1 keyring", vault->keys.index,
                                  vfri_wide(&vault->commit.keyring), vault->commit.offset, &keyring->frame, &body);
    if (status == VFR_OK) status = decode(vault, body);
    if (status == VFR_OK) status = vfri_check_critical(keyring->extensions, keyring->extension_count, options, failure);
    if (status == VFR_OK && (!slots_agree(vault) || !vfri_check_keyring_dots(vault))) status = VFR_STRUCTURE_INVALID;
    return status;
}

/* ---- Keys ---- */

/* Opens the key of a group. */
static vfr_status group_key(vfr_vault *vault, uint64_t number, uint8_t key[32]) {
    static const char label[] = "vaultfmt-1 group";
    const vfri_keys *keys = &vault->keys;
    if (!keys->full) {
        for (size_t i = 0; i < keys->grant_count; i++) {
            if (keys->grants[i] != number) continue;
            memcpy(key, keys->grant_keys[i], 32);
            return VFR_OK;
        }
        return VFR_NO_KEY;
    }
    if (number == 0) {
        memcpy(key, keys->earlier, 32);
        return VFR_OK;
    }
    const vfri_group *group = vfri_find_group(vault, number);
    if (group == NULL) return VFR_STRUCTURE_INVALID;
    size_t fixed = sizeof label + 16 + 8;
    uint8_t *ad = vfri_allocate(&vault->memory, fixed + group->name.length);
    if (ad == NULL) return VFR_OUT_OF_BUDGET;
    ad[0] = sizeof label - 1;
    memcpy(ad + 1, label, sizeof label - 1);
    memcpy(ad + sizeof label, vault->id, 16);
    vfri_store64(ad + sizeof label + 16, number);
    if (group->name.length > 0) memcpy(ad + fixed, group->name.data, group->name.length);
    bool opened = vfri_unseal(keys->keyring, group->sealed, ad, fixed + group->name.length, group->sealed + KEY_NONCE,
                              SEALED_KEY, key);
    vfri_release(&vault->memory, ad);
    return opened ? VFR_OK : VFR_AUTHENTICATION_FAILED;
}

/* Appends to associated data. */
static uint8_t *append(uint8_t *at, const void *bytes, size_t count) {
    memcpy(at, bytes, count);
    return at + count;
}

/* Opens the inner layer with the device's key (section 3.6). */
static bool open_inner(const vfr_vault *vault, const vfri_compartment *compartment, const uint8_t *inner,
                       uint8_t key[32]) {
    static const char label[] = "vaultfmt-1 device compartment";
    uint8_t ad[128], number[8], *at = ad, length = sizeof label - 1;
    if (!vault->has_device || memcmp(vault->device_id, compartment->device, 16) != 0) return false;
    vfri_store64(number, compartment->number);
    at = append(at, &length, 1);
    at = append(at, label, sizeof label - 1);
    at = append(at, vault->id, 16);
    at = append(at, number, 8);
    at = append(at, &compartment->accessibility, 1);
    at = append(at, compartment->device, 16);
    return vfri_unseal(vault->device_key, inner, ad, (size_t)(at - ad), inner + KEY_NONCE, SEALED_KEY, key);
}

vfr_status vfri_compartment_key(vfr_vault *vault, const vfri_compartment *compartment, uint8_t key[32]) {
    static const char label[] = "vaultfmt-1 compartment";
    uint8_t group[32], opened[SEALED_DEVICE_KEY], ad[128], numbers[16], *at = ad, length = sizeof label - 1;
    vfr_status status = group_key(vault, compartment->group, group);
    if (status != VFR_OK) return status;
    vfri_store64(numbers, compartment->number);
    vfri_store64(numbers + 8, compartment->group);
    at = append(at, &length, 1);
    at = append(at, label, sizeof label - 1);
    at = append(at, vault->id, 16);
    at = append(at, numbers, 16);
    at = append(at, &compartment->accessibility, 1);
    at = append(at, compartment->device, 16);
    if (!vfri_unseal(group, compartment->nonce, ad, (size_t)(at - ad), compartment->sealed.data,
                     compartment->sealed.length, opened)) {
        status = VFR_AUTHENTICATION_FAILED;
    } else if (!vfri_needs_device(compartment->accessibility)) {
        memcpy(key, opened, 32);
    } else if (!open_inner(vault, compartment, opened, key)) {
        status = VFR_DEVICE_BOUND;
    }
    vfri_wipe(group, sizeof group);
    vfri_wipe(opened, sizeof opened);
    return status;
}

/* ---- Public functions ---- */

void vfr_get_settings(const vfr_vault *vault, vfr_settings *settings) {
    const vfri_keyring *keyring = &vault->keyring;
    *settings = (vfr_settings){
        .limit = keyring->limit,
        .limit_dot = keyring->limit_dot,
        .key_dot = keyring->key_dot,
        .groups = keyring->group_count,
        .compartments = keyring->compartment_count,
        .slots = vault->slot_count,
        .hand_overs = keyring->hand_over_count,
        .header_extensions = vault->extension_count,
        .keyring_extensions = keyring->extension_count,
        .grants = vault->keys.grant_count,
    };
}

vfr_status vfr_get_keyring_extension(const vfr_vault *vault, size_t index, vfr_extension *extension) {
    memset(extension, 0, sizeof *extension);
    if (index >= vault->keyring.extension_count) return VFR_NOT_FOUND;
    *extension = vault->keyring.extensions[index];
    return VFR_OK;
}

vfr_status vfr_get_group(const vfr_vault *vault, size_t index, vfr_group *group) {
    memset(group, 0, sizeof *group);
    if (index >= vault->keyring.group_count) return VFR_NOT_FOUND;
    *group = (vfr_group){vault->keyring.groups[index].number, vault->keyring.groups[index].name};
    return VFR_OK;
}

static vfr_status describe(const vfri_compartment *found, vfr_compartment *compartment) {
    memset(compartment, 0, sizeof *compartment);
    if (found == NULL) return VFR_NOT_FOUND;
    compartment->number = found->number;
    compartment->group = found->group;
    compartment->accessibility = found->accessibility;
    memcpy(compartment->device, found->device, sizeof compartment->device);
    return VFR_OK;
}

vfr_status vfr_get_compartment(const vfr_vault *vault, size_t index, vfr_compartment *compartment) {
    return describe(index < vault->keyring.compartment_count ? &vault->keyring.compartments[index] : NULL, compartment);
}

vfr_status vfr_find_compartment(const vfr_vault *vault, uint64_t number, vfr_compartment *compartment) {
    return describe(vfri_find_compartment(vault, number), compartment);
}

vfr_status vfr_get_slot_dots(const vfr_vault *vault, size_t index, vfr_slot_dots *dots) {
    memset(dots, 0, sizeof *dots);
    if (index >= vault->keyring.slot_count) return VFR_NOT_FOUND;
    const vfri_slot_entry *slot = &vault->keyring.slots[index];
    memcpy(dots->id, slot->id, sizeof dots->id);
    dots->made = slot->made;
    dots->changed = slot->changed;
    dots->grant_count = slot->grant_count;
    return VFR_OK;
}

vfr_status vfr_get_slot_grant(const vfr_vault *vault, size_t slot, size_t index, uint64_t *group, vfr_dot *dot) {
    *group = 0;
    *dot = (vfr_dot){0};
    if (slot >= vault->keyring.slot_count || index >= vault->keyring.slots[slot].grant_count) return VFR_NOT_FOUND;
    const vfri_grant *grant = &vault->keyring.grants[vault->keyring.slots[slot].first_grant + index];
    *group = grant->group;
    *dot = grant->dot;
    return VFR_OK;
}
