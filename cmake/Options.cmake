# Options shared by presets, pip and plain cmake.
option(CYCLOTRON_PYTHON "Build the Python extension" ON)
option(CYCLOTRON_TESTS "Build the C++ tests" OFF)
set(CYCLOTRON_TEST_LAYERS "" CACHE STRING "Of which layers, as for proof;poly; all where empty")
option(CYCLOTRON_WERROR "Treat warnings as errors" OFF)
option(CYCLOTRON_COVERAGE "Instrument for gcov" OFF)
set(CYCLOTRON_MPI auto CACHE STRING "Build the MPI runtime: auto, on or off")
set_property(CACHE CYCLOTRON_MPI PROPERTY STRINGS auto on off)
set(CYCLOTRON_MPI_HEADERS "" CACHE PATH
    "For wheels: a folder with the headers of Open MPI and MPICH in openmpi/ and mpich/; the library is loaded at run time")
set(CYCLOTRON_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=: address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# Layers that spend their time in isl gain nothing by -O2, which takes a third of the time to build them; those that
# follow programs step by step have it (CMakeLists.txt). -O3 gains nothing but in one file: the other
# hot loops are BLAS's and the interpreter's.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Set, so that pybind11 adds no link-time optimisation of its own: it costs a minute and gains nothing here.
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# One translation unit for two dozen files halves a build from nothing; a developer's build compiles them one by one.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "Compile the files of a layer together")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24 CACHE STRING "How many at most")
find_program(CYCLOTRON_CCACHE ccache DOC "Compiles what did not change from its cache, where it is installed")
if(CYCLOTRON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CYCLOTRON_CCACHE})
endif()

if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15))
  message(FATAL_ERROR
    "Cyclotron needs a C++20 compiler, GCC 11 or Clang 15 or newer; "
    "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}.\n"
    "  Debian/Ubuntu: sudo apt-get install g++, or set CXX to a newer compiler")
endif()

function(cyclotron_compile_options target)
  # -ffp-contract=off: a*b+c rounds twice, as in NumPy, on every machine. -fmacro-prefix-map: failed checks name files from the
  # root of the sources on, wherever those lie; what is compiled, and may come from ccache, is the same in every clone.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                           -Wno-sign-conversion -ffp-contract=off
                                           -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False alarms of GCC 12 at -O2 on aggregates with string members and on literal + string.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-restrict)
  endif()
  if(CYCLOTRON_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CYCLOTRON_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${CYCLOTRON_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${CYCLOTRON_SANITIZE})
    if(CYCLOTRON_SANITIZE MATCHES "address.*undefined")
      # AddressSanitizer looks at where a pointer leads; looking at the pointer as well takes more than half as long again to compile.
      target_compile_options(${target} PUBLIC -fno-sanitize=null,alignment,object-size,vptr,pointer-overflow)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Each copy of an inlined access is checked: fewer copies compile in two thirds of the time and run as fast.
      target_compile_options(${target} PUBLIC --param=large-function-growth=10 --param=inline-unit-growth=5)
    endif()
  endif()
  if(CYCLOTRON_COVERAGE)
    target_compile_options(${target} PUBLIC --coverage)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()
