/* Attributes with flags, and of every size. */
#include "check.h"

static vaultfmt_attribute flagged(const char *name, const char *value, uint32_t flags) {
    vaultfmt_attribute attribute = vaultfmt_text_attribute(name, value);
    attribute.flags = flags;
    attribute.states_flags = 1;
    return attribute;
}

/* The attribute with a name, or one without a name. */
static vaultfmt_attribute find(const vaultfmt_item *item, const char *name) {
    vaultfmt_attribute none;
    size_t index;
    for (index = 0; index < item->attribute_count; index++) {
        if (is_text(item->attributes[index].name, name)) return item->attributes[index];
    }
    memset(&none, 0, sizeof none);
    return none;
}

static void flags(vaultfmt_vault *vault) {
    vaultfmt_key key = vaultfmt_generic_password("flags", "");
    vaultfmt_details details = VAULTFMT_DETAILS_INIT;
    vaultfmt_attribute attributes[5];
    const vaultfmt_item *item;
    details.attributes = attributes;
    details.attribute_count = 5;
    attributes[0] = flagged("pin", "1234", VAULTFMT_ATTRIBUTE_SEALED | VAULTFMT_ATTRIBUTE_CONCEALED);
    attributes[1] = flagged("shown", "yes", VAULTFMT_ATTRIBUTE_CONCEALED);
    attributes[2] = flagged("blob", "\xFF\x01", VAULTFMT_ATTRIBUTE_BINARY);
    attributes[3] = vaultfmt_text_attribute("otp", "otpauth://totp/x");
    attributes[4] = vaultfmt_text_attribute("plain", "text");
    REQUIRE(vaultfmt_add(vault, &key, vaultfmt_text("x"), &details));
    REQUIRE(vaultfmt_find(vault, &key, &item));
    CHECK(item->attribute_count == 5 && item->unread_attribute_count == 2);
    CHECK(find(item, "pin").flags == 3 && find(item, "pin").value.data == NULL);
    CHECK(find(item, "shown").flags == 2 && is_text(find(item, "shown").value, "yes"));
    CHECK(find(item, "blob").flags == 4 && is_text(find(item, "blob").value, "\xFF\x01"));
    CHECK(find(item, "otp").flags == 1 && find(item, "plain").flags == 0);
    vaultfmt_item_free(item);

    /* Without stated flags they stay; with them they change. */
    attributes[0] = vaultfmt_text_attribute("pin", "4321");
    attributes[1] = flagged("shown", "no", 0);
    details.attribute_count = 2;
    REQUIRE(vaultfmt_update(vault, &key, &details));
    REQUIRE(vaultfmt_get(vault, &key, &item));
    CHECK(find(item, "pin").flags == 3 && is_text(find(item, "pin").value, "4321"));
    CHECK(find(item, "shown").flags == 0 && is_text(find(item, "shown").value, "no"));
    CHECK(item->unread_attribute_count == 0 && item->has_past == 1);
    vaultfmt_item_free(item);

    attributes[0] = flagged("pin", "1", 8);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_update(vault, &key, &details));
    attributes[0] = flagged("pin", "1", 0x10);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_update(vault, &key, &details));
    attributes[0] = flagged("pin", "1", 0x101);
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_update(vault, &key, &details));
    attributes[0] = flagged("pin", "1", 1);
    attributes[0].states_flags = 0;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_update(vault, &key, &details));
    attributes[0].states_flags = 2;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_update(vault, &key, &details));
}

static void sizes(vaultfmt_vault *vault) {
    static uint8_t large[(16 << 20) + 1];
    static const size_t all[] = {0, 256, 257, 4096, 4097, 100000, 16 << 20};
    vaultfmt_key key = vaultfmt_generic_password("sizes", "");
    vaultfmt_details details = VAULTFMT_DETAILS_INIT;
    vaultfmt_attribute attribute;
    const vaultfmt_value *value;
    const vaultfmt_item *item;
    size_t index, place;
    for (index = 0; index < sizeof large; index++) large[index] = (uint8_t)(index * 31 >> 3);
    details.attributes = &attribute;
    details.attribute_count = 1;
    for (index = 0; index < sizeof all / sizeof all[0]; index++) {
        attribute = flagged("value", "", index % 2 == 0 ? 0 : VAULTFMT_ATTRIBUTE_SEALED);
        attribute.value.data = large + index;
        attribute.value.size = all[index];
        REQUIRE(vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
        REQUIRE(vaultfmt_get_attribute(vault, &key, vaultfmt_text("value"), &value));
        CHECK(value != NULL && value->bytes.data != NULL && value->bytes.size == all[index]);
        if (value != NULL) CHECK(memcmp(value->bytes.data, large + index, all[index]) == 0);
        vaultfmt_value_free(value);
        REQUIRE(vaultfmt_get(vault, &key, &item));
        place = all[index] > 4096;
        CHECK(item->attribute_count == 1 && item->unread_attribute_count == place);
        CHECK((item->attributes[0].value.data == NULL) == (place == 1));
        vaultfmt_item_free(item);
    }
    attribute.value.size = sizeof large;
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));
    attribute.value.size = SIZE_MAX;
    EXPECT(VAULTFMT_LIMIT_EXCEEDED, vaultfmt_set(vault, &key, vaultfmt_text("x"), &details));

    REQUIRE(vaultfmt_begin(vault));
    attribute = flagged("value", "short", 0);
    REQUIRE(vaultfmt_update(vault, &key, &details));
    REQUIRE(vaultfmt_get_attribute(vault, &key, vaultfmt_text("value"), &value));
    CHECK(value != NULL && is_text(value->bytes, "short"));
    vaultfmt_value_free(value);
    REQUIRE(vaultfmt_commit(vault));
    /* What is so large would make what other tests compare with it slow. */
    REQUIRE(vaultfmt_forget(vault, &key, NULL, 0, NULL));
    REQUIRE(vaultfmt_compact(vault, NULL, NULL));
}

static void misused(vaultfmt_vault *vault) {
    vaultfmt_key key = vaultfmt_generic_password("sizes", ""), none = vaultfmt_generic_password("none", "");
    const vaultfmt_value *value = (const vaultfmt_value *)1;
    vaultfmt_bytes not_given = {NULL, 0};
    EXPECT(VAULTFMT_OK, vaultfmt_get_attribute(vault, &key, vaultfmt_text("no such"), &value));
    CHECK(value == NULL);
    EXPECT(VAULTFMT_NO_SUCH_ITEM, vaultfmt_get_attribute(vault, &none, vaultfmt_text("value"), &value));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_attribute(vault, &key, not_given, &value));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_attribute(vault, &key, vaultfmt_text("\xFF"), &value));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_attribute(vault, &key, vaultfmt_text("value"), NULL));
    EXPECT(VAULTFMT_INVALID_ARGUMENT, vaultfmt_get_attribute(NULL, &key, vaultfmt_text("value"), &value));
}

void test_attributes(void) {
    vaultfmt_vault *vault = create("attributes.vault");
    flags(vault);
    sizes(vault);
    misused(vault);
    vaultfmt_close(vault);
}
