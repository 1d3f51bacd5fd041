/* Lists: walks the tree from left to right, and looks up single keys. A list holds one page of each level. */
#include "pages.h"

#include <string.h>

struct vfr_list {
    vfr_vault *vault;
    vfri_page pages[VFRI_LEVELS];
    size_t depth;      /* the number of pages held, starting with the root */
    bool started;
    vfr_status status; /* VFR_OK, or the status of all later calls */
    uint64_t items, forgotten, pasts;
    vfri_plain plain;
    uint8_t key[VFRI_PAGE_KEY];
    vfri_item_buffer buffer;
};

vfr_status vfr_list_open(vfr_vault *vault, vfr_list **list) {
    *list = vfri_allocate(&vault->memory, sizeof **list);
    if (*list == NULL) return VFR_OUT_OF_BUDGET;
    (*list)->vault = vault;
    return VFR_OK;
}

static void pop(vfr_list *list) {
    vfri_page *last = &list->pages[--list->depth];
    VFRI_RELEASE(&list->vault->memory, last->frame);
}

static void reset(vfr_list *list) {
    while (list->depth > 0) pop(list);
    list->started = false;
    list->status = VFR_OK;
    list->items = list->forgotten = list->pasts = 0;
    memset(&list->plain, 0, sizeof list->plain);
}

void vfr_list_close(vfr_list *list) {
    if (list == NULL) return;
    reset(list);
    vfri_release(&list->vault->memory, list);
}

/* Begins at the root, if there is one. */
static vfr_status push_root(vfr_list *list) {
    const vfri_commit *commit = &list->vault->commit;
    list->started = true;
    if (commit->root.length == 0) return VFR_OK;
    memset(&list->pages[0], 0, sizeof list->pages[0]);
    vfr_status status = vfri_read_page(list->vault, vfri_wide(&commit->root), commit->offset, commit->root_level,
                                       &list->pages[0]);
    if (status == VFR_OK) list->depth = 1;
    return status;
}

/* Descends to a child of the last page, whose keys are less than `upper` and not less than `lower`. */
static vfr_status push_child(vfr_list *list, vfr_reference child, bool has_lower, vfri_split lower, bool has_upper,
                             vfri_split upper) {
    const vfri_page *parent = &list->pages[list->depth - 1];
    if (parent->cursor.failed || parent->level == 0 || list->depth == VFRI_LEVELS) return VFR_STRUCTURE_INVALID;
    vfri_page *page = &list->pages[list->depth];
    memset(page, 0, sizeof *page);
    page->has_lower = has_lower;
    page->lower = lower;
    page->has_upper = has_upper;
    page->upper = upper;
    vfr_status status = vfri_read_page(list->vault, child, parent->offset, (uint8_t)(parent->level - 1), page);
    if (status == VFR_OK) list->depth++;
    return status;
}

/* Descends to the next child, if there is one, of the last page, which is an inner page. */
static vfr_status push_next(vfr_list *list) {
    vfri_page *page = &list->pages[list->depth - 1];
    bool is_last = page->index == page->count;
    vfri_split upper = page->upper;
    vfr_reference child = vfri_page_child(page, &upper);
    vfr_status status = push_child(list, child, page->has_lower, page->lower, !is_last || page->has_upper, upper);
    /* The separator bounds the next child from below. */
    page->has_lower = true;
    page->lower = upper;
    return status;
}

/* ---- Entries ---- */

/* Joins the pieces of a key, in the memory of the list. */
static vfr_bytes join(vfr_list *list, const vfri_split *key) {
    size_t prefix = key->prefix.length, rest = key->rest.length;
    if (prefix > 0) memcpy(list->key, key->prefix.data, prefix);
    if (rest > 0) memcpy(list->key + prefix, key->rest.data, rest);
    return (vfr_bytes){list->key, prefix + rest};
}

/* Checks that a conflict follows the item with the plain key, which must have a smaller id. */
static bool check_plain(vfri_plain *plain, const vfr_item *item) {
    vfr_bytes key = item->page_key;
    size_t stem = key.length - 1 - (item->conflict ? 16 : 0);
    size_t sync = key.data[stem] & 1;
    bool same = stem == plain->length && memcmp(key.data, plain->stem, stem) == 0;
    if (item->conflict) return same && plain->has[sync] && memcmp(plain->ids[sync], item->id, 16) < 0;
    if (!same) {
        memcpy(plain->stem, key.data, stem);
        plain->length = stem;
        plain->has[0] = plain->has[1] = false;
    }
    plain->has[sync] = true;
    memcpy(plain->ids[sync], item->id, 16);
    return true;
}

