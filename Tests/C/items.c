/* Items: what is stored, found, changed and removed, and what arguments are refused. */
#include "check.h"

static vaultfmt_attribute attribute(const char *name, const char *value) {
    return vaultfmt_text_attribute(name, value);
}

static void details(vaultfmt_vault *vault) {
    vaultfmt_key key = vaultfmt_generic_password("example.org", "ann");
    vaultfmt_key other = vaultfmt_generic_password("example.org", "bob");
    vaultfmt_details details = VAULTFMT_DETAILS_INIT;
    vaultfmt_attribute attributes[3];
    const vaultfmt_item *item;
    const volatile uint8_t *secret;
    uint8_t id[16];

    attributes[0] = attribute("label", "Example");
    attributes[1] = attribute("comment", "");
    attributes[2] = attribute("sealed:totp", "otpauth://");
    details.attributes = attributes;
    details.attribute_count = 3;
    details.accessibility = VAULTFMT_AFTER_FIRST_UNLOCK;
    details.created = 1000;
    details.modified = -2000;
    EXPECT(VAULTFMT_OK, vaultfmt_add(vault, &key, vaultfmt_text("s3cret"), &details));
    EXPECT(VAULTFMT_DUPLICATE_ITEM, vaultfmt_add(vault, &key, vaultfmt_text("s3cret"), &details));

    REQUIRE(vaultfmt_find(vault, &key, &item));
    CHECK(item->secret.data == NULL && item->secret_status == VAULTFMT_OK);
    CHECK(item->key.item_class == VAULTFMT_GENERIC_PASSWORD);
    CHECK(is_text(item->key.service, "example.org") && is_text(item->key.account, "ann") && is_text(item->key.group, ""));
    CHECK(item->key.server.data == NULL && item->key.synchronizable == 0);
    CHECK(item->encoded_key.size > 15 && item->encoded_key.data[0] == 1);
    CHECK(item->accessibility == VAULTFMT_AFTER_FIRST_UNLOCK && item->is_device_bound == 0);
    CHECK(item->created == 1000 && item->modified == -2000 && item->revision > 0);
    CHECK(item->attribute_count == 3 && item->unread_attribute_count == 1 && item->has_past == 0);
    CHECK(is_text(item->attributes[0].name, "comment") && is_text(item->attributes[0].value, ""));
    CHECK(is_text(item->attributes[1].name, "label") && is_text(item->attributes[1].value, "Example"));
    CHECK(item->attributes[1].flags == 0 && item->attributes[1].states_flags == 1);
    CHECK(is_text(item->attributes[2].name, "sealed:totp") && item->attributes[2].value.data == NULL);
    CHECK(item->attributes[2].flags == VAULTFMT_ATTRIBUTE_SEALED);
    memcpy(id, item->id, sizeof id);
    vaultfmt_item_free(item);

    REQUIRE(vaultfmt_get(vault, &key, &item));
    CHECK(is_text(item->secret, "s3cret"));
    CHECK(item->attribute_count == 3 && item->unread_attribute_count == 0);
    CHECK(is_text(item->attributes[2].name, "sealed:totp") && is_text(item->attributes[2].value, "otpauth://"));
    /* The piece of memory stays the library's, which is why it can be looked at: nothing is left in it. */
    secret = item->secret.data;
    vaultfmt_item_free(item);
    CHECK(secret[0] == 0 && secret[1] == 0 && secret[5] == 0);

    /* A name with NULL is removed, others stay, and the secret is replaced. */
    attributes[0].value.data = NULL;
    attributes[0].value.size = 0;
    attributes[1] = attribute("new", "yes");
    details.attribute_count = 2;
    details.accessibility = 0;
    details.created = VAULTFMT_UNSET;
    details.modified = VAULTFMT_UNSET;
    EXPECT(VAULTFMT_OK, vaultfmt_set(vault, &key, vaultfmt_text(""), &details));
    REQUIRE(vaultfmt_get(vault, &key, &item));
    CHECK(item->secret.data != NULL && item->secret.size == 0);
    CHECK(item->attribute_count == 3 && is_text(item->attributes[1].name, "new"));
    CHECK(item->accessibility == VAULTFMT_AFTER_FIRST_UNLOCK && item->created == 1000 && item->modified > 1000);
    CHECK(memcmp(item->id, id, sizeof id) == 0);
    vaultfmt_item_free(item);

    attributes[0] = attribute("label", "Other");
    details.attribute_count = 1;
    details.replaces_attributes = 1;
    EXPECT(VAULTFMT_OK, vaultfmt_update(vault, &key, &details));
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_update(vault, &other, &details));
    REQUIRE(vaultfmt_get(vault, &key, &item));
    CHECK(item->attribute_count == 1 && is_text(item->attributes[0].value, "Other"));
    vaultfmt_item_free(item);

    EXPECT(VAULTFMT_OK, vaultfmt_move(vault, &key, &other));
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_find(vault, &key, &item));
    CHECK(item == NULL);
    REQUIRE(vaultfmt_find(vault, &other, &item));
    CHECK(memcmp(item->id, id, sizeof id) == 0);
    vaultfmt_item_free(item);
    EXPECT(VAULTFMT_OK, vaultfmt_remove(vault, &other));
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_remove(vault, &other));
}

