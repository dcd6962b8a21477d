// GPUs as Slurm writes them for a node: "gpu:a100:2(S:0-1),gpu:a100_3g.20gb:2(IDX:0,3)". Pure. Thread: any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace pounce::slurm {

// Counts by type; the type is empty if the site names none. Ignores everything but GPUs.
std::map<std::string, std::uint32_t> gpus_of(std::string_view gres);

}  // namespace pounce::slurm
