/* Earlier values: kept, listed, read, restored, forgotten, brought along; and attributes of every kind and size. */
#include "check.h"

static vaultfmt_key key(void) { return vaultfmt_generic_password("example.org", "ann"); }

static size_t earlier_count(vaultfmt_vault *vault) {
    vaultfmt_key named = key();
    const vaultfmt_earlier_values *values;
    size_t result;
    REQUIRE(vaultfmt_get_earlier_values(vault, &named, &values));
    result = values->count;
    vaultfmt_earlier_values_free(values);
    return result;
}

/* The id of the value at an index, the oldest first. */
static vaultfmt_earlier_id earlier(vaultfmt_vault *vault, size_t index) {
    vaultfmt_key named = key();
    const vaultfmt_earlier_values *values;
    vaultfmt_earlier_id id = {0, 0, {NULL, 0}};
    REQUIRE(vaultfmt_get_earlier_values(vault, &named, &values));
    CHECK(index < values->count);
    if (index < values->count) id = values->values[index]->id;
    /* The name is the list's. */
    if (id.attribute.data != NULL) {
        CHECK(is_text(id.attribute, "notes"));
        id.attribute = vaultfmt_text("notes");
    }
    vaultfmt_earlier_values_free(values);
    return id;
}

static int was(vaultfmt_vault *vault, size_t index, const char *secret) {
    vaultfmt_key named = key();
    vaultfmt_earlier_id id = earlier(vault, index);
    const vaultfmt_earlier_value *value;
    int result;
    if (vaultfmt_get_earlier_value(vault, &named, &id, &value) != VAULTFMT_OK) return 0;
    result = is_text(value->secret, secret) && value->id.revision == id.revision && value->id.replica == id.replica;
    vaultfmt_earlier_value_free(value);
    return result;
}

