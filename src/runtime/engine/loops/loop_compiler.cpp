#include "loop_compiler.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include <fmt/format.h>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace cyclotron::runtime {

namespace {

/// A library of loops on its way from the source to functions. The compiler is a process of its own.
class LoopLibrary {
 public:
  enum class State : std::uint8_t { unknown, waiting, compiling, ready, failed };

  LoopLibrary() = default;
  /// The library stays loaded: a run may still be in it.
  ~LoopLibrary() {
    if (!is_of_this_process()) return;
    if (state == State::compiling) {
      kill(process_, SIGKILL);
      wait_for(0);
    }
    unlock();
    remove_folder();
  }
  LoopLibrary(const LoopLibrary&) = delete;
  LoopLibrary& operator=(const LoopLibrary&) = delete;

  /// Takes the library that an earlier process has left for the same source.
  void find(const LoopSource& source, const LoopSettings& settings) {
    state = State::waiting;
    loops_ = source.loops.size();
    kept_ = kept_file(source.text, settings);
    std::error_code ignored;
    if (!kept_.empty() && is_own(kept_) && load(kept_))
      std::filesystem::last_write_time(kept_, std::filesystem::file_time_type::clock::now(), ignored);
  }

  /// Not where another process compiles the same, unless this one is to wait for it: its library is found later.
  void start(const LoopSource& source, const LoopSettings& settings, bool waits) {
    if (!lock(waits)) return;
    find(source, settings);
    if (state == State::ready) return unlock();
    state = State::failed;
    owner_ = getpid();
    std::error_code error;
    auto pattern = (std::filesystem::temp_directory_path(error) / "cyclotron-loops-XXXXXX").string();
    if (error || mkdtemp(pattern.data()) == nullptr) return unlock();
    folder_ = pattern;
    std::ofstream(folder_ / "loops.c") << source.text;
    if (spawn(settings.compiler)) {
      state = State::compiling;
    } else {
      unlock();
    }
  }

  /// Goes on where the compiler is done; waits for it if asked to.
  void look(bool waits) {
    if (state == State::compiling && !is_of_this_process()) state = State::failed;
    if (state != State::compiling || !wait_for(waits ? 0 : WNOHANG)) return;
    state = State::failed;
    if (load(folder_ / "loops.so")) keep();
    unlock();
    remove_folder();
  }

  State state = State::unknown;
  double seconds = 0;  ///< That runs took.
  std::vector<LoopFunction> functions;

 private:
  /// False where a fork has it from its parent, whose the compiler is.
  [[nodiscard]] bool is_of_this_process() const { return owner_ == getpid(); }

  /// A name for the source, the compiler and this processor, by two hashes; none where nothing tells which processor it is.
  static std::filesystem::path kept_file(const std::string& source, const LoopSettings& settings) {
    std::ifstream processors("/proc/cpuinfo");
    std::string own, line;
    while (own.size() < 1 << 14 && std::getline(processors, line) && !line.empty()) {
      if (line.starts_with("model") || line.starts_with("flags") || line.starts_with("Features")) own += line;
    }
    if (settings.folder.empty() || own.empty()) return {};
    std::array<std::uint64_t, 2> hashes{0xcbf29ce484222325U, 0x9e3779b97f4a7c15U};
    for (const std::string* const part :
         std::array{&source, &settings.compiler, static_cast<const std::string*>(&own)}) {
      for (auto& hash : hashes) {
        for (const char letter : *part) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
        hash ^= hash >> 29U;
      }
    }
    return std::filesystem::path(settings.folder) / fmt::format("{:016x}{:016x}.loops", hashes[0], hashes[1]);
  }

  /// Nobody else may have written it.
  static bool is_own(const std::filesystem::path& file) {
    struct stat status{};
    return stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }

  bool load(const std::filesystem::path& file) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    functions.clear();
    for (std::size_t n = 0; n < loops_; ++n)
      functions.push_back(reinterpret_cast<LoopFunction>(dlsym(library, fmt::format("loop_{}", n).c_str())));
    if (std::ranges::find(functions, nullptr) == functions.end()) state = State::ready;
    return state == State::ready;
  }

