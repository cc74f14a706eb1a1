#include "core/sstable/table_writer.h"

#include <exception>
#include <string>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::sstable {
namespace {

/// RocksDB names files in its messages; no file with this name exists.
constexpr const char* kFileName = "table";

rocksdb::Slice slice_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

/// Receives RocksDB's bytes. Exceptions must not propagate through RocksDB: the first one is
/// stored.
struct Output {
  TableWriter::Sink sink;
  std::exception_ptr error;
};

class OutputFile final : public rocksdb::FSWritableFile {
 public:
  explicit OutputFile(Output& output) : output_(output) {}

  using rocksdb::FSWritableFile::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions&,
                           rocksdb::IODebugContext*) override {
    try {
      output_.sink({data.data(), data.size()});
    } catch (...) {
      output_.error = std::current_exception();
      return rocksdb::IOStatus::IOError("the sink failed");
    }
    size_ += data.size();
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus Close(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus Flush(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
  uint64_t GetFileSize(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return size_;
  }

 private:
  Output& output_;
  uint64_t size_ = 0;
};

/// A file system with one write-only file.
class OutputFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit OutputFileSystem(Output& output)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), output_(output) {}

  const char* Name() const override { return "tarn"; }
  rocksdb::IOStatus NewWritableFile(const std::string&, const rocksdb::FileOptions&,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext*) override {
    *file = std::make_unique<OutputFile>(output_);
    return rocksdb::IOStatus::OK();
  }
  // After an error RocksDB deletes the file that it assumes it created.
  rocksdb::IOStatus DeleteFile(const std::string&, const rocksdb::IOOptions&,
                               rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }

 private:
  Output& output_;
};

using Properties = rocksdb::UserCollectedProperties;

/// Supplies properties that are known only at the end of the table.
class PropertySource final : public rocksdb::TablePropertiesCollector {
 public:
  explicit PropertySource(const Properties& properties) : properties_(properties) {}

  rocksdb::Status AddUserKey(const rocksdb::Slice&, const rocksdb::Slice&, rocksdb::EntryType,
                             rocksdb::SequenceNumber, uint64_t) override {
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(Properties* out) override {
    *out = properties_;
    return rocksdb::Status::OK();
  }
  Properties GetReadableProperties() const override { return properties_; }
  const char* Name() const override { return "tarn"; }

 private:
  const Properties& properties_;
};

class PropertySourceFactory final : public rocksdb::TablePropertiesCollectorFactory {
 public:
  explicit PropertySourceFactory(const Properties& properties) : properties_(properties) {}

  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context) override {
    return new PropertySource(properties_);  // RocksDB deletes it
  }
  const char* Name() const override { return "tarn"; }

 private:
  const Properties& properties_;
};

rocksdb::Options options_for(rocksdb::Env& env, const Properties& properties) {
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 2;  // the newest that lakeFS's readers support
  table.checksum = rocksdb::kCRC32c;
  table.no_block_cache = true;
  rocksdb::Options options;
  options.env = &env;
  options.compression = rocksdb::kSnappyCompression;
  options.db_host_id.clear();  // readers must not learn the host's name
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.table_properties_collector_factories.push_back(
      std::make_shared<PropertySourceFactory>(properties));
  return options;
}

}  // namespace

struct TableWriter::State {
  State(std::string_view type, Sink sink)
      : output{std::move(sink), nullptr},
        env(rocksdb::NewCompositeEnv(std::make_shared<OutputFileSystem>(output))),
        properties{{"type", std::string(type)}},
        writer(rocksdb::EnvOptions(), options_for(*env, properties), nullptr,
               /*invalidate_page_cache=*/false) {}

  void check(const rocksdb::Status& status) {
    if (status.ok()) return;
    if (output.error) std::rethrow_exception(std::exchange(output.error, nullptr));
    throw Error(ErrorCode::kInternal, str_cat("writing a table: ", status.ToString()));
  }

  Output output;
  std::unique_ptr<rocksdb::Env> env;
  Properties properties;
  uint64_t count = 0;
  uint64_t bytes = 0;
  std::string first;
  std::string last;
  rocksdb::SstFileWriter writer;
};

TableWriter::TableWriter(std::string_view type, Sink sink)
    : state_(std::make_unique<State>(type, std::move(sink))) {
  state_->check(state_->writer.Open(kFileName));
}

TableWriter::~TableWriter() = default;

void TableWriter::add(std::string_view key, std::string_view value) {
  state_->check(state_->writer.Put(slice_of(key), slice_of(value)));
  if (state_->count++ == 0) state_->first = key;
  state_->last = key;
  state_->bytes += key.size() + value.size();
}

void TableWriter::finish() {
  state_->properties["min_key"] = state_->first;
  state_->properties["max_key"] = state_->last;
  state_->properties["count"] = std::to_string(state_->count);
  state_->properties["estimated_size_bytes"] = std::to_string(state_->bytes);
  state_->check(state_->writer.Finish());
}

}  // namespace tarn::sstable
