// The header in C++: every initialiser, and a call.
#include <vaultfmt.h>

int main() {
    vaultfmt_factors factors = VAULTFMT_FACTORS_INIT;
    vaultfmt_open_options open_options = VAULTFMT_OPEN_OPTIONS_INIT;
    vaultfmt_create_options create_options = VAULTFMT_CREATE_OPTIONS_INIT;
    vaultfmt_slot_options slot_options = VAULTFMT_SLOT_OPTIONS_INIT;
    vaultfmt_details details = VAULTFMT_DETAILS_INIT;
    vaultfmt_query query = VAULTFMT_QUERY_INIT;
    vaultfmt_provider provider = VAULTFMT_PROVIDER_INIT;
    vaultfmt_new_earlier_value earlier = VAULTFMT_NEW_EARLIER_VALUE_INIT;
    vaultfmt_attribute attribute = vaultfmt_text_attribute("name", "value");
    vaultfmt_key key = vaultfmt_internet_password("server", "account", "https", 443);
    vaultfmt_vault *vault = nullptr;
    factors.passphrase = vaultfmt_text("x");
    bool isRight = open_options.most_kdf_work == 16u << 20 && create_options.kdf_lanes == 1
        && slot_options.kdf_passes == 3 && details.created == VAULTFMT_UNSET && query.port == VAULTFMT_ANY
        && key.port == 443 && create_options.kept_versions == 10 && provider.unwrap == nullptr && earlier.replaced == 0
        && attribute.states_flags == 0;
    return isRight && vaultfmt_open("/nonexistent/a.vault", &factors, nullptr, &vault) == VAULTFMT_NO_SUCH_FILE && vault == nullptr ? 0 : 1;
}