static void kept_and_restored(vaultfmt_vault *vault) {
    vaultfmt_key named = key(), other = vaultfmt_generic_password("example.org", "bob");
    vaultfmt_details details = VAULTFMT_DETAILS_INIT;
    vaultfmt_attribute attributes[2];
    const vaultfmt_earlier_values *values;
    const vaultfmt_earlier_value *opened;
    const vaultfmt_item *item;
    const vaultfmt_value *value;
    const volatile uint8_t *secret;
    vaultfmt_earlier_id id, notes;
    attributes[0] = vaultfmt_text_attribute("label", "First");
    attributes[1] = vaultfmt_text_attribute("notes", "as they were");
    details.attributes = attributes;
    details.attribute_count = 2;
    details.modified = 1000;
    REQUIRE(vaultfmt_set(vault, &named, vaultfmt_text("first"), &details));
    CHECK(earlier_count(vault) == 0);
    details.modified = 2000;
    attributes[0] = vaultfmt_text_attribute("label", "Second");
    attributes[1] = vaultfmt_text_attribute("notes", NULL);
    REQUIRE(vaultfmt_set(vault, &named, vaultfmt_text("second"), &details));
    REQUIRE(put(vault, "example.org", "ann", "third"));
    /* The same secret makes none. */
    REQUIRE(put(vault, "example.org", "ann", "third"));

    /* Two secrets and the sealed attribute that was removed: each is a value of its own. */
    REQUIRE(vaultfmt_get_earlier_values(vault, &named, &values));
    CHECK(values->count == 3);
    if (values->count != 3) exit(1);
    CHECK(values->values[0]->modified > 2000 && values->values[0]->replaced >= values->values[0]->modified);
    CHECK(values->values[0]->secret.data == NULL && values->values[0]->flags == 0);
    CHECK(values->values[0]->id.attribute.data == NULL && values->values[2]->id.attribute.data == NULL);
    CHECK(values->values[0]->id.revision > 0 && values->values[0]->id.revision < values->values[2]->id.revision);
    CHECK(values->values[0]->id.replica != 0 && values->values[0]->id.replica == values->values[2]->id.replica);
    CHECK(values->values[0]->attribute_count == 1 && values->values[0]->unread_attribute_count == 0);
    CHECK(is_text(values->values[0]->attributes[0].value, "First"));
    CHECK(values->values[1]->id.revision == values->values[0]->id.revision && is_text(values->values[1]->id.attribute, "notes"));
    CHECK(values->values[1]->attribute_count == 0 && values->values[1]->flags == VAULTFMT_ATTRIBUTE_SEALED);
    CHECK(values->values[1]->secret.data == NULL);
    CHECK(values->values[2]->attribute_count == 1 && is_text(values->values[2]->attributes[0].value, "Second"));
    vaultfmt_earlier_values_free(values);
    id = earlier(vault, 0);
    notes = earlier(vault, 1);

    REQUIRE(vaultfmt_get_earlier_value(vault, &named, &id, &opened));
    CHECK(is_text(opened->secret, "first") && opened->attribute_count == 1 && opened->unread_attribute_count == 0);
    CHECK(opened->group.data != NULL && opened->group.size == 0);
    secret = opened->secret.data;
    vaultfmt_earlier_value_free(opened);
    CHECK(secret[0] == 0 && secret[4] == 0);
    REQUIRE(vaultfmt_get_earlier_value(vault, &named, &notes, &opened));
    CHECK(is_text(opened->secret, "as they were") && opened->attribute_count == 0);
    CHECK(is_text(opened->id.attribute, "notes") && opened->flags == VAULTFMT_ATTRIBUTE_SEALED);
    vaultfmt_earlier_value_free(opened);
    REQUIRE(vaultfmt_get_earlier_attribute(vault, &named, &id, vaultfmt_text("label"), &value));
    CHECK(value != NULL && is_text(value->bytes, "First"));
    vaultfmt_value_free(value);
    EXPECT(VAULTFMT_OK, vaultfmt_get_earlier_attribute(vault, &named, &id, vaultfmt_text("notes"), &value));
    CHECK(value == NULL);

    /* After compaction and under another name, too; and nothing but the field itself. */
    REQUIRE(vaultfmt_move(vault, &named, &other));
    REQUIRE(vaultfmt_compact(vault, NULL, NULL));
    REQUIRE(vaultfmt_move(vault, &other, &named));
    EXPECT(VAULTFMT_OK, vaultfmt_restore(vault, &named, &id));
    REQUIRE(vaultfmt_get(vault, &named, &item));
    CHECK(is_text(item->secret, "first") && item->has_past == 1 && item->needs_settling == 0 && item->lacks_secret == 0);
    CHECK(item->attribute_count == 1 && is_text(item->attributes[0].value, "Second"));
    vaultfmt_item_free(item);
    CHECK(earlier_count(vault) == 3 && was(vault, 0, "as they were") && was(vault, 1, "second") && was(vault, 2, "third"));
    EXPECT(VAULTFMT_OK, vaultfmt_restore(vault, &named, &notes));
    REQUIRE(vaultfmt_get(vault, &named, &item));
    CHECK(item->attribute_count == 2 && is_text(item->attributes[1].value, "as they were"));
    CHECK(item->attributes[1].flags == VAULTFMT_ATTRIBUTE_SEALED && item->secret_changed < item->modified + 1);
    vaultfmt_item_free(item);
    CHECK(earlier_count(vault) == 2 && was(vault, 0, "second") && was(vault, 1, "third"));
}

