#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "http/server.h"
#include "http/test_support.h"

/// Requests as raw bytes and what they are answered with, in the manner of Http11Probe. Each row
/// names the section it holds us to (9110, 9112: the RFCs; 3986 the URIs; "ours": stricter, by the
/// threat table of the design).
namespace strata::http {
namespace {

using namespace std::string_literals;
using test::RawClient;
using test::RawReply;

enum class Then : bool {
  kKept,   // the next request on the connection is answered: both agree where this one ended
  kEnded,  // exactly one answer, then the connection ends: nothing can be smuggled behind it
};

struct Row {
  std::string name;
  std::string section;
  std::string bytes;
  int status;
  Then then = Then::kEnded;
  std::string body = {};  // when not empty: of the answer
};

/// The request line and Host, then `rest`, which begins with further headers.
std::string get(const std::string& rest = "\r\n") {
  return "GET /ok HTTP/1.1\r\nHost: a\r\n" + rest;
}
std::string post(const std::string& rest) { return "POST /echo HTTP/1.1\r\nHost: a\r\n" + rest; }
std::string chunked(const std::string& body) {
  return post("Transfer-Encoding: chunked\r\n\r\n" + body);
}
std::string line(const std::string& request_line) { return request_line + "\r\nHost: a\r\n\r\n"; }
std::string host(const std::string& value) {
  return "GET /ok HTTP/1.1\r\nHost:" + value + "\r\n\r\n";
}
/// Header fields of `bytes` bytes altogether.
std::string padding(std::size_t bytes) {
  std::string fields;
  while (bytes > 0) {
    const std::size_t take = bytes > 2000 ? 1000 : bytes;
    fields += "X: " + std::string(take - 5, 'x') + "\r\n";
    bytes -= take;
  }
  return fields;
}

constexpr std::size_t kHostBytes = 9;  // `Host: a` and its end
constexpr auto kKept = Then::kKept;

std::vector<Row> compliance() {
  const std::string long_path(limits::kRequestTargetBytesMax - 3, 'x');
  std::vector<Row> rows = {
      {"plain GET", "9112 2.1", get(), 200, kKept, "ok"},
      {"one empty line before", "9112 2.2", "\r\n" + get(), 200, kKept},
      {"two empty lines before", "9112 2.2", "\r\n\r\n" + get(), 400},
      {"HTTP/1.0", "9110 2.5", "GET /ok HTTP/1.0\r\n\r\n", 200},
      {"HTTP/1.0 with Host", "9110 2.5", line("GET /ok HTTP/1.0"), 200},
      {"HTTP/1.0 asking to stay", "ours", "GET /ok HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       200},
      {"HTTP/1.0 with a body", "9112 6.3", "POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi",
       200, Then::kEnded, "2:hi"},
      {"HTTP/1.0 with Expect", "9110 10.1.1",
       "POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi", 200},
      {"Connection: close", "9112 9.6", get("Connection: close\r\n\r\n"), 200},
      {"Connection: Close in a list", "9112 9.6", get("Connection: te, Close\r\n\r\n"), 200},
      {"Connection: keep-alive", "9112 9.3", get("Connection: keep-alive\r\n\r\n"), 200, kKept},
      {"HEAD", "9110 9.3.2", line("HEAD /ok HTTP/1.1"), 200, kKept},
      {"unknown path", "9110 15.5.5", line("GET /nothing HTTP/1.1"), 404, kKept},
      {"known path, other method", "9110 15.5.6", line("DELETE /ok HTTP/1.1"), 405, kKept},
      {"unknown method", "9110 9.1", line("BREW /ok HTTP/1.1"), 405, kKept},
      {"methods have case", "9110 9.1", line("get /ok HTTP/1.1"), 405, kKept},
      {"TRACE", "9110 9.3.8", line("TRACE /ok HTTP/1.1"), 405, kKept},
      {"OPTIONS *", "9110 9.3.7", line("OPTIONS * HTTP/1.1"), 404, kKept},
      {"* for GET", "9112 3.2.4", line("GET * HTTP/1.1"), 400},
      {"CONNECT", "9112 3.2.3", line("CONNECT a:80 HTTP/1.1"), 400},
      {"absolute form", "9112 3.2.2", line("GET http://b/host HTTP/1.1"), 200, kKept, "b"},
      {"absolute form, port and capitals", "9112 3.2.2", line("GET HTTP://b:81/host HTTP/1.1"), 200,
       kKept, "b:81"},
      {"absolute form without a path", "9112 3.2.2", line("GET http://b HTTP/1.1"), 404, kKept},
      {"absolute form still needs Host", "9112 3.2", "GET http://b/ok HTTP/1.1\r\n\r\n", 400},
      {"absolute form, https", "ours", line("GET https://b/ok HTTP/1.1"), 400},
      {"absolute form, user information", "9110 4.2.4", line("GET http://u@b/ok HTTP/1.1"), 400},
      {"absolute form, no host", "9110 4.2.1", line("GET http:///ok HTTP/1.1"), 400},
      {"Host with a port", "9110 7.2", host(" a:8080"), 200, kKept},
      {"Host, IPv6", "9110 7.2", host(" [::1]:8080"), 200, kKept},
      {"header names ignore case", "9110 5.1", "GET /host HTTP/1.1\r\nhOST: b\r\n\r\n", 200, kKept,
       "b"},
      {"no space after the colon", "9112 5", host("a"), 200, kKept},
      {"blanks around a value", "9112 5", get("X: \t a \t \r\n\r\n"), 200, kKept},
      {"empty value", "9110 5.5", get("X:\r\n\r\n"), 200, kKept},
      {"bytes from 0x80 in a value", "9110 5.5", get("X: \xe4\xff\r\n\r\n"), 200, kKept},
      {"Content-Length", "9112 6.2", post("Content-Length: 3\r\n\r\nabc"), 200, kKept, "3:abc"},
      {"Content-Length: 0", "9112 6.2", post("Content-Length: 0\r\n\r\n"), 200, kKept, "0:"},
      {"POST without any length", "9112 6.3", post("\r\n"), 200, kKept, "0:"},
      {"GET with a body", "9110 9.3.1", get("Content-Length: 3\r\n\r\nabc"), 200, kKept, "ok"},
      {"chunked", "9112 7.1", chunked("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), 200, kKept, "5:abcde"},
      {"chunked, empty", "9112 7.1", chunked("0\r\n\r\n"), 200, kKept, "0:"},
      {"chunked, capital digits", "9112 7.1", chunked("A\r\n0123456789\r\n0\r\n\r\n"), 200, kKept,
       "10:0123456789"},
      {"chunked, zeros in front", "9112 7.1", chunked("003\r\nabc\r\n000\r\n\r\n"), 200, kKept,
       "3:abc"},
      {"chunked, extensions", "9112 7.1.1", chunked("3;a=b;c=\"d e\"\r\nabc\r\n0 ;z\r\n\r\n"), 200,
       kKept, "3:abc"},
      {"chunked, trailers", "9112 7.1.2", chunked("3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"), 200, kKept,
       "3:abc"},
      {"codings ignore case", "9112 7", post("Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n"), 200,
       kKept},
      {"unknown expectation", "9110 10.1.1", get("Expect: tea\r\n\r\n"), 200, kKept},
      {"query", "3986 3.4", line("GET /q?a=1%202+3&b HTTP/1.1"), 200, kKept, "a=1 2 3 b="},
      {"a name said twice", "3986 3.4", line("GET /q?a=1&b&a=2 HTTP/1.1"), 400},
      {"query without a value", "3986 3.4", line("GET /q? HTTP/1.1"), 200, kKept},
      {"escapes in a segment", "3986 2.1", line("GET /echo/a%20b HTTP/1.1"), 200, kKept, "a b"},
      {"an escaped slash splits nothing", "3986 2.2", line("GET /echo/a%2Fb HTTP/1.1"), 200, kKept,
       "a/b"},
      {"escapes are decoded once", "3986 2.4", line("GET /echo/%252e HTTP/1.1"), 200, kKept, "%2e"},
      {"escaped letters of a literal", "3986 2.3", line("GET /%6fk HTTP/1.1"), 200, kKept, "ok"},
      {"plus stays plus in a path", "3986 2.2", line("GET /echo/a+b HTTP/1.1"), 200, kKept, "a+b"},
      {"UTF-8 in a segment", "3986 2.5", line("GET /echo/%C3%A4 HTTP/1.1"), 200, kKept, "\xc3\xa4"},
      {"an empty segment is no value", "3986 3.3", line("GET /echo/ HTTP/1.1"), 404, kKept},
      {"doubled slashes stay", "3986 6.2.2", line("GET //ok HTTP/1.1"), 404, kKept},
      {"target of the greatest length", "9112 3", line("GET /x/" + long_path + " HTTP/1.1"), 404,
       kKept},
      {"target one longer", "9112 3", line("GET /x/" + long_path + "x HTTP/1.1"), 414},
      {"target without an end", "9112 3", "GET /" + std::string(9000, 'x'), 414},
      {"headers of the greatest size", "9110 5.4",
       get(padding(limits::kHeaderBytesMax - kHostBytes) + "\r\n"), 200, kKept},
      {"headers one byte more", "9110 5.4",
       get(padding(limits::kHeaderBytesMax - kHostBytes + 1) + "\r\n"), 431},
      {"a header without an end", "9110 5.4", get("X: " + std::string(20'000, 'x')), 431},
  };
  std::string hundred;
  for (int i = 0; i < 99; ++i) hundred += "X: y\r\n";
  rows.push_back({"100 headers", "ours", get(hundred + "\r\n"), 200, kKept});
  rows.push_back({"101 headers", "ours", get(hundred + "X: y\r\n\r\n"), 431});
  return rows;
}

std::vector<Row> smuggling() {
  const std::string hidden = "GET /ok HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string hidden_size = std::to_string(hidden.size());
  const std::string with_chunked = "Transfer-Encoding: chunked\r\n";
  return {
      {"both framings", "9112 6.1",
       post("Content-Length: 5\r\n" + with_chunked + "\r\n0\r\n\r\n" + hidden), 400},
      {"both, the other order", "9112 6.1",
       post(with_chunked + "Content-Length: 5\r\n\r\n0\r\n\r\n" + hidden), 400},
      {"two lengths", "9112 6.3", post("Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"),
       400},
      {"two equal lengths", "ours", post("Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"), 400},
      {"lengths in a list", "9112 6.3", post("Content-Length: 3, 3\r\n\r\nabc"), 400},
      {"length +3", "9110 8.6", post("Content-Length: +3\r\n\r\nabc"), 400},
      {"length -1", "9110 8.6", post("Content-Length: -1\r\n\r\n"), 400},
      {"length 0x3", "9110 8.6", post("Content-Length: 0x3\r\n\r\nabc"), 400},
      {"length 3.0", "9110 8.6", post("Content-Length: 3.0\r\n\r\nabc"), 400},
      {"length 3 3", "9110 8.6", post("Content-Length: 3 3\r\n\r\nabc"), 400},
      {"length 003", "ours", post("Content-Length: 003\r\n\r\nabc"), 400},
      {"length 00", "ours", post("Content-Length: 00\r\n\r\n"), 400},
      {"length empty", "9110 8.6", post("Content-Length: \r\n\r\n"), 400},
      {"length beyond 64 bits", "9110 8.6", post("Content-Length: 18446744073709551616\r\n\r\n"),
       400},
      {"length with a quote", "9110 8.6", post("Content-Length: \"3\"\r\n\r\nabc"), 400},
      {"length_with_underscore is no length", "9110 5.1", post("Content_Length: 3\r\n\r\n"), 200,
       kKept, "0:"},
      {"coding gzip", "9112 6.1", post("Transfer-Encoding: gzip\r\n\r\n" + hidden), 400},
      {"coding identity", "9112 7", post("Transfer-Encoding: identity\r\n\r\n" + hidden), 400},
      {"coding chunked, identity", "9112 6.1",
       post("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"), 400},
      {"coding gzip, chunked", "ours", post("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
       400},
      {"coding chunked twice in a list", "9112 6.1",
       post("Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"), 400},
      {"coding in two headers", "ours", post(with_chunked + with_chunked + "\r\n0\r\n\r\n"), 400},
      {"coding xchunked", "9112 6.1", post("Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), 400},
      {"coding \"chunked\"", "9112 7", post("Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
       400},
      {"coding with a comma", "ours", post("Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"), 400},
      {"coding with a parameter", "9112 7", post("Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n"),
       400},
      {"coding with a vertical tab", "9110 5.5",
       post("Transfer-Encoding: \x0b"
            "chunked\r\n\r\n0\r\n\r\n"),
       400},
      {"coding, no value", "9112 6.1", post("Transfer-Encoding:\r\n\r\n0\r\n\r\n"), 400},
      {"coding on HTTP/1.0", "9112 6.1", "POST /echo HTTP/1.0\r\n" + with_chunked + "\r\n0\r\n\r\n",
       400},
      {"space before the colon", "9112 5.1", post("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
       400},
      {"tab before the colon", "9112 5.1", post("Content-Length\t: 3\r\n\r\nabc"), 400},
      {"space before the name", "9112 2.2", "GET /ok HTTP/1.1\r\n Host: a\r\n\r\n", 400},
      {"folded value", "9112 5.2", get("X: a\r\n b\r\n\r\n"), 400},
      {"folded with a tab", "9112 5.2", post("Transfer-Encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n"),
       400},
      {"bare LF after a header", "9112 2.2", get("X: a\nContent-Length: 5\r\n\r\n"), 400},
      {"bare LF after the request line", "9112 2.2", "GET /ok HTTP/1.1\nHost: a\r\n\r\n", 400},
      {"bare LF all over", "9112 2.2", "GET /ok HTTP/1.1\nHost: a\n\n", 400},
      {"bare LF at the end", "9112 2.2", "GET /ok HTTP/1.1\r\nHost: a\r\n\n", 400},
      {"bare CR in a value", "9112 2.2", get("X: a\rY: b\r\n\r\n"), 400},
      {"bare CR after the request line", "9112 2.2", "GET /ok HTTP/1.1\rHost: a\r\n\r\n", 400},
      {"CR CR LF", "9112 2.2", get("X: a\r\r\n\r\n"), 400},
      {"NUL in a value", "9110 5.5", get("X: a\0b\r\n\r\n"s), 400},
      {"NUL in a name", "9110 5.1", get("X\0: a\r\n\r\n"s), 400},
      {"chunk size 0x3", "9112 7.1", chunked("0x3\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size +3", "9112 7.1", chunked("+3\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size -3", "9112 7.1", chunked("-3\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size empty", "9112 7.1", chunked("\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size 3g", "9112 7.1", chunked("3g\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size, space behind", "9112 7.1", chunked("3 \r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size, space before", "9112 7.1", chunked(" 3\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size 3_0", "9112 7.1", chunked("3_0\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size beyond 64 bits", "9112 7.1", chunked("10000000000000003\r\nabc\r\n0\r\n\r\n"),
       400},
      {"chunk size with 17 digits", "ours", chunked("00000000000000003\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk size, bare LF", "9112 7.1", chunked("3\nabc\r\n0\r\n\r\n"), 400},
      {"chunk extension, bare LF", "9112 7.1.1", chunked("3;a\nb\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk extension, bare CR", "9112 7.1.1", chunked("3;a\rb\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk extension, NUL", "9112 7.1.1", chunked("3;\0\r\nabc\r\n0\r\n\r\n"s), 400},
      {"chunk extension too long", "ours",
       chunked("3;" + std::string(300, 'a') + "\r\nabc\r\n0\r\n\r\n"), 400},
      {"chunk longer than its size", "9112 7.1", chunked("3\r\nabcd\r\n0\r\n\r\n"), 400},
      {"chunk end, bare LF", "9112 7.1", chunked("3\r\nabc\n0\r\n\r\n"), 400},
      {"chunk end, bare CR", "9112 7.1", chunked("3\r\nabc\r0\r\n\r\n"), 400},
      {"last chunk, bare LF", "9112 7.1", chunked("0\r\n\n"), 400},
      {"trailer without a colon", "9112 7.1.2", chunked("0\r\nX\r\n\r\n"), 400},
      {"trailer, space before the colon", "9112 7.1.2", chunked("0\r\nX : a\r\n\r\n"), 400},
      {"trailer, folded", "9112 7.1.2", chunked("0\r\nX: a\r\n b\r\n\r\n"), 400},
      {"a length in the trailers counts nothing", "9110 6.5.1",
       chunked("0\r\nContent-Length: 50\r\n\r\n"), 200, kKept, "0:"},
      {"behind a refused body", "9112 9.3",
       "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: " + hidden_size + "\r\n\r\n" + hidden,
       404},
      {"a body of GET is not the next request", "9110 9.3.1",
       get("Content-Length: " + hidden_size + "\r\n\r\n" + hidden), 200, kKept, "ok"},
      {"no Host", "9112 3.2", "GET /ok HTTP/1.1\r\n\r\n", 400},
      {"two Hosts", "9112 3.2", get("Host: b\r\n\r\n"), 400},
      {"two equal Hosts", "9112 3.2", get("host: a\r\n\r\n"), 400},
      {"two Hosts on HTTP/1.0", "9112 3.2", "GET /ok HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"Host empty", "ours", host(""), 400},
      {"Host with a path", "9110 7.2", host(" a/b"), 400},
      {"Host with a user", "9110 7.2", host(" u@a"), 400},
      {"Host with a space", "9110 7.2", host(" a b"), 400},
      {"Host in a list", "9110 7.2", host(" a, b"), 400},
      {"Host, port not a number", "9110 7.2", host(" a:80x"), 400},
      {"Host, bracket left open", "9110 7.2", host(" [::1"), 400},
  };
}

std::vector<Row> malformed() {
  return {
      {"space before the method", "9112 3", line(" GET /ok HTTP/1.1"), 400},
      {"two spaces", "9112 3", line("GET  /ok HTTP/1.1"), 400},
      {"space in the target", "9112 3.2", line("GET /o k HTTP/1.1"), 400},
      {"tabs for spaces", "9112 3", line("GET\t/ok\tHTTP/1.1"), 400},
      {"space after the version", "9112 3", line("GET /ok HTTP/1.1 "), 400},
      {"no version", "9112 3", line("GET /ok"), 400},
      {"HTTP/0.9", "9112 2.3", "GET /ok\r\n\r\n", 400},
      {"HTTP/1.2", "ours", line("GET /ok HTTP/1.2"), 400},
      {"HTTP/2.0", "9112 2.3", line("GET /ok HTTP/2.0"), 400},
      {"HTTP/11", "9112 2.3", line("GET /ok HTTP/11"), 400},
      {"HTTP/01.1", "9112 2.3", line("GET /ok HTTP/01.1"), 400},
      {"http/1.1", "9112 2.3", line("GET /ok http/1.1"), 400},
      {"the preface of HTTP/2", "9113 3.4", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
      {"no method", "9112 3", line("/ok HTTP/1.1"), 400},
      {"method with a bracket", "9110 9.1", line("G(T /ok HTTP/1.1"), 400},
      {"a method without an end", "9112 3", std::string(9000, 'G'), 400},
      {"TLS", "ours", "\x16\x03\x01\x02\0\x01\0\x01\xfc"s, 400},
      {"target without a slash", "9112 3.2", line("GET ok HTTP/1.1"), 400},
      {"target empty", "9112 3.2", line("GET  HTTP/1.1"), 400},
      {"fragment", "9112 3.2", line("GET /ok#a HTTP/1.1"), 400},
      {"raw byte from 0x80 in the target", "3986 2", line("GET /\xc3\xa4 HTTP/1.1"), 400},
      {"control character in the target", "3986 2", line("GET /o\x01k HTTP/1.1"), 400},
      {"DEL in the target", "3986 2", line("GET /o\x7fk HTTP/1.1"), 400},
      {"escape %zz", "3986 2.1", line("GET /%zz HTTP/1.1"), 400},
      {"escape % at the end", "3986 2.1", line("GET /ok% HTTP/1.1"), 400},
      {"escape %4 at the end", "3986 2.1", line("GET /ok%4 HTTP/1.1"), 400},
      {"escape broken in the query", "3986 2.1", line("GET /q?a=%g1 HTTP/1.1"), 400},
      {"%00 in the path", "ours", line("GET /echo/a%00 HTTP/1.1"), 400},
      {"%00 in the query", "ours", line("GET /q?a=%00 HTTP/1.1"), 400},
      {"escapes that are no UTF-8", "ours", line("GET /echo/%ff HTTP/1.1"), 400},
      {"overlong UTF-8 of a slash", "ours", line("GET /echo/%c0%af HTTP/1.1"), 400},
      {"a surrogate as UTF-8", "ours", line("GET /echo/%ed%a0%80 HTTP/1.1"), 400},
      {"dots stay as they are", "ours", line("GET /echo/../ok HTTP/1.1"), 404, kKept},
      {"dots as a value", "ours", line("GET /echo/.. HTTP/1.1"), 200, kKept, ".."},
      {"escaped dots as a value", "ours", line("GET /echo/%2e%2e HTTP/1.1"), 200, kKept, ".."},
      {"header without a colon", "9112 5", get("X\r\n\r\n"), 400},
      {"header without a name", "9112 5", get(": a\r\n\r\n"), 400},
      {"header name with a space", "9110 5.1", get("X Y: a\r\n\r\n"), 400},
      {"header name with a bracket", "9110 5.1", get("X[1]: a\r\n\r\n"), 400},
      {"header name with a byte from 0x80", "9110 5.1", get("X\xe4: a\r\n\r\n"), 400},
      {"control character in a value", "9110 5.5",
       get("X: a\x01"
           "b\r\n\r\n"),
       400},
      {"DEL in a value", "9110 5.5",
       get("X: a\x7f"
           "b\r\n\r\n"),
       400},
  };
}

class Wire : public testing::Test {
 protected:
  static std::unique_ptr<Server> start() {
    const auto echo = [](const Request& request) {
      return test::text(std::to_string(request.body.size()) + ":" + request.body);
    };
    const auto query = [](const Request& request) {
      std::string text;
      for (const auto& [name, value] : request.query) text += name + "=" + value + " ";
      return test::text(std::string(trim(text)));
    };
    const auto part = [](const Request& request) { return test::text(request.params.at("x")); };
    const auto asked_host = [](const Request& request) {
      return test::text(std::string(request.header("Host").value_or("none")));
    };
    return test::start(test::test_options(),
                       {test::route("GET", "/ok", [](const Request&) { return test::text("ok"); }),
                        test::route("POST", "/echo", echo), test::route("GET", "/echo/{x}", part),
                        test::route("GET", "/q", query), test::route("GET", "/host", asked_host)});
  }

  void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.name + " (" + row.section + ")");
      RawClient client(server_->port());
      client.send(row.bytes);
      const RawReply reply = client.read(row.bytes.starts_with("HEAD"));
      EXPECT_EQ(reply.status, row.status) << reply.body;
      EXPECT_TRUE(reply.whole);
      EXPECT_FALSE(reply.header("X-Request-Id").empty());
      EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff");
      if (!row.body.empty()) {
        EXPECT_EQ(reply.body, row.body);
      }
      if (row.then == Then::kEnded) {
        EXPECT_EQ(reply.header("Connection"), "close");
        EXPECT_TRUE(client.ended());
      } else {
        EXPECT_EQ(reply.header("Connection"), "");
        EXPECT_EQ(client.ask(get()).body, "ok");
      }
    }
  }

  std::unique_ptr<Server> server_ = start();
};

TEST_F(Wire, Compliance) { check(compliance()); }
TEST_F(Wire, Smuggling) { check(smuggling()); }
TEST_F(Wire, Malformed) { check(malformed()); }

/// How the bytes are cut into packets changes nothing.
TEST_F(Wire, ByteByByte) {
  RawClient client(server_->port());
  for (const char byte : chunked("3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n") + get()) {
    ASSERT_TRUE(client.send(std::string_view(&byte, 1)));
  }
  EXPECT_EQ(client.read().body, "3:abc");
  EXPECT_EQ(client.read().body, "ok");
}

TEST_F(Wire, PipelinedRequestsAreAnsweredInTheirOrder) {
  RawClient client(server_->port());
  client.send(line("GET /echo/1 HTTP/1.1") + post("Content-Length: 2\r\n\r\nhi") +
              line("HEAD /ok HTTP/1.1") + chunked("1\r\nx\r\n0\r\n\r\n") +
              line("GET /echo/5 HTTP/1.1"));
  EXPECT_EQ(client.read().body, "1");
  EXPECT_EQ(client.read().body, "2:hi");
  EXPECT_EQ(client.read(true).header("Content-Length"), "2");
  EXPECT_EQ(client.read().body, "1:x");
  EXPECT_EQ(client.read().body, "5");
}

TEST_F(Wire, ARequestThatEndsEarlyIsBad) {
  for (const std::string& bytes :
       {"GET /ok HTTP/1.1\r\nHo"s, post("Content-Length: 9\r\n\r\nab"), chunked("3\r\nab")}) {
    SCOPED_TRACE(bytes);
    RawClient client(server_->port());
    client.send(bytes);
    client.end_sending();
    EXPECT_EQ(client.read().status, 400);
    EXPECT_TRUE(client.ended());
  }
}

}  // namespace
}  // namespace strata::http
