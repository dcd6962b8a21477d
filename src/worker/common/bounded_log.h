// A log file with a size limit. It holds what a task prints (a job's own output, the log of a task with a name) and
// counts against a quota, so a task that prints without end must not fill it. Above the limit the beginning is
// removed; the last lines stay, because they tell why a worker died. The first line then says how many bytes were
// removed, so that a reader that follows the file knows its position (python/pounce/_engine/task_log.py). Several
// processes append to a job's log (interpreters, supervisors). Two that shorten it at once lose lines and nothing
// else. Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace pounce::worker {

inline constexpr std::size_t kLogBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kLogKeptBytes = 1024 * 1024;  // the end that stays when the file is shortened

// fd: appends, or shares its offset with all writers. A failure (a full disk) costs lines of the log and nothing
// else.
void append_to_log(int fd, std::string_view bytes);

// Ends a line that a killed run left open, so that the next run's text, and what a terminal shows behind the log,
// begin on a line of their own. fd: appends, and can be read.
void end_open_line(int fd);

}  // namespace pounce::worker