static void in_a_transaction(vaultfmt_vault *vault) {
    vaultfmt_key named = key();
    vaultfmt_earlier_id id = earlier(vault, 1);
    const vaultfmt_value *value;
    size_t before = earlier_count(vault), forgotten = 7;
    REQUIRE(vaultfmt_begin(vault));
    REQUIRE(put(vault, "example.org", "ann", "within"));
    CHECK(earlier_count(vault) == before + 1 && was(vault, before, "first"));
    REQUIRE(vaultfmt_get_earlier_attribute(vault, &named, &id, vaultfmt_text("label"), &value));
    CHECK(value != NULL && is_text(value->bytes, "Second"));
    vaultfmt_value_free(value);
    EXPECT(VAULTFMT_OK, vaultfmt_restore(vault, &named, &id));
    CHECK(has_secret(vault, "example.org", "ann", "third"));
    /* What the item has is not listed. */
    CHECK(earlier_count(vault) == before + 1 && was(vault, before, "within"));
    EXPECT(VAULTFMT_OK, vaultfmt_forget(vault, &named, NULL, 0, &forgotten));
    CHECK(forgotten == before + 1 && earlier_count(vault) == 0);
    REQUIRE(vaultfmt_keep_versions(vault, 3));
    REQUIRE(vaultfmt_rollback(vault));
    CHECK(earlier_count(vault) == before && has_secret(vault, "example.org", "ann", "first"));
}

static void forgotten_and_brought_along(vaultfmt_vault *vault) {
    vaultfmt_key named = key(), none = vaultfmt_generic_password("none", "none");
    vaultfmt_earlier_id ids[2];
    vaultfmt_new_earlier_value new[2] = {VAULTFMT_NEW_EARLIER_VALUE_INIT, VAULTFMT_NEW_EARLIER_VALUE_INIT};
    vaultfmt_attribute attributes[2] = {
        vaultfmt_text_attribute("label", "Imported"), vaultfmt_text_attribute("notes", "of then")};
    vaultfmt_statistics statistics;
    const vaultfmt_earlier_values *values;
    const vaultfmt_earlier_value *opened;
    size_t number = 7;
    statistics.struct_size = sizeof statistics;
    ids[0] = earlier(vault, 0);
    ids[1] = ids[0];
    ids[1].replica ^= 1;
    /* All or none. */
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_forget(vault, &named, ids, 2, &number));
    CHECK(number == 0 && earlier_count(vault) == 2);
    ids[1].replica ^= 1;
    /* The same twice is one. */
    EXPECT(VAULTFMT_OK, vaultfmt_forget(vault, &named, ids, 2, &number));
    CHECK(number == 1 && earlier_count(vault) == 1 && was(vault, 0, "third"));
    REQUIRE(vaultfmt_get_statistics(vault, &statistics));
    CHECK(statistics.forgotten_values >= 1 && statistics.items_with_past == 1);
    EXPECT(VAULTFMT_OK, vaultfmt_forget(vault, &named, ids, 0, &number));
    CHECK(number == 0 && earlier_count(vault) == 1);

    new[0].secret = vaultfmt_text("oldest");
    new[0].replaced = 20;
    new[1].secret = vaultfmt_text("");
    new[0].group = vaultfmt_text("private");
    new[1].attributes = attributes;
    new[1].attribute_count = 2;
    new[1].replaced = -30;
    EXPECT(VAULTFMT_OK, vaultfmt_add_earlier_values(vault, &named, new, 2, &number));
    CHECK(number == 2 && earlier_count(vault) == 4 && was(vault, 1, "oldest") && was(vault, 2, ""));
    CHECK(was(vault, 3, "of then"));
    REQUIRE(vaultfmt_get_earlier_values(vault, &named, &values));
    CHECK(values->values[1]->replaced == 20 && values->values[2]->replaced == -30 && values->values[3]->replaced == -30);
    CHECK(values->values[1]->modified > 20 && values->values[1]->id.revision < values->values[2]->id.revision);
    CHECK(values->values[2]->attribute_count == 1 && is_text(values->values[2]->attributes[0].value, "Imported"));
    CHECK(is_text(values->values[3]->id.attribute, "notes") && values->values[3]->attribute_count == 0);
    CHECK(values->values[1]->group.data == NULL);
    ids[0] = values->values[1]->id;
    REQUIRE(vaultfmt_get_earlier_value(vault, &named, &ids[0], &opened));
    CHECK(is_text(opened->secret, "oldest") && is_text(opened->group, "private"));
    vaultfmt_earlier_value_free(opened);
    vaultfmt_earlier_values_free(values);
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_add_earlier_values(vault, &none, new, 2, &number));
    CHECK(number == 0);
    attributes[0].value.data = NULL;
    attributes[0].value.size = 0;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_add_earlier_values(vault, &named, new, 2, NULL));
    new[1].attribute_count = 0;
    new[1].secret.data = NULL;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_add_earlier_values(vault, &named, new, 2, NULL));
    new[1].secret = vaultfmt_text("x");
    new[1].replaced = INT64_MAX;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_add_earlier_values(vault, &named, new, 2, NULL));
    new[1].struct_size = 1;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_add_earlier_values(vault, &named, new, 2, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_add_earlier_values(vault, &named, NULL, 1, NULL));
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_add_earlier_values(vault, &named, new, SIZE_MAX, NULL));
    EXPECT(VAULTFMT_OK, vaultfmt_add_earlier_values(vault, &named, NULL, 0, NULL));
    CHECK(earlier_count(vault) == 4);
}

