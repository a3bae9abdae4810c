#include "core/rest/odata_response_json.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/json/writer.h"
#include "core/query/projection.h"
#include "core/rest/percent_encoding.h"
#include "core/rest/resource_urls.h"

namespace entitable::rest {
namespace {

using json::Writer;

// ---- Values -------------------------------------------------------------------------------------

// Returns whether the JSON value does not imply the Edm type.
bool needs_type_annotation(const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
    case EdmType::boolean:
    case EdmType::int32:
      return false;
    case EdmType::float64:
      return !std::isfinite(value.float64());
    default:
      return true;
  }
}

void write_value(Writer& out, const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
      return out.string(value.string());
    case EdmType::boolean:
    case EdmType::int32:
      return append_value_text(out.raw(), value);
    case EdmType::float64:
      if (std::isfinite(value.float64())) return append_value_text(out.raw(), value);
      break;
    default:
      break;
  }
  // The text of any other type contains nothing that JSON must escape.
  std::string& text = out.raw();
  text.push_back('"');
  append_value_text(text, value);
  text.push_back('"');
}

// ---- Names --------------------------------------------------------------------------------------

constexpr std::string_view type_suffix = "@odata.type";

// The encoded name of a property, with its type annotation: "age@odata.type":"Edm.Int64","age":
struct PropertyStart {
  PropertyStart(std::string_view name, EdmType type) {
    Writer out(typed);
    out.name(std::string(name).append(type_suffix));
    out.string(edm_name(type));
    untyped_at = typed.size() + 1;
    out.name(name);
  }
  // Returns the name without the annotation: "age":
  std::string_view untyped() const { return std::string_view(typed).substr(untyped_at); }

  std::string typed;
  std::size_t untyped_at;
};

// The encoded names of each shape's columns, built once per shape (core/index/shape.h).
class ShapeStarts {
 public:
  const std::vector<PropertyStart>& of(const Shape& shape) {
    if (shape_ == &shape) return *starts_;
    shape_ = &shape;
    std::vector<PropertyStart>& starts = by_shape_[&shape];
    if (starts.empty()) {
      for (const Column& column : shape.columns()) starts.emplace_back(column.name, column.type);
    }
    starts_ = &starts;
    return starts;
  }

 private:
  std::unordered_map<const Shape*, std::vector<PropertyStart>> by_shape_;  // elements never move
  const Shape* shape_ = nullptr;                        // the shape of the last call
  const std::vector<PropertyStart>* starts_ = nullptr;  // of `shape_`
};

// ---- Entities -----------------------------------------------------------------------------------

// Returns the value of odata.metadata: "https://…/$metadata#people/@Element&$select=a,%20b". `set`
// is a table's name or "Tables"; `element`: the response is one resource, not a list.
std::string metadata_text(const ODataContext& odata, std::string_view set, bool element) {
  std::string text(odata.base);
  text.append("/$metadata#").append(set);
  if (element) text.append("/@Element");
  if (odata.select.has_value()) {
    text.append("&$select=");
    append_percent_encoded(text, *odata.select, ",");
  }
  return text;
}

void write_metadata(Writer& out, const ODataContext& odata, std::string_view set, bool element) {
  if (odata.level == MetadataLevel::none) return;
  out.name("odata.metadata");
  out.string(metadata_text(odata, set, element));
}

class EntityWriter {
 public:
  EntityWriter(Writer& out, const ODataContext& odata) : out_(out), how_(odata) {}

  // Writes the metadata that stands before an entity's properties.
  void head(const KeyView& key, Ticks timestamp) {
    if (how_.level == MetadataLevel::none) return;
    if (how_.level == MetadataLevel::full) {
      address_.clear();
      append_entity_path(address_, how_.table, key);
      out_.name("odata.type");
      text_.assign(how_.account).append(".").append(how_.table);
      out_.string(text_);
      out_.name("odata.id");
      text_.assign(how_.base).append("/").append(address_);
      out_.string(text_);
    }
    EtagBuffer etag;
    out_.raw_name(R"("odata.etag":)");
    out_.string(write_etag(timestamp, etag));
    if (how_.level == MetadataLevel::full) {
      out_.name("odata.editLink");
      out_.string(address_);
    }
  }