static void every_class(vaultfmt_vault *vault) {
    static const uint8_t der[4] = {0x30, 0x00, 0xFF, 0x00};
    vaultfmt_bytes bytes = {der, sizeof der};
    vaultfmt_key key = vaultfmt_internet_password("example.org", "ann", "https", 8443);
    const vaultfmt_item *item;
    key.path = vaultfmt_text("/path");
    key.security_domain = vaultfmt_text("realm");
    key.authentication_type = vaultfmt_text("basic");
    key.group = vaultfmt_text("web");
    key.synchronizable = 1;
    EXPECT(VAULTFMT_OK, vaultfmt_add(vault, &key, vaultfmt_text("internet"), NULL));
    REQUIRE(vaultfmt_get(vault, &key, &item));
    CHECK(is_text(item->key.server, "example.org") && is_text(item->key.protocol, "https") && item->key.port == 8443);
    CHECK(is_text(item->key.path, "/path") && is_text(item->key.security_domain, "realm"));
    CHECK(is_text(item->key.authentication_type, "basic") && is_text(item->key.account, "ann"));
    CHECK(is_text(item->key.group, "web") && item->key.synchronizable == 1 && item->key.service.data == NULL);
    vaultfmt_item_free(item);

    memset(&key, 0, sizeof key);
    key.item_class = VAULTFMT_CERTIFICATE;
    key.type = 3;
    key.issuer = bytes;
    key.serial_number = bytes;
    EXPECT(VAULTFMT_OK, vaultfmt_add(vault, &key, bytes, NULL));
    key.item_class = VAULTFMT_IDENTITY;
    EXPECT(VAULTFMT_OK, vaultfmt_add(vault, &key, bytes, NULL));
    REQUIRE(vaultfmt_get(vault, &key, &item));
    CHECK(item->key.type == 3 && item->key.issuer.size == 4 && memcmp(item->key.serial_number.data, der, 4) == 0);
    CHECK(item->secret.size == 4 && memcmp(item->secret.data, der, 4) == 0);
    vaultfmt_item_free(item);

    memset(&key, 0, sizeof key);
    key.item_class = VAULTFMT_KEY;
    key.key_class = 1;
    key.key_type = 42;
    key.size_in_bits = 2048;
    key.effective_size = 2047;
    key.application_label = bytes;
    key.application_tag = vaultfmt_text("tag");
    EXPECT(VAULTFMT_OK, vaultfmt_add(vault, &key, bytes, NULL));
    REQUIRE(vaultfmt_find(vault, &key, &item));
    CHECK(item->key.key_class == 1 && item->key.key_type == 42 && item->key.size_in_bits == 2048 && item->key.effective_size == 2047);
    CHECK(is_text(item->key.application_tag, "tag") && item->key.application_label.size == 4);
    vaultfmt_item_free(item);
}

static void names_of_any_kind(vaultfmt_vault *vault) {
    static const char *const names[] = {
        "", " ", "\t\n", "-leading", "--", "\"quoted\"", "'", "a\\b", "Gr\xC3\xBC\xC3\x9F" /* Gruesse */, "\xF0\x9F\x94\x91 key"};
    size_t index;
    vaultfmt_key key;
    const vaultfmt_item *item;
    for (index = 0; index < sizeof names / sizeof names[0]; index++) {
        EXPECT(VAULTFMT_OK, put(vault, names[index], names[index], names[index]));
    }
    for (index = 0; index < sizeof names / sizeof names[0]; index++) {
        key = vaultfmt_generic_password(names[index], names[index]);
        REQUIRE(vaultfmt_get(vault, &key, &item));
        CHECK(is_text(item->secret, names[index]) && is_text(item->key.service, names[index]));
        vaultfmt_item_free(item);
    }
    key = vaultfmt_generic_password(NULL, NULL);
    key.service.data = (const uint8_t *)"nul\0inside";
    key.service.size = 10;
    EXPECT(VAULTFMT_OK, vaultfmt_add(vault, &key, key.service, NULL));
    REQUIRE(vaultfmt_get(vault, &key, &item));
    CHECK(item->secret.size == 10 && item->key.service.size == 10 && memcmp(item->key.service.data, "nul\0inside", 10) == 0);
    vaultfmt_item_free(item);
}

