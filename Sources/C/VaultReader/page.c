/* Implements page.h: the functions call the reader and encode its results as the answer. */
#include "page.h"

#include <stdlib.h>
#include <string.h>
#include <vaultfmt_reader.h>

enum { CANDIDATE = 1 + 16 + 32, ROW = 8 + 8 + 1, ANCHOR = 32 + 32 + 8 };
/* Sufficient for the largest objects of all kinds at the same time. */
static const size_t budget = (size_t)256 << 20;

/* Memory filled by JavaScript. */
typedef struct block {
    uint8_t *bytes;
    size_t count;
} block;

/* The vault, and its current objects. */
static struct page {
    vfr_source source;
    vfr_header *header;
    vfr_vault *vault;
    vfr_list *list, *finder;
    const vfr_entry *entry; /* from the list or the finder; NULL if there is no current entry */
    vfr_past *past;
    block given[PAGE_GIVEN];
    vfr_device device;
    vfr_key key;
    vfr_slot_owner owner;
} page;

/* ---- Memory ---- */

/* Prevents the compiler from removing the write. */
static void wipe(void *memory, size_t count) {
    volatile uint8_t *bytes = memory;
    for (size_t i = 0; i < count; i++) bytes[i] = 0;
}

static void discard(void *memory, size_t count) {
    if (memory == NULL) return;
    wipe(memory, count);
    free(memory);
}

void *page_allocate(uint32_t count) {
    return malloc(count > 0 ? count : 1);
}

void page_release(void *memory, uint32_t count) {
    discard(memory, count);
}

/* ---- The answer ---- */

static struct answer {
    uint8_t *bytes;
    size_t length, capacity;
    bool failed;
} answer;

/* Wipes the answer; its memory is reused unless it is large. */
static void begin(void) {
    if (answer.length > 0) wipe(answer.bytes, answer.length);
    if (answer.capacity > (size_t)1 << 20) {
        free(answer.bytes);
        answer.bytes = NULL;
        answer.capacity = 0;
    }
    answer.length = 0;
    answer.failed = false;
}

static bool reserve(size_t count) {
    if (answer.failed || count <= answer.capacity - answer.length) return !answer.failed;
    size_t capacity = 2 * answer.length + count + 1024;
    uint8_t *bytes = capacity > count ? malloc(capacity) : NULL;
    if (bytes == NULL) {
        answer.failed = true;
        return false;
    }
    if (answer.length > 0) memcpy(bytes, answer.bytes, answer.length);
    discard(answer.bytes, answer.length);
    answer.bytes = bytes;
    answer.capacity = capacity;
    return true;
}

static void put_bytes(const void *bytes, size_t count) {
    if (count == 0 || !reserve(count)) return;
    memcpy(answer.bytes + answer.length, bytes, count);
    answer.length += count;
}

static void put_integer(uint64_t value, size_t size) {
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> (8 * i));
    put_bytes(bytes, size);
}

static void put_u8(unsigned value) {
    put_integer(value, 1);
}

static void put_u32(size_t value) {
    put_integer(value, 4);
}

static void put_u64(uint64_t value) {
    put_integer(value, 8);
}

static void put_block(vfr_bytes bytes) {
    put_u32(bytes.length);
    put_bytes(bytes.data, bytes.length);
}

static void put_dot(vfr_dot dot) {
    put_u64(dot.revision);
    put_u64(dot.replica);
}

/* Returns a status. If the answer could not be written completely, the answer is empty and the status is an error. */
static uint32_t finish(vfr_status status) {
    bool failed = answer.failed;
    if (failed) begin();
    return (uint32_t)(failed ? VFR_OUT_OF_BUDGET : status);
}

const uint8_t *page_answer(void) {
    return answer.bytes;
}

uint32_t page_answer_length(void) {
    return (uint32_t)answer.length;
}

const char *page_status_name(uint32_t status) {
    return vfr_status_name((vfr_status)status);
}

/* ---- Opening ---- */

static int read_source(void *context, uint64_t offset, void *buffer, size_t count) {
    (void)context;
    return page_read((double)offset, buffer, (uint32_t)count);
}

static void put_extension(const vfr_extension *extension) {
    put_u8(extension->flags);
    put_block(extension->name);
    put_block(extension->value);
}

