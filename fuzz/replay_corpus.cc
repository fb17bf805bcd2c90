// Stands in for libFuzzer where a corpus is only replayed: runs the fuzzer's target over every file
// of a folder, and over every beginning of it, for half a message is what a parser meets most.
//
//   http_corpus fuzz/corpus/http
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::size_t files = 0;
  if (argc == 2 && fs::is_directory(argv[1])) {
    for (const auto& entry : fs::directory_iterator(argv[1])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
      std::printf("%s, %zu bytes\n", entry.path().c_str(), bytes.size());
      std::fflush(stdout);  // the last line names the file that a crash is about
      for (std::size_t size = 0; size <= bytes.size(); ++size) {
        // Memory of exactly that size, so that a sanitizer sees the first byte beyond it.
        const std::vector<std::uint8_t> beginning(
            bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        LLVMFuzzerTestOneInput(beginning.data(), beginning.size());
      }
      ++files;
    }
  }
  if (files == 0) std::fprintf(stderr, "no corpus: name the folder that holds it\n");
  return files == 0 ? 1 : 0;
}
