# Installs an extension module into the package.
#
#   cyclotron_extension(<target> [<folder of the package>])
#
# A developer's build also puts it into cyclotron/, so that `python` in the root imports the tree one is reading. pip's build leaves
# the source tree alone unless asked (tools/bootstrap asks), and so does one with sanitizers or coverage, which plain Python cannot load.
if(SKBUILD OR CYCLOTRON_SANITIZE OR CYCLOTRON_COVERAGE)
  set(in_place_default OFF)
else()
  set(in_place_default ON)
endif()
option(CYCLOTRON_IN_PLACE "Put the extensions into cyclotron/ in the source tree" ${in_place_default})

function(cyclotron_extension target)
  cyclotron_compile_options(${target})
  if(CYCLOTRON_IN_PLACE)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/cyclotron/${ARGV1})
  elseif(ARGV1)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${ARGV1})
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION cyclotron/${ARGV1} COMPONENT python)
endfunction()