  /// Whole or not at all: the file gets its name when it is written. A disk that is full keeps nothing.
  void keep() const {
    if (kept_.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(kept_.parent_path(), error);
    const auto written = kept_.parent_path() / fmt::format(".{}-{}", kept_.stem().string(), getpid());
    const auto own = std::filesystem::perms::owner_all;
    std::filesystem::copy_file(folder_ / "loops.so", written, error);
    if (!error) std::filesystem::permissions(written, own, error);
    if (!error) std::filesystem::rename(written, kept_, error);
    if (error) std::filesystem::remove(written, error);
  }

  /// False where another process has the lock. Without a file that is kept, or locks on its disk, there is none to have.
  bool lock(bool waits) {
    if (kept_.empty()) return true;
    std::error_code ignored;
    std::filesystem::create_directories(kept_.parent_path(), ignored);
    lock_ = open(lock_file().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (lock_ < 0 || flock(lock_, waits ? LOCK_EX : LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
      return true;
    close(lock_);
    lock_ = -1;
    return false;
  }

  void unlock() {
    if (lock_ < 0) return;
    std::error_code ignored;
    std::filesystem::remove(lock_file(), ignored);
    close(lock_);
    lock_ = -1;
  }

  [[nodiscard]] std::filesystem::path lock_file() const {
    return kept_.parent_path() / fmt::format(".{}.lock", kept_.stem().string());
  }

  /// With no input and no output, and out of the reach of the terminal's interrupts.
  bool spawn(const std::string& compiler) {
    const std::string source = folder_ / "loops.c", result = folder_ / "loops.so";
    // Memory holds numbers of several dtypes at the same place, one after the other.
    const std::array<const char*, 12> arguments{compiler.c_str(),
                                                "-O3",
                                                "-march=native",
                                                "-ffp-contract=off",
                                                "-fno-math-errno",
                                                "-fno-strict-aliasing",
                                                "-w",
                                                "-shared",
                                                "-fPIC",
                                                "-o",
                                                result.c_str(),
                                                source.c_str()};
    std::vector<char*> words;
    for (const char* const argument : arguments) words.push_back(const_cast<char*>(argument));
    words.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    for (const int file : {0, 1, 2}) posix_spawn_file_actions_addopen(&files, file, "/dev/null", O_RDWR, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const bool spawned =
        posix_spawnp(&process_, compiler.c_str(), &files, &attributes, words.data(), environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return spawned;
  }

  /// Tells whether the compiler is done. Another wait of this process may have had its status: then the file tells.
  bool wait_for(int options) const {
    int status = 0;
    pid_t ended = 0;
    do ended = waitpid(process_, &status, options);
    while (ended < 0 && errno == EINTR);
    return ended != 0;
  }

  void remove_folder() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
    folder_.clear();
  }

  std::size_t loops_ = 0;
  std::filesystem::path folder_;  ///< Of this compilation.
  std::filesystem::path kept_;    ///< The file for later processes.
  pid_t process_ = -1, owner_ = -1;
  int lock_ = -1;  ///< An open file, until the library is kept.
};

/// Those of this process, by their text.
class LoopLibraries {
 public:
  /// The functions of loops that are ready; null where they are not. Notes time that a run took, or starts the compiler where
  /// all of them and `seconds` are more than that.
  template <class Use>
  auto with(const std::string& text, Use use) {
    const std::lock_guard lock(mutex_);
    auto& library = libraries_[text];
    if (!library) library = std::make_unique<LoopLibrary>();
    return use(*library);
  }

  /// Of programs with as many steps and as much memory as one whose loops are in place: these are worth a look at once.
  void note_in_place(std::uint64_t outline) {
    const std::lock_guard lock(mutex_);
    in_place_.insert(outline);
  }
  [[nodiscard]] bool likely_has(std::uint64_t outline) {
    const std::lock_guard lock(mutex_);
    return in_place_.contains(outline);
  }

  static LoopLibraries& of_process() {
    static LoopLibraries all;
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<LoopLibrary>> libraries_;
  std::set<std::uint64_t> in_place_;
};

std::uint64_t outline_of(const PeArray& array) {
  std::uint64_t result = 0;
  for (const Code& code : array.codes()) {
    for (const std::uint64_t size : {static_cast<std::uint64_t>(code.memory_bytes), std::uint64_t{code.index},
                                     code.steps.size(), code.terms.size(), code.constants.size()})
      result = (result ^ size) * 0x9e3779b97f4a7c15U;
  }
  return result;
}

/// A compiler takes a hundred times as long, and a turn of a PE some microseconds.
constexpr double seconds_between_looks = 2e-3;

}  // namespace

LoopCompilation::LoopCompilation(PeArray& array, const std::vector<TensorAccess>& tensors,
                                 const LoopSettings& settings, StoreMarks* marks)
    : array_(array),
      tensors_(tensors),
      marks_(marks),
      settings_(settings),
      started_(std::chrono::steady_clock::now()),
      next_look_(settings.seconds_to_look),
      outline_(outline_of(array)),
      done_(settings.compiler.empty()) {
  // To write a source takes about a microsecond a step.
  constexpr double steps_a_look = 256;
  for (const Code& code : array.codes())
    next_look_ += settings.seconds_to_look * static_cast<double>(code.steps.size()) / steps_a_look;
  if (LoopLibraries::of_process().likely_has(outline_)) next_look_ = 0;
  poll();
}

LoopCompilation::~LoopCompilation() {
  if (!has_source_ || source_.loops.empty()) return;
  const double taken = seconds();
  LoopLibraries::of_process().with(source_.text, [&](LoopLibrary& library) { library.seconds += taken; });
}

double LoopCompilation::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void LoopCompilation::poll() {
  if (done_) return;
  const double taken = seconds();
  if (taken < next_look_) return;
  next_look_ = taken + seconds_between_looks;
  if (!has_source_) {
    source_ = source_of_loops(array_, tensors_, marks_ != nullptr);
    has_source_ = true;
    done_ = source_.loops.empty();
    if (done_) return;
  }
  LoopLibraries::of_process().with(source_.text, [&](LoopLibrary& library) {
    if (library.state == LoopLibrary::State::unknown) library.find(source_, settings_);
    // A compiler takes some ten times as long.
    const double least =
        std::max(settings_.seconds_to_compile, 1e-6 * static_cast<double>(source_.text.size()));
    if (library.state == LoopLibrary::State::waiting && library.seconds + taken >= least)
      library.start(source_, settings_, false);
    library.look(false);
    if (library.state == LoopLibrary::State::ready) put_in_place(library.functions);
    done_ = library.state == LoopLibrary::State::ready || library.state == LoopLibrary::State::failed;
  });
  if (array_.compiled_loops() != nullptr) LoopLibraries::of_process().note_in_place(outline_);
}

void LoopCompilation::put_in_place(const std::vector<LoopFunction>& found) {
  loops_.functions.resize(array_.program().classes.size());
  for (const Code& code : array_.codes()) loops_.functions[code.index].resize(code.steps.size());
  for (std::size_t n = 0; n < found.size(); ++n) {
    const auto [pe_class, step] = source_.loops[n];
    auto& functions = loops_.functions[pe_class];
    functions[step] = found[n];
    functions[array_.codes()[pe_class].steps[step].target - 1] = found[n];
  }
  for (const TensorAccess& tensor : tensors_) loops_.places.push_back(tensor.data());
  if (marks_ != nullptr) {
    for (auto& marks : *marks_) loops_.places.push_back(marks.data());
  }
  loops_.places.insert(loops_.places.end(), source_.functions.begin(), source_.functions.end());
  array_.set_compiled_loops(&loops_);
}

std::size_t compile_loops_of(const PeArray& array, const std::vector<TensorAccess>& tensors,
                             const LoopSettings& settings) {
  const auto source = source_of_loops(array, tensors, false);
  if (source.loops.empty()) return 0;
  return LoopLibraries::of_process().with(source.text, [&](LoopLibrary& library) -> std::size_t {
    if (library.state == LoopLibrary::State::unknown) library.find(source, settings);
    if (library.state == LoopLibrary::State::waiting) library.start(source, settings, true);
    library.look(true);
    return library.state == LoopLibrary::State::ready ? source.loops.size() : 0;
  });
}

}  // namespace cyclotron::runtime