static void put_failure(vfr_status status, const vfr_failure *failure) {
    if (status == VFR_UNSUPPORTED_CRITICAL) put_block((vfr_bytes){failure->extension, failure->extension_length});
    if (status != VFR_KDF_LIMIT) return;
    put_u32(failure->memory);
    put_u32(failure->passes);
    put_u32(failure->lanes);
}

static void put_slot(const vfr_slot *slot) {
    put_bytes(slot->id, sizeof slot->id);
    put_u8(slot->kind);
    put_u8(slot->factors);
    put_u8(slot->known);
    put_u32(slot->memory);
    put_u32(slot->passes);
    put_u32(slot->lanes);
    put_block(slot->provider);
    put_block(slot->parameters);
    put_block(slot->bytes);
}

static void put_header(const vfr_header *header) {
    uint8_t id[16];
    vfr_slot slot;
    vfr_extension extension;
    size_t slots = 0, extensions = 0;
    vfr_header_id(header, id);
    put_bytes(id, sizeof id);
    while (vfr_header_slot(header, slots, &slot) == VFR_OK) slots++;
    put_u32(slots);
    for (size_t i = 0; vfr_header_slot(header, i, &slot) == VFR_OK; i++) put_slot(&slot);
    while (vfr_header_extension(header, extensions, &extension) == VFR_OK) extensions++;
    put_u32(extensions);
    for (size_t i = 0; vfr_header_extension(header, i, &extension) == VFR_OK; i++) put_extension(&extension);
}

uint32_t page_load(double size) {
    page_close();
    if (!(size >= 0 && size <= 9007199254740992.0)) return VFR_INVALID_ARGUMENT;
    page.source = (vfr_source){.read = read_source, .size = (uint64_t)size};
    const vfr_options options = {.budget = budget};
    vfr_failure failure;
    vfr_status status = vfr_header_open(&page.source, &options, &page.header, &failure);
    if (status == VFR_OK) put_header(page.header);
    else put_failure(status, &failure);
    return finish(status);
}

static void forget_given(void) {
    for (size_t i = 0; i < PAGE_GIVEN; i++) {
        discard(page.given[i].bytes, page.given[i].count);
        page.given[i] = (block){0};
    }
    wipe(&page.device, sizeof page.device);
}

uint32_t page_give(uint32_t what, void *bytes, uint32_t count) {
    bool right = bytes != NULL && what < PAGE_GIVEN;
    if (what == PAGE_CANDIDATES) right = right && count % CANDIDATE == 0;
    if (what == PAGE_DEVICE) right = right && count == sizeof(vfr_device);
    if (what == PAGE_OWNER) right = right && count == 32;
    if (!right) {
        discard(bytes, count);
        return VFR_INVALID_ARGUMENT;
    }
    discard(page.given[what].bytes, page.given[what].count);
    page.given[what] = (block){bytes, count};
    return VFR_OK;
}

static vfr_bytes given(size_t what) {
    return (vfr_bytes){page.given[what].bytes, page.given[what].count};
}

/* Passes the given external keys to the reader. */
static int provide(void *context, vfr_external_slot *slots, size_t count) {
    (void)context;
    const block *all = &page.given[PAGE_CANDIDATES];
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < all->count && slots[i].count < VFR_CANDIDATES; at += CANDIDATE) {
            const uint8_t *candidate = all->bytes + at;
            if (candidate[0] == 1 && memcmp(candidate + 1, slots[i].id, 16) != 0) continue;
            memcpy(slots[i].keys[slots[i].count++], candidate + 17, 32);
        }
    }
    return 0;
}

/* Converts a limit; a value outside of 0 to 2^53 is treated as the smallest
 * limit. */
static uint64_t limit(double value) {
    if (!(value >= 0)) return 1;
    return value <= 9007199254740992.0 ? (uint64_t)value : UINT64_MAX;
}

static void put_state(void) {
    vfr_state state;
    vfr_get_state(page.vault, &state);
    put_bytes(state.vault_id, sizeof state.vault_id);
    put_bytes(state.owner, sizeof state.owner);
    put_u8(state.full);
    put_bytes(state.slot_id, sizeof state.slot_id);
    put_u8(state.tail);
    put_u64(state.generation);
    put_bytes(state.chain, sizeof state.chain);
    put_u64(state.previous_generation);
    put_bytes(state.previous_chain, sizeof state.previous_chain);
    put_u64(state.clock);
    put_u64(state.floor);
    put_u64(state.own_replica);
    put_u64(state.own_revision);
    put_u64(state.items);
    put_u64(state.forgotten);
    put_u64(state.pasts);
}

