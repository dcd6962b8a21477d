// Combines lambdas into one visitor of a variant: an alternative that none of them takes does not compile. Pure.
// Thread: any.
#pragma once

namespace pounce {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang before 17 does not deduce it

}  // namespace pounce
