/* What a machine remembers: two machines that see one vault. */
#include "check.h"

static vaultfmt_local_options machine(const char *state_folder) {
    vaultfmt_local_options local = VAULTFMT_LOCAL_OPTIONS_INIT;
    local.state_folder = state_folder;
    return local;
}

static vaultfmt_status opens(const vaultfmt_local_options *local) {
    vaultfmt_factors factors = raw_key();
    vaultfmt_vault *vault = (vaultfmt_vault *)1;
    vaultfmt_status status = vaultfmt_local_open(file_in_folder("machine.vault"), &factors, NULL, local, &vault);
    CHECK((status == VAULTFMT_OK) == (vault != NULL));
    vaultfmt_close(vault);
    return status;
}

static void copy_file(const char *from, const char *to) {
    static char bytes[1 << 20];
    FILE *file = fopen(from, "rb");
    size_t size = file == NULL ? 0 : fread(bytes, 1, sizeof bytes, file);
    CHECK(size > 0 && size < sizeof bytes);
    if (file != NULL) fclose(file);
    file = fopen(to, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, size, file) == size);
    if (file != NULL) fclose(file);
}

static void count_notice(void *context, uint32_t is_warning, const char *text) {
    CHECK(text != NULL && is_warning <= 1);
    ++*(int *)context;
}

void test_machines(void) {
    char one_folder[1024], two_folder[1024], path[1024];
    vaultfmt_factors factors = raw_key();
    vaultfmt_open_options writing = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_local_options one, two;
    vaultfmt_vault *vault;
    int notices = 0;
    snprintf(one_folder, sizeof one_folder, "%s", file_in_folder("one"));
    snprintf(two_folder, sizeof two_folder, "%s", file_in_folder("two"));
    one = machine(one_folder);
    two = machine(two_folder);
    two.notice = count_notice;
    two.context = &notices;
    writing.writable = 1;
    REQUIRE(vaultfmt_local_create(file_in_folder("machine.vault"), &factors, NULL, &one, &vault));
    vaultfmt_close(vault);
    CHECK(opens(&two) == VAULTFMT_OK && notices == 1);
    copy_file(file_in_folder("machine.vault"), file_in_folder("machine.old"));
    REQUIRE(vaultfmt_local_open(file_in_folder("machine.vault"), &factors, &writing, &one, &vault));
    REQUIRE(put(vault, "s", "a", "x"));
    vaultfmt_close(vault);
    CHECK(opens(&two) == VAULTFMT_OK);
    copy_file(file_in_folder("machine.vault"), file_in_folder("machine.new"));
    copy_file(file_in_folder("machine.old"), file_in_folder("machine.vault"));
    CHECK(opens(&two) == VAULTFMT_ROLLED_BACK);
    copy_file(file_in_folder("machine.new"), file_in_folder("machine.vault"));

    /* M1, M4: a rotation on one machine is handed over to the other; from then on, both refuse what was before. */
    REQUIRE(vaultfmt_local_open(file_in_folder("machine.vault"), &factors, &writing, &one, &vault));
    REQUIRE(vaultfmt_rotate(vault, &factors, 1, NULL, 0, NULL));
    vaultfmt_close(vault);
    CHECK(opens(&one) == VAULTFMT_OK);
    CHECK(opens(&two) == VAULTFMT_OK);
    REQUIRE(vaultfmt_local_open(file_in_folder("machine.vault"), &factors, NULL, &two, &vault));
    copy_file(file_in_folder("machine.new"), file_in_folder("machine.vault"));
    /* Whoever holds the key that was rotated away could have made it: that tells more than that it is older. */
    CHECK(opens(&two) == VAULTFMT_FOREIGN_OWNER);
    CHECK(opens(&one) == VAULTFMT_FOREIGN_OWNER);
    CHECK(vaultfmt_refresh(vault) != VAULTFMT_OK);
    vaultfmt_close(vault);
    /* Accepted, it is the newest state that this machine knows. */
    REQUIRE(vaultfmt_local_accept(file_in_folder("machine.vault"), &factors, NULL, &two));
    CHECK(opens(&two) == VAULTFMT_OK);
    CHECK(opens(&one) == VAULTFMT_FOREIGN_OWNER);

    /* vaultfmt_open remembers nothing. */
    REQUIRE(vaultfmt_open(file_in_folder("machine.vault"), &factors, NULL, &vault));
    vaultfmt_close(vault);

    /* Arguments. */
    CHECK(vaultfmt_local_default_path(path, 1) == VAULTFMT_LIMIT_EXCEEDED && path[0] == 0);
    CHECK(vaultfmt_local_default_path(NULL, 0) == VAULTFMT_INVALID_ARGUMENT);
    CHECK(vaultfmt_local_accept(file_in_folder("machine.vault"), NULL, NULL, &two) == VAULTFMT_INVALID_ARGUMENT);
    one.struct_size = 1;
    CHECK(opens(&one) == VAULTFMT_INVALID_ARGUMENT);
    one = machine(one_folder);
    one.make_device = 2;
    CHECK(opens(&one) == VAULTFMT_INVALID_ARGUMENT);
}
