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
  # Each header is compiled alone, so each header stands alone.
  foreach(header IN LISTS headers)
    file(RELATIVE_PATH relative ${root}/include ${header})
    string(MAKE_C_IDENTIFIER ${relative} stem)
    set(check ${PROJECT_BINARY_DIR}/header_checks/${name}/${stem}.cpp)
    if(NOT EXISTS ${check})
      file(WRITE ${check} "#include <${relative}>\n")
    endif()
    if(CYCLOTRON_HEADER_CHECKS)
      list(APPEND sources ${check})
      set_source_files_properties(${check} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
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
endfunction()
