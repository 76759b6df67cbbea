#include "duck/worker_wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/little_endian.h"

namespace strata::duck {
namespace {

constexpr std::size_t kFrameHeadBytes = 5;  // four of length, lowest first, one of kind

Error nonsense(std::string detail) {
  return make_error(Code::kInternal, "a query worker sent something unreadable", std::move(detail));
}

Error gone(const char* what, int error) {
  return make_error(Code::kIo, "the query worker ended",
                    std::string(what) + (error == 0 ? ": closed" : ": ") +
                        (error == 0 ? "" : std::strerror(error)));
}

Result<void> wait_for(int socket, short events, Deadline deadline) {
  for (;;) {
    int wait_ms = -1;
    if (deadline) {
      const auto left = *deadline - SystemClock().steady();
      // Rounded up, so that the last fraction of a millisecond is no busy loop.
      wait_ms = static_cast<int>(std::clamp<std::int64_t>(
          std::chrono::ceil<std::chrono::milliseconds>(left).count(), 0, 3'600'000));
    }
    pollfd entry{.fd = socket, .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, wait_ms);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return gone("poll", errno);
    if (ready == 0 && deadline && SystemClock().steady() >= *deadline) {
      return make_error(Code::kTimeout, "the query worker did not answer in time");
    }
  }
}

Result<void> send_all(int socket, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    // MSG_DONTWAIT, because waiting is done where the deadline is known; MSG_NOSIGNAL, because a
    // dead peer is an ordinary answer here.
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      STRATA_RETURN_IF_ERROR(wait_for(socket, POLLOUT, deadline));
    } else if (errno != EINTR) {
      return gone("send", errno);
    }
  }
  return {};
}

Result<void> receive_all(int socket, char* into, std::size_t bytes, Deadline deadline) {
  while (bytes != 0) {
    const ssize_t received = ::recv(socket, into, bytes, MSG_DONTWAIT);
    if (received > 0) {
      into += received;
      bytes -= static_cast<std::size_t>(received);
    } else if (received == 0) {
      return gone("recv", 0);
    } else if (errno == EAGAIN) {
      STRATA_RETURN_IF_ERROR(wait_for(socket, POLLIN, deadline));
    } else if (errno != EINTR) {
      return gone("recv", errno);
    }
  }
  return {};
}

class Encoder {
 public:
  Encoder& number(std::uint64_t value) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes_ += static_cast<char>(value >> shift & 0xFFU);
    }
    return *this;
  }
  Encoder& text(std::string_view value) {
    number(value.size());
    bytes_ += value;
    return *this;
  }
  Encoder& texts(const std::vector<std::string>& values) {
    number(values.size());
    for (const std::string& value : values) text(value);
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what Encoder wrote. After the first thing that does not fit it yields nothing more and is
/// not `whole`.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    if (bytes_.size() < 8) return fail();
    std::uint64_t value = 0;
    for (unsigned index = 0; index < 8; ++index) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[index])) << 8U * index;
    }
    bytes_.remove_prefix(8);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > bytes_.size()) {
      fail();
      return {};
    }
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  /// How many follow, of so many numbers and texts each; no more than the bytes left could hold.
  std::uint64_t count(std::uint64_t parts_each) {
    const std::uint64_t value = number();
    return value > bytes_.size() / (8 * parts_each) ? fail() : value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values(count(1));
    for (std::string& value : values) value = text();
    return values;
  }
  /// Everything fitted and nothing is left.
  bool whole() const { return !failed_ && bytes_.empty(); }

 private:
  std::uint64_t fail() {
    failed_ = true;
    bytes_ = {};
    return 0;
  }

  std::string_view bytes_;
  bool failed_ = false;
};

template <typename Value>
Result<Value> checked(const Decoder& decoder, Value value, const char* what) {
  if (!decoder.whole()) return nonsense(what);
  return value;
}

/// What a worker may say of a request; anything else from it is not to be believed.
bool is_workers_code(Code code) {
  constexpr std::array kCodes = {Code::kSqlError,    Code::kSqlRefused, Code::kUnknownTable,
                                 Code::kOutOfMemory, Code::kTimeout,    Code::kNotFound,
                                 Code::kDiskFull,    Code::kIo,         Code::kInternal};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

}  // namespace

