# What Cyclotron needs, each found in one place. What is missing is reported together, with the command that installs it.
set(missing_parts "")
set(missing_packages "")
macro(cyclotron_missing what apt)
  list(APPEND missing_parts "${what}")
  list(APPEND missing_packages ${apt})
endmacro()

find_package(PkgConfig QUIET)
if(NOT PkgConfig_FOUND)
  cyclotron_missing("pkg-config" "pkg-config")
endif()
find_package(Threads REQUIRED)

if(PkgConfig_FOUND)
  pkg_check_modules(ISL QUIET IMPORTED_TARGET isl>=0.24)
  pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
endif()
# isl.pc also names gmp, which the shared library brings itself and which need not be there to link with.
find_library(ISL_LIBRARY isl HINTS ${ISL_LIBRARY_DIRS})
if(ISL_FOUND AND ISL_LIBRARY)
  add_library(cyclotron::isl INTERFACE IMPORTED)
  target_include_directories(cyclotron::isl INTERFACE ${ISL_INCLUDE_DIRS})
  target_link_libraries(cyclotron::isl INTERFACE ${ISL_LIBRARY})
  if(NOT ISL_LIBRARY MATCHES "[.]so")
    target_link_libraries(cyclotron::isl INTERFACE PkgConfig::ISL)
  endif()
else()
  cyclotron_missing("isl 0.24 or newer (integer sets)" "libisl-dev")
endif()

find_package(fmt QUIET)
if(NOT fmt_FOUND)
  cyclotron_missing("fmt (text formatting)" "libfmt-dev")
endif()

find_package(nlohmann_json QUIET)
if(nlohmann_json_FOUND)
  add_library(cyclotron::json ALIAS nlohmann_json::nlohmann_json)
else()
  cyclotron_missing("nlohmann-json (program files)" "nlohmann-json3-dev")
endif()

if(OPENBLAS_FOUND)
  add_library(cyclotron::blas ALIAS PkgConfig::OPENBLAS)
else()
  find_package(BLAS QUIET)
  find_package(LAPACK QUIET)
  if(LAPACK_FOUND)
    add_library(cyclotron_blas INTERFACE)
    target_link_libraries(cyclotron_blas INTERFACE LAPACK::LAPACK BLAS::BLAS)
    add_library(cyclotron::blas ALIAS cyclotron_blas)
  else()
    cyclotron_missing("BLAS and LAPACK" "libopenblas-dev")
  endif()
endif()

set(CYCLOTRON_HAVE_MPI OFF)
if(NOT CYCLOTRON_MPI STREQUAL "off")
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    set(CYCLOTRON_HAVE_MPI ON)
  elseif(CYCLOTRON_MPI STREQUAL "on")
    cyclotron_missing("MPI" "libopenmpi-dev;openmpi-bin")
  endif()
endif()

if(CYCLOTRON_PYTHON)
  set(developers_python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  if(NOT SKBUILD AND NOT Python_EXECUTABLE AND NOT DEFINED ENV{VIRTUAL_ENV} AND EXISTS ${developers_python})
    set(Python_EXECUTABLE ${developers_python} CACHE FILEPATH "The Python that the extension is for")
  endif()
  find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
  if(NOT Python_Development.Module_FOUND)
    cyclotron_missing("Python 3.10 or newer with its headers" "python3-dev")
  endif()
endif()

if(missing_parts)
  list(JOIN missing_parts "\n  - " missing_parts)
  list(JOIN missing_packages " " missing_packages)
  message(FATAL_ERROR
    "Cyclotron needs what was not found here:\n"
    "  - ${missing_parts}\n"
    "On Debian and Ubuntu, install it with\n"
    "  sudo apt-get install ${missing_packages}\n"
    "or with tools/bootstrap packages.")
endif()

if(CYCLOTRON_PYTHON)
  # pip puts pybind11 on CMake's search path; a plain cmake run asks the interpreter.
  find_package(pybind11 3 CONFIG QUIET)
  if(NOT pybind11_FOUND)
    execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
                    OUTPUT_VARIABLE pybind11_hint OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_package(pybind11 3 CONFIG QUIET HINTS ${pybind11_hint})
  endif()
  if(NOT pybind11_FOUND)
    message(FATAL_ERROR
      "Cyclotron needs pybind11 3 or newer, which was not found.\n"
      "  ${Python_EXECUTABLE} -m pip install 'pybind11>=3'")
  endif()
endif()
