// main() of every <name>_corpus program: runs the fuzz target once on each file.
//
//   <name>_corpus                runs the target's own corpus, tests/fuzz/corpus/<name>
//   <name>_corpus FILE...        runs these files, for example an input that the fuzzer found
//
// A failing target crashes (a check, a sanitizer). So the name of each input is printed before it
// runs; the last name printed is the input that failed. An empty corpus is an error, because it
// would test nothing.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool replay(const std::filesystem::path& file) {
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::printf("cannot be read\n");
    return false;
  }
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char* argv[]) {
  const std::string program = std::filesystem::path(argv[0]).filename();
  const std::string target = program.substr(0, program.rfind("_corpus"));
  const std::vector<std::filesystem::path> files =
      argc > 1 ? std::vector<std::filesystem::path>(argv + 1, argv + argc)
               : files_of(std::filesystem::path(ENTITABLE_CORPORA) / target);
  const bool all_read = std::all_of(files.begin(), files.end(), replay);
  std::printf("%zu inputs replayed\n", files.size());
  return all_read && !files.empty() ? 0 : 1;
}