Result<void> send_frame(int socket, FrameKind kind, std::string_view payload, Deadline deadline) {
  if (payload.size() > kFrameBytesMax) return nonsense("a frame too large to send");
  const auto size = little_endian_32(payload.size());
  std::string head(size.data(), size.size());
  head += static_cast<char>(kind);
  STRATA_RETURN_IF_ERROR(send_all(socket, head, deadline));
  return send_all(socket, payload, deadline);
}

Result<Frame> receive_frame(int socket, Deadline deadline) {
  std::array<char, kFrameHeadBytes> head;
  STRATA_RETURN_IF_ERROR(receive_all(socket, head.data(), head.size(), deadline));
  std::size_t size = 0;
  for (unsigned index = 0; index < 4; ++index) {
    size |= static_cast<std::size_t>(static_cast<unsigned char>(head[index])) << 8U * index;
  }
  const auto kind = static_cast<unsigned char>(head[4]);
  if (size > kFrameBytesMax) return nonsense("a frame too large");
  if (kind < static_cast<unsigned>(FrameKind::kSetUp) ||
      kind > static_cast<unsigned>(FrameKind::kEnd)) {
    return nonsense("a frame of no kind");
  }
  Frame frame{.kind = static_cast<FrameKind>(kind), .payload = std::string(size, '\0')};
  STRATA_RETURN_IF_ERROR(receive_all(socket, frame.payload.data(), size, deadline));
  return frame;
}

std::string encode(const SetUpRequest& request) {
  return Encoder()
      .number(static_cast<std::uint64_t>(request.use))
      .text(request.kb_folder)
      .text(request.writable_folder)
      .number(request.memory_bytes)
      .number(request.address_space_bytes)
      .take();
}

std::string encode(const QueryRequest& request) {
  Encoder encoder;
  encoder.text(request.source.kb_folder)
      .text(request.source.generation_file)
      .text(request.sql)
      .number(static_cast<std::uint64_t>(request.format))
      .number(request.rows_max)
      .number(request.timeout_ms)
      .number(request.manifest.size());
  for (const ManifestRow& row : request.manifest) {
    encoder.text(row.table).text(row.source).text(row.state);
    encoder.number(row.rows ? 1 : 0).number(row.rows.value_or(0));
  }
  return encoder.take();
}

std::string encode(const Source& source) {
  return Encoder().text(source.kb_folder).text(source.generation_file).take();
}

std::string encode(const DdlRequest& request) {
  return Encoder()
      .text(request.kb_folder)
      .text(request.database_file)
      .texts(request.statements)
      .take();
}

std::string encode(const StepRequest& request) {
  return Encoder()
      .text(request.sql)
      .number(request.wants_rows ? 1 : 0)
      .number(request.rows_max)
      .number(request.timeout_ms)
      .take();
}

std::string encode(const Error& error) {
  return Encoder()
      .number(static_cast<std::uint64_t>(error.code))
      .text(error.message)
      .text(error.detail)
      .take();
}

std::string encode(const QueryHead& head) {
  Encoder encoder;
  encoder.number(head.columns.size());
  for (const ResultColumn& column : head.columns) encoder.text(column.name).text(column.type);
  return encoder.number(head.row_count).number(head.truncated ? 1 : 0).texts(head.tables).take();
}

std::string encode(const std::vector<View>& views) {
  Encoder encoder;
  encoder.number(views.size());
  for (const View& view : views) encoder.text(view.schema).text(view.name).text(view.sql);
  return encoder.take();
}

std::string encode(const std::vector<TextRow>& rows) {
  Encoder encoder;
  encoder.number(rows.size());
  for (const TextRow& row : rows) {
    encoder.number(row.size());
    for (const auto& cell : row) encoder.number(cell ? 1 : 0).text(cell.value_or(""));
  }
  return encoder.take();
}

std::string encode(const AnswerEnd& end) { return Encoder().number(end.worn ? 1 : 0).take(); }

