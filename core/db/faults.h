// Fault injection around statements, for tests.
#pragma once

#include <string_view>

namespace tarn::db {

enum class Fault {
  kNone,
  kConnectionLost,  ///< the connection breaks at this moment
};

/// Called around every statement that the connections of one pool run, with the name of its Query
/// ("commit" for COMMIT). An implementation may block, which stops the verb at that moment, and may
/// break the connection: before the statement nothing has happened, after it only the answer is
/// lost. Safe from any thread.
///
/// Separate from this, every statement is a fault point of core/base/fault_point.h named
/// `sql.NAME.before` and `sql.NAME.after`, which kills or stops the whole process.
class Faults {
 public:
  virtual ~Faults() = default;
  virtual Fault before(std::string_view statement) = 0;
  virtual Fault after(std::string_view statement) = 0;
};

}  // namespace tarn::db
