#include "core/rest/error_response.h"

#include <algorithm>
#include <cstddef>

#include "core/json/writer.h"
#include "core/model/guid.h"
#include "core/model/service_error.h"
#include "core/rest/xml.h"

namespace entitable::rest {
namespace {

struct Reason {
  std::uint16_t status;
  std::string_view phrase;
};

constexpr Reason reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Request Entity Too Large"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {507, "Insufficient Storage"},
};

// Returns for example "2020-07-24T14:34:48.4767000Z". Unlike in entities, zeros are not dropped.
std::string time_text(Ticks ticks) {
  constexpr std::size_t seconds_end = 19;
  constexpr std::size_t fraction_digits = 7;
  std::string text = date_time_text(ticks);
  text.pop_back();  // Z
  if (text.size() == seconds_end) text.push_back('.');
  text.resize(seconds_end + 1 + fraction_digits, '0');
  return text.append("Z");
}

std::string full_text(std::string_view message, const ErrorResponseContext& error_format) {
  std::string text(error_format.message_prefix);
  return text.append(message)
      .append("\nRequestId:")
      .append(error_format.request_id)
      .append("\nTime:")
      .append(time_text(error_format.now));
}

std::string json_body(std::string_view code, std::string_view text) {
  std::string body;
  json::Writer writer(body);
  writer.begin_object();
  writer.name("odata.error");
  writer.begin_object();
  writer.name("code");
  writer.string(code);
  writer.name("message");
  writer.begin_object();
  writer.name("lang");
  writer.string("en-US");
  writer.name("value");
  writer.string(text);
  writer.end_object();
  writer.end_object();
  writer.end_object();
  return body;
}

std::string xml_body(std::string_view code, std::string_view text) {
  std::string body =
      R"(<?xml version="1.0" encoding="utf-8"?><m:error )"
      R"(xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>)";
  append_xml_text(body, code);
  body.append(R"(</m:code><m:message xml:lang="en-US">)");
  append_xml_text(body, text);
  return body.append("</m:message></m:error>");
}

// Returns the text with '?' for each byte that a status line may not contain.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

}  // namespace

std::string request_id_text(std::string_view bytes) {
  Guid guid{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), guid.size()), guid.begin());
  return guid_text(guid);
}

std::string_view reason_phrase(std::uint16_t status) {
  const auto* at = std::find_if(std::begin(reasons), std::end(reasons),
                                [&](const Reason& reason) { return reason.status == status; });
  return at == std::end(reasons) ? std::string_view() : at->phrase;
}

Response error_response(const Error& error, const ErrorResponseContext& error_format) {
  const ServiceError& service = service_error_of(error.code);
  return error_response(ServiceError{service.status, service.code, error_message(error)},
                        error_format);
}

Response error_response(const ServiceError& service, const ErrorResponseContext& error_format) {
  const std::string text = full_text(service.message, error_format);
  Response response;
  response.status = service.status;
  if (error_format.xml) {
    response.reason = one_line(service.message);
    response.headers.push_back({"Content-Type", "application/xml"});
    response.body = xml_body(service.code, text);
  } else {
    response.reason = reason_phrase(service.status);
    response.headers.push_back(
        {"Content-Type", std::string(json_content_type(error_format.level))});
    response.body = json_body(service.code, text);
  }
  if (error_format.preference != ReturnPreference::unspecified) {
    response.headers.push_back(
        {"Preference-Applied", std::string(return_preference_text(error_format.preference))});
  }
  if (!error_format.in_batch)
    response.headers.push_back({"x-ms-error-code", std::string(service.code)});
  return response;
}

}  // namespace entitable::rest
