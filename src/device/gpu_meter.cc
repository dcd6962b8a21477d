#include "device/gpu_meter.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>

#include "base/unique_fd.h"
#include "device/nvml.h"
#include "device/shared_library.h"

namespace pounce::device {

std::string word(GpuDirectStorage kind) {
  constexpr const char* kWords[] = {"yes", "compat", "no"};
  return kWords[static_cast<int>(kind)];
}

GpuDirectStorage gpu_direct_storage(const std::string& module, const std::string& library) {
  if (::access(module.c_str(), F_OK) == 0) return GpuDirectStorage::kYes;
  return SharedLibrary::open(library) ? GpuDirectStorage::kCompat : GpuDirectStorage::kNo;
}

namespace {

constexpr std::chrono::milliseconds kAfterChange{100};  // least time between looks where tasks are short

// The sums of one task, or of the whole time.
struct Sums {
  std::uint64_t percents = 0, looks = 0;
  GpuUse use;

  void add(const Nvml::Look& look, bool counts) {
    use.memory_mib = std::max(use.memory_mib, look.used_mib);
    use.memory_total_mib = std::max(use.memory_total_mib, look.total_mib);
    if (!counts || !look.percent) return;
    percents += *look.percent;
    use.percent = static_cast<std::int32_t>(percents / ++looks);
  }
};

}  // namespace

// The lock guards everything here. It is never held during a call of the driver.
struct GpuMeter::Shared {
  struct Task {
    std::string name;
    Sums sums;
  };
  struct Question {
    std::optional<std::string> visible;
  };