  void keys(const KeyView& key) {
    out_.raw_name(R"("PartitionKey":)");
    out_.string(key.partition);
    out_.raw_name(R"("RowKey":)");
    out_.string(key.row);
  }
  void text(std::string_view name, std::string_view value) {
    out_.name(name);
    out_.string(value);
  }
  // Timestamp always has the same type, so only full metadata annotates it.
  void timestamp(Ticks timestamp) {
    if (how_.level == MetadataLevel::full) type("Timestamp", EdmType::date_time);
    out_.raw_name(R"("Timestamp":)");
    write_value(out_, ValueView::of_date_time(timestamp));
  }
  void property(std::string_view name, const ValueView& value) {
    if (is_typed(value)) type(name, value.type());
    out_.name(name);
    write_value(out_, value);
  }
  void property(const PropertyStart& start, const ValueView& value) {
    out_.raw_name(is_typed(value) ? start.typed : start.untyped());
    write_value(out_, value);
  }
  void null(std::string_view name) {
    out_.name(name);
    out_.raw("null");
  }

 private:
  bool is_typed(const ValueView& value) const {
    return how_.level != MetadataLevel::none && needs_type_annotation(value);
  }
  void type(std::string_view name, EdmType type) {
    text_.assign(name).append(type_suffix);
    out_.name(text_);
    out_.string(edm_name(type));
  }

  Writer& out_;
  const ODataContext& how_;
  std::string address_;  // scratch buffers, members so that their memory is reused
  std::string text_;
};

void write_selected(EntityWriter& entity, const RowView& row, const std::string& name,
                    const PropertySource& selected) {
  switch (selected.kind) {
    case PropertySourceKind::partition_key:
      return entity.text(name, row.partition());
    case PropertySourceKind::row_key:
      return entity.text(name, row.row_key());
    case PropertySourceKind::timestamp:
      return entity.timestamp(row.timestamp());
    case PropertySourceKind::column:
      return entity.property(name, row.value(selected.column));
    case PropertySourceKind::by_name:
      if (const auto value = row.find(name); value.has_value()) {
        return entity.property(name, *value);
      }
      break;
    case PropertySourceKind::missing:
      break;
  }
  entity.null(name);
}

// Writes the rows of one response. Resolves the selection and encodes the property names once per
// shape.
class RowsWriter {
 public:
  // `rows`: how many rows will be written. For a single row, caching the encoded property names
  // does not pay.
  RowsWriter(Writer& out, const ODataContext& odata, const std::vector<std::string>& selected,
             std::size_t rows)
      : entity_(out, odata), selected_(selected), alone_(rows == 1) {}

  void write(const RowView& row) {
    entity_.head(row.key(), row.timestamp());
    if (!selected_.empty()) return write_selection(row);
    entity_.keys(row.key());
    entity_.timestamp(row.timestamp());
    alone_ || row.shape().is_generic() ? write_named(row) : write_columns(row);
  }

 private:
  void write_named(const RowView& row) {
    row.for_each_property(
        [this](std::string_view name, const ValueView& value) { entity_.property(name, value); });
  }
  void write_columns(const RowView& row) {
    const PropertyStart* start = starts_.of(row.shape()).data();
    row.for_each_property(
        [&](std::string_view, const ValueView& value) { entity_.property(*start++, value); });
  }
  void write_selection(const RowView& row) {
    if (shape_ != &row.shape()) {
      shape_ = &row.shape();
      properties_ = find_property_sources(selected_, *shape_);
    }
    for (std::size_t i = 0; i < selected_.size(); ++i) {
      write_selected(entity_, row, selected_[i], properties_[i]);
    }
  }