static void close_vault(void) {
    vfr_past_close(page.past);
    vfr_list_close(page.finder);
    vfr_list_close(page.list);
    vfr_close(page.vault);
    page.past = NULL;
    page.list = page.finder = NULL;
    page.entry = NULL;
    page.vault = NULL;
    wipe(&page.key, sizeof page.key);
    wipe(&page.owner, sizeof page.owner);
}

uint32_t page_open(double memory, double passes, double lanes, double total) {
    begin();
    close_vault();
    vfr_options options = {
        .budget = budget,
        .policy = {limit(memory), limit(passes), limit(lanes), limit(total)},
        .owner = page.given[PAGE_OWNER].bytes,
    };
    vfr_factors factors = {
        .passphrase = given(PAGE_PASSPHRASE),
        .key_file = given(PAGE_KEY_FILE),
        .raw_key = given(PAGE_RAW_KEY),
        .provider = given(PAGE_PROVIDER),
        .external = provide,
    };
    const uint8_t *device = page.given[PAGE_DEVICE].bytes;
    if (device != NULL) {
        memcpy(page.device.id, device, 16);
        memcpy(page.device.secret, device + 16, 32);
        options.device = &page.device;
    }
    vfr_failure failure;
    vfr_status status = page.source.read == NULL ? VFR_INVALID_ARGUMENT : VFR_OK;
    if (status == VFR_OK) status = vfr_open(&page.source, &options, &factors, &page.vault, &failure);
    else memset(&failure, 0, sizeof failure);
    forget_given();
    if (status == VFR_OK) put_state();
    else put_failure(status, &failure);
    return finish(status);
}

void page_close(void) {
    begin();
    close_vault();
    forget_given();
    vfr_header_close(page.header);
    wipe(&page, sizeof page);
}

/* ---- The state ---- */