/* Decodes the next entry of the last page, a leaf. */
static vfr_status next_entry(vfr_list *list, bool in_order) {
    vfri_page *page = &list->pages[list->depth - 1];
    vfr_bytes value;
    vfri_split key = vfri_page_entry(page, &value);
    if (page->cursor.failed) return VFR_STRUCTURE_INVALID;
    vfr_status status = vfri_decode_entry(list->vault, join(list, &key), value, page->offset, &list->buffer);
    if (status != VFR_OK || !in_order) return status;
    const vfr_entry *entry = &list->buffer.entry;
    if (!entry->is_item) {
        list->forgotten++;
        return VFR_OK;
    }
    list->items++;
    if (entry->item.has_past) list->pasts++;
    return check_plain(&list->plain, &entry->item) ? VFR_OK : VFR_STRUCTURE_INVALID;
}

/* Compares the counts with the commit's. */
static vfr_status finish(const vfr_list *list) {
    const vfri_commit *commit = &list->vault->commit;
    bool right = list->items == commit->items && list->forgotten == commit->forgotten && list->pasts == commit->pasts;
    return right ? VFR_END : VFR_STRUCTURE_INVALID;
}

/* Moves to the next entry; returns VFR_END after the last one. */
static vfr_status advance(vfr_list *list) {
    vfr_status status = VFR_OK;
    if (!list->started) {
        reset(list);
        status = push_root(list);
    }
    while (status == VFR_OK) {
        if (list->depth == 0) return finish(list);
        const vfri_page *page = &list->pages[list->depth - 1];
        if (page->level == 0 && page->index < page->count) return next_entry(list, true);
        if (page->level > 0 && page->index <= page->count) {
            status = push_next(list);
        } else {
            pop(list);
        }
    }
    return status;
}

vfr_status vfr_list_next(vfr_list *list, const vfr_entry **entry) {
    *entry = NULL;
    if (list->status == VFR_OK) list->status = advance(list);
    if (list->status == VFR_OK) *entry = &list->buffer.entry;
    return list->status;
}

/* ---- Looking up ---- */

/* Descends to the leaf that would contain a key (section 5.2). */
static vfr_status descend(vfr_list *list, const vfri_split *key) {
    vfr_status status = push_root(list);
    while (status == VFR_OK && list->depth > 0 && list->pages[list->depth - 1].level > 0) {
        vfri_page *page = &list->pages[list->depth - 1];
        bool has_lower = page->has_lower, has_upper = page->has_upper;
        vfri_split lower = page->lower, upper = page->upper, separator;
        vfr_reference child = {0};
        while (page->index <= page->count) {
            bool is_last = page->index == page->count;
            child = vfri_page_child(page, &separator);
            if (is_last) break;
            if (page->cursor.failed) return VFR_STRUCTURE_INVALID;
            if (vfri_compare_split(&separator, key) > 0) {
                has_upper = true;
                upper = separator;
                break;
            }
            has_lower = true;
            lower = separator;
        }
        status = push_child(list, child, has_lower, lower, has_upper, upper);
    }
    return status;
}

/* Decodes the entry of a key; returns VFR_NOT_FOUND if there is none. */
static vfr_status find(vfr_list *list, vfr_bytes bytes) {
    vfri_split key = {.prefix = bytes};
    reset(list);
    vfr_status status = descend(list, &key);
    if (status != VFR_OK) return status;
    if (list->depth == 0) return VFR_NOT_FOUND;
    vfri_page *page = &list->pages[list->depth - 1];
    while (page->index < page->count) {
        vfri_page before = *page;
        vfr_bytes value;
        vfri_split found = vfri_page_entry(page, &value);
        if (page->cursor.failed) return VFR_STRUCTURE_INVALID;
        int order = vfri_compare_split(&found, &key);
        if (order > 0) return VFR_NOT_FOUND;
        if (order < 0) continue;
        *page = before;
        return next_entry(list, false);
    }
    return VFR_NOT_FOUND;
}