Result<SetUpRequest> decode_set_up(std::string_view payload) {
  Decoder decoder(payload);
  SetUpRequest request;
  const std::uint64_t use = decoder.number();
  if (use > static_cast<std::uint64_t>(WorkerUse::kWorkbench)) return nonsense("set-up");
  request.use = static_cast<WorkerUse>(use);
  request.kb_folder = decoder.text();
  request.writable_folder = decoder.text();
  request.memory_bytes = decoder.number();
  request.address_space_bytes = decoder.number();
  return checked(decoder, std::move(request), "set-up");
}

Result<QueryRequest> decode_query(std::string_view payload) {
  Decoder decoder(payload);
  QueryRequest request;
  request.source.kb_folder = decoder.text();
  request.source.generation_file = decoder.text();
  request.sql = decoder.text();
  const std::uint64_t format = decoder.number();
  if (format > static_cast<std::uint64_t>(ResultFormat::kArrow)) return nonsense("format");
  request.format = static_cast<ResultFormat>(format);
  request.rows_max = decoder.number();
  request.timeout_ms = decoder.number();
  request.manifest.resize(decoder.count(5));
  for (ManifestRow& row : request.manifest) {
    row.table = decoder.text();
    row.source = decoder.text();
    row.state = decoder.text();
    const bool known = decoder.number() != 0;
    const std::uint64_t rows = decoder.number();
    if (known) row.rows = rows;
  }
  return checked(decoder, std::move(request), "query");
}

Result<Source> decode_source(std::string_view payload) {
  Decoder decoder(payload);
  Source source;
  source.kb_folder = decoder.text();
  source.generation_file = decoder.text();
  return checked(decoder, std::move(source), "source");
}

Result<DdlRequest> decode_ddl(std::string_view payload) {
  Decoder decoder(payload);
  DdlRequest request;
  request.kb_folder = decoder.text();
  request.database_file = decoder.text();
  request.statements = decoder.texts();
  return checked(decoder, std::move(request), "ddl");
}

Result<StepRequest> decode_step(std::string_view payload) {
  Decoder decoder(payload);
  StepRequest request;
  request.sql = decoder.text();
  request.wants_rows = decoder.number() != 0;
  request.rows_max = decoder.number();
  request.timeout_ms = decoder.number();
  return checked(decoder, std::move(request), "step");
}

Error decode_error(std::string_view payload) {
  Decoder decoder(payload);
  const std::uint64_t code = decoder.number();
  Error error;
  error.message = decoder.text();
  error.detail = decoder.text();
  if (!decoder.whole()) return nonsense("error");
  const bool known = code <= static_cast<std::uint64_t>(Code::kInternal) &&
                     is_workers_code(static_cast<Code>(code));
  error.code = known ? static_cast<Code>(code) : Code::kInternal;
  return error;
}

Result<QueryHead> decode_head(std::string_view payload) {
  Decoder decoder(payload);
  QueryHead head;
  head.columns.resize(decoder.count(2));
  for (ResultColumn& column : head.columns) {
    column.name = decoder.text();
    column.type = decoder.text();
  }
  head.row_count = decoder.number();
  head.truncated = decoder.number() != 0;
  head.tables = decoder.texts();
  return checked(decoder, std::move(head), "head");
}

Result<std::vector<View>> decode_views(std::string_view payload) {
  Decoder decoder(payload);
  std::vector<View> views(decoder.count(3));
  for (View& view : views) {
    view.schema = decoder.text();
    view.name = decoder.text();
    view.sql = decoder.text();
  }
  return checked(decoder, std::move(views), "views");
}

Result<std::vector<TextRow>> decode_text_rows(std::string_view payload) {
  Decoder decoder(payload);
  std::vector<TextRow> rows(decoder.count(1));
  for (TextRow& row : rows) {
    row.resize(decoder.count(2));
    for (auto& cell : row) {
      const bool is_null = decoder.number() == 0;
      std::string text = decoder.text();
      if (!is_null) cell = std::move(text);
    }
  }
  return checked(decoder, std::move(rows), "rows");
}

Result<AnswerEnd> decode_end(std::string_view payload) {
  Decoder decoder(payload);
  AnswerEnd end;
  end.worn = decoder.number() != 0;
  return checked(decoder, end, "end");
}

}  // namespace strata::duck
