/* The library as such, and ways into a vault. */
#include "check.h"

void test_library(void) {
    char secret[64] = "to be wiped";
    char none[64] = {0};
    uint64_t offset = 7;
    CHECK(strcmp(vaultfmt_version(), VAULTFMT_VERSION) == 0);
    CHECK(vaultfmt_format_version() == 1);
    CHECK(strcmp(vaultfmt_status_name(VAULTFMT_OK), "ok") == 0);
    CHECK(strcmp(vaultfmt_status_name(VAULTFMT_NO_SUCH_ITEM), "no-such-item") == 0);
    CHECK(strcmp(vaultfmt_status_name(VAULTFMT_OUT_OF_MEMORY), "out-of-memory") == 0);
    CHECK(strcmp(vaultfmt_status_name(VAULTFMT_NO_KERNEL_KEYRING), "no-kernel-keyring") == 0);
    CHECK(strcmp(vaultfmt_status_name(VAULTFMT_NO_SECRET), "no-secret") == 0);
    CHECK(strcmp(vaultfmt_status_name(VAULTFMT_MEMORY_DAMAGED), "memory-damaged") == 0);
    CHECK(strcmp(vaultfmt_status_name(1000), "unknown") == 0);
    CHECK(strcmp(vaultfmt_status_name(-1), "unknown") == 0);
    CHECK(strcmp(vaultfmt_error_text(), "") == 0);
    CHECK(vaultfmt_error_offset(&offset) == 0 && offset == 0);
    vaultfmt_wipe(secret, sizeof secret);
    vaultfmt_wipe(NULL, 0);
    CHECK(memcmp(secret, none, sizeof secret) == 0);
}

static vaultfmt_status open_with(const char *name, vaultfmt_factors factors) {
    vaultfmt_vault *vault = (vaultfmt_vault *)1;
    vaultfmt_status status = vaultfmt_open(file_in_folder(name), &factors, NULL, &vault);
    CHECK((status == VAULTFMT_OK) == (vault != NULL));
    vaultfmt_close(vault);
    return status;
}

static void with_a_key_file(void) {
    uint8_t key_file[VAULTFMT_KEY_FILE_SIZE];
    uint8_t damaged[VAULTFMT_KEY_FILE_SIZE];
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    vaultfmt_factors both;
    vaultfmt_create_options options = cheap();
    vaultfmt_vault *vault;
    REQUIRE(vaultfmt_key_file_generate(key_file));
    CHECK(memcmp(key_file, "VAULTFMT-KEY-1-", 15) == 0 && key_file[VAULTFMT_KEY_FILE_SIZE - 1] == '\n');
    factors.key_file.data = key_file;
    factors.key_file.size = sizeof key_file;
    REQUIRE(vaultfmt_create(file_in_folder("key-file.vault"), &factors, NULL, &vault));
    vaultfmt_close(vault);
    EXPECT(VAULTFMT_OK, open_with("key-file.vault", factors));
    memcpy(damaged, key_file, sizeof damaged);
    damaged[20] ^= 1;
    factors.key_file.data = damaged;
    EXPECT(VAULTFMT_KEY_FILE_INVALID, open_with("key-file.vault", factors));
    factors.key_file = vaultfmt_text("any other file");
    EXPECT(VAULTFMT_NO_SLOT_OPENS, open_with("key-file.vault", factors));

    both = passphrase("and a passphrase");
    both.key_file = vaultfmt_text("any file");
    REQUIRE(vaultfmt_create(file_in_folder("both.vault"), &both, &options, &vault));
    vaultfmt_close(vault);
    EXPECT(VAULTFMT_OK, open_with("both.vault", both));
    EXPECT(VAULTFMT_NO_SLOT_OPENS, open_with("both.vault", passphrase("and a passphrase")));
}

static void with_limits(void) {
    vaultfmt_factors factors = passphrase("correct horse");
    vaultfmt_open_options options = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_vault *vault;
    options.most_kdf_memory = 7;
    EXPECT(VAULTFMT_KDF_LIMIT, vaultfmt_open(file_in_folder("passphrase.vault"), &factors, &options, &vault));
    CHECK(strstr(vaultfmt_error_text(), "7 KiB") != NULL);
    options.most_kdf_memory = 8;
    EXPECT(VAULTFMT_OK, vaultfmt_open(file_in_folder("passphrase.vault"), &factors, &options, &vault));
    vaultfmt_close(vault);
}

void test_opening(void) {
    vaultfmt_factors factors = passphrase("correct horse");
    vaultfmt_create_options options = cheap();
    vaultfmt_vault *vault;
    vaultfmt_vault *second = (vaultfmt_vault *)1;
    const char *path = file_in_folder("passphrase.vault");
    FILE *file;

    options.allow_weak_kdf = 0;
    EXPECT(VAULTFMT_WEAK_KDF, vaultfmt_create(path, &factors, &options, &vault));
    options.allow_weak_kdf = 1;
    REQUIRE(vaultfmt_create(path, &factors, &options, &vault));
    CHECK(strcmp(vaultfmt_error_text(), "") == 0);
    EXPECT(VAULTFMT_FILE_EXISTS, vaultfmt_create(path, &factors, &options, &second));
    CHECK(second == NULL);
    CHECK(strcmp(vaultfmt_error_text(), "") != 0);
    vaultfmt_close(vault);

    EXPECT(VAULTFMT_OK, open_with("passphrase.vault", passphrase("correct horse")));
    EXPECT(VAULTFMT_NO_SLOT_OPENS, open_with("passphrase.vault", passphrase("wrong horse")));
    EXPECT(VAULTFMT_PASSPHRASE_INVALID, open_with("passphrase.vault", passphrase("")));
    EXPECT(VAULTFMT_PASSPHRASE_INVALID, open_with("passphrase.vault", passphrase("\xFF")));
    EXPECT(VAULTFMT_NO_SUCH_FILE, open_with("none.vault", passphrase("correct horse")));
    file = fopen(file_in_folder("no.vault"), "w");
    fputs("This is no vault, but a text that is long enough to have a header.", file);
    fclose(file);
    EXPECT(VAULTFMT_NOT_A_VAULT, open_with("no.vault", passphrase("correct horse")));

    vaultfmt_close(create("raw-key.vault"));
    EXPECT(VAULTFMT_OK, open_with("raw-key.vault", raw_key()));
    factors = raw_key();
    factors.raw_key.size = 31;
    EXPECT(VAULTFMT_INVALID_ARGUMENT, open_with("raw-key.vault", factors));
    factors = raw_key();
    factors.passphrase = vaultfmt_text("stands alone");
    EXPECT(VAULTFMT_INVALID_ARGUMENT, open_with("raw-key.vault", factors));
    with_a_key_file();
    with_limits();
}
