// Finds the pounce-slurm to start. libslurm changes with each major version of Slurm, so `pouncectl setup` builds one
// for the libslurm of the machine, in a folder of its own:
//   BASE/pounce-slurm/<version of pounce>/libslurm.so.<number>/
// A link `libslurm` names the library that it was built for and, if there is one, `libslurmfull.so` the library to
// preload. Clusters with different Slurms may share a home: a folder whose library does not exist here is not for
// this machine. Thread: any; reads the file system.
#pragma once

#include <string>

namespace pounce::slurm {

inline constexpr char kHelperName[] = "pounce-slurm", kLibraryLink[] = "libslurm", kFullLibraryLink[] = "libslurmfull.so";

// The BASEs in their order: the user's own, then that of the installation whose programs are in `programs`.
std::string users_base();
std::string installations_base(const std::string& programs);

std::string helper_folder(const std::string& base, int library_number);

// The newest program whose library exists here, from the first base that has any; otherwise the one beside the other
// programs, which may not exist.
std::string find_helper(const std::string& programs);

// The library to preload for that program, if it exists here; otherwise empty.
std::string full_library_for(const std::string& helper);

}  // namespace pounce::slurm
