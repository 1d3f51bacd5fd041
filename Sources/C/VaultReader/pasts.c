/* Pasts: decodes the values that an item does not show, and its siblings (section 5.3). */
#include "pasts.h"

#include <string.h>

enum { EXCLUSIVE = VFR_VALUE_EARLIER | VFR_VALUE_SHOWN | VFR_VALUE_FORGOTTEN };

bool vfri_is_protected(const vfr_value *value) {
    return value->kind == VFR_VALUE_SECRET ||
           (value->kind == VFR_VALUE_ATTRIBUTE && (value->attribute_flags & VFR_ATTRIBUTE_SEALED) != 0);
}

/* ---- Values ---- */

/* Returns whether an item's entry refers to the same record as an attribute in a past. */
static bool is_shared(const vfr_item *item, const vfr_reference *record, uint64_t revision, uint64_t compartment) {
    for (size_t i = 0; i < item->attribute_count; i++) {
        const vfr_attribute *other = &item->attributes[i];
        if ((other->flags & VFR_ATTRIBUTE_OWN_RECORD) == 0) continue;
        if (other->record.offset == record->offset && other->record.length == record->length &&
            memcmp(other->record.hash, record->hash, 32) == 0 && other->record_revision == revision &&
            other->compartment == compartment) {
            return true;
        }
    }
    return false;
}

/* Checks the compartment of a record in a past. */
static bool is_allowed(const vfr_vault *vault, uint64_t number, bool shared) {
    const vfri_compartment *compartment = vfri_find_compartment(vault, number);
    if (compartment == NULL) return false;
    return compartment->group == 0 || vfri_needs_device(compartment->accessibility) || shared;
}

static void decode_record(vfri_cursor *cursor, const vfr_vault *vault, const vfr_item *item, bool own,
                          vfr_value *value) {
    value->has_record = true;
    value->record = vfri_narrow(cursor);
    value->record_revision = vfri_u64(cursor);
    value->compartment = vfri_u64(cursor);
    bool shared = own && is_shared(item, &value->record, value->record_revision, value->compartment);
    vfri_require(cursor, value->record_revision >= 1 && value->record_revision <= vault->commit.clock);
    vfri_require(cursor, is_allowed(vault, value->compartment, shared));
}

/* Decodes the unsealed attributes that the item had at the time of an earlier secret. */
static void decode_secret_attributes(vfri_cursor *cursor, const vfr_vault *vault, const vfr_item *item,
                                     vfr_value *value) {
    vfr_attribute attributes[VFR_ATTRIBUTES];
    vfri_cursor start = *cursor;
    vfri_attributes(vault, cursor, &value->attribute_count, attributes);
    for (size_t i = 0; i < value->attribute_count && !cursor->failed; i++) {
        const vfr_attribute *attribute = &attributes[i];
        vfri_require(cursor, (attribute->flags & VFR_ATTRIBUTE_SEALED) == 0);
        if ((attribute->flags & VFR_ATTRIBUTE_OWN_RECORD) == 0) continue;
        bool shared = is_shared(item, &attribute->record, attribute->record_revision, attribute->compartment);
        vfri_require(cursor, is_allowed(vault, attribute->compartment, shared));
    }
    value->attributes = (vfr_bytes){start.at, start.left - cursor->left};
}

static void decode_content(vfri_cursor *cursor, const vfr_vault *vault, const vfr_item *item, vfr_value *value) {
    vfr_bytes group;
    switch (value->kind) {
    case VFR_VALUE_SECRET:
        decode_record(cursor, vault, item, false, value);
        decode_secret_attributes(cursor, vault, item, value);
        break;
    case VFR_VALUE_ATTRIBUTE:
        if ((value->attribute_flags & (VFR_ATTRIBUTE_IN_RECORD | VFR_ATTRIBUTE_OWN_RECORD)) != 0) {
            decode_record(cursor, vault, item, (value->attribute_flags & VFR_ATTRIBUTE_OWN_RECORD) != 0, value);
        } else {
            value->content = vfri_take(cursor, vfri_count(cursor, VFRI_PAGE_VALUE));
            vfri_require(cursor, (value->attribute_flags & VFR_ATTRIBUTE_SEALED) == 0);
        }
        break;
    case VFR_VALUE_KEY:
        value->content = vfri_take(cursor, vfri_count(cursor, VFR_KEY_SIZE));
        vfri_require(cursor, vfri_check_key(value->content, &group) && group.length == 0);
        break;
    default:
        value->content = vfri_take(cursor, vfri_count(cursor, VFRI_FIELD));
        value->accessibility = vfri_u8(cursor);
        memcpy(value->device, vfri_fixed(cursor, 16), 16);
        vfri_require(cursor, vfri_is_text(value->content) && value->accessibility >= 1 && value->accessibility <= 7);
        vfri_require(cursor, vfri_is_zero(value->device, 16) != vfri_needs_device(value->accessibility));
        break;
    }
}

