"""What mallory and bob try, as rows of tables: who, what, and what becomes of it.

A folder's attack_test.py gives the `target`, a pounced of alice's with live workers, and runs each row that fits there.
Each row has the attacker's program (tests/system/attacker) do something, and says how it has to fail. Where one makes sense a
row has a control: the same, done rightly, gets in. After each row alice's own calls go on.
"""

from attacks import (commands, control, data_socket, files, floods, folders, handshake, local_channel, messages, numbers, policies,
                     processes, proofs, relays, shown)

GROUPS = [handshake, proofs, messages, control, data_socket, local_channel, relays, processes, files, folders, policies, numbers, shown, commands, floods]
ATTACKS = [attack for group in GROUPS for attack in group.ATTACKS]