static void settings(vaultfmt_vault *vault) {
    vaultfmt_key named = key();
    vaultfmt_info info;
    vaultfmt_statistics statistics;
    info.struct_size = sizeof info;
    statistics.struct_size = sizeof statistics;
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_keep_versions(vault, 51));
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_keep_versions(vault, UINT32_MAX));
    EXPECT(VAULTFMT_OK, vaultfmt_keep_versions(vault, 2));
    REQUIRE(vaultfmt_get_info(vault, &info));
    /* Of each field: two secrets, and notes. */
    CHECK(info.kept_versions == 2 && earlier_count(vault) == 3 && was(vault, 0, "oldest"));
    REQUIRE(vaultfmt_compact(vault, NULL, NULL));
    CHECK(earlier_count(vault) == 3);
    REQUIRE(vaultfmt_get_statistics(vault, &statistics));
    CHECK(statistics.kept_versions == 2 && statistics.items_with_past == 1);
    EXPECT(VAULTFMT_OK, vaultfmt_keep_versions(vault, 0));
    REQUIRE(vaultfmt_forget(vault, &named, NULL, 0, NULL));
    REQUIRE(put(vault, "example.org", "ann", "not kept"));
    REQUIRE(put(vault, "example.org", "ann", "at all"));
    CHECK(earlier_count(vault) == 0);
    REQUIRE(vaultfmt_keep_versions(vault, 5));
    REQUIRE(put(vault, "example.org", "ann", "newest"));
    CHECK(earlier_count(vault) == 1);
}

static void misused(vaultfmt_vault *vault) {
    vaultfmt_key named = key(), none = vaultfmt_generic_password("none", "none");
    vaultfmt_earlier_id id = earlier(vault, 0), unknown;
    const vaultfmt_earlier_values *values = (const vaultfmt_earlier_values *)1;
    const vaultfmt_earlier_value *value = (const vaultfmt_earlier_value *)1;
    const vaultfmt_value *attribute = (const vaultfmt_value *)1;
    vaultfmt_bytes not_given = {NULL, 0}, label = vaultfmt_text("label");
    unknown = id;
    unknown.replica ^= 1;
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_get_earlier_values(vault, &none, &values));
    CHECK(values == NULL);
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_get_earlier_value(vault, &named, &unknown, &value));
    CHECK(value == NULL);
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_get_earlier_attribute(vault, &named, &unknown, label, &attribute));
    CHECK(attribute == NULL);
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_restore(vault, &named, &unknown));
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_restore(vault, &none, &id));
    /* Another field, an empty name, and names that are none. */
    unknown = id;
    unknown.attribute = vaultfmt_text("notes");
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_get_earlier_value(vault, &named, &unknown, &value));
    unknown.attribute = vaultfmt_text("");
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_restore(vault, &named, &unknown));
    unknown.attribute = vaultfmt_text("\xFF");
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_restore(vault, &named, &unknown));
    unknown.attribute.data = NULL;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_forget(vault, &named, &unknown, 1, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_earlier_values(vault, &named, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_earlier_values(vault, NULL, &values));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_earlier_value(vault, &named, NULL, &value));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_earlier_value(vault, &named, &id, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_earlier_attribute(vault, &named, &id, not_given, &attribute));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_restore(vault, &named, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_restore(NULL, &named, &id));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_forget(vault, &named, NULL, 1, NULL));
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_forget(vault, &named, &id, SIZE_MAX, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_keep_versions(NULL, 1));
    vaultfmt_earlier_values_free(NULL);
    vaultfmt_earlier_value_free(NULL);
    vaultfmt_value_free(NULL);
    vaultfmt_slot_report_free(NULL);
}