/* Decodes a value, with those checks of that need only the value. */
static void decode_value(vfri_cursor *cursor, vfr_past *past, const vfr_item *item, size_t index) {
    vfr_value *value = &past->values[index];
    size_t dot = vfri_count(cursor, VFRI_DOTS);
    vfri_require(cursor, dot < past->dot_count);
    if (cursor->failed) return;
    past->value_dots[index] = dot;
    past->used[dot] = 1;
    value->dot = past->dots[dot];
    value->kind = vfri_u8(cursor);
    value->flags = vfri_u8(cursor);
    vfri_require(cursor, value->kind <= VFR_VALUE_PLACE && value->flags <= 0x0F);
    if (value->kind == VFR_VALUE_ATTRIBUTE) vfri_attribute_name(cursor, &value->attribute_flags, &value->name);
    unsigned exclusive = value->flags & EXCLUSIVE;
    vfri_require(cursor, (exclusive & (exclusive - 1)) == 0);
    if ((value->flags & (VFR_VALUE_EARLIER | VFR_VALUE_FORGOTTEN)) != 0) vfri_require(cursor, vfri_is_protected(value));
    if (cursor->failed || (value->flags & (VFR_VALUE_SHOWN | VFR_VALUE_FORGOTTEN)) != 0) return;
    value->has_content = true;
    value->replaced = vfri_zigzag(cursor);
    vfri_require(cursor, vfri_is_time(value->replaced));
    vfri_require(cursor, (value->flags & VFR_VALUE_OPEN) == 0 || value->replaced == 0);
    decode_content(cursor, past->vault, item, value);
}

/* Compares by kind, then by name, then by the index of the dot. */
static int compare_values(const vfr_past *past, size_t left, size_t right) {
    const vfr_value *a = &past->values[left], *b = &past->values[right];
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    int order = vfri_compare(a->name, b->name);
    if (order != 0) return order;
    size_t i = past->value_dots[left], j = past->value_dots[right];
    return (i > j) - (i < j);
}

/* ---- The parts of a past ---- */

static vfr_status decode_dots(vfri_cursor *cursor, vfr_past *past) {
    vfri_memory *memory = &past->vault->memory;
    size_t count = vfri_count(cursor, VFRI_DOTS);
    vfri_require(cursor, count >= 1 && count <= cursor->left / 9);
    if (cursor->failed) return VFR_STRUCTURE_INVALID;
    past->dots = vfri_allocate_array(memory, count, sizeof *past->dots);
    past->used = vfri_allocate(memory, count);
    if (past->dots == NULL || past->used == NULL) return VFR_OUT_OF_BUDGET;
    past->dot_count = count;
    for (size_t i = 0; i < count && !cursor->failed; i++) {
        past->dots[i] = vfri_dot(cursor);
        vfri_require(cursor, vfri_check_dot(past->vault, &past->dots[i]));
        vfri_require(cursor, i == 0 || vfri_compare_dots(&past->dots[i - 1], &past->dots[i]) < 0);
    }
    return cursor->failed ? VFR_STRUCTURE_INVALID : VFR_OK;
}

