// The job's own output, which is a file in the state folder and counts against somebody's quota: a task that prints without
// end must not fill it. Over the limit its beginning goes, and the last lines stay, which tell why a worker died. Several
// processes append to it (interpreters, supervisors); two that shorten it at once lose lines and nothing else.
// Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace pounce::worker {

inline constexpr std::size_t kJobLogBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kJobLogKeptBytes = 1024 * 1024;  // of the end, when it has grown to that

// Whatever goes wrong (a full disk) costs lines of the log and nothing else.
void append_to_job_log(int fd, std::string_view bytes);

}  // namespace pounce::worker
