/* Records: reads and opens the secret of an item, or a large attribute (section 5.1). */
#include "internal.h"

#include <string.h>

enum { LOCATOR = 32, SEALED = VFRI_FRAME_HEAD + LOCATOR };

struct vfr_record {
    vfri_memory *memory;
    uint8_t *frame;
    vfr_bytes content;
    size_t count;
    vfr_record_value values[VFR_ATTRIBUTES]; /* the values that the reference requires */
};

/* Returns whether a length is a step (section 5.1). */
static bool is_step(size_t length) {
    if (length <= 1024) return length == 128 || length == 256 || length == 512 || length == 1024;
    unsigned e = 0, s = 1;
    for (size_t n = length; n > 1; n >>= 1) e++;
    for (unsigned n = e; n > 1; n >>= 1) s++;
    return (length & (((size_t)1 << (e - s)) - 1)) == 0;
}

/* Stores a value if the reference requires the value. */
static void keep(vfr_record *record, const vfri_expected *expected, const vfr_record_value *value) {
    for (size_t i = 0; i < expected->attribute_count; i++) {
        const vfr_attribute *attribute = &expected->attributes[i];
        if (attribute->flags == value->flags && vfri_same(attribute->name, value->name)) {
            record->values[record->count++] = *value;
            return;
        }
    }
}

/* Decodes the attributes in a body of form 0, and compares them with the attributes that the reference requires (R-6.5,
 * */
static void decode_attributes(vfri_cursor *cursor, const vfri_expected *expected, bool bound, vfr_record *record) {
    size_t wanted = 0;
    for (size_t i = 0; i < expected->attribute_count; i++) {
        if ((expected->attributes[i].flags & VFR_ATTRIBUTE_IN_RECORD) != 0) wanted++;
    }
    size_t count = vfri_count(cursor, VFR_ATTRIBUTES);
    vfr_bytes last = {NULL, 0};
    for (size_t i = 0; i < count && !cursor->failed; i++) {
        vfr_record_value value;
        vfri_attribute_name(cursor, &value.flags, &value.name);
        vfri_require(cursor, (value.flags & VFR_ATTRIBUTE_IN_RECORD) != 0);
        value.value = vfri_take(cursor, vfri_count(cursor, VFRI_RECORD_VALUE));
        bool is_sealed = (value.flags & VFR_ATTRIBUTE_SEALED) != 0;
        vfri_require(cursor, is_sealed || value.value.length > VFRI_PAGE_VALUE); /* */
        vfri_require(cursor, i == 0 || vfri_compare(last, value.name) < 0);
        if (!cursor->failed) keep(record, expected, &value);
        last = value.name;
    }
    vfri_require(cursor, record->count == wanted && (count == wanted || bound || !expected->exact));
}

static vfr_status decode_body(vfr_bytes body, const vfri_expected *expected, bool bound, vfr_record *record) {
    vfri_cursor cursor = vfri_cursor_of(body.data, body.length);
    vfr_bytes group;
    if (!is_step(body.length)) return VFR_STRUCTURE_INVALID;
    uint8_t form = vfri_u8(&cursor);
    if (form > 1) return VFR_UNSUPPORTED_FORM;
    vfri_require(&cursor, form == expected->form);
    vfri_require(&cursor, vfri_check_key(vfri_take(&cursor, vfri_count(&cursor, VFR_KEY_SIZE)), &group)); /* */
    if (cursor.failed) return VFR_STRUCTURE_INVALID;
    if (form == 0) {
        record->content = vfri_take(&cursor, vfri_count(&cursor, VFRI_VALUE_MAX));
        if (expected->no_secret) {
            vfri_require(&cursor, record->content.length == 0 || bound); /* */
            record->content.length = 0;
        }
        decode_attributes(&cursor, expected, bound, record);
    } else {
        vfr_record_value value;
        vfri_attribute_name(&cursor, &value.flags, &value.name);
        record->content = vfri_take(&cursor, vfri_count(&cursor, VFRI_VALUE_MAX));
        vfri_require(&cursor, record->content.length > VFRI_RECORD_VALUE);
        vfri_require(&cursor, value.flags == expected->attributes->flags);
        vfri_require(&cursor, vfri_same(value.name, expected->attributes->name));
    }
    vfri_padding(&cursor);
    return cursor.failed ? VFR_STRUCTURE_INVALID : VFR_OK;
}

