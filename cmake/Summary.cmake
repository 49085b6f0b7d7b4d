message(STATUS "Cyclotron ${PROJECT_VERSION}: isl ${ISL_VERSION}, fmt ${fmt_VERSION}, Python ${Python_VERSION}, "
               "pybind11 ${pybind11_VERSION}, MPI runtime ${CYCLOTRON_HAVE_MPI}, build type ${CMAKE_BUILD_TYPE}")
