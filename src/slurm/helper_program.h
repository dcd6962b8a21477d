// Which pounce-slurm is started. libslurm changes with each major version of Slurm, so `pouncectl setup` builds one for the
// libslurm of the machine; it lies in a folder of its own,
//   BASE/pounce-slurm/<version of pounce>/libslurm.so.<number>/
// with a link `libslurm` to the library that it was built for and, where there is one, `libslurmfull.so` to the one that is
// preloaded. A home may be shared by clusters of different Slurms: a folder whose library is not here is not for this machine.
// Thread: any; looks at files.
#pragma once

#include <string>

namespace pounce::slurm {

inline constexpr char kHelperName[] = "pounce-slurm", kLibraryLink[] = "libslurm", kFullLibraryLink[] = "libslurmfull.so";

// The BASEs, the first first: the user's own, then that of the installation whose programs lie in `programs`.
std::string users_base();
std::string installations_base(const std::string& programs);

std::string helper_folder(const std::string& base, int library_number);

// The newest one for a library that is here, of the first base that has any; else the one beside the other programs, which
// may not be there.
std::string find_helper(const std::string& programs);

// What has to be preloaded for that program, as far as it is here; else empty.
std::string full_library_for(const std::string& helper);

}  // namespace pounce::slurm