/* Opens a frame that has been checked, and decodes it. */
static vfr_status open_record(vfr_vault *vault, uint8_t *frame, size_t length, const vfri_expected *expected,
                              vfr_record *record) {
    uint8_t key[32], x[32], ad[VFRI_AD];
    const vfri_compartment *compartment = vfri_find_compartment(vault, expected->compartment);
    if (compartment == NULL) return VFR_STRUCTURE_INVALID;
    vfr_status status = vfri_compartment_key(vault, compartment, key);
    if (status != VFR_OK) return status;
    memcpy(x, expected->item_id, 16);
    vfri_store64(x + 16, expected->compartment);
    vfri_store64(x + 24, expected->revision);
    size_t count = vfri_frame_ad(vault, "vaultfmt-1 record", x, sizeof x, frame, ad);
    bool opened = vfri_unseal(key, frame + 8, ad, count, frame + SEALED, length - SEALED, frame + SEALED);
    vfri_wipe(key, sizeof key);
    if (!opened) return VFR_AUTHENTICATION_FAILED;
    vfr_bytes body = {frame + SEALED, length - SEALED - VFRI_TAG};
    return decode_body(body, expected, vfri_needs_device(compartment->accessibility), record);
}

vfr_status vfri_follow_record(vfr_vault *vault, vfr_reference reference, const vfri_expected *expected,
                              vfr_record **record) {
    *record = NULL;
    uint8_t *frame;
    vfr_status status = vfri_read_frame(vault, "vREC", reference, expected->before, &frame);
    if (status != VFR_OK) return status;
    vfr_record *out = vfri_allocate(&vault->memory, sizeof *out);
    if (out == NULL) {
        vfri_release(&vault->memory, frame);
        return VFR_OUT_OF_BUDGET;
    }
    out->memory = &vault->memory;
    out->frame = frame;
    status = open_record(vault, frame, (size_t)reference.length, expected, out);
    if (status != VFR_OK) {
        vfr_record_close(out);
        return status;
    }
    *record = out;
    return VFR_OK;
}

vfr_status vfr_read_record(vfr_vault *vault, const vfr_item *item, vfr_record **record) {
    *record = NULL;
    if (item->record_revision == 0) return VFR_NO_SECRET;
    const vfri_expected expected = {
        .item_id = item->id,
        .revision = item->record_revision,
        .compartment = item->compartment,
        .before = item->page_offset,
        .attributes = item->attributes,
        .attribute_count = item->attribute_count,
        .exact = true,
        .no_secret = !item->has_secret,
    };
    return vfri_follow_record(vault, item->record, &expected, record);
}

vfr_status vfri_follow_attribute(vfr_vault *vault, const uint8_t *item_id, const vfr_attribute *attribute,
                                 uint64_t before, vfr_record **record) {
    *record = NULL;
    if ((attribute->flags & VFR_ATTRIBUTE_OWN_RECORD) == 0) return VFR_NO_SECRET;
    const vfri_expected expected = {
        .item_id = item_id,
        .revision = attribute->record_revision,
        .compartment = attribute->compartment,
        .before = before,
        .form = 1,
        .attributes = attribute,
        .attribute_count = 1,
    };
    return vfri_follow_record(vault, attribute->record, &expected, record);
}

vfr_status vfr_read_attribute(vfr_vault *vault, const vfr_item *item, size_t index, vfr_record **record) {
    *record = NULL;
    if (index >= item->attribute_count) return VFR_NOT_FOUND;
    return vfri_follow_attribute(vault, item->id, &item->attributes[index], item->page_offset, record);
}

vfr_bytes vfr_record_secret(const vfr_record *record) {
    return record->content;
}

vfr_status vfr_record_attribute(const vfr_record *record, vfr_bytes name, vfr_record_value *value) {
    *value = (vfr_record_value){0};
    for (size_t i = 0; i < record->count; i++) {
        if (!vfri_same(record->values[i].name, name)) continue;
        *value = record->values[i];
        return VFR_OK;
    }
    return VFR_NOT_FOUND;
}

void vfri_show_attribute(vfr_record *record) {
    record->content = record->values[0].value;
}

void vfr_record_close(vfr_record *record) {
    if (record == NULL) return;
    vfri_memory *memory = record->memory;
    vfri_release(memory, record->frame);
    vfri_release(memory, record);
}
