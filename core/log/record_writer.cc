#include "core/log/record_writer.h"

#include <limits>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/crc32c.h"

namespace entitable {
namespace {

constexpr std::string_view magic_start = "entitab";  // followed by the FileKind

}  // namespace

std::string file_magic(FileKind kind) {
  static_assert(magic_start.size() + 1 == record_layout::magic_bytes);
  return std::string(magic_start).append(1, static_cast<char>(kind));
}

std::uint32_t masked_crc32c(std::string_view bytes, std::uint32_t seed) {
  const std::uint32_t crc = crc32c(bytes, seed);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

namespace {

std::string header_of(FileKind kind, std::uint16_t major, std::uint16_t minor) {
  std::string header = file_magic(kind);
  ByteWriter writer(header);
  writer.u16(major);
  writer.u16(minor);
  const std::uint32_t checksum = masked_crc32c(header);
  writer.u32(checksum);
  return header;
}

}  // namespace

RecordWriter::RecordWriter(FileKind kind, std::size_t reserved_bytes) {
  // Cached, because every write that is stored alone creates a segment.
  static const std::string of_segment =
      header_of(FileKind::segment, format_major, minor_of_segments_and_manifests);
  file_.reserve(record_layout::header_bytes + reserved_bytes);
  const std::uint16_t minor =
      kind == FileKind::manifest ? minor_of_segments_and_manifests : minor_of_parts_and_snapshots;
  file_.append(kind == FileKind::segment ? of_segment : header_of(kind, format_major, minor));
  begin_chain();
}

RecordWriter::RecordWriter(FileKind kind, std::uint16_t major, std::uint16_t minor)
    : file_(header_of(kind, major, minor)) {
  begin_chain();
}

void RecordWriter::begin_chain() {
  chain_ = crc32c(std::string_view(file_).substr(file_.size() - record_layout::checksum_bytes));
}

std::string& RecordWriter::begin_record(RecordType type, std::uint8_t flags) {
  ENTITABLE_CHECK(open_at_ == no_open_record);
  open_at_ = file_.size();
  const char prefix[record_layout::prefix_bytes] = {static_cast<char>(type),
                                                    static_cast<char>(flags)};
  file_.append(prefix, sizeof prefix);  // end_record() fills in the length
  return file_;
}

void RecordWriter::end_record() {
  ENTITABLE_CHECK(open_at_ != no_open_record);
  const std::size_t length = file_.size() - open_at_ - record_layout::prefix_bytes;
  ENTITABLE_CHECK(length <= std::numeric_limits<std::uint32_t>::max());
  for (std::size_t i = 0; i < 4; ++i) {
    file_[open_at_ + 2 + i] = static_cast<char>(static_cast<std::uint8_t>(length >> (8 * i)));
  }
  const std::uint32_t checksum = masked_crc32c(std::string_view(file_).substr(open_at_));
  ByteWriter(file_).u32(checksum);
  chain_ =
      crc32c(std::string_view(file_).substr(file_.size() - record_layout::checksum_bytes), chain_);
  ++records_;
  open_at_ = no_open_record;
}

std::string RecordWriter::take_bytes() {
  ENTITABLE_CHECK(open_at_ == no_open_record);
  return std::exchange(file_, {});
}

std::string RecordWriter::finish() && {
  const std::uint32_t records = records_;
  const std::uint32_t chain = masked_crc32c({}, chain_);
  ByteWriter writer(begin_record(RecordType::end));
  writer.u32(records);
  writer.u32(chain);
  end_record();
  return std::move(file_);
}

}  // namespace entitable