  EntityWriter entity_;
  const std::vector<std::string>& selected_;
  const bool alone_;
  ShapeStarts starts_;
  const Shape* shape_ = nullptr;            // the shape for which `properties_` is valid
  std::vector<PropertySource> properties_;  // the selection, resolved for that shape
};

// Returns an estimate of the size of the rows as JSON, so that the body is allocated once.
std::size_t expected_bytes(std::span<const RowView> rows) {
  constexpr std::size_t names_bytes = 512;  // names of a dozen properties, and numbers as text
  std::size_t bytes = names_bytes;
  for (const RowView& row : rows) bytes += names_bytes + row.packed_bytes();
  return bytes;
}

// ---- Tables -------------------------------------------------------------------------------------

constexpr std::string_view tables_set = "Tables";

void write_table(Writer& out, const ODataContext& odata, std::string_view name,
                 const std::vector<std::string>& selected) {
  if (odata.level == MetadataLevel::full) {
    std::string address;
    append_table_path(address, name);
    out.name("odata.type");
    out.string(std::string(odata.account) + ".Tables");
    out.name("odata.id");
    out.string(table_url(odata.base, name));
    out.name("odata.editLink");
    out.string(address);
  }
  if (selected.empty()) {
    out.name("TableName");
    out.string(name);
  }
  for (const std::string& property : selected) {
    out.name(property);
    property == "TableName" ? out.string(name) : out.raw("null");
  }
}

}  // namespace

std::string table_json(const ODataContext& odata, std::string_view name) {
  std::string body;
  Writer out(body);
  out.begin_object();
  write_metadata(out, odata, tables_set, true);
  write_table(out, odata, name, {});
  out.end_object();
  return body;
}

std::string tables_json(const ODataContext& odata, const std::vector<std::string>& names,
                        const std::vector<std::string>& selected) {
  std::string body;
  Writer out(body);
  out.begin_object();
  write_metadata(out, odata, tables_set, false);
  out.name("value");
  out.begin_array();
  for (const std::string& name : names) {
    out.begin_object();
    write_table(out, odata, name, selected);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return body;
}

std::string entity_json(const ODataContext& odata, const Entity& entity) {
  std::string body;
  Writer out(body);
  EntityWriter writer(out, odata);
  out.begin_object();
  write_metadata(out, odata, odata.table, true);
  writer.head(entity.key.view(), entity.timestamp);
  writer.keys(entity.key.view());
  writer.timestamp(entity.timestamp);
  for (const Property& property : entity.properties) {
    writer.property(property.name, property.value.view());
  }
  out.end_object();
  return body;
}

std::string row_json(const ODataContext& odata, const RowView& row,
                     const std::vector<std::string>& selected) {
  std::string body;
  body.reserve(expected_bytes({&row, 1}));
  Writer out(body);
  out.begin_object();
  write_metadata(out, odata, odata.table, true);
  RowsWriter(out, odata, selected, 1).write(row);
  out.end_object();
  return body;
}

RowsJson rows_json(const ODataContext& odata, std::span<const RowView> rows,
                   const std::vector<std::string>& selected) {
  constexpr std::string_view end = "]}";
  std::string body;
  body.reserve(std::min(expected_bytes(rows), page_body_bytes_max));
  Writer out(body);
  RowsWriter writer(out, odata, selected, rows.size());
  out.begin_object();
  write_metadata(out, odata, odata.table, false);
  out.name("value");
  out.begin_array();
  std::size_t written = 0;
  for (const RowView& row : rows) {
    const std::size_t before = body.size();
    out.begin_object();
    writer.write(row);
    out.end_object();
    if (written > 0 && body.size() + end.size() > page_body_bytes_max) {
      body.resize(before);
      break;
    }
    ++written;
  }
  out.end_array();
  out.end_object();
  return {std::move(body), written};
}

}  // namespace entitable::rest
