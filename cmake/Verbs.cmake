# The verbs: `ninja -C build/dev format | lint | all | check | check-fast | bench`.
if(SKBUILD)
  return()
endif()
set(tool_environment ${CMAKE_COMMAND} -E env CYCLOTRON_BUILD=${PROJECT_BINARY_DIR})
if(Python_EXECUTABLE)
  list(APPEND tool_environment CYCLOTRON_PYTHON=${Python_EXECUTABLE})
endif()
foreach(verb format lint bench)
  add_custom_target(${verb} COMMAND ${tool_environment} ${PROJECT_SOURCE_DIR}/tools/${verb}
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
endforeach()
if(CYCLOTRON_PYTHON AND CYCLOTRON_TESTS AND EXISTS ${PROJECT_SOURCE_DIR}/tests/cpp/CMakeLists.txt)
  include(ProcessorCount)
  ProcessorCount(processors)
  if(processors EQUAL 0)
    set(processors 2)
  endif()
  add_custom_target(check
    COMMAND ${CMAKE_CTEST_COMMAND} --output-on-failure --no-tests=error -j ${processors}
    COMMAND ${CMAKE_COMMAND} -E chdir ${PROJECT_SOURCE_DIR}
            ${Python_EXECUTABLE} -m pytest -q -n ${processors} --dist loadgroup
    USES_TERMINAL VERBATIM)
  add_custom_target(check-fast
    COMMAND ${tool_environment} JOBS=${processors} ${PROJECT_SOURCE_DIR}/tools/check-fast
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
  get_property(test_programs DIRECTORY ${PROJECT_SOURCE_DIR}/tests/cpp PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN ITEMS _core _mpi LISTS test_programs)
    if(TARGET ${target})
      add_dependencies(check ${target})
      add_dependencies(check-fast ${target})
    endif()
  endforeach()
endif()