  std::mutex lock;
  std::condition_variable changed;
  bool busy = false, over = false, ended = false, wants_look = false;
  Sums all, last;
  Task task;
  std::deque<TaskUse> tasks;
  std::optional<std::vector<DeviceFacts>> facts;
  GpuDirectStorage storage = GpuDirectStorage::kNo;
  std::vector<GpuFailure> failures;
  std::optional<Question> question;
  std::optional<std::optional<Uuids>> answer;
  UniqueFd answered{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  void tell() const { ::eventfd_write(answered.get(), 1); }

  void add(const Nvml::Look& look) {
    all.add(look, busy);
    if (!task.name.empty()) task.sums.add(look, true);
  }

  void task_over() {
    if (task.sums.use.memory_total_mib > 0) tasks.push_back({task.name, task.sums.use});
    if (tasks.size() > kTasks) tasks.pop_front();
  }

  void learn(std::vector<DeviceFacts> told, GpuDirectStorage direct) {
    facts = std::move(told);
    storage = direct;
    tell();
  }

  void note(const std::string& uuid, const std::string& name, const GpuHealth& health) {
    if (std::ranges::find(failures, uuid, &GpuFailure::uuid) != failures.end()) return;
    if (auto failed = failure_of(uuid, health)) {
      failures.push_back({uuid, name, std::move(*failed)});
      tell();
    }
  }

  void note_lost(const std::string& name) {
    GpuHealth health;
    health.gone = true;
    const std::lock_guard held(lock);
    note(name, name, health);
  }

  void say(std::optional<Uuids> found) {
    question.reset();
    answer = std::move(found);
    tell();
  }

  void watch(const std::string& visible, const std::string& library, std::chrono::milliseconds between) {
    auto nvml = Nvml::open(library);
    std::vector<std::string> lost;
    std::vector<Nvml::Device> devices;
    std::vector<std::string> names;
    std::istringstream words(nvml ? visible : std::string());
    for (std::string word; std::getline(words, word, ',');)
      for (const Nvml::Device device : nvml->devices(word, &lost)) devices.push_back(device), names.push_back(word);
    for (const std::string& name : lost) note_lost(name);
    if (!devices.empty()) look_after(*nvml, devices, names, between);
    const std::lock_guard held(lock);
    ended = true;
    if (question) say(std::nullopt);
    changed.notify_all();
  }

  void look_after(Nvml& nvml, const std::vector<Nvml::Device>& devices, const std::vector<std::string>& names,
                  std::chrono::milliseconds between) {
    const auto told = nvml.facts(devices);
    const auto direct = gpu_direct_storage();
    std::unique_lock held(lock);
    learn(told, direct);
    while (!over) {
      wants_look = false;
      const auto pending = question;
      held.unlock();
      std::vector<Nvml::Look> looks;
      for (const Nvml::Device device : devices) looks.push_back(nvml.look(device));
      const auto health = nvml.health(devices);
      std::optional<Uuids> uuids;
      if (pending)
        uuids = Uuids{nvml.uuids(devices), nvml.uuids(pending->visible ? nvml.devices(*pending->visible) : nvml.all())};
      held.lock();
      last = {};
      for (const Nvml::Look& look : looks) add(look), last.add(look, true);
      for (std::size_t i = 0; i < health.size(); ++i) note(facts->at(i).uuid, names[i], health[i]);
      if (pending) say(std::move(uuids));
      changed.wait_for(held, std::min(between, kAfterChange), [this] { return over || question; });
      changed.wait_for(held, between - std::min(between, kAfterChange),
                       [this] { return over || wants_look || question; });
    }
  }
};

GpuMeter::GpuMeter(const std::string& visible, const std::string& library, std::chrono::milliseconds between)
    : shared_(std::make_shared<Shared>()) {
  shared_->ended = visible.empty();
  if (visible.empty()) return;
  try {
    std::thread([shared = shared_, visible, library, between] { shared->watch(visible, library, between); }).detach();
  } catch (const std::system_error&) {  // no thread to be had: the GPUs stay unknown
    shared_->ended = true;
  }
}

GpuMeter::~GpuMeter() {
  constexpr std::chrono::milliseconds kBetweenCalls{200};  // a call that does not hang is over by then
  std::unique_lock held(shared_->lock);
  shared_->over = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(held, kBetweenCalls, [this] { return shared_->ended; });
}

void GpuMeter::set_busy(bool busy) {
  const std::lock_guard held(shared_->lock);
  if (shared_->busy == busy) return;
  shared_->busy = busy;
  shared_->wants_look = true;
  shared_->changed.notify_all();
}

GpuUse GpuMeter::used() const {
  const std::lock_guard held(shared_->lock);
  return shared_->all.use;
}

GpuUse GpuMeter::now() const {
  const std::lock_guard held(shared_->lock);
  return shared_->last.use;
}

void GpuMeter::set_task(const std::string& task) {
  const std::lock_guard held(shared_->lock);
  if (shared_->task.name == task) return;
  shared_->task_over();
  shared_->task = {task, {}};
}

std::deque<TaskUse> GpuMeter::tasks() const {
  const std::lock_guard held(shared_->lock);
  return shared_->tasks;
}

int GpuMeter::event_fd() const { return shared_->answered.get(); }

void GpuMeter::hear() {
  eventfd_t count = 0;
  ::eventfd_read(shared_->answered.get(), &count);
}

std::optional<std::vector<DeviceFacts>> GpuMeter::facts() const {
  const std::lock_guard held(shared_->lock);
  return shared_->facts;
}

GpuDirectStorage GpuMeter::storage() const {
  const std::lock_guard held(shared_->lock);
  return shared_->storage;
}

std::vector<GpuFailure> GpuMeter::failures() const {
  const std::lock_guard held(shared_->lock);
  return shared_->failures;
}

void GpuMeter::ask_uuids(const std::optional<std::string>& visible) {
  const std::lock_guard held(shared_->lock);
  shared_->answer.reset();
  if (shared_->ended) return shared_->say(std::nullopt);
  shared_->question = Shared::Question{visible};
  shared_->changed.notify_all();
}

std::optional<std::optional<GpuMeter::Uuids>> GpuMeter::uuids() const {
  const std::lock_guard held(shared_->lock);
  return shared_->answer;
}

}  // namespace pounce::device