static vfr_status decode_values(vfri_cursor *cursor, vfr_past *past, const vfr_item *item) {
    vfri_memory *memory = &past->vault->memory;
    size_t count = vfri_count(cursor, VFRI_VALUES);
    vfri_require(cursor, count >= 1 && count <= cursor->left / 3);
    if (cursor->failed) return VFR_STRUCTURE_INVALID;
    past->values = vfri_allocate_array(memory, count, sizeof *past->values);
    past->value_dots = vfri_allocate_array(memory, count, sizeof *past->value_dots);
    if (past->values == NULL || past->value_dots == NULL) return VFR_OUT_OF_BUDGET;
    past->value_count = count;
    for (size_t i = 0; i < count && !cursor->failed; i++) {
        decode_value(cursor, past, item, i);
        vfri_require(cursor, i == 0 || cursor->failed || compare_values(past, i - 1, i) < 0);
    }
    return cursor->failed ? VFR_STRUCTURE_INVALID : VFR_OK;
}

/* Reads a bitmap over the values; its unused bits must be zero. */
static const uint8_t *take_bitmap(vfri_cursor *cursor, size_t count) {
    size_t size = (count + 7) / 8;
    vfr_bytes bitmap = vfri_take(cursor, size);
    if (cursor->failed) return NULL;
    vfri_require(cursor, count % 8 == 0 || bitmap.data[size - 1] >> (count % 8) == 0);
    return bitmap.data;
}

static vfr_status decode_siblings(vfri_cursor *cursor, vfr_past *past) {
    size_t count = vfri_count(cursor, VFRI_SIBLINGS);
    vfri_require(cursor, count <= cursor->left / 5);
    if (cursor->failed) return VFR_STRUCTURE_INVALID;
    past->siblings = vfri_allocate_array(&past->vault->memory, count, sizeof *past->siblings);
    if (past->siblings == NULL) return VFR_OUT_OF_BUDGET;
    past->sibling_count = count;
    for (size_t i = 0; i < count && !cursor->failed; i++) {
        vfri_sibling *sibling = &past->siblings[i];
        sibling->dot = vfri_count(cursor, VFRI_DOTS);
        vfri_require(cursor, sibling->dot < past->dot_count && (i == 0 || sibling->dot > past->siblings[i - 1].dot));
        if (cursor->failed) break;
        past->used[sibling->dot] = 1;
        int64_t milliseconds = (int64_t)(past->dots[sibling->dot].revision >> 16);
        sibling->created = vfri_zigzag(cursor) + milliseconds;
        sibling->modified = vfri_zigzag(cursor) + milliseconds;
        vfri_require(cursor, vfri_is_time(sibling->created) && vfri_is_time(sibling->modified));
        sibling->fields = take_bitmap(cursor, past->value_count);
        sibling->earlier = take_bitmap(cursor, past->value_count);
    }
    return cursor->failed ? VFR_STRUCTURE_INVALID : VFR_OK;
}

static vfr_status decode(vfr_past *past, vfr_bytes body, const vfr_item *item) {
    vfri_cursor cursor = vfri_cursor_of(body.data, body.length);
    if (memcmp(vfri_fixed(&cursor, 16), item->id, 16) != 0) return VFR_STRUCTURE_INVALID; /* */
    memcpy(past->item_id, item->id, 16);
    vfr_status status = decode_dots(&cursor, past);
    if (status == VFR_OK) status = decode_values(&cursor, past, item);
    if (status == VFR_OK) status = decode_siblings(&cursor, past);
    if (status != VFR_OK) return status;
    vfri_frame_padding(&cursor);
    for (size_t i = 0; i < past->dot_count; i++) vfri_require(&cursor, past->used[i] == 1);
    return !cursor.failed && vfri_check_siblings(past, item) ? VFR_OK : VFR_STRUCTURE_INVALID;
}

vfr_status vfr_read_past(vfr_vault *vault, const vfr_item *item, vfr_past **out) {
    *out = NULL;
    if (!item->has_past) return VFR_NO_SECRET;
    if (!vault->keys.full) return VFR_NO_KEY;
    vfr_past *past = vfri_allocate(&vault->memory, sizeof *past);
    if (past == NULL) return VFR_OUT_OF_BUDGET;
    past->vault = vault;
    past->offset = item->past.offset;
    vfr_bytes body;
    vfr_status status = vfri_load(vault, "vPST", "vaultfmt-1 past", vault->keys.past, item->past, item->page_offset,
                                  &past->frame, &body);
    if (status == VFR_OK) status = decode(past, body, item);
    if (status != VFR_OK) {
        vfr_past_close(past);
        return status;
    }
    *out = past;
    return VFR_OK;
}

