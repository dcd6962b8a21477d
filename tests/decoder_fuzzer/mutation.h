// Bytes nearly like these, the same for the same seed: what is near a text that is accepted gets far into its reader.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace pounce::decoder_fuzzer {

class Mutation {
 public:
  explicit Mutation(std::uint32_t seed) : random_(seed) {}

  std::string of(std::string text, const std::vector<std::string>& others) {
    for (std::size_t changes = 1 + at(4); changes > 0; --changes) change(text, others);
    return text;
  }

 private:
  std::size_t at(std::size_t below) {
    return below == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }

  void change(std::string& text, const std::vector<std::string>& others) {
    static const std::vector<std::string> kWords = {"-1",
                                                    "0",
                                                    "4294967296",
                                                    "18446744073709551616",
                                                    "1e999",
                                                    "1.5",
                                                    "null",
                                                    "true",
                                                    "[",
                                                    "{",
                                                    "\"",
                                                    "\\u0000",
                                                    "\xff",
                                                    "\xed\xa0\x80",
                                                    std::string(1, '\0'),
                                                    "[[[[[[[[[[[[[[[[[[[[",
                                                    "\n",
                                                    "/*"};
    const std::size_t place = at(text.size() + 1), length = at(text.size() - place + 1);
    switch (at(6)) {
      case 0:
        text.erase(place, length);
        break;
      case 1:
        text.insert(place, kWords[at(kWords.size())]);
        break;
      case 2:
        text.replace(place, std::min<std::size_t>(length, 1 + at(8)), kWords[at(kWords.size())]);
        break;
      case 3:
        if (place < text.size()) text[place] = static_cast<char>(text[place] ^ (1 << at(8)));
        break;
      case 4:
        text.insert(place, text.substr(at(text.size() + 1), 1 + at(64)));
        break;
      case 5:
        text.erase(place).append(others[at(others.size())].substr(0, at(4096)));
        break;
    }
  }

  std::mt19937 random_;
};

}  // namespace pounce::decoder_fuzzer
