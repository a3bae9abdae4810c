// Decodes arbitrary bytes as a manifest, either unchanged or as records with correct checksums. The
// result must be an error, or values that survive encoding and decoding. A store that is opened
// with the manifest must write another one that can be read.
#include <cstddef>
#include <cstdint>

#include "core/store/feed_readers.h"
#include "tests/support/log_checks.h"

namespace {

using namespace entitable;

void check_next_manifest(const std::string& file) {
  constexpr std::uint64_t counted_max = counter_max - 10;  // leaves some numbers to count with
  const Result<Manifest> manifest = decode_manifest(file);
  if (!manifest.ok() || manifest->epoch > counted_max ||
      manifest->first_live_sequence > counted_max)
    return;
  Store store;
  ENTITABLE_CHECK(store.begin_recovery(file).ok());
  store.finish_recovery();
  ENTITABLE_CHECK(!store.is_damaged());
  const SealedSegment claim = store.make_claim_segment();
  ENTITABLE_CHECK(decode_segment(claim.bytes, claim.sequence).ok());
  store.mark_stored(claim.sequence);
  const Ticks now = manifest->last_timestamp;
  FeedReaders(store).add("fuzzer", FeedPosition{}, now);
  ENTITABLE_CHECK(store.begin_checkpoint());
  // No row has changed, so there is no part to write.
  ENTITABLE_CHECK(std::holds_alternative<CheckpointPartsEnd>(store.next_checkpoint_part()));
  const FinishedCheckpoint end = store.finish_checkpoint({std::uint64_t{1} << 40, now, now});
  ENTITABLE_CHECK(decode_manifest(end.manifest).ok());
  ENTITABLE_CHECK(end.first_kept_sequence <= end.first_live_sequence);
  store.mark_checkpoint_committed();
  ENTITABLE_CHECK(store.first_kept_sequence() == end.first_kept_sequence);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  test::check_fuzz_input(FileKind::manifest, input);
  check_next_manifest(test::file_of_fuzz_input(FileKind::manifest, input));
  return 0;
}
