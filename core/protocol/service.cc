#include "core/protocol/service.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/protocol/authorization.h"
#include "core/protocol/batch_handler.h"
#include "core/protocol/batch_request.h"
#include "core/protocol/call.h"
#include "core/protocol/common_headers.h"
#include "core/protocol/entity_handler.h"
#include "core/protocol/error_response.h"
#include "core/protocol/reading.h"
#include "core/protocol/route.h"
#include "core/protocol/service_handler.h"
#include "core/protocol/table_handler.h"

namespace entitable::protocol {
namespace {

bool is_entity_write(Route route) {
  return route == Route::insert_entity || route == Route::put_entity ||
         route == Route::merge_entity || route == Route::delete_entity;
}

class Session {
 public:
  Session(const Account& account, const Store& store, const Request& request, const Moment& moment)
      : account_(account),
        store_(store),
        request_(request),
        moment_(moment),
        common_(account, request, moment) {
    form_.request_id = common_.request_id;
    form_.now = common_.now;
  }

  Handled run() {
    Handled handled = serve();
    prepare_cors();
    if (auto* response = std::get_if<Response>(&handled)) {
      return common_.add(std::move(*response));
    }
    if (auto* write = std::get_if<PendingWrite>(&handled)) {
      write->respond = [respond = std::move(write->respond), common = std::move(common_)](
                           const WriteAnswer& answer) { return common.add(respond(answer)); };
    }
    return handled;
  }

  // The answer if it failed in that way, whatever it is.
  Response fail(const ServiceError& error, const std::vector<HeaderView>& headers) {
    if (request_.method == "OPTIONS") {
      begin_preflight();
    } else {
      Reading reading;
      // What is wrong with it doesn't matter any more.
      static_cast<void>(read(reading).ok());
    }
    prepare_cors();
    return common_.add(error_response(error, form_), headers);
  }

 private:
  // What it asks for and how it is to be answered.
  Result<void> read(Reading& reading) {
    const Result<void> target = read_target(request_, account_.name, form_, reading);
    common_.is_data = !form_.xml;
    if (!target.ok()) return target.error();
    Result<std::string> version = version_of(request_, reading.options.sv, account_);
    if (!version.ok()) return version.error();
    common_.version = std::move(*version);
    return {};
  }

  Handled serve() {
    if (request_.method == "OPTIONS") return serve_preflight();
    Reading reading;
    if (const auto is_read = read(reading); !is_read.ok()) return refuse(is_read.error());

    const Result<Access> access = authorize_request(reading);
    if (!access.ok()) {
      form_.xml = form_.xml || !asks_for_json(request_, reading.options.format);
      return refuse(access.error());
    }
    if (reading.uri.secondary && writes(reading)) {
      return refuse(Error(Code::secondary_is_read_only));
    }
    return is_xml(reading.line.route) ? serve_xml(reading) : serve_data(reading, *access);
  }

  void begin_preflight() {
    form_.xml = true;
    common_.is_data = false;
    is_preflight_ = true;
  }

  Handled serve_preflight() {
    begin_preflight();
    return handle_preflight(account_, store_, request_, refusal(form_));
  }

  Result<Access> authorize_request(const Reading& reading) const {
    const bool ours = request_.trusted || reading.uri.account == account_.name;
    if (!ours) return Error(Code::authentication_failed);
    return authorize(account_, store_, request_, reading.uri, moment_.now, reading.need(request_));
  }

  bool writes(const Reading& reading) const {
    if (reading.line.route != Route::batch) return reading.line.writes;
    const Result<Batch> batch = read_batch(request_);
    return batch.ok() && batch->change_set;
  }

  Handled serve_xml(const Reading& reading) const {
    Request request = request_;
    request.method = reading.method;
    const Refuse refuse_xml = refusal(form_);
    switch (reading.line.route) {
      case Route::table_acl:
        return handle_acl(store_, request, reading.uri.table, refuse_xml);
      case Route::service_stats:
        return handle_stats(request, reading.uri.secondary, moment_.now, refuse_xml);
      default:
        return handle_properties(store_, request, refuse_xml);
    }
  }

