#include "assay/backend/node_by_node.h"

namespace assay {

void RunNodeByNode(const Group& group, MemorySpace& memory, Allocation& slots,
                   const std::function<void(const KernelArgs&)>& run) {
  const std::size_t slot_bytes = (static_cast<std::size_t>(group.elements) * sizeof(float) + 255) / 256 * 256;
  if (slots.bytes() < group.slots * slot_bytes) {
    slots = {};
    slots = Allocation(memory, group.slots * slot_bytes);
  }
  char* first = static_cast<char*>(slots.data());
  const auto at = [&](const GroupArgument& argument) {
    return argument.slot == GroupArgument::kInMemory ? argument.base : first + argument.slot * slot_bytes;
  };
  for (const GroupNode& node : group.nodes) {
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const GroupArgument& argument : node.in) in.push_back(at(argument));
    for (const GroupArgument& argument : node.out) out.push_back(at(argument));
    run({node.op, in, out});
  }
  for (const GroupFlush& flush : group.flushes) {
    memory.CopyInside(flush.to, first + flush.slot * slot_bytes,
                      static_cast<std::size_t>(group.elements) * flush.element_bytes);
  }
}

}  // namespace assay
