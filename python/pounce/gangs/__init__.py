"""Several workers as the ranks of one program: of one lease, or of as many as there are."""

from .broadcasts import Broadcast as Broadcast
from .elastic_gang import ElasticGang as ElasticGang
from .gang import Gang as Gang
from .gang import Sharded as Sharded
