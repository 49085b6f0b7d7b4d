#include "loop_compiler.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
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

#include <fmt/format.h>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace cyclotron::runtime {

namespace {

/// A library of loops on its way from the source to functions. The compiler is a process of its own.
class LoopLibrary {
 public:
  enum class State : std::uint8_t { waiting, compiling, ready, failed };

  LoopLibrary() = default;
  /// The library stays loaded: a run may still be in it.
  ~LoopLibrary() {
    if (state == State::compiling) {
      kill(process_, SIGKILL);
      wait_for(0);
    }
    remove_folder();
  }
  LoopLibrary(const LoopLibrary&) = delete;
  LoopLibrary& operator=(const LoopLibrary&) = delete;

  void start(const LoopSource& source, const std::string& compiler) {
    state = State::failed;
    loops_ = source.loops.size();
    std::error_code error;
    auto pattern = (std::filesystem::temp_directory_path(error) / "cyclotron-loops-XXXXXX").string();
    if (error || mkdtemp(pattern.data()) == nullptr) return;
    folder_ = pattern;
    std::ofstream(folder_ / "loops.c") << source.text;
    if (spawn(compiler)) state = State::compiling;
  }

  /// Goes on where the compiler is done; waits for it if asked to.
  void look(bool waits) {
    if (state != State::compiling || !wait_for(waits ? 0 : WNOHANG)) return;
    state = State::failed;
    if (void* const library = dlopen((folder_ / "loops.so").c_str(), RTLD_NOW | RTLD_LOCAL)) {
      for (std::size_t n = 0; n < loops_; ++n)
        functions.push_back(reinterpret_cast<LoopFunction>(dlsym(library, fmt::format("loop_{}", n).c_str())));
      const bool all = std::find(functions.begin(), functions.end(), nullptr) == functions.end();
      if (all) state = State::ready;
    }
    remove_folder();
  }

  State state = State::waiting;
  double seconds = 0;  ///< That runs took.
  std::vector<LoopFunction> functions;

 private:
  /// With no input and no output, and out of the reach of the terminal's interrupts.
  bool spawn(const std::string& compiler) {
    const std::string source = folder_ / "loops.c", result = folder_ / "loops.so";
    const std::array<const char*, 11> arguments{
        compiler.c_str(), "-O3",     "-march=native", "-ffp-contract=off", "-fno-math-errno", "-w", "-shared",
        "-fPIC",          "-o",      result.c_str(),  source.c_str()};
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
  std::filesystem::path folder_;
  pid_t process_ = -1;
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

  static LoopLibraries& of_process() {
    static LoopLibraries all;
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<LoopLibrary>> libraries_;
};

}  // namespace

LoopCompilation::LoopCompilation(PeArray& array, const std::vector<TensorAccess>& tensors,
                                 const LoopSettings& settings)
    : array_(array),
      tensors_(tensors),
      settings_(settings),
      started_(std::chrono::steady_clock::now()),
      done_(settings.compiler.empty()) {
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
  if (taken < settings_.seconds_to_look) return;
  if (!has_source_) {
    source_ = source_of_loops(array_, tensors_);
    has_source_ = true;
    done_ = source_.loops.empty();
    if (done_) return;
  }
  LoopLibraries::of_process().with(source_.text, [&](LoopLibrary& library) {
    if (library.state == LoopLibrary::State::waiting && library.seconds + taken >= settings_.seconds_to_compile)
      library.start(source_, settings_.compiler);
    library.look(false);
    if (library.state == LoopLibrary::State::ready) put_in_place(library.functions);
    done_ = library.state == LoopLibrary::State::ready || library.state == LoopLibrary::State::failed;
  });
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
  for (const TensorAccess& tensor : tensors_) loops_.tensors.push_back(tensor.data());
  array_.set_compiled_loops(&loops_);
}

std::size_t compile_loops_of(const PeArray& array, const std::vector<TensorAccess>& tensors,
                             const std::string& compiler) {
  const auto source = source_of_loops(array, tensors);
  if (source.loops.empty()) return 0;
  return LoopLibraries::of_process().with(source.text, [&](LoopLibrary& library) -> std::size_t {
    if (library.state == LoopLibrary::State::waiting) library.start(source, compiler);
    library.look(true);
    return library.state == LoopLibrary::State::ready ? source.loops.size() : 0;
  });
}

}  // namespace cyclotron::runtime
