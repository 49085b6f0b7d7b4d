set(summary "Cyclotron ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, "
            "isl ${ISL_VERSION}, fmt ${fmt_VERSION}, MPI runtime ${CYCLOTRON_HAVE_MPI}")
if(CYCLOTRON_PYTHON)
  list(APPEND summary ", Python ${Python_VERSION}, pybind11 ${pybind11_VERSION}")
endif()
list(JOIN summary "" summary)
message(STATUS "${summary}")
