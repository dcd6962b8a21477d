// Every message of protocol version 2 as a struct (docs/protocol.md is the specification). A message is one JSON
// header frame, made from one of these by its table, and binary payload frames. Wire structs are separate from the
// core's events: the shells translate. Thread: any (values).
#pragma once

#include <variant>

#include "protocol/client_messages.h"
#include "protocol/detached_messages.h"
#include "protocol/handshake_messages.h"
#include "protocol/queue_messages.h"
#include "protocol/task_messages.h"
#include "protocol/worker_messages.h"

namespace pounce::protocol {

using Header =
    std::variant<Hello, Welcome, Refused, OpenSession, Demand, CloseSession, Beat, Granted, LeaseStatus, WorkerDown,
                 LeaseEnded, RequestFailed, QueueAsk, QueueIs, ClassesAsk, ClassesIs, StatusAsk, StatusIs, ReleaseAsk,
                 ReleaseIs, SubmitDetached, DetachedAsk, CancelDetached, RelayDetached, DetachedList, Notice, WorkerUp,
                 InterpreterUp, InterpreterDown, WorkerBeat, WorkerGpus, Admit, Dismiss, EndWorker, RunDetached,
                 DetachedEnded, Ready, Activity, Walltime, YieldSteps, Attach, Attached, Several, Function, Object,
                 Serve, NotFetched, Chunk, Fetch, Have, Drop, Task, Started, Output, Outcome, Ack, Query, QueryIs,
                 Leaving, CancelTask, Input>;

}  // namespace pounce::protocol
