# find_package(pounce): the target pounce::pounce, a client in C++ (examples/08_cpp_client).
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(spdlog)
include(${CMAKE_CURRENT_LIST_DIR}/pounceTargets.cmake)