void test_items(void) {
    vaultfmt_vault *vault = create("items.vault");
    details(vault);
    every_class(vault);
    names_of_any_kind(vault);
    vaultfmt_close(vault);
}

static void refused_keys(vaultfmt_vault *vault) {
    vaultfmt_key key = vaultfmt_generic_password("s", "a");
    const vaultfmt_item *item = (const vaultfmt_item *)1;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(NULL, &key, &item));
    CHECK(item == NULL);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, NULL, &item));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, NULL));
    CHECK(strcmp(vaultfmt_error_text(), "item is NULL") == 0);
    key.port = 80;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
    CHECK(strcmp(vaultfmt_error_text(), "an item of class generic-password has no port") == 0);
    key = vaultfmt_generic_password("\xC3\x28", "a");
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
    key = vaultfmt_generic_password("s", "a");
    key.item_class = 6;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
    CHECK(strcmp(vaultfmt_error_text(), "an item of class class-6 has no service") == 0);
    key.item_class = 64;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
    key.item_class = 257;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
    key = vaultfmt_generic_password("s", "a");
    key.synchronizable = 2;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
    key = vaultfmt_generic_password("s", "a");
    key.service.data = NULL;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_find(vault, &key, &item));
}

static void refused_details(vaultfmt_vault *vault) {
    static uint8_t large[(16 << 20) + 1];
    vaultfmt_key key = vaultfmt_generic_password("s", "a");
    vaultfmt_details details = VAULTFMT_DETAILS_INIT;
    vaultfmt_attribute attributes[2];
    vaultfmt_bytes none = {NULL, 0};
    vaultfmt_bytes secret = {large, sizeof large};
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_set(vault, &key, none, NULL));
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_set(vault, &key, secret, NULL));
    secret.size = SIZE_MAX;
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_set(vault, &key, secret, NULL));
    secret.size = sizeof large - 1;
    EXPECT(VAULTFMT_OK, vaultfmt_set(vault, &key, secret, NULL));
    EXPECT(VAULTFMT_OK, vaultfmt_remove(vault, &key));
    details.struct_size--;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
    details.struct_size++;
    details.accessibility = 8;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
    details.accessibility = VAULTFMT_ALWAYS_THIS_DEVICE_ONLY;
    EXPECT(VAULTFMT_DEVICE_BOUND, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
    details.accessibility = 0;
    attributes[0] = attribute("", "x");
    details.attributes = attributes;
    details.attribute_count = 1;
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
    attributes[0] = attribute("twice", "x");
    attributes[1] = attribute("twice", NULL);
    details.attribute_count = 2;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
    details.attributes = NULL;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
    details.attribute_count = 0;
    details.created = INT64_MAX;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
    details.created = 1;
    EXPECT(VAULTFMT_OK, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_update(vault, &key, &details));
}

void test_arguments(void) {
    vaultfmt_vault *vault = create("arguments.vault");
    vaultfmt_factors factors = raw_key();
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_vault *second;
    vaultfmt_info info;
    refused_keys(vault);
    refused_details(vault);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_open(NULL, &factors, NULL, &second));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_open(file_in_folder("arguments.vault"), NULL, NULL, &second));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_open(file_in_folder("arguments.vault"), &factors, NULL, NULL));
    options.lock_wait = -1;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_open(file_in_folder("arguments.vault"), &factors, &options, &second));
    options.lock_wait = 0;
    options.reserved = 1;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_open(file_in_folder("arguments.vault"), &factors, &options, &second));
    info.struct_size = 4;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_info(vault, &info));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_info(vault, NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_key_file_generate(NULL));
    vaultfmt_close(NULL);
    vaultfmt_item_free(NULL);
    vaultfmt_cursor_close(NULL);
    vaultfmt_slots_free(NULL);
    vaultfmt_report_free(NULL);
    vaultfmt_inspection_free(NULL);
    vaultfmt_close(vault);
}