vfr_status vfr_list_find(vfr_list *list, vfr_bytes key, const vfr_entry **entry) {
    *entry = NULL;
    if (key.length < 1 || key.length > VFRI_PAGE_KEY || key.data == NULL) return VFR_NOT_FOUND;
    vfr_status status = find(list, key);
    if (status == VFR_OK) *entry = &list->buffer.entry;
    if (status == VFR_OK && !list->buffer.entry.is_item) {
        *entry = NULL;
        status = VFR_NOT_FOUND;
    }
    list->started = false; /* the next walk begins at the root */
    list->status = VFR_OK;
    return status;
}

/* ---- Forgotten values (R-6.19) ---- */

/* Determines whether the tree lists a value as forgotten. */
static vfr_status is_forgotten(vfr_list *finder, uint8_t kind, vfr_bytes name, vfr_dot dot, bool *found) {
    uint8_t key[1 + 8 + 8 + 1 + 255];
    *found = false;
    if (finder->vault->commit.forgotten == 0) return VFR_OK; /* the walk checks this number */
    key[0] = VFRI_FORGOTTEN;
    for (size_t i = 0; i < 8; i++) {
        key[1 + i] = (uint8_t)(dot.revision >> (56 - 8 * i));
        key[9 + i] = (uint8_t)(dot.replica >> (56 - 8 * i));
    }
    key[17] = kind;
    if (name.length > 255) return VFR_STRUCTURE_INVALID;
    if (name.length > 0) memcpy(key + 18, name.data, name.length);
    vfr_status status = find(finder, (vfr_bytes){key, 18 + name.length});
    *found = status == VFR_OK;
    return status == VFR_NOT_FOUND ? VFR_OK : status;
}

/* Checks that an item's fields are not listed as forgotten. */
static vfr_status check_fields(vfr_list *finder, const vfr_item *item) {
    bool found = false;
    vfr_status status = VFR_OK;
    const vfr_bytes none = {NULL, 0};
    if (item->has_secret) status = is_forgotten(finder, VFR_VALUE_SECRET, none, item->secret_dot, &found);
    for (size_t i = 0; i < item->attribute_count && status == VFR_OK && !found; i++) {
        const vfr_attribute *attribute = &item->attributes[i];
        status = is_forgotten(finder, VFR_VALUE_ATTRIBUTE, attribute->name, attribute->dot, &found);
    }
    return status == VFR_OK && found ? VFR_STRUCTURE_INVALID : status;
}

/* Checks that exactly those values of a past that are marked as forgotten are listed as forgotten. */
static vfr_status check_past(vfr_vault *vault, vfr_list *finder, const vfr_item *item) {
    vfr_past *past;
    vfr_status status = vfr_read_past(vault, item, &past);
    for (size_t i = 0; status == VFR_OK && i < vfr_value_count(past); i++) {
        vfr_value value;
        bool found = false;
        status = vfr_get_value(past, i, &value);
        if (status != VFR_OK || value.kind > VFR_VALUE_ATTRIBUTE) continue;
        status = is_forgotten(finder, value.kind, value.name, value.dot, &found);
        if (status == VFR_OK && found != ((value.flags & VFR_VALUE_FORGOTTEN) != 0)) status = VFR_STRUCTURE_INVALID;
    }
    vfr_past_close(past);
    return status;
}

vfr_status vfr_check_forgotten(vfr_vault *vault) {
    vfr_list *list = NULL, *finder = NULL;
    if (!vault->keys.full) return VFR_NO_KEY;
    vfr_status status = vfr_read_vector(vault);
    if (status == VFR_OK) status = vfr_list_open(vault, &list);
    if (status == VFR_OK) status = vfr_list_open(vault, &finder);
    while (status == VFR_OK) {
        const vfr_entry *entry;
        status = vfr_list_next(list, &entry);
        if (status != VFR_OK || !entry->is_item) continue;
        status = check_fields(finder, &entry->item);
        if (status == VFR_OK && entry->item.has_past) status = check_past(vault, finder, &entry->item);
    }
    vfr_list_close(finder);
    vfr_list_close(list);
    return status == VFR_END ? VFR_OK : status;
}
