// What a task prints, in a file of the user's that counts against somebody's quota (the job's own output, the log of a task
// with a name): one that prints without end must not fill it. Over the limit its beginning goes, and the last lines stay,
// which tell why a worker died. The first line then says how many bytes are missing in front of the rest, so that who
// follows the file knows where he was (python/pounce/_engine/task_log.py). Several processes append to a job's
// (interpreters, supervisors); two that shorten it at once lose lines and nothing else. Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace pounce::worker {

inline constexpr std::size_t kLogBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kLogKeptBytes = 1024 * 1024;  // of the end, when it has grown to that

// fd: appends, or shares its offset with all who write. Whatever goes wrong (a full disk) costs lines of the log and
// nothing else.
void append_to_log(int fd, std::string_view bytes);

// A run that was killed in the middle of a line has left it open: the next one's text, and what a terminal shows behind the log,
// begin on a line of their own. fd: appends, and can be read.
void end_open_line(int fd);

}  // namespace pounce::worker
