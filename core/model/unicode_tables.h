// Which characters above U+007F are letters and which else may stand in a name, by Unicode
// category. The tables are generated: unicode_tables.py says how.
#pragma once

#include <string_view>

namespace entitable {

// Categories L* and Nl. REQUIRES: c >= 0x80.
bool is_unicode_letter(char32_t c);
// Categories Nd, Mn, Mc, Pc and Cf. REQUIRES: c >= 0x80.
bool is_unicode_name_mark(char32_t c);

// The version of Unicode that the tables were made from.
std::string_view unicode_version();

}  // namespace entitable