void vfr_past_close(vfr_past *past) {
    if (past == NULL) return;
    vfri_memory *memory = &past->vault->memory;
    vfri_release(memory, past->frame);
    vfri_release(memory, past->dots);
    vfri_release(memory, past->used);
    vfri_release(memory, past->values);
    vfri_release(memory, past->value_dots);
    vfri_release(memory, past->siblings);
    vfri_release(memory, past);
}

/* ---- Public functions ---- */

size_t vfr_value_count(const vfr_past *past) {
    return past->value_count;
}

vfr_status vfr_get_value(const vfr_past *past, size_t index, vfr_value *value) {
    memset(value, 0, sizeof *value);
    if (index >= past->value_count) return VFR_NOT_FOUND;
    *value = past->values[index];
    return VFR_OK;
}

vfr_status vfr_value_attributes(const vfr_past *past, size_t index, vfr_attribute *attributes) {
    if (index >= past->value_count) return VFR_NOT_FOUND;
    const vfr_value *value = &past->values[index];
    size_t count;
    vfri_cursor cursor = vfri_cursor_of(value->attributes.data, value->attributes.length);
    if (value->attributes.length > 0) vfri_attributes(past->vault, &cursor, &count, attributes);
    return cursor.failed ? VFR_STRUCTURE_INVALID : VFR_OK;
}

vfr_status vfr_read_value(const vfr_past *past, size_t index, vfr_record **record) {
    *record = NULL;
    if (index >= past->value_count) return VFR_NOT_FOUND;
    const vfr_value *value = &past->values[index];
    if (!value->has_record) return VFR_NO_SECRET;
    vfr_attribute attributes[VFR_ATTRIBUTES] = {{.flags = value->attribute_flags, .name = value->name}};
    vfri_expected expected = {
        .item_id = past->item_id,
        .revision = value->record_revision,
        .compartment = value->compartment,
        .before = past->offset,
        .form = (value->attribute_flags & VFR_ATTRIBUTE_OWN_RECORD) != 0 ? 1 : 0,
        .attributes = attributes,
        .attribute_count = 1,
    };
    vfr_status status = VFR_OK;
    if (value->kind == VFR_VALUE_SECRET) {
        status = vfr_value_attributes(past, index, attributes);
        expected.attribute_count = value->attribute_count;
    }
    if (status == VFR_OK) status = vfri_follow_record(past->vault, value->record, &expected, record);
    if (status == VFR_OK && value->kind == VFR_VALUE_ATTRIBUTE && expected.form == 0) vfri_show_attribute(*record);
    return status;
}

vfr_status vfr_read_value_attribute(const vfr_past *past, size_t index, const vfr_attribute *attribute,
                                    vfr_record **record) {
    *record = NULL;
    if (index >= past->value_count) return VFR_NOT_FOUND;
    return vfri_follow_attribute(past->vault, past->item_id, attribute, past->offset, record);
}

size_t vfr_sibling_count(const vfr_past *past) {
    return past->sibling_count;
}

vfr_status vfr_get_sibling(const vfr_past *past, size_t index, vfr_sibling *sibling) {
    memset(sibling, 0, sizeof *sibling);
    if (index >= past->sibling_count) return VFR_NOT_FOUND;
    const vfri_sibling *found = &past->siblings[index];
    *sibling = (vfr_sibling){past->dots[found->dot], found->created, found->modified};
    return VFR_OK;
}

static bool has_bit(const vfr_past *past, const uint8_t *bitmap, size_t value) {
    return value < past->value_count && (bitmap[value / 8] >> (value % 8) & 1) != 0;
}

bool vfr_sibling_has_field(const vfr_past *past, size_t sibling, size_t value) {
    return sibling < past->sibling_count && has_bit(past, past->siblings[sibling].fields, value);
}

bool vfr_sibling_has_earlier(const vfr_past *past, size_t sibling, size_t value) {
    return sibling < past->sibling_count && has_bit(past, past->siblings[sibling].earlier, value);
}
