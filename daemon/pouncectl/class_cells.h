// Tables of a cluster's classes and GPUs. Pure. Thread: any.
#pragma once

#include <vector>

#include "pounce/cluster.h"
#include "pouncectl/columns.h"

namespace pounce::ctl {

std::vector<Cells> class_cells(const std::vector<ClassUse>& classes);
std::vector<Cells> gpu_cells(const std::vector<GpuUse>& gpus);

}  // namespace pounce::ctl
