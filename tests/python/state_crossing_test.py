"""A saved state goes from a worker's folder to the notebook's, which the worker does not see, and to the next worker's."""

from __future__ import annotations

import os

import pytest
from pounce._common.cell_protocol import SavedOffer
from pounce._worker.cell import transfer_calls
from pounce._worker.state import crossing
from pounce._worker.state.folder import Folder
from pounce._worker.state.key import key_of, made_key
from pounce._worker.state.problems import Damaged, TakenOver
from pounce._worker.state.restorer import Restorer
from pounce._worker.state.saver import Saver
from pounce.cell.intake import Intake

LARGE = 2 * crossing.PART_BYTES


class Node:
    """A worker that saves on its own node, asked as the kernel asks it; `cut` ends the connection after so many answers."""

    def __init__(self, root, names: dict):
        root.mkdir(mode=0o700)
        self.key, self.names, self.brought, self.cut = made_key(root), names, [], 10**9
        self.folder = Folder.made(root / "state")
        self.folder.take()
        self.saver = Saver(self.folder, names, key=self.key)
        self.spoil = lambda parts: parts

    def save(self, turn: int) -> Node:
        assert self.saver.save(turn=turn, cell=turn).whole
        return self

    def asked(self, call, state, *args):
        self.cut -= 1
        if self.cut < 0:
            raise ConnectionError
        return {transfer_calls.offered: self._offered, transfer_calls.parts: self._parts, transfer_calls.brought: self._brought}[call](*args)

    def _offered(self, last):
        state = crossing.state_in(self.folder, self.key)
        return SavedOffer(crossing.unsigned(state), str(state.turn))

    def _parts(self, blobs, start):
        return self.spoil(crossing.parts_of(self.folder, blobs, start))

    def _brought(self, version, problem):
        self.brought.append(version)


@pytest.fixture
def home(tmp_path):
    """The notebook's folder of a state, in which nothing is."""
    root = tmp_path / "parked"
    root.mkdir(mode=0o700)
    made_key(root)
    Folder.made(root / "state").close()
    return str(root / "state")


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path / "node", {"small": [1], "large": os.urandom(LARGE)})


def loaded(home) -> dict:
    names: dict = {}
    restorer = Restorer(Folder(home), names, key_of(os.path.dirname(home)))
    restorer.load(restorer.names())
    return names


def test_what_a_worker_saved_on_its_node_is_whole_at_home_under_homes_own_key(home, node):
    intake = Intake(home, node.save(1).asked)

    assert intake.bring()

    assert loaded(home) == node.names and node.brought == ["1"]
    assert key_of(os.path.dirname(home)) != node.key


def test_no_answer_is_larger_than_a_part(home, node):
    sizes = []
    node.spoil = lambda parts: sizes.append(sum(len(part.data) for part in parts)) or parts

    Intake(home, node.save(1).asked).bring()

    assert max(sizes) <= crossing.PART_BYTES and sum(sizes) > LARGE


def test_only_what_changed_comes_again(home, node):
    intake = Intake(home, node.save(1).asked)
    intake.bring()
    before = intake.nbytes

    node.names["small"].append(2)
    node.save(2)
    intake.bring()

    assert loaded(home)["small"] == [1, 2] and intake.nbytes - before < 10_000


@pytest.mark.parametrize("answers", range(5))
def test_home_has_the_state_before_as_long_as_not_all_has_come(home, node, answers):
    intake = Intake(home, node.save(1).asked)
    intake.bring()
    node.names.update(small=[3], large=os.urandom(LARGE))
    node.save(2)

    node.cut = answers
    with pytest.raises(ConnectionError):
        intake.bring()

    assert loaded(home)["small"] == ([1] if answers < 4 else [3])


def test_one_that_was_cut_off_goes_on_where_it_was(home, node):
    intake = Intake(home, node.save(1).asked)
    node.cut = 2  # the offer, and one part
    with pytest.raises(ConnectionError):
        intake.bring()

    node.cut = 10**9
    intake.bring()

    assert loaded(home) == node.names and intake.nbytes < LARGE + 10_000


def test_it_pauses_after_a_part_and_goes_on_there(home, node):
    intake, came = Intake(home, node.save(1).asked), []
    node.spoil = lambda parts: came.append(parts) or parts

    assert not intake.bring(pauses=lambda: bool(came)) and len(came) == 1
    assert intake.bring()

    assert loaded(home) == node.names and intake.nbytes < LARGE + 10_000


def test_a_part_that_was_changed_is_refused_and_nothing_of_it_is_kept(home, node):
    intake = Intake(home, node.save(1).asked)
    node.spoil = lambda parts: [part._replace(data=bytes(len(part.data))) for part in parts]

    with pytest.raises(Damaged, match="did not arrive as it was sent"):
        intake.bring()

    assert loaded(home) == {} and not Folder(home).blobs()


def test_parts_out_of_their_order_are_refused(home, node):
    parts = [part._replace(start=part.start + 1) for part in crossing.parts_of(node.save(1).folder, node.folder.blobs())]

    with pytest.raises(Damaged):
        crossing.Assembly(Folder(home)).add(parts[0])


def test_a_file_of_no_digests_name_is_never_made(home):
    part = crossing.Part("../../evil", 0, 4, b"evil")

    with pytest.raises(Damaged):
        crossing.Assembly(Folder(home)).add(part)

    assert not os.path.exists(os.path.join(home, "../../evil"))


def test_a_save_that_ends_meanwhile_is_the_one_that_comes(home, node):
    intake = Intake(home, node.save(1).asked)

    def newer(parts):
        if node.saver.save(turn=2).whole and node.names["small"] == [1]:
            node.names.update(small=[2], large=os.urandom(LARGE))
            node.saver.save(turn=2)
        return parts

    node.spoil = newer
    assert intake.bring()

    assert loaded(home) == node.names and loaded(home)["small"] == [2]


def test_a_file_that_the_node_has_lost_is_said_and_not_asked_for_for_ever(home, node):
    intake = Intake(home, node.save(1).asked)
    node.folder.drop(node.folder.blobs())

    with pytest.raises(Damaged, match="does not have a file"):
        intake.bring()

    assert loaded(home) == {}


def test_a_worker_that_was_followed_by_a_newer_one_brings_nothing_more(home, node):
    intake = Intake(home, node.save(1).asked)
    newer = Folder(home)
    newer.take()
    Saver(newer, {"small": "newer"}, key=key_of(os.path.dirname(home))).save(turn=2)

    with pytest.raises(TakenOver):
        intake.bring()

    assert loaded(home) == {"small": "newer"}


def test_an_older_state_does_not_replace_a_newer_one(home, node, tmp_path):
    Intake(home, node.save(5).asked).bring()
    late = Node(tmp_path / "late", {"small": "old"})

    with pytest.raises(TakenOver, match="is newer"):
        Intake(home, late.save(4).asked).bring()

    assert loaded(home) == node.names


def test_who_waits_for_the_folder_hears_that_the_last_has_left(home, node):
    intake = Intake(home, node.save(1).asked)
    held = Folder(home).left()

    intake.close()

    assert not held and Folder(home).left()