static uint64_t load64(const uint8_t *bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < 8; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static vfr_status compare(const uint8_t *bytes, size_t count, vfr_verdict *verdict) {
    *verdict = VFR_VERDICT_NONE;
    if (page.vault == NULL || count < ANCHOR || (count - ANCHOR) % ROW != 0) return VFR_INVALID_ARGUMENT;
    vfr_anchor anchor = {.floor = load64(bytes + 64), .row_count = (count - ANCHOR) / ROW};
    memcpy(anchor.owner, bytes, 32);
    memcpy(anchor.chain, bytes + 32, 32);
    vfr_row *rows = calloc(anchor.row_count + 1, sizeof *rows);
    if (rows == NULL) return VFR_OUT_OF_BUDGET;
    for (size_t i = 0; i < anchor.row_count; i++) {
        const uint8_t *row = bytes + ANCHOR + i * ROW;
        rows[i] = (vfr_row){load64(row), load64(row + 8), row[16] != 0};
    }
    anchor.rows = rows;
    vfr_status status = vfr_compare(page.vault, &anchor, verdict);
    free(rows);
    return status;
}

uint32_t page_compare(void *anchor, uint32_t count) {
    begin();
    vfr_verdict verdict;
    vfr_status status = anchor == NULL ? VFR_INVALID_ARGUMENT : compare(anchor, count, &verdict);
    discard(anchor, count);
    if (status == VFR_OK) put_u8(verdict);
    return finish(status);
}

static void put_row(vfr_row row) {
    put_u64(row.replica);
    put_u64(row.revision);
    put_u8(row.split);
}

uint32_t page_vector(void) {
    begin();
    vfr_status status = page.vault == NULL ? VFR_INVALID_ARGUMENT : vfr_read_vector(page.vault);
    size_t count = page.vault == NULL ? 0 : vfr_row_count(page.vault);
    put_u32(count);
    for (size_t i = 0; i < count; i++) put_row(vfr_get_row(page.vault, i));
    return finish(status);
}

static void put_slot_dots(size_t index) {
    vfr_slot_dots dots;
    (void)vfr_get_slot_dots(page.vault, index, &dots);
    put_bytes(dots.id, sizeof dots.id);
    put_dot(dots.made);
    put_dot(dots.changed);
    put_u32(dots.grant_count);
    for (size_t i = 0; i < dots.grant_count; i++) {
        uint64_t group;
        vfr_dot dot;
        (void)vfr_get_slot_grant(page.vault, index, i, &group, &dot);
        put_u64(group);
        put_dot(dot);
    }
}

static void put_groups(const vfr_settings *settings) {
    vfr_group group;
    vfr_compartment compartment;
    put_u32(settings->groups);
    for (size_t i = 0; i < settings->groups; i++) {
        (void)vfr_get_group(page.vault, i, &group);
        put_u64(group.number);
        put_block(group.name);
    }
    put_u32(settings->compartments);
    for (size_t i = 0; i < settings->compartments; i++) {
        (void)vfr_get_compartment(page.vault, i, &compartment);
        put_u64(compartment.number);
        put_u64(compartment.group);
        put_u8(compartment.accessibility);
        put_bytes(compartment.device, sizeof compartment.device);
    }
}

uint32_t page_keyring(void) {
    begin();
    if (page.vault == NULL) return VFR_INVALID_ARGUMENT;
    vfr_settings settings;
    vfr_get_settings(page.vault, &settings);
    put_u8(settings.limit);
    put_dot(settings.limit_dot);
    put_dot(settings.key_dot);
    put_u32(settings.grants);
    for (size_t i = 0; i < settings.grants; i++) {
        uint64_t group;
        (void)vfr_get_grant(page.vault, i, &group);
        put_u64(group);
    }
    put_u32(settings.keyring_extensions);
    for (size_t i = 0; i < settings.keyring_extensions; i++) {
        vfr_extension extension;
        (void)vfr_get_keyring_extension(page.vault, i, &extension);
        put_extension(&extension);
    }
    put_groups(&settings);
    put_u32(settings.slots);
    for (size_t i = 0; i < settings.slots; i++) put_slot_dots(i);
    put_u32(settings.hand_overs);
    return finish(VFR_OK);
}

uint32_t page_slot_owner(uint32_t index) {
    begin();
    vfr_slot_owner *owner = &page.owner;
    vfr_status status = page.vault == NULL ? VFR_INVALID_ARGUMENT : vfr_get_slot_owner(page.vault, index, owner);
    if (status == VFR_OK) {
        put_block((vfr_bytes){owner->name, owner->name_length});
        put_block((vfr_bytes){owner->data, owner->data_length});
        put_u32(owner->group_count);
        for (size_t i = 0; i < owner->group_count; i++) put_u64(owner->groups[i]);
    }
    wipe(owner, sizeof *owner);
    return finish(status);
}

uint32_t page_hand_over(uint32_t index) {
    begin();
    vfr_hand_over hand_over;
    if (page.vault == NULL) return VFR_INVALID_ARGUMENT;
    vfr_status status = vfr_read_hand_over(page.vault, index, &hand_over);
    if (status != VFR_OK) return finish(status);
    put_bytes(hand_over.from, sizeof hand_over.from);
    put_bytes(hand_over.next, sizeof hand_over.next);
    put_u64(hand_over.floor);
    put_u8(hand_over.rows_status);
    put_u8(hand_over.valid);
    put_u32(hand_over.row_count);
    for (size_t i = 0; i < hand_over.row_count; i++) put_row(hand_over.rows[i]);
    vfr_release_hand_over(page.vault, &hand_over);
    return finish(VFR_OK);
}

/* ---- Items ---- */

static void put_key(vfr_bytes bytes) {
    vfr_key *key = &page.key;
    (void)vfr_decode_key(bytes, key); /* after an error, all zeros */
    put_u8(key->class_number);
    put_u8(key->synchronizable);
    put_u32(key->field_count);
    for (size_t i = 0; i < key->field_count; i++) {
        put_u8(key->fields[i].kind);
        if (key->fields[i].kind == VFR_FIELD_NUMBER) put_u32(key->fields[i].number);
        else put_block(key->fields[i].bytes);
    }
}

static void put_attribute(const vfr_attribute *attribute) {
    put_u8(attribute->flags);
    put_block(attribute->name);
    put_block(attribute->value);
    put_dot(attribute->dot);
    put_u64(attribute->record_revision);
    put_u64(attribute->compartment);
}

static void put_item(const vfr_item *item) {
    put_block(item->page_key);
    put_u8(item->conflict);
    put_bytes(item->id, sizeof item->id);
    put_dot(item->dot);
    put_dot(item->key_dot);
    put_dot(item->place_dot);
    put_dot(item->secret_dot);
    put_u64((uint64_t)item->created);
    put_u64((uint64_t)item->modified);
    put_u8(item->has_secret);
    put_u8(item->has_past);
    put_u8(item->to_settle);
    put_u64(item->record_revision);
    put_u64(item->compartment);
    put_key(item->page_key);
    put_u32(item->attribute_count);
    for (size_t i = 0; i < item->attribute_count; i++) put_attribute(&item->attributes[i]);
}

static void put_entry(const vfr_entry *entry) {
    put_u8(entry->is_item);
    if (entry->is_item) {
        put_item(&entry->item);
        return;
    }
    put_u8(entry->forgotten.kind);
    put_block(entry->forgotten.name);
    put_u64(entry->forgotten.revision);
    put_u64(entry->forgotten.replica);
}

/* Resets the current objects. */
static void leave(void) {
    vfr_past_close(page.past);
    page.past = NULL;
    page.entry = NULL;
}

uint32_t page_list(void) {
    begin();
    leave();
    vfr_list_close(page.list);
    page.list = NULL;
    return finish(page.vault == NULL ? VFR_INVALID_ARGUMENT : vfr_list_open(page.vault, &page.list));
}

uint32_t page_next(void) {
    begin();
    leave();
    vfr_status status = page.list == NULL ? VFR_INVALID_ARGUMENT : vfr_list_next(page.list, &page.entry);
    if (status == VFR_OK) put_entry(page.entry);
    return finish(status);
}

uint32_t page_find(void *key, uint32_t count) {
    begin();
    leave();
    vfr_status status = page.vault == NULL || key == NULL ? VFR_INVALID_ARGUMENT : VFR_OK;
    if (status == VFR_OK && page.finder == NULL) status = vfr_list_open(page.vault, &page.finder);
    if (status == VFR_OK) status = vfr_list_find(page.finder, (vfr_bytes){key, count}, &page.entry);
    discard(key, count);
    if (status == VFR_OK) put_entry(page.entry);
    return finish(status);
}

uint32_t page_key(void *key, uint32_t count) {
    begin();
    put_key((vfr_bytes){key, key == NULL ? 0 : count});
    discard(key, count);
    return finish(page.key.class_number == 0 ? VFR_INVALID_ARGUMENT : VFR_OK);
}

/* Makes the contents of a record the answer, and closes the record. */
static uint32_t show(vfr_status status, vfr_record *record) {
    if (status == VFR_OK) {
        vfr_bytes secret = vfr_record_secret(record);
        put_bytes(secret.data, secret.length);
    }
    vfr_record_close(record);
    return finish(status);
}

static const vfr_item *current(void) {
    return page.entry != NULL && page.entry->is_item ? &page.entry->item : NULL;
}

uint32_t page_secret(void) {
    begin();
    const vfr_item *item = current();
    vfr_record *record = NULL;
    if (item == NULL) return VFR_INVALID_ARGUMENT;
    vfr_status status = vfr_read_record(page.vault, item, &record);
    if (status == VFR_OK && !item->has_secret) status = VFR_NO_SECRET;
    return show(status, record);
}

/* Makes an attribute's value the answer; the value is in a record that was read for the attribute or its item. */
static uint32_t show_value(const vfr_attribute *attribute, vfr_status status, vfr_record *record) {
    vfr_record_value found = {0};
    if (status == VFR_OK) status = vfr_record_attribute(record, attribute->name, &found);
    if (status == VFR_OK) put_bytes(found.value.data, found.value.length);
    vfr_record_close(record);
    return finish(status);
}

uint32_t page_attribute(uint32_t index) {
    begin();
    const vfr_item *item = current();
    vfr_record *record = NULL;
    if (item == NULL) return VFR_INVALID_ARGUMENT;
    if (index >= item->attribute_count) return VFR_NOT_FOUND;
    const vfr_attribute *attribute = &item->attributes[index];
    if ((attribute->flags & VFR_ATTRIBUTE_OWN_RECORD) != 0) {
        vfr_status status = vfr_read_attribute(page.vault, item, index, &record);
        return show(status, record);
    }
    if ((attribute->flags & VFR_ATTRIBUTE_IN_RECORD) != 0) {
        vfr_status status = vfr_read_record(page.vault, item, &record);
        return show_value(attribute, status, record);
    }
    put_bytes(attribute->value.data, attribute->value.length);
    return finish(VFR_OK);
}

/* ---- Pasts ---- */

static void put_value(size_t index) {
    vfr_value value;
    vfr_attribute attributes[VFR_ATTRIBUTES];
    (void)vfr_get_value(page.past, index, &value);
    put_u8(value.kind);
    put_u8(value.flags);
    put_u8(value.attribute_flags);
    put_block(value.name);
    put_dot(value.dot);
    put_u8(value.has_content);
    put_u64((uint64_t)value.replaced);
    put_block(value.content);
    put_u8(value.accessibility);
    put_bytes(value.device, sizeof value.device);
    put_u8(value.has_record);
    put_u64(value.record_revision);
    put_u64(value.compartment);
    put_u32(value.attribute_count);
    if (value.attribute_count == 0) return;
    (void)vfr_value_attributes(page.past, index, attributes);
    for (size_t i = 0; i < value.attribute_count; i++) put_attribute(&attributes[i]);
}

static void put_sibling(size_t index, size_t values) {
    vfr_sibling sibling;
    (void)vfr_get_sibling(page.past, index, &sibling);
    put_dot(sibling.dot);
    put_u64((uint64_t)sibling.created);
    put_u64((uint64_t)sibling.modified);
    for (size_t i = 0; i < values; i++) {
        unsigned field = vfr_sibling_has_field(page.past, index, i) ? 1 : 0;
        unsigned earlier = vfr_sibling_has_earlier(page.past, index, i) ? 2 : 0;
        put_u8(field | earlier);
    }
}

uint32_t page_past(void) {
    begin();
    vfr_past_close(page.past);
    page.past = NULL;
    const vfr_item *item = current();
    if (item == NULL) return VFR_INVALID_ARGUMENT;
    vfr_status status = vfr_read_past(page.vault, item, &page.past);
    if (status != VFR_OK) return finish(status);
    size_t values = vfr_value_count(page.past), siblings = vfr_sibling_count(page.past);
    put_u32(values);
    for (size_t i = 0; i < values; i++) put_value(i);
    put_u32(siblings);
    for (size_t i = 0; i < siblings; i++) put_sibling(i, values);
    return finish(VFR_OK);
}

uint32_t page_value(uint32_t index) {
    begin();
    vfr_record *record = NULL;
    if (page.past == NULL) return VFR_INVALID_ARGUMENT;
    vfr_status status = vfr_read_value(page.past, index, &record);
    return show(status, record);
}

uint32_t page_value_attribute(uint32_t index, uint32_t attribute) {
    begin();
    vfr_value value;
    vfr_attribute attributes[VFR_ATTRIBUTES];
    vfr_record *record = NULL;
    if (page.past == NULL) return VFR_INVALID_ARGUMENT;
    vfr_status status = vfr_get_value(page.past, index, &value);
    if (status == VFR_OK && attribute >= value.attribute_count) status = VFR_NOT_FOUND;
    if (status == VFR_OK) status = vfr_value_attributes(page.past, index, attributes);
    if (status != VFR_OK) return finish(status);
    const vfr_attribute *wanted = &attributes[attribute];
    if ((wanted->flags & VFR_ATTRIBUTE_OWN_RECORD) != 0) {
        status = vfr_read_value_attribute(page.past, index, wanted, &record);
        return show(status, record);
    }
    if ((wanted->flags & VFR_ATTRIBUTE_IN_RECORD) != 0) {
        status = vfr_read_value(page.past, index, &record);
        return show_value(wanted, status, record);
    }
    put_bytes(wanted->value.data, wanted->value.length);
    return finish(VFR_OK);
}

uint32_t page_roles(void) {
    begin();
    const vfr_item *item = current();
    if (page.past == NULL || item == NULL) return VFR_INVALID_ARGUMENT;
    size_t count = vfr_value_count(page.past);
    vfr_role *roles = calloc(count + 1, sizeof *roles);
    vfr_status status = roles == NULL ? VFR_OUT_OF_BUDGET : vfr_get_roles(page.past, item, roles);
    for (size_t i = 0; i < count && status == VFR_OK; i++) put_u8(roles[i]);
    free(roles);
    return finish(status);
}

uint32_t page_check_forgotten(void) {
    begin();
    return finish(page.vault == NULL ? VFR_INVALID_ARGUMENT : vfr_check_forgotten(page.vault));
}
