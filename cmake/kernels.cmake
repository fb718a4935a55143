# The list of kernels that the pinned ExecuTorch registers, read from its own registry by a small program at build time.
# Only this program and src/runtime link ExecuTorch; src/ops sees the list alone.
add_executable(edgelift_list_kernels ${PROJECT_SOURCE_DIR}/src/runtime/tools/list_kernels.cc)
target_link_libraries(edgelift_list_kernels PRIVATE edgelift_flags executorch::runtime executorch::kernels_optimized
                      executorch::kernels_quantized)
target_include_directories(edgelift_list_kernels SYSTEM PRIVATE ${EXECUTORCH_INCLUDE_DIRS})
target_compile_definitions(edgelift_list_kernels PRIVATE ${EXECUTORCH_COMPILE_DEFINITIONS})
# The kernels register in static initialisers of libraries that nothing else refers to.
target_link_options(edgelift_list_kernels PRIVATE LINKER:--no-as-needed)
set(kernel_list ${CMAKE_BINARY_DIR}/generated/registered_kernels.inc)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${kernel_list}
  COMMAND edgelift_list_kernels ${kernel_list}
  DEPENDS edgelift_list_kernels
  COMMENT "list the kernels that the runtime registers")
add_custom_target(edgelift_kernel_list DEPENDS ${kernel_list})
