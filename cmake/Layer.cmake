# A layer is a folder of src, one static library, one namespace and one include root.
#
#   cyclotron_layer(<name> [<layer>...] [EXTERNAL <target>...])
#
# Sources are every .cpp in src/<name> and in its folders, headers live in
# src/<name>/include/cyclotron/<name>. A layer sees the include roots of the layers it names (and of those they name) and no
# others, so an include that points up the pipeline does not compile. External libraries stay private.
function(cyclotron_layer name)
  cmake_parse_arguments(LAYER "" "" "EXTERNAL" ${ARGN})
  set(root ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/*.cpp)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${root}/include/*.hpp)
  # Layers with a folder of their own target (mpi) are excluded from the glob.
  list(FILTER sources EXCLUDE REGEX "/src/runtime/mpi/")
  # A layer that is headers only (or not written yet) still is a library.
  if(NOT sources)
    set(sources ${PROJECT_BINARY_DIR}/layers/${name}.cpp)
    if(NOT EXISTS ${sources})
      file(WRITE ${sources} "")
    endif()
  endif()
  add_library(cyclotron_${name} STATIC ${sources})
  add_library(cyclotron::${name} ALIAS cyclotron_${name})
  target_include_directories(cyclotron_${name} PUBLIC ${root}/include)
  target_link_libraries(cyclotron_${name} PUBLIC fmt::fmt)
  if(NOT name STREQUAL "support")
    target_link_libraries(cyclotron_${name} PUBLIC cyclotron_support)
  endif()
  foreach(layer IN LISTS LAYER_UNPARSED_ARGUMENTS)
    target_link_libraries(cyclotron_${name} PUBLIC cyclotron_${layer})
  endforeach()
  target_link_libraries(cyclotron_${name} PRIVATE ${LAYER_EXTERNAL})
  cyclotron_compile_options(cyclotron_${name})
  cyclotron_header_checks(${name} ${root}/include ${headers})
endfunction()

# The target `header_checks` compiles each header of the layers alone, so that each stands alone (tools/lint).
function(cyclotron_header_checks name include)
  set(checks "")
  foreach(header IN LISTS ARGN)
    file(RELATIVE_PATH relative ${include} ${header})
    string(MAKE_C_IDENTIFIER ${relative} stem)
    set(check ${PROJECT_BINARY_DIR}/header_checks/${name}/${stem}.cpp)
    if(NOT EXISTS ${check})
      file(WRITE ${check} "#include <${relative}>\n")
    endif()
    list(APPEND checks ${check})
  endforeach()
  if(NOT TARGET header_checks)
    add_custom_target(header_checks)
  endif()
  if(checks)
    set(target cyclotron_${name}_headers)
    add_library(${target} OBJECT EXCLUDE_FROM_ALL ${checks})
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    # As the layer is compiled, but not after it.
    target_include_directories(${target} PRIVATE $<TARGET_PROPERTY:cyclotron_${name},INCLUDE_DIRECTORIES>)
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:cyclotron_${name},COMPILE_DEFINITIONS>)
    cyclotron_compile_options(${target})
    target_compile_options(${target} PRIVATE -O0 -g0)
    add_dependencies(header_checks ${target})
  endif()
endfunction()

# A folder of a layer, and those of its other folders whose headers it may include.
#
#   cyclotron_folder(<layer> <folder> [<folder>...])
#
# Headers that are not public are named by their path from the file that includes them, so it is tools/checks/folders.py
# that holds includes against this, not the compiler.
function(cyclotron_folder layer)
  foreach(folder IN LISTS ARGN)
    if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/src/${layer}/${folder})
      message(FATAL_ERROR "cyclotron_folder: there is no folder src/${layer}/${folder}")
    endif()
  endforeach()
endfunction()