/* Neither a locked vault nor a scoped slot gives any. */
static void refused(vaultfmt_vault *vault) {
    vaultfmt_key named = key();
    vaultfmt_earlier_id id = earlier(vault, 0);
    vaultfmt_factors scoped = passphrase("scoped");
    vaultfmt_slot_options slot = cheap_slot("scoped");
    vaultfmt_bytes group = vaultfmt_text(""), label = vaultfmt_text("label");
    const vaultfmt_earlier_values *values;
    const vaultfmt_earlier_value *value;
    const vaultfmt_value *attribute;
    vaultfmt_vault *reader;
    uint8_t number[16];
    slot.is_scoped = 1;
    slot.groups = &group;
    slot.group_count = 1;
    REQUIRE(vaultfmt_slot_add(vault, &scoped, &slot, number, NULL));
    REQUIRE(vaultfmt_open(file_in_folder("earlier.vault"), &scoped, NULL, &reader));
    CHECK(has_secret(reader, "example.org", "ann", "newest"));
    EXPECT(VAULTFMT_NOT_PERMITTED, vaultfmt_get_earlier_values(reader, &named, &values));
    EXPECT(VAULTFMT_NOT_PERMITTED, vaultfmt_get_earlier_value(reader, &named, &id, &value));
    EXPECT(VAULTFMT_NOT_PERMITTED, vaultfmt_get_earlier_attribute(reader, &named, &id, label, &attribute));
    EXPECT(VAULTFMT_READ_ONLY, vaultfmt_restore(reader, &named, &id));
    vaultfmt_close(reader);
    REQUIRE(vaultfmt_slot_remove(vault, number, NULL));
    REQUIRE(vaultfmt_lock(vault));
    EXPECT(VAULTFMT_LOCKED, vaultfmt_get_earlier_values(vault, &named, &values));
    EXPECT(VAULTFMT_LOCKED, vaultfmt_restore(vault, &named, &id));
    EXPECT(VAULTFMT_LOCKED, vaultfmt_forget(vault, &named, NULL, 0, NULL));
    EXPECT(VAULTFMT_LOCKED, vaultfmt_keep_versions(vault, 1));
}

void test_earlier_values(void) {
    vaultfmt_factors factors = raw_key();
    vaultfmt_create_options options = VAULTFMT_CREATE_OPTIONS_INIT;
    vaultfmt_vault *vault = create("earlier.vault");
    vaultfmt_vault *none;
    kept_and_restored(vault);
    in_a_transaction(vault);
    forgotten_and_brought_along(vault);
    settings(vault);
    misused(vault);
    refused(vault);
    vaultfmt_close(vault);

    options.kept_versions = 51;
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_create(file_in_folder("none.vault"), &factors, &options, &none));
    options.kept_versions = 0;
    REQUIRE(vaultfmt_create(file_in_folder("keeps-none.vault"), &factors, &options, &none));
    REQUIRE(put(none, "example.org", "ann", "one"));
    REQUIRE(put(none, "example.org", "ann", "two"));
    CHECK(earlier_count(none) == 0);
    vaultfmt_close(none);
}