  Handled serve_data(const Reading& reading, const Access& access) const {
    // A batch is answered as one whatever it accepts.
    if (reading.line.route == Route::batch) return serve_batch(access);
    const Result<Metadata> level = negotiate(request_, reading.options.format);
    if (!level.ok()) return refuse(level.error());
    const Call call = call_of(request_, reading, access, form_);
    switch (reading.line.route) {
      case Route::query_tables:
        return query_tables(call);
      case Route::get_table:
        return get_table(call);
      case Route::create_table:
        return create_table(call);
      case Route::drop_table:
        return drop_table(call);
      case Route::query_entities:
        return query_entities(call);
      case Route::get_entity:
        return get_entity(call);
      default:
        return write_entity(call);
    }
  }

  // ---- Batches ----------------------------------------------------------------------------------

  Handled serve_batch(const Access& access) const {
    BatchSteps steps;
    steps.parse = [&](const Request& operation) { return parse_operation(operation, access); };
    steps.read = [&](const Request& query) { return read_in_batch(query, access); };
    steps.refusal = [&](const Request& asked) {
      // The batch itself is answered as any request is.
      return refusal(&asked == &request_ ? form_ : form_of(asked));
    };
    return handle_batch(request_, moment_, steps);
  }

  // Before anything is known of the operation.
  ErrorForm form_in_batch() const {
    ErrorForm form = form_;
    form.in_batch = true;
    form.level = Metadata::minimal;
    return form;
  }

  ErrorForm form_of(const Request& operation) const {
    ErrorForm form = form_in_batch();
    Reading reading;
    // What is wrong with it is said by those who serve it.
    static_cast<void>(read_target(operation, account_.name, form, reading).ok());
    return form;
  }

  // What both kinds of operation need: the same account, permission, and an address to write at.
  Result<void> read_operation(const Request& operation, const Access& access, ErrorForm& form,
                              Reading& reading) const {
    if (const auto read = read_target(operation, account_.name, form, reading); !read.ok()) {
      return read.error();
    }
    if (reading.uri.account != account_.name) return Error(Code::invalid_input);
    if (const auto allowed = access.check(reading.need(operation)); !allowed.ok()) {
      return allowed.error();
    }
    if (reading.uri.secondary && reading.line.writes) return Error(Code::secondary_is_read_only);
    if (const auto level = negotiate(operation, reading.options.format); !level.ok()) {
      return level.error();
    }
    return {};
  }

  Result<EntityWrite> parse_operation(const Request& operation, const Access& access) const {
    ErrorForm form = form_in_batch();
    Reading reading;
    if (const auto read = read_operation(operation, access, form, reading); !read.ok()) {
      return read.error();
    }
    if (!is_entity_write(reading.line.route)) return Error(Code::invalid_input);
    Result<EntityWrite> write = parse_entity_write(call_of(operation, reading, access, form));
    if (write.ok()) write->refuse = refusal(std::move(form));
    return write;
  }

  Handled read_in_batch(const Request& query, const Access& access) const {
    ErrorForm form = form_in_batch();
    Reading reading;
    if (const auto read = read_operation(query, access, form, reading); !read.ok()) {
      return error_response(read.error(), form);
    }
    const Call call = call_of(query, reading, access, form);
    if (reading.line.route == Route::query_entities) return query_entities(call);
    if (reading.line.route == Route::get_entity) return get_entity(call);
    return error_response(Error(Code::invalid_input), form);
  }

  // ---- Tools ------------------------------------------------------------------------------------

  Call call_of(const Request& request, const Reading& reading, const Access& access,
               const ErrorForm& form) const {
    return Call{account_,           store_,     request, reading.uri, reading.options, access,
                reading.line.route, form.level, form};
  }

  Response refuse(const Error& error) const { return error_response(error, form_); }

  static Refuse refusal(ErrorForm form) {
    return [form = std::move(form)](const Error& error) { return error_response(error, form); };
  }

  // Rules are only looked at for pages that ask.
  void prepare_cors() {
    const auto origin = header(request_, "Origin");
    if (is_preflight_ || origin.value_or("").empty()) return;
    common_.method = request_.method;
    common_.origin = *origin;
    common_.cors = cors_rules(account_, store_);
  }

  const Account& account_;
  const Store& store_;
  const Request& request_;
  const Moment& moment_;
  ErrorForm form_;
  CommonHeaders common_;
  bool is_preflight_ = false;
};

}  // namespace

Handled handle(const Account& account, const Store& store, const Request& request,
               const Moment& moment) {
  return Session(account, store, request, moment).run();
}

Response refuse(const Account& account, const Store& store, const Request& request,
                const Moment& moment, const ServiceError& error,
                const std::vector<HeaderView>& headers) {
  return Session(account, store, request, moment).fail(error, headers);
}

}  // namespace entitable::protocol
