"""One row, and the ways in which an attack fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attacks.attempt import Attempt

STRANGER = "mallory"  # on the network, with every public value; no account in Slurm
MALLORY = "mallory"
BOB = "bob"  # another user, with an account, a pounced and a worker of his own
TASK = "alice"  # what runs as alice: her own programs and tasks

LOCAL, SLURM = "local", "slurm"

Outcome = dict
Expected = Callable[[Outcome], bool]


@dataclass(frozen=True)
class Attack:
    name: str
    who: str | tuple[str, ...]
    what: str
    tries: Callable          # (Attempt) -> Outcome
    fails: Expected
    control: Callable | None = None  # (Attempt as alice) -> Outcome
    works: Expected | None = None
    where: tuple[str, ...] = (LOCAL, SLURM)

    @property
    def users(self) -> tuple[str, ...]:
        return (self.who,) if isinstance(self.who, str) else self.who

    def check(self, target) -> None:
        """Each of its users fails, the control works, and alice's own calls go on."""
        for user in self.users:
            outcome = self.tries(Attempt(target, user))
            assert self.fails(outcome), f"{user} {self.what}: {outcome}"
        if self.control is not None:
            outcome = self.control(Attempt(target, "alice"))
            assert self.works(outcome), f"alice {self.what}: {outcome}"
        target.alice_goes_on()


# ---- handshakes and hellos


def not_let_in(outcome: Outcome) -> bool:
    return outcome["handshake"] in ("refused", "cut", "silence")


def let_in(outcome: Outcome) -> bool:
    return outcome["handshake"] == "succeeded"


def refused(*words: str) -> Expected:
    def look(outcome: Outcome) -> bool:
        answer = outcome["answer"]
        return (outcome["handshake"] == "succeeded" and answer is not None and answer["type"] == "refused"
                and all(word in answer["error"]["text"] for word in words))

    return look


def refused_as(code: str) -> Expected:
    return lambda outcome: refused()(outcome) and outcome["answer"]["error"]["code"] == code


def welcomed(outcome: Outcome) -> bool:
    return outcome["answer"] is not None and outcome["answer"]["type"] == "welcome"


def cut(outcome: Outcome) -> bool:
    return outcome["answer"] is None and outcome["link"] == "cut"


def unanswered(outcome: Outcome) -> bool:
    return outcome["answer"] is None


# ---- what is said on a connection that is let in


def answered(code: str) -> Expected:
    """With an error of that code, in a `refused` or in the answer that the message has; and the peer goes on."""
    return lambda outcome: outcome["alive"] and code in [message.get("error", {}).get("code") for message in outcome["heard"]]


def ignored(outcome: Outcome) -> bool:
    return outcome["alive"] and outcome["heard"] == []


def says_nothing_of(*words: str) -> Expected:
    return lambda outcome: not [word for word in words if word in str(outcome)]


# ---- files, processes, programs


def denied(outcome: Outcome) -> bool:
    return outcome.get("error") == "PermissionError" or "Operation not permitted" in outcome.get("text", "")


def done(outcome: Outcome) -> bool:
    return "error" not in outcome


def exits_with_error(*words: str) -> Expected:
    return lambda outcome: outcome["code"] != 0 and (not words or any(word in outcome["output"].lower() for word in words))


def exits_well(outcome: Outcome) -> bool:
    return outcome["code"] == 0


def hung_up_within(seconds: float) -> Expected:
    """The port closes the connection; it says no more than a greeting of ZeroMQ and an error before that."""
    return lambda outcome: outcome["longest_s"] < seconds and outcome["heard"] < 300
