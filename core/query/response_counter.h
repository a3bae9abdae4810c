// Counts responses of the real service (explain.h). Internal to core/query.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace entitable {

// Counts the responses that the matching rows of a partition take in addition to its first
// response, over all partitions. REQUIRES: rows are added in key order.
class ResponseCounter {
 public:
  explicit ResponseCounter(std::uint64_t page_rows) : page_rows_(page_rows) {}
  void add(std::string_view partition) {
    if (partition != partition_) {
      partition_ = partition;
      in_partition_ = 0;
    }
    if (in_partition_ != 0 && in_partition_ % page_rows_ == 0) ++extra_;
    ++in_partition_;
    ++rows_;
  }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t extra() const { return extra_; }

 private:
  std::uint64_t page_rows_;
  std::string partition_;
  std::uint64_t in_partition_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t extra_ = 0;
};

}  // namespace entitable
